"""The library's recipes as Python has them, and INT8 W8A8 against plain integers of numpy."""
import json

import numpy as np
import pytest
import torch
from torch import nn

import mmaudit.torch as mt
from mmaudit import _library
from mmaudit.torch._operator import find_path, product


def test_recipes_are_those_of_the_library():
    listed = json.loads(_library.text_from(_library.lib.mmaudit_recipes))
    assert listed["schema"] == "mmaudit.recipes/1"
    own = [name for name, one in mt.RECIPES.items() if one.weights is None and not one.trains]
    assert [one["name"] for one in listed["recipes"]] == own
    tiles = next(one for one in listed["recipes"] if one["name"] == "fp8-1x128")
    assert (tiles["scale_a"], tiles["scale_b"]) == ({"lanes": 1, "k": 128}, {"lanes": 128, "k": 128})
    assert mt.RECIPES["fp8-delayed"] == mt.Recipe("hopper", "e4m3", "tensor-inverse", "plain", "e5m2", 1024,
                                                  mt.RECIPES["fp8-delayed"].source)
    assert mt.RECIPES["mxfp4"].gradient is None and mt.RECIPES["bf16"].scaling is None


def int8(x):
    """Elements and scales of every row of x."""
    x = np.asarray(x, np.float32)
    scale = np.maximum(np.abs(x).max(1, initial=0) / np.float32(127.5), np.float32(2**-23))
    return np.clip(np.rint(x * (1 / scale[:, None])), -128, 127).astype(np.int64), scale


@pytest.mark.parametrize("shape", [(5, 300, 17), (1, 1, 1), (33, 129, 40)])
def test_int8_is_plain_integers(shape):
    m, k, n = shape
    layer, x = nn.Linear(k, n, bias=False), torch.randn(m, k)
    x[0, 0] = 0
    with mt.emulate(layer, "int8-w8a8"):
        d = layer(x)
    (a, of_a), (w, of_w) = int8(x.numpy()), int8(layer.weight.detach().numpy())
    expected = ((a @ w.T).astype(np.float32) * of_a[:, None]) * of_w[None, :]
    assert np.array_equal(d.detach().numpy(), expected)
    half = product(x[None], layer.weight.t()[None], torch.bfloat16, arch="hopper", dtype="int8-w8a8", scaling_a=None,
                   scaling_b=None, policy="plain")[0]
    assert torch.equal(half, torch.from_numpy(expected).to(torch.bfloat16))


def test_int8_trains():
    layer, x = nn.Linear(64, 8), torch.randn(4, 64, requires_grad=True)
    with mt.emulate(layer, "int8-w8a8"):
        layer(x).square().sum().backward()
    grad = (2 * layer(x) @ layer.weight).detach()
    assert float((x.grad - grad).norm() / grad.norm()) < 0.05


def test_int8_refusals():
    assert find_path("ampere", "int8-w8a8", "row", "plain").factor_order == "a-first"
    for arch, policy, line in (("volta", "plain", "volta has no instruction for int8-w8a8"),
                               ("hopper", "promote:128", "totals are binary32")):
        with pytest.raises(ValueError, match=line):
            mt.Recipe(arch, "int8-w8a8", policy=policy).checked()
    path = find_path("hopper", "int8-w8a8", None, "plain")
    one = torch.ones(4, 32, dtype=torch.int8)
    with pytest.raises(ValueError, match="factor_order: found c-first, allowed: product, a-first, b-first"):
        mt.matmul(one, one.t(), inst=path.inst, factor_a=torch.ones(1), factor_b=torch.ones(1), factor_order="c-first")
