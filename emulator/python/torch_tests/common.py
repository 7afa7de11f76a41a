"""Operands and comparisons."""
import os
import subprocess

import numpy as np
import torch

from mmaudit.torch._operator import find_path
from mmaudit.torch._tensors import dtype_of, formats_of
from mmaudit.torch._trace_hash import cut_of

#: Narrow formats keep their bits at the low end of a byte.
_MASK = {"e2m1": 15, "e3m2": 63, "e2m3": 63}

INSTRUCTIONS = [
    ("volta", "mma.m8n8k4.f32.f16.f16.f32"), ("turing", "mma.m16n8k8.f32.f16.f16.f32"),
    ("ampere", "mma.m16n8k16.f32.bf16.bf16.f32"), ("ampere", "mma.m16n8k8.f32.tf32.tf32.f32"),
    ("ampere", "mma.m16n8k16.f16.f16.f16.f16"), ("ada", "mma.m16n8k32.f32.e4m3.e4m3.f32"),
    ("hopper", "wgmma.m64n64k32.f32.e4m3.e4m3"), ("hopper", "wgmma.m64n64k32.f32.e5m2.e4m3"),
    ("hopper", "wgmma.m64n64k16.f32.bf16.bf16"), ("hopper", "wgmma.m64n64k16.f32.f16.f16"),
    ("hopper", "wgmma.m64n64k16.f16.f16.f16"), ("hopper", "wgmma.m64n64k8.f32.tf32.tf32"),
] + [(arch, find_path(arch, dtype, scaling, "plain").inst) for arch, dtype, scaling in (
    ("blackwell", "mxf8", "mx-ceil"), ("blackwell", "mxf8-e5m2", "mx-ceil"), ("blackwell", "mxf6", "mx-ceil"),
    ("blackwell", "mxf4", "mx-floor"), ("blackwell", "nvf4", "mx"), ("blackwell_rtx", "nvf4", "mx"),
    ("blackwell_rtx", "mxf8", "mx-ceil"), ("blackwell", "bf16", "none"), ("blackwell", "f16", "none"),
    ("blackwell", "e4m3", "none"), ("blackwell_rtx", "e4m3", "none"), ("ada", "e5m2", "none"))]


def cut(x, batch, tokens):
    """The rows of a tensor that a trace hashes."""
    return cut_of(tuple(x.shape), x.stride(), x.dtype, batch, tokens, tokens)


def bits(seed, name, *shape):
    """Any bit patterns of a format, NaN and infinities among them."""
    dtype = dtype_of(name)
    raw = np.random.default_rng(seed).integers(0, 256, (*shape, dtype.itemsize), dtype=np.uint8)
    return torch.from_numpy(raw & _MASK.get(name, 255)).view(dtype).reshape(shape)


def numbers(seed, name, *shape):
    """N(0, 1), rounded to the format; of narrow formats any."""
    if name in _MASK:
        return bits(seed, name, *shape)
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype_of(name))


def scales(seed, arch, inst, m, n, k):
    """Scale bytes that keep sums finite, as arguments."""
    spec = formats_of(arch, inst)
    if spec.scale is None:
        return {}
    blocks, draw = -(-k // spec.scale_block), np.random.default_rng(seed)
    low, high = (110, 140) if spec.scale == "ue8m0" else (20, 110)
    return {"scale_a": torch.from_numpy(draw.integers(low, high, (1, m, blocks), dtype=np.uint8)),
            "scale_b": torch.from_numpy(draw.integers(low, high, (1, blocks, n), dtype=np.uint8))}


def operands(draw, arch, inst, m, n, k):
    """A, B and the keyword arguments of a product, drawn by `draw`."""
    spec = formats_of(arch, inst)
    return draw(1, spec.a, m, k), draw(2, spec.b, k, n), scales(3, arch, inst, m, n, k)


def as_numpy(x):
    """The tensor as mmaudit.matmul() takes it: bytes, and 16 bits of bfloat16."""
    return x.view(torch.int16).numpy().view(np.uint16) if x.dtype == torch.bfloat16 else (
        x.view(torch.uint8).numpy() if x.element_size() == 1 else x.numpy())


def same_bits(x, y):
    x, y = (one.detach().cpu().contiguous().view(torch.uint8) for one in (x, y))
    return x.shape == y.shape and bool((x == y).all())


def by_command(folder, arch, inst, a, b, **how):
    """Bytes of D of the same product by `mmaudit matmul` on the CPU."""
    arguments = ["--arch", arch, "--inst", inst, "--out", "d.npy"]
    for name, x in {"a": a, "b": b, **how}.items():
        np.save(folder / f"{name}.npy", as_numpy(x))
        arguments += ["--" + name.replace("_", "-"), f"{name}.npy"]
    subprocess.run([os.environ["MMAUDIT_TOOL"], "-q", "matmul", *arguments], cwd=folder, check=True)
    return np.load(folder / "d.npy").tobytes()
