"""Schemes of slices against a second computation, and what they refuse.

MMAUDIT_SLICES_ELEMENTS: elements of D per scheme; docs/results/slices.md has 10^7.
"""
import os

import numpy as np
import pytest

import mmaudit

from . import slices_exact as exact

ELEMENTS = int(float(os.environ.get("MMAUDIT_SLICES_ELEMENTS", "20000")))
ROUNDS = {"tf32x3": 32, "bf16x3": 32, "bf16x6": 32, "bf16x9": 16, "3xtf32": 8}


def sizes_of(kinds):
    """Sizes of products of every kind that have ELEMENTS elements together."""
    edge = min(256, max(16, int((ELEMENTS / len(kinds)) ** 0.5)))
    return max(1, ELEMENTS // (len(kinds) * edge * edge)), edge


@pytest.mark.parametrize("scheme", ROUNDS)
def test_parts_of_binary32(scheme):
    times, edge = sizes_of(exact.KINDS)
    for kind in exact.KINDS:
        for seed in range(times):
            k = (40, 71, 32)[seed % 3]
            a, b = (exact.operand(kind, *shape, 2 * seed + side, side == 1) for side, shape in ((0, (edge, k)), (1, (k, edge))))
            d = mmaudit.matmul(a, b, scheme=scheme)
            expected = exact.product(a, b, scheme, ROUNDS[scheme])
            assert np.array_equal(d.view(np.uint32), expected.view(np.uint32)), (kind, seed)


@pytest.mark.parametrize("slices", [1, 4, 8, 18])
def test_digits_of_binary64(slices):
    times, edge = sizes_of(exact.KINDS)
    times = max(1, times // 4)
    for kind in exact.KINDS:
        for seed in range(times):
            k = (24, 33)[seed % 2]
            a, b = (exact.operand(kind, *shape, 2 * seed + side, side == 1, np.float64)
                    for side, shape in ((0, (edge, k)), (1, (k, edge))))
            d = mmaudit.matmul(a, b, scheme=f"ozaki1:{slices}")
            assert np.array_equal(d.view(np.uint64), exact.ozaki(a, b, slices).view(np.uint64)), (kind, seed)


def test_other_rounds_and_instructions_give_other_bits():
    a, b = exact.operand("uniform", 32, 64, 1, False), exact.operand("uniform", 64, 32, 2, True)
    usual = mmaudit.matmul(a, b, scheme="bf16x3")
    other = mmaudit.matmul(a, b, scheme="bf16x3", promote=64)
    assert not np.array_equal(usual, other)
    assert np.array_equal(other, exact.product(a, b, "bf16x3", 64))
    assert np.array_equal(mmaudit.matmul(a, b, scheme="bf16x3", inst="mma.m16n8k16.f32.bf16.bf16.f32"), usual)


def test_auto_takes_the_slices_that_lose_no_bit():
    a = np.array([[1.0, 2.0**-30]])
    b = np.array([[1.0], [1.0]])
    for slices in (11, 12, 13):  # 53 bits behind 30 others: 12 slices of 7 bits
        expected = mmaudit.matmul(a, b, scheme=f"ozaki1:{slices}")
        same = np.array_equal(mmaudit.matmul(a + 0, b, scheme="ozaki1:auto"), expected)
        assert same
    with pytest.raises(ValueError, match="needs 22 slices, allowed: up to 18"):
        mmaudit.matmul(np.array([[1.0, 2.0**-100]]), b, scheme="ozaki1:auto")


def test_batches_and_leading_dimensions():
    a, b = exact.operand("uniform", 6, 20, 1, False, np.float64), exact.operand("uniform", 20, 5, 2, True, np.float64)
    together = mmaudit.matmul(np.stack([a, 2 * a]), np.stack([b, b]), scheme="ozaki1:6")
    assert np.array_equal(together[0], mmaudit.matmul(a, b, scheme="ozaki1:6"))
    assert np.array_equal(together[1], mmaudit.matmul(2 * a, b, scheme="ozaki1:6"))
    assert mmaudit.matmul(np.stack([a, a]), b, scheme="ozaki1:2").shape == (2, 6, 5)


@pytest.mark.parametrize(("words", "message"), [
    ({"scheme": "bf16x4"}, "scheme: found bf16x4, allowed: tf32x3"),
    ({"scheme": "ozaki1"}, "scheme: found ozaki1, allowed: .*ozaki1:1 to ozaki1:18, ozaki1:auto"),
    ({"scheme": "ozaki1:19"}, "scheme: found ozaki1:19"),
    ({"scheme": "ozaki1:4"}, "a: found 2048 bytes, allowed: 4096 bytes"),
    ({"scheme": "bf16x3", "promote": 24}, "promote: found 24, allowed: a multiple of k = 16"),
    ({"scheme": "3xtf32", "promote": 32}, "promote: found 32, allowed: 0 with 3xtf32"),
    ({"scheme": "bf16x3", "split_k": 2}, "split_k: found 2 with a scheme"),
    ({"scheme": "bf16x3", "alpha": 2.0}, "alpha: found some with a scheme, allowed: none"),
    ({"scheme": "bf16x3", "inst": "mma.m16n8k8.f32.tf32.tf32.f32"}, "inst: found mma.m16n8k8.f32.tf32.tf32.f32, allowed: .* bf16"),
    ({"scheme": "bf16x3", "arch": "volta"}, "arch: found volta with bf16x3, allowed: one with an instruction of bf16"),
    ({}, "inst: found none, allowed: an instruction, or a scheme"),
])
def test_refusals(words, message):
    a = np.ones((16, 32), np.float32)
    with pytest.raises(ValueError, match=message):
        mmaudit.matmul(a, a.T.copy(), **words)
