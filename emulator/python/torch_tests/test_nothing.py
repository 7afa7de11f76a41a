"""No verdict on nothing, and none on a sample that leaves out what no product can be judged with."""
import os
import subprocess

import pytest
import torch
from torch import nn

import mmaudit.torch as mt

PLAN = {"schema": "mmaudit.plan/1", "default": "nvfp4", "estimate": {"output_error": 0.01, "limit": 0.1}}
needs_tool = pytest.mark.skipif("MMAUDIT_TOOL" not in os.environ, reason="MMAUDIT_TOOL names no mmaudit")


@pytest.mark.parametrize("module", [nn.LayerNorm(8), nn.Sequential(nn.ReLU())])
def test_a_module_without_products_is_refused(module):
    x = torch.randn(2, 8)
    for run in (lambda: mt.compare(module, x, {"p": PLAN}), lambda: mt.tighten(module, x, PLAN)):
        with pytest.raises(ValueError, match=r"^module: found no matrix products, allowed: a module that runs some$"):
            run()


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -float("inf")])
def test_a_sample_has_what_is_not_finite(odd, tmp_path):
    from safetensors.torch import load_file

    linear, x = nn.Linear(16, 700), torch.randn(4000, 16)
    x[777, 3] = odd
    with torch.no_grad():
        linear.weight[651, 2] = odd
    mt.capture(linear, x, tmp_path / "c.safetensors", rows=8, columns=8)
    found = load_file(tmp_path / "c.safetensors")
    a, b = (next(one for name, one in found.items() if name.endswith(end)) for end in (".a", ".b"))
    assert a.shape == (8, 16) and b.shape == (16, 8)
    assert not torch.isfinite(a).all() and not torch.isfinite(b).all()


def test_a_sample_has_the_matrix_that_is_not_finite(tmp_path):
    class Batched(nn.Module):
        def forward(self, x):
            return x @ x.mT

    x = torch.randn(64, 4, 8)
    x[55, 1, 1] = float("nan")
    products = mt.capture(Batched(), x, tmp_path / "c.safetensors", matrices=2)
    assert len(products) == 2 and any(one["name"].endswith("[55]") for one in products)


@needs_tool
def test_one_infinity_among_20000_rows_is_no_verdict(tmp_path):
    torch.manual_seed(0)
    linear, x = nn.Linear(64, 64), torch.randn(20000, 64)
    x[777, 3] = float("inf")
    mt.capture(linear, x, tmp_path / "c.safetensors")
    done = subprocess.run([os.environ["MMAUDIT_TOOL"], "-q", "audit", "--capture", "c.safetensors", "--arch", "b200",
                           "--dtype", "nvf4", "--max-rel-fro", "20%"], cwd=tmp_path, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1 and "1 of 1 layers have a combination" not in done.stdout, done.stdout


@needs_tool
def test_large_numbers_have_a_gain():
    torch.manual_seed(1)
    found = mt.choose_plan(nn.Linear(64, 8, bias=False), torch.randn(8, 64) * 1e20, max_output_error=0.12, arch="b200",
                           dtype="nvf4,mxf8")
    assert found.tries[0].estimated > 0.01
    assert any(recipe is not None for _, recipe in found.plan.layers)


@needs_tool
def test_what_nothing_fits_says_so():
    torch.manual_seed(1)
    found = mt.choose_plan(nn.Linear(64, 8, bias=False), torch.randn(8, 64), max_output_error=1e-9, arch="b200",
                           dtype="nvf4,mxf8")
    assert str(found).splitlines()[0] == "Nothing is within the limit (error of the output at most 1.00e-09): every layer is kept."
