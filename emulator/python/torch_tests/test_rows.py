"""Rows against torch on the GPU of this machine, on random shapes; without one the operation whose order doesn't matter."""
import numpy as np
import pytest
import torch
from torch.nn import functional

import mmaudit

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SHAPES = 25
EPSILON = 1e-5


def steps(x, weight):
    """RMSNorm as transformers writes it."""
    wide = x.float()
    return weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPSILON)).to(x.dtype)


OPERATIONS = {
    "sum": lambda x, w, b: x.sum(-1),
    "mean": lambda x, w, b: x.mean(-1),
    "amax": lambda x, w, b: x.amax(-1),
    "softmax": lambda x, w, b: x.softmax(-1),
    "log_softmax": lambda x, w, b: x.log_softmax(-1),
    "layer_norm": lambda x, w, b: functional.layer_norm(x, x.shape[-1:], w, b, EPSILON),
    "rms_norm": lambda x, w, b: functional.rms_norm(x, x.shape[-1:], w, EPSILON),
    "rms_norm_steps": lambda x, w, b: steps(x, w),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", OPERATIONS if DEVICE == "cuda" else ["amax"])
def test_rows_have_the_bits_of_torch(name, dtype):
    draws = np.random.default_rng(len(name))
    norm, differ = name in ("layer_norm", "rms_norm", "rms_norm_steps"), []
    for _ in range(SHAPES):
        n = int(2 ** draws.uniform(0, 17))
        rows = max(1, int(2 ** draws.uniform(0, 8)) if n < 4096 else int(draws.integers(1, 4)))
        x = torch.randn(rows, n, device=DEVICE).to(dtype)
        weight, bias = (torch.rand(n, device=DEVICE) + 0.5).to(dtype), torch.randn(n, device=DEVICE).to(dtype)
        given = {"weight": weight, "bias": bias} if name == "layer_norm" else {"weight": weight} if norm else {}
        found, plan = mmaudit.reduce_rows(name, x, **given, epsilon=EPSILON if norm else 0.0)
        wanted = OPERATIONS[name](x, weight, bias).cpu()
        raw = torch.int32 if dtype == torch.float32 else torch.int16
        if not np.array_equal(wanted.view(raw).numpy(), np.asarray(found).view(f"i{wanted.element_size()}")):
            differ.append((rows, n, plan))
    assert not differ, f"{len(differ)} of {SHAPES} tensors differ: {differ[:3]}"
