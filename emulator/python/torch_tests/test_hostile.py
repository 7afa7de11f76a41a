"""What users do that no documentation told them to: each is refused in one line, or does what it says."""
import copy
import io
import pickle
import re
import warnings

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.modules import module as global_hooks

import mmaudit.torch as mt
from common import same_bits

INST = "wgmma.m64n64k16.f32.bf16.bf16"
A, B = torch.ones(3, 32, dtype=torch.bfloat16), torch.ones(32, 4, dtype=torch.bfloat16)


def layer_and_input():
    return nn.Linear(32, 16), torch.randn(4, 32)


def nothing_is_left():
    return not (global_hooks._global_forward_hooks or global_hooks._global_forward_pre_hooks) and (
        torch.utils._python_dispatch._get_current_dispatch_mode() is None) and torch.backends.mha.get_fastpath_enabled()


def refused(line, call, error=ValueError):
    with pytest.raises(error, match="^" + re.escape(line)) as found:
        call()
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("line,how", [
    ("a: found a list, allowed: a tensor of torch", {"a": [[1.0]]}),
    ("b: found a ndarray, allowed: a tensor of torch", {"b": B.float().numpy()}),
    ("a: found a NoneType, allowed: a tensor", {"a": None}),
    ("a layout: found a nested tensor", {"a": torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])}),
    ("inst: found a NoneType, allowed: a str", {"inst": None}),
    ("arch: found a int, allowed: a str", {"arch": 9}),
    ("d_format: found a int, allowed: a str", {"d_format": 16}),
    ("promote: found 1.5, allowed: a whole number from 0", {"promote": 1.5}),
    ("promote: found '128', allowed: a whole number", {"promote": "128"}),
    ("split_k: found 0, allowed: a whole number from 1", {"split_k": 0}),
    ("alpha: found 'x', allowed: a number", {"alpha": "x"}),
    ("beta: found tensor([1., 1.]), allowed: a number", {"beta": torch.ones(2)}),
    ("factor_a: found '2', allowed: a number", {"factor_a": "2"}),
])
def test_operands_of_other_kinds(line, how):
    given = {"a": A, "b": B, "inst": INST, **how}
    refused(line, lambda: mt.matmul(given.pop("a"), given.pop("b"), **given))


@pytest.mark.parametrize("line,x,how", [
    ("x: found a list", [1.0], {}),
    ("of_b: found a str, allowed: true, false", A, {"of_b": "yes"}),
    ("scaling: found a int, allowed: a str", A, {"scaling": 3}),
    ("tensor_largest: found a float, allowed: a tensor", A, {"tensor_largest": 3.0}),
    ("tensor_largest: found with scaling row, allowed: with a factor per tensor", A,
     {"tensor_largest": torch.ones(()), "scaling": "row"}),
])
def test_what_is_no_operand_to_quantize(line, x, how):
    refused(line, lambda: mt.quantize(x, "e4m3", **how))


def test_shapes_are_checked_without_numbers_too():
    a, b = A.to("meta"), B.to("meta")
    assert mt.matmul(a, b, inst=INST).shape == (3, 4)
    refused("b shape: found [31, 4], allowed: 32 rows", lambda: mt.matmul(a, b[1:], inst=INST))
    refused("a dtype: found torch.float32", lambda: mt.matmul(a.float(), b, inst=INST))
    refused("b device: found cpu, allowed: meta", lambda: mt.matmul(a, B, inst=INST))
    with torch.device("meta"):
        net, x = layer_and_input()
    refused("module: found an output on the device meta", lambda: mt.compare(net, x, ["bf16"]))
    refused("module: found operands on the device meta", lambda: mt.capture(net, x, "never.safetensors"))


def test_views_that_negate_and_conjugate_are_numbers():
    x = torch.randn(4, 32)
    assert same_bits(mt.quantize(torch._neg_view(x), "e4m3").elements, mt.quantize(-x, "e4m3").elements)
    assert same_bits(mt.matmul(torch._neg_view(A), B, inst=INST), mt.matmul(-A, B, inst=INST))


@pytest.mark.parametrize("call", [mt.emulate, lambda net, plan: mt.compare(net, A, [plan]),
                                  lambda net, _: mt.capture(net, A, "never.safetensors")])
def test_what_is_no_module(call):
    refused("module: found a function, allowed: an nn.Module of torch", lambda: call(lambda x: x, "bf16"))
    refused("module: found a NoneType, allowed: an nn.Module of torch", lambda: call(None, "bf16"))


def test_lazy_modules_are_called_first():
    net, x = nn.Sequential(nn.LazyLinear(8)), torch.randn(4, 32)
    refused("module: found lazy parameters", lambda: mt.emulate(net, "bf16"))
    net(x)
    with mt.emulate(net, "bf16") as emulation:
        net(x)
    assert emulation.products["emulated"] == 1


def test_contexts_are_left_once_and_in_order():
    net, x = layer_and_input()
    outer, inner = mt.emulate(net, "nvfp4"), mt.emulate(net, "bf16")
    refused("emulate: found an Emulation that is not entered", lambda: outer.__exit__(None, None, None), RuntimeError)
    outer.__enter__()
    inner.__enter__()
    refused("emulate: found another mode that was entered later", lambda: outer.__exit__(None, None, None), RuntimeError)
    inner.__exit__(None, None, None)
    net(x)
    outer.__exit__(None, None, None)
    assert (outer.products["emulated"], inner.products["emulated"]) == (1, 0) and nothing_is_left()
    refused("emulate: found an Emulation that is not entered", lambda: outer.__exit__(None, None, None), RuntimeError)


def test_modules_are_copied_pickled_and_saved_inside():
    net, x = layer_and_input()
    with mt.emulate(net, "nvfp4") as emulation:
        emulated, copied, pickled = net(x), copy.deepcopy(net), pickle.loads(pickle.dumps(net))
        file = io.BytesIO()
        torch.save(net, file)
        assert same_bits(copied(x), emulated) and same_bits(net(x), emulated)
    file.seek(0)
    for one in (net, copied, pickled, torch.load(file, weights_only=False)):
        assert same_bits(one(x), net(x)) and not (one._forward_hooks or one._forward_pre_hooks)
        assert list(one.state_dict()) == ["weight", "bias"]
    assert emulation.products["emulated"] == 3 and nothing_is_left()


def test_an_emulation_is_copied_with_its_module():
    net, x = layer_and_input()
    emulation = mt.emulate(net, {"default": "fp8-1x128", "keep_first_last": True})
    with emulation:
        net(x)
    for one in (copy.deepcopy(emulation), pickle.loads(pickle.dumps(emulation))):
        assert one.products == {"emulated": 0, "kept": 0} and one.module is not net
        with one:
            one.module(x)
        assert one.products == {"emulated": 0, "kept": 1}
    assert emulation.products == {"emulated": 0, "kept": 1}


def test_an_error_that_is_caught_inside_leaves_names_right():
    class Failing(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(32, 32)

        def forward(self, x):
            raise KeyError(float(self.layer(x).sum()))

    net, x, seen = nn.Sequential(Failing(), nn.Linear(32, 8)), torch.randn(4, 32), []
    with mt.emulate(net, "bf16", watch=seen.append):
        for _ in range(2):
            with pytest.raises(KeyError):
                net(x)
        net[1](x)
    assert [one.site.layer for one in seen] == ["0.layer", "0.layer", "1"] and nothing_is_left()


def test_the_state_of_module_and_random_numbers_stays(tmp_path):
    net, x = nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16), nn.Dropout(0.5)), torch.randn(4, 32)
    before, random = copy.deepcopy(net.state_dict()), torch.get_rng_state()
    mt.compare(net, x, ["bf16"])
    mt.capture(net, x, tmp_path / "c.safetensors", gains=True)
    assert all(torch.equal(one, before[name]) for name, one in net.state_dict().items())
    assert torch.equal(torch.get_rng_state(), random)


@pytest.mark.parametrize("line,how", [
    ("seed: found 'x', allowed: a whole number", {"seed": "x"}),
    ("loss: found a str, allowed: a function", {"loss": "cross entropy"}),
    ("loss: found None, allowed: a number", {"loss": lambda y: None}),
    ("plans name: found a int, allowed: a str", {"plans": {3: "bf16"}}),
])
def test_what_compare_can_not_take(line, how):
    net, x = layer_and_input()
    plans = how.pop("plans", ["bf16"])
    refused(line, lambda: mt.compare(net, x, plans, **how))


def test_files_are_tried_before_the_work(tmp_path):
    net, x = layer_and_input()
    save_file({"a.weight": torch.ones(8, 8)}, tmp_path / "w.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"x" * 100)
    calls = [lambda out: mt.capture(net, x, out),
             lambda out: mt.capture_checkpoint(tmp_path / "w.safetensors", out)]
    for call in calls:
        refused("out: found the folder", lambda call=call: call(tmp_path))
        refused("out: found no folder", lambda call=call: call(tmp_path / "none" / "c.safetensors"))
        refused("out: found a NoneType, allowed: a path", lambda call=call: call(None))
    refused("out: found '", lambda: mt.capture_checkpoint(tmp_path / "w.safetensors", tmp_path / "w.safetensors"))
    refused("checkpoint: found no safetensors in", lambda: mt.capture_checkpoint(tmp_path / "bad.safetensors",
                                                                              tmp_path / "o.out"))
    refused("activations: found a int", lambda: mt.capture_checkpoint(tmp_path / "w.safetensors", tmp_path / "o.out",
                                                                     activations=3))


def test_scripted_modules_have_no_errors_of_layers():
    net, x = layer_and_input()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = nn.Sequential(net, torch.jit.trace(nn.Sequential(nn.Linear(16, 16)), torch.randn(4, 16)))
    found = mt.compare(net, x, ["nvfp4"])
    assert found["plans"]["nvfp4"]["products"]["emulated"] == 2 and found["plans"]["nvfp4"]["layers"]["0"] > 0
    assert not any(one._forward_hooks for one in net.modules() if not isinstance(one, torch.jit.ScriptModule))


def test_what_watches_is_a_function():
    refused("watch: found a int, allowed: a function", lambda: mt.emulate(nn.Linear(8, 8), "bf16", watch=3))


def test_complex_outputs_are_refused():
    class Fourier(nn.Linear):
        def forward(self, x):
            return torch.fft.fft(super().forward(x))

    refused("module: found an output of torch.complex64, allowed: real numbers",
            lambda: mt.compare(Fourier(32, 16), torch.randn(4, 32), ["nvfp4"]))


def test_scaled_mm_says_what_d_it_has():
    class Scaled(nn.Module):
        def forward(self, a, b):
            return torch._scaled_mm(a, b, scale_a=torch.tensor(1.0), scale_b=torch.tensor(1.0))

    a, b = torch.ones(16, 32).to(torch.float8_e4m3fn), torch.ones(16, 32).to(torch.float8_e4m3fn).t()
    net = Scaled()
    with mt.emulate(net, "fp8-tensor"):
        refused("torch._scaled_mm: found D in torch.float8_e4m3fn, allowed", lambda: net(a, b))


@pytest.mark.parametrize("wrap", [lambda y: {"loss": 0.5, "logits": y}, lambda y: {"last": y, "first": y + 1},
                                  lambda y: (y, None)])
def test_outputs_in_mappings_and_tuples(wrap):
    class Wrapped(nn.Linear):
        def forward(self, x):
            return wrap(super().forward(x))

    net, x = Wrapped(32, 16), torch.randn(4, 32)
    assert 0 < mt.compare(net, x, ["nvfp4"])["plans"]["nvfp4"]["relative_error"] < 1


@pytest.mark.parametrize("output", [{}, (), None, "text", {"logits": "text"}])
def test_outputs_without_a_tensor(output):
    class Wrapped(nn.Linear):
        def forward(self, x):
            super().forward(x)
            return output

    refused("module: found an output of ", lambda: mt.compare(Wrapped(32, 16), torch.randn(4, 32), ["nvfp4"]))


def test_modules_made_in_inference_mode(tmp_path):
    with torch.inference_mode():
        net, x = nn.Sequential(nn.Linear(32, 16), nn.BatchNorm1d(16)).eval(), torch.randn(4, 32)
    mt.capture(net, x, tmp_path / "c.safetensors", gains=True)
    assert mt.compare(net, x, ["nvfp4"])["plans"]["nvfp4"]["products"]["emulated"] == 1


@pytest.mark.parametrize("dtype,device", [(torch.bfloat16, "cpu"), (torch.float64, "cpu"), (torch.float32, "meta")])
def test_defaults_of_torch_have_no_say_in_files(dtype, device, tmp_path):
    net, x = layer_and_input()
    save_file({"a.weight": torch.randn(8, 40)}, tmp_path / "w.safetensors")

    def files():
        mt.capture(net, x, tmp_path / "c.safetensors", gains=True, rows=2, columns=3)
        out = [load_file(tmp_path / "c.safetensors")]
        for drawn in ("normal", "uniform", "student:5", "outliers:2:30"):
            mt.capture_checkpoint(tmp_path / "w.safetensors", tmp_path / "k.safetensors", activations=drawn, columns=4)
            out.append(load_file(tmp_path / "k.safetensors"))
        return out, mt.compare(net, x, ["nvfp4", "fp8-delayed"])

    (expected, compared), before = files(), torch.get_default_dtype()
    try:
        torch.set_default_dtype(dtype)
        with torch.device(device):
            found, again = files()
    finally:
        torch.set_default_dtype(before)
    assert again == compared
    for one, other in zip(found, expected):
        assert set(one) == set(other) and all(one[name].dtype == other[name].dtype and same_bits(one[name], other[name])
                                              for name in other)
