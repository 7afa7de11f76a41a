"""On a GPU: the same bits as on the CPU, on torch's stream, and torch's own FP8 product has them too."""
import importlib
import json
import os
import warnings
from pathlib import Path

import pytest
import torch
from torch import nn

import mmaudit
import mmaudit.torch as mt
from common import INSTRUCTIONS, as_numpy, bits, by_command, cut, numbers, operands, same_bits
from mmaudit.torch import _cuda, _operator
from mmaudit.torch import _trace_hash as rows
from mmaudit.torch._hardware import Hardware
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


hopper = pytest.mark.skipif(torch.cuda.is_available() and torch.cuda.get_device_capability() != (9, 0),
                            reason="the arithmetic is Hopper's")
HOPPER = {name: recipe for name, recipe in mt.RECIPES.items() if recipe.arch == "hopper"}


@hopper
@pytest.mark.parametrize("draw", [numbers, bits])
@pytest.mark.parametrize("kind,k", [("f16", 16), ("bf16", 16), ("tf32", 8), ("e4m3", 32), ("e5m2", 32)])
def test_the_hardware_has_the_bits_of_the_model(kind, k, draw):
    """Every element is checked by the model on the GPU, and compared with the CPU's."""
    inst, ran = f"wgmma.m64n8k{k}.f32.{kind}.{kind}", 0
    for m, n, depth, batch in ((1, 1, 1, 1), (150, 133, 224, 1), (33, 300, 7, 2), (129, 7, 513, 3), (260, 257, 1024, 1)):
        for how in ({}, {"promote": 4 * k}, {"d_format": "bf16"}, {"factor_a": torch.rand(batch, m), "factor_b": torch.rand(
                batch, n), "factor_order": "b-first"}, {"promote": 4 * k, "factor_block": 4 * k, "factor_a": torch.rand(
                    batch, m, -(-depth // (4 * k))), "factor_b": torch.rand(batch, n, -(-depth // (4 * k)))}):
            a, b, c = draw(1, kind, batch, m, depth), draw(2, kind, batch, depth, n), draw(3, "f32", batch, m, n)
            c = None if how.keys() - {"promote"} else c
            hardware = Hardware("always", 1)
            with hardware.computing(""):
                d = mt.matmul(a.cuda(), b.cuda(), None if c is None else c.cuda(), inst=inst, **{
                    name: one.cuda() if isinstance(one, torch.Tensor) else one for name, one in how.items()})
            assert hardware.taken() == ("hardware", batch * m * n)
            hardware.check()
            assert same_bits(d, mt.matmul(a, b, c, inst=inst, **how)), (m, n, depth, batch, how)
            ran += d.numel()
    assert ran > 500_000


@hopper
@pytest.mark.parametrize("recipe", HOPPER)
def test_modules_by_the_hardware_forward_and_backward(recipe):
    net = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 72)).cuda()
    x, found, plain = torch.randn(3, 50, 128, device="cuda"), {}, HOPPER[recipe].weights is None  # else no backward product
    for switch in ("always", "never"):
        net.zero_grad()
        with mt.emulate(net, recipe, hardware=switch, check=1) as emulation:
            y = net(x)
            if plain:
                y.square().sum().backward()
        found[switch] = [y, *(one.grad for one in net.parameters() if plain)]
        assert {row.by for row in emulation.coverage.rows} == {"hardware" if switch == "always" else "model"}
        assert all((row.checked > 0) == (switch == "always") for row in emulation.coverage.rows)
    assert all(same_bits(*pair) for pair in zip(*found.values()))


@hopper
def test_views_that_start_anywhere():
    a, b = (torch.randn(size, device="cuda").to(torch.float8_e4m3fn) for size in (64 * 64 + 1, 64 * 64))
    with Hardware("always", 1).computing(""):
        d = mt.matmul(a[1:].reshape(64, 64), b.reshape(64, 64), inst="wgmma.m64n8k32.f32.e4m3.e4m3")
    assert same_bits(d, mt.matmul(a[1:].reshape(64, 64), b.reshape(64, 64), inst="wgmma.m64n8k32.f32.e4m3.e4m3"))


@hopper
def test_a_wrong_bit_of_the_hardware_is_found(monkeypatch):
    kept = _cuda.matmul

    def wrong(work, place, hardware=False):
        kept(work, place, hardware)
        if hardware:
            results.pop().view(torch.int32)[3, 5] ^= 1

    results = []
    empty = torch.empty

    def remembered(*size, **how):
        made = empty(*size, **how)
        if how.get("dtype") is torch.float32 and made.shape == (200, 120):
            results.append(made)
        return made

    monkeypatch.setattr(_cuda, "matmul", wrong)
    monkeypatch.setattr(_operator.torch, "empty", remembered)
    hardware = Hardware("always", 1)
    with hardware.computing("up"):
        mt.matmul(torch.randn(200, 64, device="cuda").half(), torch.randn(64, 120, device="cuda").half(),
                  inst="wgmma.m64n8k16.f32.f16.f16")
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match=r"^hardware in layer 'up': found D 0x[0-9a-f]{8} at matrix 0, row 3, column 5 "
                       r"\(tile of rows 0 to 127, columns 0 to 119; 1 element differs; K 64, wgmma\.m64n8k16\.f32\.f16\.f16"):
        hardware.check()


@hopper
def test_what_the_hardware_can_not_is_refused_or_left_to_the_model():
    net, x = nn.Linear(64, 64).cuda(), torch.randn(8, 64, device="cuda")
    lines = {"nvfp4": "^inst: found tcgen05", "bf16-ampere": "^inst: found mma", "tf32": "^inst: found mma"}
    for recipe, line in lines.items():
        with pytest.raises(ValueError, match=line), mt.emulate(net, recipe, hardware="always"):
            net(x)
        with mt.emulate(net, recipe) as emulation:
            net(x)
        assert [row.by for row in emulation.coverage.rows] == ["model"]


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


@pytest.mark.parametrize("name", ["ex2.approx.f32", "expf", "tanhf/fast", "log1pf", "divide", "ex2.approx.f16", "tanh.approx.bf16"])
def test_special_functions(name):
    dtype = torch.float16 if name.endswith(".f16") else torch.bfloat16 if name.endswith("bf16") else torch.float32
    raw = torch.int32 if dtype is torch.float32 else torch.int16
    limits = torch.iinfo(raw)
    x, y = (torch.randint(limits.min, limits.max, (300, 77), dtype=raw).view(dtype) for _ in range(2))
    given = (x, y) if name == "divide" else (x,)
    here, there = mmaudit.function(name, *given), mmaudit.function(name, *(one.cuda() for one in given))
    assert there.is_cuda and torch.equal(here.view(raw), there.cpu().view(raw))
    assert torch.equal(mmaudit.function(name, *(one.cuda().t() for one in given)).cpu().view(raw), here.t().view(raw))


def test_special_functions_in_a_graph_and_refused():
    x = torch.randn(1000, device="cuda")
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = mmaudit.ex2(x)
    x.copy_(torch.randn(1000))
    graph.replay()
    assert torch.equal(y.cpu(), mmaudit.ex2(x.cpu()))
    assert mmaudit.ex2(torch.empty(0, device="cuda")).shape == (0,)
    for call, line in ((lambda: mmaudit.function("expg", x), "did you mean expf"),
                       (lambda: mmaudit.function("divide", x), "allowed: x, result, y for divide"),
                       (lambda: mmaudit.function("divide", x, x.cpu()), r"y: found \[1000\] on cpu")):
        with pytest.raises(ValueError, match=line):
            call()


def test_a_trace_has_the_names_of_kernels(tmp_path):
    net, x = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()).cuda(), torch.randn(8, 64, device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mt.trace(net, x, tmp_path / "a")
    raw = (tmp_path / "a").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    first, last = json.loads(raw[8:8 + size])["trace"]["data_offsets"]
    trace = json.loads(raw[8 + size + first:8 + size + last])
    lack = [one for one in trace["operations"] if trace["texts"][one["operator"]] != "module" and not one.get("kernels")]
    assert not lack and len(trace["operations"]) >= 4


@pytest.mark.skipif(rows._kernel() is None, reason="torch has no Triton")
def test_the_kernel_gives_the_hashes_of_torchs_own_operations():
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, 5, 70000, generator=draw).cuda()
    given = [(x[..., :16].bfloat16(), 2, 5), (x[..., :64].transpose(1, 2), 2, 5), (x[0, 0], 1, 5), (x[0, 0].t(), 0, 0),
             (x[:, ::2, :, ::3], 0, 0), (x[0, 0].half(), 1, 5), (torch.arange(10, device="cuda").view(2, 5), 2, 5), (x[0, 0, 0, 0], 0, 0)]
    pending = [(x, cut(x, batch, tokens), i) for i, (x, batch, tokens) in enumerate(given)]
    (order, by_kernel), = rows.hashed(pending)
    by_torch = torch.zeros_like(by_kernel)
    at = 0
    for one, number in order:
        rows._by_torch(pending[number][0], one, by_torch[at:at + one.length])
        at += one.length
    assert torch.equal(by_kernel[:, 0], by_torch[:, 0])
    norms, expected = (one[:, 1].contiguous().view(torch.float32) for one in (by_kernel, by_torch))
    assert torch.allclose(norms, expected, rtol=1e-4, atol=1e-2)
