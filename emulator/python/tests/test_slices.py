"""Schemes of slices against a second computation, and what they refuse.

MMAUDIT_SLICES_ELEMENTS: elements of D per scheme; docs/results/slices.md has 10^7.
"""
import os
import unittest

import numpy as np

import mmaudit

from . import slices_exact as exact

ELEMENTS = int(float(os.environ.get("MMAUDIT_SLICES_ELEMENTS", "20000")))
ROUNDS = {"tf32x3": 32, "bf16x3": 32, "bf16x6": 32, "bf16x9": 16, "3xtf32": 8}


def sizes_of(kinds):
    """Sizes of products of every kind that have ELEMENTS elements together."""
    edge = min(256, max(16, int((ELEMENTS / len(kinds)) ** 0.5)))
    return max(1, ELEMENTS // (len(kinds) * edge * edge)), edge


class Slices(unittest.TestCase):
    def test_parts_of_binary32(self):
        times, edge = sizes_of(exact.KINDS)
        for scheme, round_of_k in ROUNDS.items():
            for kind in exact.KINDS:
                for seed in range(times):
                    k = (40, 71, 32)[seed % 3]
                    a = exact.operand(kind, edge, k, 2 * seed, False)
                    b = exact.operand(kind, k, edge, 2 * seed + 1, True)
                    d, expected = mmaudit.matmul(a, b, scheme=scheme), exact.product(a, b, scheme, round_of_k)
                    self.assertTrue(np.array_equal(d.view(np.uint32), expected.view(np.uint32)), (scheme, kind, seed))

    def test_digits_of_binary64(self):
        times, edge = sizes_of(exact.KINDS)
        for slices in (1, 4, 8, 18):
            for kind in exact.KINDS:
                for seed in range(max(1, times // 4)):
                    k = (24, 33)[seed % 2]
                    a = exact.operand(kind, edge, k, 2 * seed, False, np.float64)
                    b = exact.operand(kind, k, edge, 2 * seed + 1, True, np.float64)
                    d, expected = mmaudit.matmul(a, b, scheme=f"ozaki1:{slices}"), exact.ozaki(a, b, slices)
                    self.assertTrue(np.array_equal(d.view(np.uint64), expected.view(np.uint64)), (slices, kind, seed))

    def test_residues_of_binary64(self):
        for count in (2, 7, 8, 15, 20):
            for kind in exact.KINDS:
                a = exact.operand(kind, 12, 30, count, False, np.float64)
                b = exact.operand(kind, 30, 10, count + 1, True, np.float64)
                d, expected = mmaudit.matmul(a, b, scheme=f"ozaki2:{count}"), exact.residues(a, b, count)
                self.assertTrue(np.array_equal(d.view(np.uint64), expected.view(np.uint64)), (count, kind))
        for most in (1 - 2.0**-53, 2.0**-150, 1.1 * 2.0**-150, 2.0**128 * (1 - 2.0**-25), 2.0**127):
            a, b = np.full((1, 4), most), np.ones((4, 1))
            d, expected = mmaudit.matmul(a, b, scheme="ozaki2:7"), exact.residues(a, b, 7)
            self.assertTrue(np.array_equal(d.view(np.uint64), expected.view(np.uint64)), most)

    def test_other_rounds_give_other_bits_and_other_units_the_same(self):
        a, b = exact.operand("uniform", 32, 64, 1, False), exact.operand("uniform", 64, 32, 2, True)
        usual = mmaudit.matmul(a, b, scheme="bf16x3")
        other = mmaudit.matmul(a, b, scheme="bf16x3", promote=64)
        self.assertFalse(np.array_equal(usual, other))
        self.assertTrue(np.array_equal(other, exact.product(a, b, "bf16x3", 64)))
        by_mma = mmaudit.matmul(a, b, scheme="bf16x3", inst="mma.m16n8k16.f32.bf16.bf16.f32")
        self.assertTrue(np.array_equal(by_mma, usual))

    def test_auto_takes_the_slices_that_lose_no_bit(self):
        a, b = np.array([[1 + 2.0**-52, 2.0**-30 * (1 + 2.0**-52)]]), np.array([[1.0], [1 + 2.0**-29]])
        chosen = mmaudit.matmul(a, b, scheme="ozaki1:auto")  # 53 bits behind 30 others: 12 slices of 7 bits
        self.assertEqual(chosen, mmaudit.matmul(a, b, scheme="ozaki1:12"))
        with self.assertRaisesRegex(ValueError, "needs 22 slices, allowed: up to 18"):
            mmaudit.matmul(np.array([[1.0, 2.0**-100]]), b, scheme="ozaki1:auto")

    def test_batches_and_leading_dimensions(self):
        a = exact.operand("uniform", 6, 20, 1, False, np.float64)
        b = exact.operand("uniform", 20, 5, 2, True, np.float64)
        together = mmaudit.matmul(np.stack([a, 2 * a]), np.stack([b, b]), scheme="ozaki1:6")
        self.assertTrue(np.array_equal(together[0], mmaudit.matmul(a, b, scheme="ozaki1:6")))
        self.assertTrue(np.array_equal(together[1], mmaudit.matmul(2 * a, b, scheme="ozaki1:6")))
        self.assertEqual(mmaudit.matmul(np.stack([a, a]), b, scheme="ozaki1:2").shape, (2, 6, 5))

    def test_refusals(self):
        a = np.ones((16, 32), np.float32)
        for words, message in [
            ({"scheme": "bf16x4"}, "scheme: found bf16x4, allowed: tf32x3"),
            ({"scheme": "ozaki1"}, "scheme: found ozaki1, allowed: .*ozaki1:1 to ozaki1:18, ozaki1:auto"),
            ({"scheme": "ozaki1:19"}, "scheme: found ozaki1:19"),
            ({"scheme": "cublas-f64:11"}, "scheme: found cublas-f64:11"),
            ({"scheme": "ozaki2:1"}, "scheme: found ozaki2:1, allowed: .*ozaki2:2 to ozaki2:20"),
            ({"scheme": "ozaki1:4"}, "a: found 2048 bytes, allowed: 4096 bytes"),
            ({"scheme": "bf16x3", "promote": 24}, "promote: found 24, allowed: a multiple of k = 16"),
            ({"scheme": "3xtf32", "promote": 32}, "promote: found 32, allowed: 0 with 3xtf32"),
            ({"scheme": "bf16x3", "split_k": 2}, "split_k: found 2 with a scheme"),
            ({"scheme": "bf16x3", "alpha": 2.0}, "alpha: found some with a scheme, allowed: none"),
            ({"scheme": "bf16x3", "inst": "mma.m16n8k8.f32.tf32.tf32.f32"}, "inst: found .*, allowed: .* bf16"),
            ({"scheme": "bf16x3", "arch": "volta"}, "arch: found volta with bf16x3, allowed: one with an instruction of bf16"),
            ({}, "inst: found none, allowed: an instruction, or a scheme"),
        ]:
            with self.assertRaisesRegex(ValueError, message):
                mmaudit.matmul(a, a.T.copy(), **words)
        for dtype in (np.float16, object, int, complex, ">f8"):
            with self.assertRaisesRegex(ValueError, "a dtype: found .*, allowed: float32 or float64, as the scheme has it"):
                mmaudit.matmul(a.astype(dtype), a.T.copy(), scheme="ozaki1:4")

    def test_shapes_and_layouts(self):
        for scheme in ("tf32x3", "3xtf32", "ozaki1:4", "ozaki1:auto", "cublas-f64:4", "cublas-f64:auto", "ozaki2:12"):
            number = np.float64 if ":" in scheme else np.float32
            a, b = exact.operand("uniform", 5, 21, 1, False, number), exact.operand("uniform", 21, 4, 2, True, number)
            d = mmaudit.matmul(a, b, scheme=scheme)
            for other in (np.asfortranarray(a), np.repeat(a, 2, 1)[:, ::2], a[:, ::-1][:, ::-1]):
                self.assertTrue(np.array_equal(mmaudit.matmul(other, b, scheme=scheme), d), scheme)
            for rows, depth, columns in ((0, 21, 4), (5, 0, 4), (5, 21, 0), (1, 1, 1)):
                small = mmaudit.matmul(a[:rows, :depth], b[:depth, :columns], scheme=scheme)
                self.assertEqual((small.shape, small.dtype), ((rows, columns), number))
                self.assertTrue(depth or not small.any())


if __name__ == "__main__":
    unittest.main()
