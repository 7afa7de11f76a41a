"""What a machine or a file lacks: one line that says what is allowed, operands as they were, no half of a file."""
import ctypes
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.modules import module as global_hooks

import mmaudit.torch as mt
from common import bits, same_bits
from mmaudit.torch import _checked, _cuda, _operator

INST, SPARSE = "wgmma.m64n64k16.f32.bf16.bf16", "mma.sp.m16n8k32.f32.f16.f16.f32"
GPU = torch.device("cuda", 0)


def one_line(error, text):
    """The raised line, which begins with `text`."""
    line = str(error.value)
    assert line.startswith(text) and "\n" not in line and len(line) < 1000, line
    return line


def in_a_new_process(lines, **environment):
    """The last line of the traceback, of a Python in which `lines` run first."""
    done = subprocess.run([sys.executable, "-c", lines], env={**os.environ, **environment}, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1, done.stderr
    return done.stderr.strip().splitlines()[-1]


BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {name!r}:
            raise {error}
sys.meta_path.insert(0, Blocked())
import mmaudit
"""


def test_without_torch():
    missing = BLOCKED.format(name="torch", error='ModuleNotFoundError("No module named \'torch\'", name="torch")')
    assert in_a_new_process(missing + "import mmaudit.torch") == (
        "ImportError: mmaudit.torch: found no torch, allowed: torch 2.6 or newer (pip install torch)")
    subprocess.run([sys.executable, "-c", missing], check=True)  # numpy is enough for the rest
    failing = BLOCKED.format(name="torch", error='ImportError("libcudart.so.13: cannot open\\nshared object file")')
    assert in_a_new_process(failing + "import mmaudit.torch") == (
        "ImportError: mmaudit.torch: found a torch that fails (libcudart.so.13: cannot open shared object file), allowed: "
        "torch 2.6 or newer (pip install torch)")


def test_with_an_old_torch():
    old = "import sys, types; sys.modules['torch'] = types.ModuleType('torch'); sys.modules['torch'].__version__ = '2.5.1+cpu'\n"
    assert in_a_new_process(old + "import mmaudit.torch") == (
        "ImportError: mmaudit.torch: found torch 2.5.1+cpu, allowed: torch 2.6 or newer (pip install torch)")


def test_without_safetensors(tmp_path):
    missing = BLOCKED.format(name="safetensors", error='ModuleNotFoundError("No module named \'safetensors\'")') + (
        "import torch, mmaudit.torch as mt\n")
    out = str(tmp_path / "c.safetensors")
    for call in (f"capture(torch.nn.Linear(8, 8), torch.ones(2, 8), {out!r})", f"capture_checkpoint({out!r}, {out!r})"):
        line = in_a_new_process(missing + f"mt.{call}")
        assert line == (f"ImportError: mmaudit.torch.{call.partition('(')[0]}: found no safetensors, allowed: pip install "
                        "safetensors")
    assert not list(tmp_path.iterdir())


def test_without_the_library_of_gpus(tmp_path, monkeypatch):
    other = tmp_path / "other.so"
    other.write_bytes(Path(os.environ["MMAUDIT_LIBRARY"]).read_bytes())
    (tmp_path / "text.so").write_text("no library")
    allowed = ("), allowed: tensors on the CPU, mmaudit-cuda of the same version, or the library of a build with CUDA, "
               "beside libmmaudit.so or as "
               "$MMAUDIT_CUDA_LIBRARY")
    for name, reason in (("none.so", "cannot open shared object file"), ("text.so", "file too short|invalid ELF header"),
                         ("other.so", "undefined symbol: mmaudit_cuda_last_error")):
        monkeypatch.setenv("MMAUDIT_CUDA_LIBRARY", str(tmp_path / name))
        _cuda._lib.cache_clear()
        with pytest.raises(RuntimeError) as found:
            _cuda._lib()
        line = one_line(found, "a device: found cuda without libmmaudit_cuda.so (")
        assert re.search(reason, line) and line.endswith(allowed)


def test_the_package_of_gpus_is_found(tmp_path, monkeypatch):
    (tmp_path / "mmaudit_cuda").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("MMAUDIT_CUDA_LIBRARY", raising=False)
    assert str(tmp_path / "mmaudit_cuda" / "libmmaudit_cuda.so") in _cuda._candidates()
    monkeypatch.setenv("MMAUDIT_CUDA_LIBRARY", "mine.so")
    assert _cuda._candidates() == ["mine.so"]


class Failing:
    """libmmaudit_cuda.so where the driver or the kernel fails."""

    def __init__(self, status, line):
        self.status, self.line = status, line

    def mmaudit_cuda_last_error(self):
        return self.line

    def __getattr__(self, name):
        return lambda *_: self.status


@pytest.mark.parametrize("status,line,error", [
    (2, b"promote: found 3, allowed: a multiple of 16", ValueError),
    (3, b"cuda: found no driver, allowed: a GPU of NVIDIA", RuntimeError),
    (3, b"", RuntimeError),
])
def test_what_the_library_of_gpus_says_is_raised(status, line, error, monkeypatch):
    monkeypatch.setattr(_cuda, "_lib", lambda: Failing(status, line))
    with pytest.raises(error) as found:
        _cuda._check(status)
    assert one_line(found, line.decode()) != ""
    _cuda._check(0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_torch_says_so():
    with pytest.raises((AssertionError, RuntimeError)) as found:
        mt.matmul(torch.ones(2, 32).cuda(), torch.ones(32, 2), inst=INST)
    one_line(found, "")


def test_what_kernels_can_not_take_is_refused_before_they_are_asked():
    with FakeTensorMode():  # tensors that say they are on a GPU
        a, b = (torch.empty(*shape, dtype=torch.float16, device=GPU) for shape in ((16, 16), (32, 8)))
        with pytest.raises(ValueError) as found:
            mt.matmul(a, b, inst=SPARSE, metadata=torch.empty(16, 4, dtype=torch.uint8, device=GPU))
        assert str(found.value) == (
            f"inst: found the sparse {SPARSE} on cuda:0, allowed: a dense one, or tensors on the CPU")
        path = _operator.find_path("blackwell", "mxf8", "mx-ceil", "plain")
        a, b = (torch.empty(*shape, dtype=torch.float8_e4m3fn, device=GPU) for shape in ((128, 64), (64, 8)))
        scales = [torch.empty(*shape, dtype=torch.uint8, device=GPU) for shape in ((128, 2), (2, 8))]
        how = {"inst": path.inst, "arch": "blackwell", "scale_a": scales[0], "scale_b": scales[1]}
        with pytest.raises(ValueError) as found:
            blocked = {one: torch.empty(512, dtype=torch.uint8, device=GPU) for one in ("scale_a", "scale_b")}
            mt.matmul(a, b, scale_layout="blocked", **{**how, **blocked})
        assert str(found.value) == "scale_layout: found blocked on cuda:0, allowed: rows, or tensors on the CPU"
        assert mt.matmul(a, b, **how).shape == (128, 8)
        with pytest.raises(ValueError) as found:
            mt.matmul(a, b, **{**how, "scale_b": torch.empty(2, 8, dtype=torch.uint8)})
        assert str(found.value) == "scale_b device: found cpu, allowed: cuda:0, where a is"


class Allocator:
    """Stands in for a function of torch that allocates, and fails at one call."""

    def __init__(self, function, fails_at, error):
        self.function, self.left, self.error = function, fails_at, error

    def __call__(self, *args, **how):
        self.left -= 1
        if self.left == 0:
            raise self.error
        return self.function(*args, **how)


MEMORY = torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 1.00 GiB")


def nothing_is_left():
    return not (global_hooks._global_forward_hooks or global_hooks._global_forward_pre_hooks) and (
        torch.utils._python_dispatch._get_current_dispatch_mode() is None) and torch.backends.mha.get_fastpath_enabled()


def test_operands_stay_where_d_finds_no_memory(monkeypatch):
    a, b, c = bits(1, "bf16", 33, 70), bits(2, "bf16", 70, 9), bits(3, "f32", 33, 9)
    before = [one.clone() for one in (a, b, c)]
    with monkeypatch.context() as patch:
        patch.setattr(_operator.torch, "empty", Allocator(torch.empty, 1, MEMORY))
        with pytest.raises(torch.OutOfMemoryError) as found:
            mt.matmul(a, b, c, inst=INST)
    one_line(found, "CUDA out of memory")
    assert all(same_bits(*pair) for pair in zip(before, (a, b, c)))
    mt.matmul(a, b, c, inst=INST)  # and all is well again


def test_operands_stay_where_work_space_finds_no_memory(monkeypatch):
    """The path of a GPU, with a library that asks for work space and never gets to the kernel."""
    class Asking(Failing):
        def mmaudit_cuda_matmul(self, *_):
            raise AssertionError("launched without work space")

    a, b = bits(1, "bf16", 33, 70), bits(2, "bf16", 70, 9)
    before = [one.clone() for one in (a, b)]
    monkeypatch.setattr(_cuda, "_lib", lambda: Asking(0, b""))
    monkeypatch.setattr(torch.cuda, "device", lambda place: torch.no_grad())
    monkeypatch.setattr(_cuda.torch, "empty", Allocator(torch.empty, 1, MEMORY))
    with pytest.raises(torch.OutOfMemoryError) as found:
        _cuda.matmul(_operator._library.Product(), GPU)
    one_line(found, "CUDA out of memory")
    assert all(same_bits(*pair) for pair in zip(before, (a, b)))


@pytest.mark.parametrize("call", [
    lambda a, b: mt.matmul(a, b, inst=INST),
    lambda a, b: mt.matmul(b.t(), a.t(), inst=INST),
    lambda a, b: mt.quantize(a, "e4m3"),
])
def test_a_product_larger_than_the_machine_is_refused_in_one_line(call):
    a = torch.ones(1, 1, dtype=torch.bfloat16).expand(2**27, 2**20)  # two bytes; its copy and D would take 2^48 and more
    with pytest.raises((RuntimeError, MemoryError)) as found:
        call(a, a.t())
    one_line(found, "[enforce fail at" if isinstance(found.value, RuntimeError) else "memory")
    assert float(a[0, 0]) == 1


@pytest.mark.parametrize("fails_at", [1, 2, 3, 5])
def test_a_module_that_runs_out_of_memory_is_as_before(fails_at, monkeypatch, tmp_path):
    net, x = nn.Sequential(nn.Linear(32, 48), nn.BatchNorm1d(48), nn.Linear(48, 16)), torch.randn(8, 32)
    state, given, random = {name: one.clone() for name, one in net.state_dict().items()}, x.clone(), torch.get_rng_state()
    (tmp_path / "c.safetensors").write_text("before")

    def context(*_):
        with mt.emulate(net, "nvfp4"):
            net.eval()(x)
        net.train()

    for call in (context, lambda: mt.compare(net, x, ["bf16", "nvfp4", "fp8-tensor"]), lambda: mt.tighten(net, x, {
            "layers": {"0": "nvfp4", "2": "nvfp4"}, "estimate": {"output_error": 0.1, "limit": 1e-9}})):
        with monkeypatch.context() as patch:
            patch.setattr(_operator, "quantize", Allocator(_operator.quantize, min(fails_at, 4), MEMORY))
            with pytest.raises(torch.OutOfMemoryError) as found:
                call()
        one_line(found, "CUDA out of memory")
        net.train()
    with monkeypatch.context() as patch:
        patch.setattr(mt._capture, "largest_finite", Allocator(_operator.largest_finite, min(fails_at, 4), MEMORY))
        with pytest.raises(torch.OutOfMemoryError):
            mt.capture(net, x, tmp_path / "c.safetensors", gains=True)
    assert all(torch.equal(one, state[name]) for name, one in net.state_dict().items()) and same_bits(x, given)
    assert torch.equal(random, torch.get_rng_state()) and nothing_is_left()
    assert [one.name for one in tmp_path.iterdir()] == ["c.safetensors"]
    assert (tmp_path / "c.safetensors").read_text() == "before"


def half(tensors, file, **how):
    Path(file).write_bytes(b"half")
    raise OSError(28, "No space left on device")


def test_files_are_whole_or_as_before(tmp_path, monkeypatch):
    net, x = nn.Linear(32, 16), torch.randn(4, 32)
    safetensors.torch.save_file({"a.weight": torch.ones(8, 8)}, tmp_path / "w.safetensors")
    (tmp_path / "out").write_text("before")
    (tmp_path / "link").symlink_to("out")
    found = mt.compare(net, x, ["bf16"])
    with monkeypatch.context() as patch:
        patch.setattr(safetensors.torch, "save_file", half)
        patch.setattr(Path, "write_text", lambda self, text, **_: half(text, self))
        for call in (lambda out: mt.capture(net, x, out), lambda out: mt.capture_checkpoint(tmp_path / "w.safetensors", out),
                     lambda out: mt.Plan.of("bf16").write(out)):
            for name in ("out", "new", "link"):
                with pytest.raises(OSError, match="No space left on device"):
                    call(tmp_path / name)
        with pytest.raises(OSError, match="No space left on device"):
            found.write(tmp_path / "c.html")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link", "out", "w.safetensors"]
    assert (tmp_path / "out").read_text() == "before"
    mt.Plan.of("bf16").write(tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and json.loads((tmp_path / "out").read_text())["default"] == "bf16"
    with _checked.written(os.devnull) as file:
        assert file == os.devnull  # a device is written to, never replaced
    for text, bad in (("path: found the folder", tmp_path), ("path: found no folder", tmp_path / "none" / "p.json")):
        with pytest.raises(ValueError) as refused:
            mt.Plan.of("bf16").write(bad)
        one_line(refused, text)


@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.bool, torch.complex64, torch.float8_e5m2fnuz,
                                   torch.float32, torch.int8])
def test_other_dtypes_are_refused_and_stay(dtype):
    a = torch.zeros(4, 32, dtype=dtype)
    before = a.clone()
    for field, x, y in (("a", a, a.t()), ("b", torch.ones(4, 32).bfloat16(), a.t())):
        with pytest.raises(ValueError) as found:
            mt.matmul(x, y, inst=INST)
        one_line(found, f"{field} dtype: found {dtype}, allowed: torch.bfloat16")
    assert same_bits(torch.view_as_real(a) if a.is_complex() else a, torch.view_as_real(before) if a.is_complex() else before)


def sparse(layout):
    return torch.eye(32).bfloat16().to_sparse(layout=layout)


@pytest.mark.parametrize("x", [
    lambda: sparse(torch.sparse_coo), lambda: sparse(torch.sparse_csr), lambda: sparse(torch.sparse_csc),
    lambda: torch.eye(32).bfloat16().to_mkldnn(),
])
def test_other_layouts_are_refused(x):
    try:
        given = x()
    except RuntimeError:
        pytest.skip("this torch has no such layout")
    dense = torch.ones(32, 32).bfloat16()
    for call in (lambda: mt.matmul(given, dense, inst=INST), lambda: mt.matmul(dense, given, inst=INST),
                 lambda: mt.quantize(given, "e4m3"), lambda: mt.matmul(dense, dense, inst=INST, factor_a=given),
                 lambda: mt.matmul(dense, dense, given, inst=INST)):
        with pytest.raises(ValueError) as found:
            call()
        assert "allowed: torch.strided" in one_line(found, "")


def test_ctypes_has_no_say_in_it():
    """In and Out hold addresses: what is freed before the library reads would be another tensor's numbers."""
    a = torch.randn(64, 64).bfloat16()
    expected = mt.matmul(a.t().contiguous(), a, inst=INST)
    for _ in range(20):
        assert same_bits(mt.matmul(a.t(), a, inst=INST), expected)  # the contiguous copy lives long enough
    assert ctypes.sizeof(_operator._library.In) == 16
