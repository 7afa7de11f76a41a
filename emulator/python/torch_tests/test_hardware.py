"""Products by the GPU's own instructions: the switch, refusals, the report, and the check of a sample, of which each part
but the GPU runs on a CPU. The GPU's part: test_cuda.py."""
import copy

import pytest
import torch
from torch import nn

import mmaudit.torch as mt
from common import bits, numbers, same_bits
from mmaudit.torch import _cuda, _hardware, _operator
from mmaudit.torch._hardware import Hardware

INST = "wgmma.m64n8k16.f32.bf16.bf16"
GPU = torch.device("cuda", 0)


class OnGpu(Hardware):
    """As if the tensors lay on a Hopper GPU whose arithmetic is the CPU model's, but for `wrong`, (product, matrix, row,
    column) of D."""

    def __init__(self, switch="auto", share=0.01, wrong=None):
        super().__init__(switch, share)
        self.wrong, self.seen = wrong, 0

    def takes(self, a, b, how, dense):
        return self.switch != "never" and dense

    def sample(self, a, b, c, factor_a, factor_b, d, how):
        if self.wrong is not None and self.wrong[0] == self.seen:
            number = {2: torch.int16, 4: torch.int32}[d.element_size()]
            d.reshape(-1, *d.shape[-2:]).view(number)[self.wrong[1:]] ^= 1
        self.seen += 1
        super().sample(a, b, c, factor_a, factor_b, d, how)


@pytest.fixture
def cpu_is_hardware(monkeypatch):
    """matmul() of the CPU where the hardware is asked for."""
    kept = _operator._matmul
    monkeypatch.setattr(_operator, "_matmul", lambda *given, hardware=False, **how: kept(*given, **how))


@pytest.mark.parametrize("given,line", [
    ({"hardware": "often"}, "hardware: found 'often', allowed: auto, always, never"),
    ({"hardware": True}, "hardware: found a bool, allowed: auto, always, never"),
    ({"check": 1.5}, "check: found 1.5, allowed: from 0 to 1"),
    ({"check": -0.1}, "check: found -0.1, allowed: from 0 to 1"),
    ({"check": float("nan")}, "check: found nan, allowed: from 0 to 1"),
    ({"check": "all"}, "check: found 'all', allowed: a number"),
])
def test_the_switch_and_the_share(given, line):
    with pytest.raises(ValueError) as found:
        mt.emulate(nn.Linear(4, 4), "bf16", **given)
    assert str(found.value) == line


def test_without_a_gpu_auto_and_never_take_the_model_and_always_refuses():
    net, x = nn.Linear(64, 32), torch.randn(5, 64)
    results = []
    for switch in ("auto", "never"):
        with mt.emulate(net, "bf16", hardware=switch) as emulation:
            results.append(net(x))
        row, = emulation.coverage.rows
        assert (row.by, row.checked) == ("model", 0)
        assert "aten.addmm, module (by the model)" in str(emulation.coverage)
        assert emulation.coverage.to_json()["rows"][0]["by"] == "model"
    assert same_bits(*results)
    with pytest.raises(ValueError) as found, mt.emulate(net, "bf16", hardware="always"):
        net(x)
    assert str(found.value) == (
        "hardware: found always with tensors on cpu, allowed: tensors on a GPU, or auto, never")
    assert _hardware.current() is None


def test_what_is_kept_has_no_computer():
    net = nn.Linear(16, 16)
    with mt.emulate(net, {"default": "keep"}) as emulation:
        net(torch.ones(2, 16))
    row, = emulation.coverage.rows
    assert (row.state, row.by, row.checked) == ("kept", "", 0) and "(by" not in str(emulation.coverage)


def test_a_copy_has_the_same_switch():
    emulation = copy.deepcopy(mt.emulate(nn.Linear(4, 4), "bf16", hardware="never", check=0.5))
    assert (emulation.hardware.switch, emulation.hardware.share) == ("never", 0.5)


class Library:
    """libmmaudit_cuda.so that has the hardware do what it is told to."""

    def __init__(self, status, line=b""):
        self.status, self.line, self.asked = status, line, []

    def mmaudit_cuda_last_error(self):
        return self.line

    def __getattr__(self, name):
        return lambda *_: self.asked.append(name) or self.status


@pytest.mark.parametrize("status,line", [(0, b""), (2, b"split_k: found 2 with hardware, allowed: 1")])
def test_the_library_says_what_the_hardware_can_not(status, line, monkeypatch):
    library = Library(status, line)
    monkeypatch.setattr(_cuda, "_lib", lambda: library)
    monkeypatch.setattr(torch.cuda, "device", lambda place: torch.no_grad())
    assert _cuda.why_no_hardware(_operator._library.Product(), GPU) == line.decode()
    library.status = 3
    with pytest.raises(RuntimeError):
        _cuda.why_no_hardware(_operator._library.Product(), GPU)
    assert set(library.asked) == {"mmaudit_cuda_hardware_workspace"}


@pytest.mark.parametrize("hardware", [False, True])
def test_one_function_of_the_library_or_the_other(hardware, monkeypatch):
    library = Library(0)
    monkeypatch.setattr(_cuda, "_lib", lambda: library)
    monkeypatch.setattr(torch.cuda, "device", lambda place: torch.no_grad())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda place: type("Stream", (), {"cuda_stream": 0}))
    monkeypatch.setattr(_cuda.torch, "empty", lambda *size, **how: torch.zeros(1))
    _cuda.matmul(_operator._library.Product(), GPU, hardware)
    middle = "hardware_" if hardware else ""
    assert library.asked == [f"mmaudit_cuda_{middle}workspace", f"mmaudit_cuda_{middle}matmul"]


@pytest.mark.parametrize("draw", [numbers, bits])
@pytest.mark.parametrize("how", [
    {}, {"promote": 64}, {"alpha": 0.5, "beta": 2.0}, {"d_format": "bf16"}, {"rows": 1}, {"blocks": 1}, {"tensor": 1}])
@pytest.mark.parametrize("k,n", [(150, 140), (152, 136)])
def test_every_element_is_checked_once(k, n, how, draw, cpu_is_hardware):
    """Tiles at the edges, batches, C, factors, elements alone and by words: with a share of 1 the model agrees with itself
    everywhere."""
    a, b = draw(1, "bf16", 2, 300, k), draw(2, "bf16", 2, k, n)
    given = {key: one for key, one in how.items() if key in ("promote", "alpha", "beta", "d_format")}
    if "rows" in how:
        given.update(factor_a=torch.rand(2, 300), factor_b=torch.rand(2, n), factor_order="b-first")
    if "blocks" in how:
        given.update(factor_a=torch.rand(2, 300, 3), factor_b=torch.rand(2, n, 3), factor_block=64, promote=64)
    if "tensor" in how:
        given.update(factor_a=torch.rand(1), factor_b=torch.rand(1))
    c = draw(3, "f32", 2, 300, n) if not how or "beta" in how else None
    hardware = OnGpu(share=1)
    with hardware.computing("layer"):
        mt.matmul(a, b, c, inst=INST, **given)
        mt.matmul(a[0], b[0], inst=INST)
    assert hardware.taken() == ("hardware", 2 * 300 * n + 300 * n)
    hardware.check()


@pytest.mark.parametrize("at", [(0, 0, 0, 0), (0, 1, 299, 139), (1, 1, 128, 127), (1, 0, 127, 128)])
@pytest.mark.parametrize("n", [140, 136])
def test_a_difference_is_an_error_that_names_the_element(at, n, cpu_is_hardware):
    a, b = numbers(1, "bf16", 2, 300, 150), numbers(2, "bf16", 2, 150, n)
    at = (*at[:3], min(at[3], n - 1))
    hardware = OnGpu(share=1, wrong=at)
    with hardware.computing("blocks.3.up"):
        d = [mt.matmul(a, b, inst=INST, promote=64) for _ in range(2)][at[0]]
    found = d.view(torch.int32)[at[1:]].item() & 0xFFFFFFFF
    with pytest.raises(RuntimeError) as error:
        hardware.check()
    _, matrix, row, column = at
    top, left = row // 128 * 128, column // 128 * 128
    line = str(error.value)
    assert line.startswith(f"hardware in layer 'blocks.3.up': found D 0x{found:08x} at matrix {matrix}, row {row}, "
                           f"column {column} (tile of rows {top} to {min(top + 127, 299)}, columns {left} to "
                           f"{min(left + 127, n - 1)}; 1 element differs; K 150, {INST}, promote 64)")
    assert line.endswith(f"allowed: 0x{found ^ 1:08x}, as the model has it")
    hardware.check()  # which has nothing to compare any more


def test_a_module_by_the_hardware(cpu_is_hardware):
    net = nn.Sequential(nn.Linear(160, 300), nn.GELU(), nn.Linear(300, 140))
    x = torch.randn(200, 160)
    for recipe in ("bf16", "fp8-tensor-promoted", "fp8-1x128", "fp8-row-torchao"):
        with mt.emulate(net, recipe, hardware="never") as never:
            expected = net(x)
        assert {row.by for row in never.coverage.rows} == {"model"}
        emulation = mt.emulate(net, recipe)
        emulation.hardware = OnGpu()
        with emulation:
            assert same_bits(net(x), expected)
        assert [(row.layer, row.by) for row in emulation.coverage.rows] == [("0", "hardware"), ("2", "hardware")]
        assert all(0 < row.checked <= 128 * 128 for row in emulation.coverage.rows)  # a tile of each
        assert f"0 (by the hardware) ({emulation.coverage.rows[0].checked:,} elements checked by the model)" in str(
            emulation.coverage)


def test_a_difference_ends_emulate(cpu_is_hardware):
    net = nn.Linear(100, 120)
    emulation = mt.emulate(net, "fp8-tensor")
    emulation.hardware = OnGpu(wrong=(0, 0, 3, 5))
    with pytest.raises(RuntimeError, match="at matrix 0, row 3, column 5 .*wgmma.m64n8k32.f32.e4m3.e4m3"), emulation:
        net(torch.randn(20, 100))
    assert torch.utils._python_dispatch._get_current_dispatch_mode() is None
    emulation = mt.emulate(net, "fp8-tensor", check=0)
    emulation.hardware = OnGpu(share=0, wrong=(0, 0, 3, 5))
    with emulation:  # nothing is checked, as asked
        net(torch.randn(20, 100))
    row, = emulation.coverage.rows
    assert (row.by, row.checked) == ("hardware", 0)


def test_an_error_inside_is_not_hidden_by_the_check(cpu_is_hardware):
    net = nn.Linear(100, 120)
    emulation = mt.emulate(net, "fp8-tensor")
    emulation.hardware = OnGpu(wrong=(0, 0, 3, 5))
    with pytest.raises(ZeroDivisionError), emulation:
        net(torch.randn(20, 100))
        raise ZeroDivisionError
    emulation.hardware.check()  # it is forgotten


def test_many_tiles_are_checked_before_memory_is_full(cpu_is_hardware, monkeypatch):
    monkeypatch.setattr(_hardware, "MOST_BYTES", 1000)
    hardware = OnGpu(share=1, wrong=(0, 0, 1, 1))
    with hardware.computing(""), pytest.raises(RuntimeError):
        mt.matmul(numbers(1, "bf16", 40, 64), numbers(2, "bf16", 64, 40), inst=INST)
