"""On a GPU: the same bits as on the CPU, on torch's stream, and torch's own FP8 product has them too."""
import importlib
import os
from pathlib import Path

import pytest
import torch
from torch import nn

import mmaudit.torch as mt
from common import INSTRUCTIONS, as_numpy, bits, by_command, numbers, operands, same_bits
from mmaudit.torch._operator import product


@pytest.mark.parametrize("draw", [numbers, bits])
@pytest.mark.parametrize("arch,inst", INSTRUCTIONS)
def test_products(arch, inst, draw):
    a, b, how = operands(draw, arch, inst, 150, 133, 224)
    here = mt.matmul(a, b, inst=inst, arch=arch, **how)
    there = mt.matmul(a.cuda(), b.cuda(), inst=inst, arch=arch, **{name: one.cuda() for name, one in how.items()})
    assert same_bits(here, there)


@pytest.mark.skipif("MMAUDIT_TOOL" not in os.environ, reason="MMAUDIT_TOOL names no mmaudit")
@pytest.mark.parametrize("draw", [numbers, bits])
@pytest.mark.parametrize("arch,inst", INSTRUCTIONS)
def test_bits_are_those_of_the_command_line_on_the_cpu(arch, inst, draw, tmp_path):
    """1,015,200 elements over all instructions and both kinds of operands."""
    a, b, how = operands(draw, arch, inst, 150, 141, 224)
    there = mt.matmul(a.cuda(), b.cuda(), inst=inst, arch=arch, **{name: one.cuda() for name, one in how.items()})
    assert by_command(tmp_path, arch, inst, a, b, **how) == as_numpy(there.cpu()).tobytes()


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


@pytest.mark.parametrize("recipe", ["nvfp4", "fp8-tensor", "fp8-1x128"])
def test_a_graph_replays_a_whole_module(recipe):
    net = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 128)).cuda().to(torch.bfloat16)
    x, other = (torch.randn(64, 128, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    with torch.no_grad(), mt.emulate(net, recipe):
        expected = net(other).clone()
        net(x)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            y = net(x)
    x.copy_(other)
    graph.replay()
    assert same_bits(y, expected)


def test_compiles():
    def layer(x, w):
        return torch.relu(mt.matmul(x.to(torch.float8_e4m3fn), w, inst="wgmma.m64n64k32.f32.e4m3.e4m3", promote=128)) + 1

    x, w = torch.randn(6, 64, device="cuda"), numbers(2, "e4m3", 64, 8).cuda()
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    assert same_bits(compiled(x, w), layer(x, w))


def test_gains_and_a_plan_on_the_gpu(tmp_path):
    pytest.importorskip("safetensors")
    net, x = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32)).cuda(), torch.randn(40, 64, device="cuda")
    mt.capture(net, x, tmp_path / "c.safetensors", gains=True)
    plan = {"layers": {"0": "nvfp4", "2": "nvfp4"}, "estimate": {"output_error": 0.2, "limit": 1e-6}}
    found = mt.tighten(net, x, plan)
    assert [one.measured > 0 for one in found.tries] == [True, False]


@pytest.mark.parametrize("fast", [True, False])
def test_fp8_layers_have_the_bits_of_the_tensor_core(fast, monkeypatch):
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("the recipes are Hopper's")
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "examples"))
    example = importlib.import_module("hopper_fp8")
    for network, model, x in example.networks(example.Gpu(), 2):
        rows, output = example.measure(network, model, x, fast, example.Gpu())
        assert not any(row.wrong for row in rows), example.text_of(rows)
        if all(row.plan and row.one_slice for row in rows):
            assert output == 0, network


def test_operands_on_two_devices_are_refused():
    with pytest.raises(ValueError, match="b device: found cpu, allowed: cuda"):
        mt.matmul(torch.ones(4, 16).half().cuda(), torch.ones(16, 4).half(), inst="wgmma.m64n64k16.f32.f16.f16")


def test_what_kernels_can_not_take_is_refused_in_one_line():
    a, b = torch.ones(16, 16).half().cuda(), torch.ones(32, 8).half().cuda()
    line = r"^inst: found the sparse mma\.sp\.\S+ on cuda:0, allowed: a dense one, or tensors on the CPU$"
    with pytest.raises(ValueError, match=line):
        mt.matmul(a, b, inst="mma.sp.m16n8k32.f32.f16.f16.f32", metadata=torch.zeros(16, 4, dtype=torch.uint8).cuda())


def test_operands_stay_where_memory_is_short():
    a, b = (torch.ones(1, 1, dtype=torch.float16, device="cuda").expand(2**22, 64), torch.ones(64, 2**22, dtype=torch.float16,
                                                                                              device="cuda"))
    with pytest.raises(torch.OutOfMemoryError) as found:
        mt.matmul(a, b, inst="wgmma.m64n64k16.f32.f16.f16")
    assert "\n" not in str(found.value) and bool((b == 1).all()) and float(a[0, 0]) == 1
