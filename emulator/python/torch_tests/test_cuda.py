"""On a GPU: the same bits as on the CPU, on torch's stream, and torch's own FP8 product has them too."""
import pytest
import torch

import mmaudit.torch as mt
from common import INSTRUCTIONS, bits, numbers, operands, same_bits
from mmaudit.torch._operator import product


@pytest.mark.parametrize("draw", [numbers, bits])
@pytest.mark.parametrize("arch,inst", INSTRUCTIONS)
def test_products(arch, inst, draw):
    a, b, how = operands(draw, arch, inst, 150, 133, 224)
    here = mt.matmul(a, b, inst=inst, arch=arch, **how)
    there = mt.matmul(a.cuda(), b.cuda(), inst=inst, arch=arch, **{name: one.cuda() for name, one in how.items()})
    assert same_bits(here, there)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", mt.RECIPES)
def test_recipes(name, dtype):
    recipe = mt.RECIPES[name]
    x, w = torch.randn(2, 70, 301), torch.randn(2, 301, 140)
    x[0, 3, 4], x[1, 2, 200], x[1, 5] = float("nan"), float("inf"), 0
    x[0, 40] *= 1e-6
    how = {"arch": recipe.arch, "dtype": recipe.dtype, "scaling_a": recipe.scaling, "scaling_b": recipe.scaling,
           "policy": recipe.policy}
    results = [product(x.to(place, dtype), w.to(place, dtype), dtype, **how) for place in ("cpu", "cuda")]
    assert same_bits(*results)


def test_streams_and_graphs():
    inst = "wgmma.m64n64k16.f32.f16.f16"
    a, b = torch.randn(64, 128, device="cuda").half(), torch.randn(128, 32, device="cuda").half()
    expected = mt.matmul(a.cpu(), b.cpu(), inst=inst)
    with torch.cuda.stream(torch.cuda.Stream()):
        assert same_bits(mt.matmul(a, b, inst=inst), expected)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        d = mt.matmul(a, b, inst=inst)
    a.copy_(torch.randn(64, 128))
    graph.replay()
    assert same_bits(d, mt.matmul(a.cpu(), b.cpu(), inst=inst))


def test_operands_on_two_devices_are_refused():
    with pytest.raises(ValueError, match="b device: found cpu, allowed: cuda"):
        mt.matmul(torch.ones(4, 16).half().cuda(), torch.ones(16, 4).half(), inst="wgmma.m64n64k16.f32.f16.f16")
