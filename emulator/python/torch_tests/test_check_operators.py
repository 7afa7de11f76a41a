"""check_operators(): torch's own products and attentions, with faults planted between it and torch."""
import pytest
import torch

import mmaudit.torch as mt
from mmaudit.torch import _check_operators


def test_torch_on_a_cpu_is_right():
    found = mt.check_operators("cpu", count=4)
    assert found, str(found)
    assert {"mm bf16", "addmm f32", "bmm f16", "_int_mm s8", "attention, math f32"} <= set(found.found)
    assert all(name.startswith("attention") for name in found.refused), found.refused  # kernels of a GPU


def test_an_operator_that_is_wrong_is_named(monkeypatch):
    rows = [one._replace(function=lambda a, b: torch.mm(a[:, :-1], b[:-1])) if one.name == "mm" else one for one in mt.OPERATORS]
    monkeypatch.setattr(_check_operators, "OPERATORS", tuple(rows))
    found = mt.check_operators("cpu", names=["mm", "bmm"], count=4)
    assert not found
    assert "wrong: mm bf16, mm f16, mm f32" in str(found)
    assert "the last element of K is in no sum" in str(found)


def test_nothing_is_no_pass():
    assert not mt.check_operators("cpu", names=["attention, cuDNN"], count=1)
    with pytest.raises(ValueError, match="^names: found mn, allowed: mm, "):
        mt.check_operators("cpu", names=["mn"])
