"""Traces of what trainers and samplers do beside a plain call: inference_mode(), experts without tokens, tensors of other kinds."""
import errno
import os
import re
import warnings

import pytest
import torch
from torch import nn

import mmaudit.torch as mt


@pytest.fixture
def net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8)).eval()


@pytest.fixture
def x():
    torch.manual_seed(4)
    return torch.randn(3, 8)


def both(run_a, run_b, tmp_path, **options):
    a, b = tmp_path / "a.trace", tmp_path / "b.trace"
    run_a(a)
    run_b(b)
    return mt.trace_diff(a, b, **options)


def test_a_sampler_in_inference_mode_runs_what_a_trainer_runs(net, x, tmp_path):
    def run(path):
        return mt.trace(net, x, path).operations

    def sampled(path):
        with torch.inference_mode():
            assert mt.trace(net, x, path).operations == trained

    trained = run(tmp_path / "first.trace")
    found = both(run, sampled, tmp_path)
    assert found.same and found["operations"] == 3 and found["only_b"] == 0

    def loses(path):
        with torch.no_grad():
            net[2].weight[0, 1] += 0.25
        sampled(path)

    found = both(run, loses, tmp_path)
    assert (found.first["tensor"], found.first["cause"], len(found["findings"])) == ("2.weight", "tensor", 1)


def test_an_emulation_in_inference_mode_has_the_bits_of_one_outside(net, x, tmp_path):
    def run(path):
        with mt.emulate(net, mt.Recipe(arch="h100", dtype="bf16", scaling="none")):
            mt.trace(net, x, path)

    def sampled(path):
        with torch.inference_mode():
            run(path)

    found = both(run, sampled, tmp_path)
    assert found.same and found["operations"] == 3


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):  # the last one has no token
            rows = (torch.arange(len(x)) % 2 == number).nonzero()[:, 0]
            out[rows] = expert(x[rows])
        return out


def test_an_expert_without_tokens(x, tmp_path):
    model = Experts()

    def other(path):
        with torch.no_grad():
            model.experts[1].weight += 1
        mt.trace(model, x, path, "*")

    found = both(lambda path: mt.trace(model, x, path, "*"), other, tmp_path)
    assert found.first["tensor"] == "experts.1.weight" and found.first["cause"] == "tensor"


class Does(nn.Module):
    def __init__(self, what):
        super().__init__()
        self.layer, self.what = nn.Linear(8, 8), what

    def forward(self, x):
        return self.what(self.layer, x)


KINDS = {
    "vmap": lambda layer, x: torch.func.vmap(layer)(x),
    "grad": lambda layer, x: torch.func.grad(lambda each: layer(each).sum())(x),
    "jagged": lambda layer, x: layer(torch.nested.nested_tensor([x[:1], x[1:]], layout=torch.jagged)).values(),
    "nested": lambda layer, x: layer(torch.nested.nested_tensor([x[:1], x[1:]])).unbind()[1],
    "empty": lambda layer, x: layer(x[:0]),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "mode"), [(name, mode) for name in KINDS for mode in (torch.no_grad, torch.inference_mode)
                                            if (name, mode) != ("grad", torch.inference_mode)])  # which has no gradient
def test_tensors_of_other_kinds(name, mode, x, tmp_path):
    model = Does(KINDS[name])

    def run(path):
        with mode():
            mt.trace(model, x, path, "*")

    found = both(run, run, tmp_path)
    assert found.same and found["operations"]


@pytest.mark.filterwarnings("ignore")
def test_a_nested_batch_and_a_meta_module(x, tmp_path):
    nested = torch.nested.nested_tensor([x[:1], x[1:]])
    layer = nn.Linear(8, 8)
    assert both(*2 * [lambda path: mt.trace(layer, nested, path, "*")], tmp_path).same
    meta = nn.Linear(8, 8, device="meta")
    assert both(*2 * [lambda path: mt.trace(meta, x.to("meta"), path, "*")], tmp_path).same


@pytest.mark.filterwarnings("ignore")
def test_packed_weights_are_not_blamed(net, x, tmp_path):
    packed = [torch.ao.quantization.quantize_dynamic(one, {nn.Linear}, dtype=torch.qint8)
              for one in (net, nn.Sequential(*net[:2], nn.Linear(8, 8)))]
    found = both(*(lambda path, one=one: mt.trace(one, x, path) for one in packed), tmp_path)
    assert "non-determinism" not in {one["cause"] for one in found["findings"]}


def test_arguments_are_refused_in_one_line(net, x, tmp_path):
    path = tmp_path / "a.trace"
    mt.trace(net, x, path)
    for call, line in ((lambda: mt.trace(net, x, 3), "path: found a int, allowed: a path"),
                       (lambda: mt.trace_diff(path, 3), "b: found a int, allowed: a path"),
                       (lambda: mt.trace_diff(None, path), "a: found a NoneType, allowed: a path"),
                       (lambda: mt.trace_diff(path, path, names=3), "names: found a int, allowed: beginnings of names"),
                       (lambda: mt.trace_diff(path, path, rows="0:9=0:9"), "rows: found 0:9=0:9, allowed: tokens that both traces have")):
        with pytest.raises(ValueError, match="^" + re.escape(line)):
            call()
    assert mt.trace_diff(path, path, rows="0:2=0:2")["tokens"] == 2  # one text is one map, not letters


@pytest.mark.filterwarnings("ignore")
def test_a_scripted_module_is_refused(net, x, tmp_path):
    with pytest.raises(ValueError, match=r"^module: found one of torch\.jit\.script\(\), allowed: one that takes hooks"):
        mt.trace(torch.jit.script(net), x, tmp_path / "a.trace")


def test_the_file_is_where_it_was_asked_for(net, x, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    with mt.tracing(net, "a.trace"):
        net(x)
        os.chdir("elsewhere")
    assert (tmp_path / "a.trace").is_file() and not list((tmp_path / "elsewhere").iterdir())


def test_a_module_without_a_call_is_said(net, x, tmp_path):
    net.compile(backend="eager")
    with pytest.warns(UserWarning, match="found no call of the module .*compiled in place"):
        mt.trace(net, x, tmp_path / "a.trace")


def test_a_full_disk_says_which_file(net, x, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    with warnings.catch_warnings(), pytest.raises(OSError, match="No space left on device: .*a.trace"):
        mt.trace(net, x, tmp_path / "a.trace")
    assert not list(tmp_path.iterdir())
