"""check_operators(): torch's own products and attentions, with faults planted between it and torch."""
import pytest
import torch

import mmaudit.torch as mt
from mmaudit.torch import _check_operators


def test_torch_on_a_cpu_is_right():
    found = mt.check_operators("cpu", count=4)
    assert found, str(found)
    assert {"mm bf16", "addmm f32", "bmm f16", "_int_mm s8", "attention, math f32"} <= set(found.found)
    # Kernels of a GPU; an older torch has no rows' scales on a CPU. What is refused is said.
    assert all(name.startswith(("attention", "_scaled_mm row-wise")) for name in found.refused), found.refused
    assert all(f"  {name}: refused: {why}" in str(found) and why for name, why in found.refused.items())


def test_what_torch_refuses_is_no_fault(monkeypatch):
    def refuses(a, b):
        raise RuntimeError("(scale_a.numel() == 1 && scale_b.numel() == 1) INTERNAL ASSERT FAILED\nmore")

    rows = [one._replace(function=refuses) if one.name == "mm" else one for one in mt.OPERATORS]
    monkeypatch.setattr(_check_operators, "OPERATORS", tuple(rows))
    found = mt.check_operators("cpu", names=["mm", "bmm"], count=2)
    assert found and set(found.refused) == {"mm bf16", "mm f16", "mm f32"}
    assert "  mm f16: refused: (scale_a.numel() == 1 && scale_b.numel() == 1) INTERNAL ASSERT FAILED\n" in str(found)
    assert not mt.check_operators("cpu", names=["mm"], count=2)


def test_an_operator_that_is_wrong_is_named(monkeypatch):
    rows = [one._replace(function=lambda a, b: torch.mm(a[:, :-1], b[:-1])) if one.name == "mm" else one for one in mt.OPERATORS]
    monkeypatch.setattr(_check_operators, "OPERATORS", tuple(rows))
    found = mt.check_operators("cpu", names=["mm", "bmm"], count=4)
    assert not found
    assert "wrong: mm bf16, mm f16, mm f32" in str(found)
    assert "the last element of K is in no sum" in str(found)


def planted(monkeypatch, raises, wrong=False):
    """mm that answers three calls and then raises."""
    calls = []

    def mm(a, b):
        calls.append(1)
        if len(calls) > 3 * 9:  # nine runs of a product that is right, NaN's among them
            raise RuntimeError(raises)
        return torch.mm(a[:, :-1], b[:-1]) if wrong else torch.mm(a, b)

    row = _check_operators.Operator("mm", mm, ("f32",))
    monkeypatch.setattr(_check_operators, "OPERATORS", (row, *[one for one in mt.OPERATORS if one.name == "bmm"]))
    return mt.check_operators("cpu", names=["mm", "bmm"], count=6)


def test_a_refusal_hides_no_fault(monkeypatch):
    found = planted(monkeypatch, "only sizes of 16", wrong=True)
    assert not found and "wrong: mm f32" in str(found) and "the last element of K is in no sum" in str(found)
    found = planted(monkeypatch, "only sizes of 16")
    assert found and "refused 3 times: only sizes of 16" in str(found)


def test_a_device_that_fails_is_no_refusal(monkeypatch):
    for said in ("CUDA error: an illegal memory access was encountered", "Triton Error [CUDA]: unspecified launch failure"):
        found = planted(monkeypatch, said + "\nmore")
        assert not found and f"  mm f32: failed: {said}\n" in str(found) and str(found).endswith("wrong: mm f32")


def test_nothing_is_no_pass():
    with pytest.raises(ValueError, match="^names: found none, allowed: mm, "):
        mt.check_operators("cpu", names=[], budget="60s")
    assert not mt.check_operators("cpu", names=["attention, cuDNN"], count=1)
    with pytest.raises(ValueError, match="^names: found mn, allowed: mm, "):
        mt.check_operators("cpu", names=["mn"])
