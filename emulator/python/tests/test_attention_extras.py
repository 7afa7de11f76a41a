"""attention() with sequences of different lengths, softcap and sinks: an H200's tensors, and a second computation."""
import unittest
from typing import Any, List

import numpy as np

import mmaudit

from .test_attention import RECORDING, hash_of, operand, recorded

LOG2E = np.float32(1.4426950408889634)
FLEX = {"qk": "wgmma.m64n64k16.f32.f16.f16", "pv": "wgmma.m64n64k16.f32.f16.f16", "block_k": 64, "row_sum": "joined",
        "exponential": "ex2.approx.ftz.f32", "division": "approximate", "lse": "log2_whole"}


def fused(a: Any, b: Any, c: Any) -> np.ndarray:
    """fma of binary32 numbers, whose product is exact in binary64."""
    return (a.astype(np.float64) * b + c).astype(np.float32)


def one_block(score: np.ndarray, scale2: np.float32) -> "tuple[np.ndarray, np.ndarray]":
    """P and its maxima where all keys are one block: fused, ex2.approx.ftz."""
    most = score.max(-1)
    return mmaudit.function("ex2.approx.ftz.f32", fused(score, scale2, -(most * scale2)[..., None])), most


def eight_sums(p: np.ndarray) -> np.ndarray:
    """Every eighth column has a sum of its own; they are added by halves."""
    sums: List[np.ndarray] = [p[..., i] for i in range(8)]
    for i in range(8, p.shape[-1]):
        sums[i % 8] = sums[i % 8] + p[..., i]
    first = [sums[i] + sums[i + 2] for i in (0, 1)], [sums[i] + sums[i + 2] for i in (4, 5)]
    return (first[0][0] + first[1][0]) + (first[0][1] + first[1][1])


def four_lanes(p: np.ndarray) -> np.ndarray:
    """Columns 8 n + 2 t and the next belong to lane t."""
    lanes = [p[..., 2 * t] + p[..., 2 * t + 1] for t in range(4)]
    for i in range(8, p.shape[-1], 8):
        for t in range(4):
            lanes[t] = (lanes[t] + p[..., i + 2 * t]) + p[..., i + 2 * t + 1]
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])


class Extras(unittest.TestCase):
    def setUp(self) -> None:
        """Scores that every chain sums exactly, and V of ones and zeros: O is P in 16 bits over the row sum."""
        draw = np.random.default_rng(4)
        self.q, self.k = (draw.integers(-4, 5, (1, 2, n, 64)).astype(np.float16) for n in (40, 64))
        self.v = np.broadcast_to(np.eye(64, dtype=np.float16), (1, 2, 64, 64)).copy()
        self.s = (self.q.astype(np.float64) @ self.k.astype(np.float64).swapaxes(-1, -2)).astype(np.float32)

    def o(self, p: np.ndarray, total: np.ndarray) -> np.ndarray:
        kept = p.astype(np.float16).astype(np.float32)
        return (kept * mmaudit.function("rcp.approx.f32", total)[..., None]).astype(np.float16)

    def test_packed_sequences_of_an_h200(self) -> None:
        rows = recorded(RECORDING.with_name("h200-torch-2.11-packed.jsonl"))
        for p in rows:
            q, k, v = (np.ascontiguousarray(operand(p, i)[0].swapaxes(0, 1)) for i in range(3))
            o, lse = mmaudit.attention(q, k, v, type=p["type"], cu_seqlens_q=p["cumulative_q"], cu_seqlens_k=p["cumulative_k"],
                                       causal=p.get("causal"), lse=True)
            self.assertEqual(hash_of(o.swapaxes(0, 1)), p["o"], p)
            self.assertEqual(hash_of(lse), p["lse"], p)
        self.assertEqual(len(rows), 6)

    def test_softcap_is_a_tanh_before_the_maximum(self) -> None:
        for cap in (2.0, 30.0):
            factor = np.float32(0.125) / np.float32(cap)
            scale2 = np.float32(cap * 1.4426950408889634)
            p, most = one_block(mmaudit.function("tanh.approx.f32", self.s * factor), scale2)
            total = four_lanes(p)
            o, lse = mmaudit.attention(self.q, self.k, self.v, like="fa3", softcap=cap, lse=True)
            np.testing.assert_array_equal(o, self.o(p, total))
            log = mmaudit.function("lg2.approx.f32", total) * np.float32(np.log(2.0))
            np.testing.assert_array_equal(lse, fused(most, np.float32(cap), log))
            exact = np.exp(cap * np.tanh(self.s * 0.125 / cap))
            np.testing.assert_allclose(o, exact / exact.sum(-1, keepdims=True), atol=2e-3)

    def test_a_sink_is_one_more_logit(self) -> None:
        sinks, scale2 = np.array([-1.5, 6.25], np.float32), np.float32(0.125 * 1.4426950408889634)
        p, most = one_block(self.s, scale2)
        more = mmaudit.function("ex2.approx.ftz.f32", (sinks * LOG2E)[:, None] - most * scale2)
        o, lse = mmaudit.attention(self.q, self.k, self.v, like="fa4", sinks=sinks, lse=True)
        total = eight_sums(p) + more
        np.testing.assert_array_equal(o, self.o(p, total))
        log = mmaudit.function("lg2.approx.f32", total) * np.float32(np.log(2.0))
        np.testing.assert_array_equal(lse, fused(most, np.float32(0.125), log))
        exact = np.exp(self.s * 0.125)
        np.testing.assert_allclose(o, exact / (exact.sum(-1, keepdims=True) + np.exp(sinks)[:, None, None]), atol=2e-3)
        o, lse = mmaudit.attention(self.q, self.k[:, :, :8], self.v[:, :, :8], like="fa4", sinks=sinks, lse=True, causal="bottom_right")
        self.assertFalse(o[:, :, :32].any())  # rows without a key: the sink alone
        np.testing.assert_allclose(lse[:, :, :32], np.broadcast_to(sinks[:, None], (1, 2, 32)), rtol=1e-6)

    def test_a_scale_before_the_maximum_and_log2e_after_it(self) -> None:
        """Inductor's flex_attention: scores times the scale, then times log2(e) less the maximum in one fma."""
        plan = {**FLEX, "lse": "log2_sum", "score": "scaled_after"}
        for scale in (0.3, 0.125):
            x = self.s * np.float32(scale)
            most = x.max(-1) * LOG2E
            p = mmaudit.function("ex2.approx.ftz.f32", fused(x, LOG2E, -most[..., None]))
            o, lse = mmaudit.attention(self.q, self.k, self.v, plan=plan, scale=scale, lse=True)
            np.testing.assert_array_equal(o, self.o(p, four_lanes(p)))
            log = mmaudit.function("lg2.approx.f32", four_lanes(p)) * np.float32(np.log(2.0))
            np.testing.assert_array_equal(lse, fused(most, np.float32(np.log(2.0)), log))

    def test_block_masks_of_flex_attention(self) -> None:
        """Rows, and columns of V, that show where a block's scores are fused with log2(e), of an H200; the others are 0."""
        kept = np.load(RECORDING.with_name("h200-torch-2.11-flex.npz"))
        rows, columns = kept["rows"], kept["columns"]
        q, k, v = (np.zeros((1, 1, 256, 64), np.uint16) for _ in range(3))
        q[0, 0, rows], k[0, 0], v[0, 0][:, columns] = kept["q"], kept["k"], kept["v"]
        plan = {**FLEX, "block_k": 128, "order": "partial_first", "score": "scaled_masked"}

        def wrong(**other: Any) -> "tuple[int, int]":
            o, lse = mmaudit.attention(*(x.view(np.float16) for x in (q, k, v)), plan={**plan, **other}, causal="top_left", lse=True)
            return (int((np.asarray(o).view(np.uint16)[0, 0][rows][:, columns] != kept["o"]).sum()),
                    int((np.asarray(lse)[0, 0, rows].view(np.uint32) != kept["lse"].view(np.uint32)).sum()))

        self.assertEqual(wrong(), (0, 0))
        self.assertGreater(min(wrong(score="scaled_after")), 0)
        for other in ({"score": "scaled"}, {"join": "neighbours"}, {"row_sum": "lanes"}, {"row_sum": "block_lanes"}, {"lse": "log2_sum"}):
            self.assertGreater(wrong(**other)[1], 0, other)
        with self.assertRaisesRegex(ValueError, "score: found scaled_masked, allowed: with order partial_first"):
            wrong(order="ascending")

    def test_a_cache_of_a_scale_per_tensor(self) -> None:
        draw = np.random.default_rng(9)
        q, k, v = (draw.standard_normal((2, 2, n, 64)).astype(np.float32) * m for n, m in ((5, 1), (70, 3), (70, 0.2)))
        cached = []
        for x in (k, v):
            scale = np.float32(np.abs(x).max().astype(np.float64) / 448)
            bits = np.asarray(mmaudit.convert(x / scale, "e4m3", saturate=True)).view(np.uint8)
            sign, exponent, fraction = bits >> 7, (bits >> 3 & 15).astype(int), bits & 7
            size = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0 ** (exponent - 10.0))
            cached.append((np.where(sign, -size, size) * scale).astype(np.float32))
        narrow = [mmaudit.convert(x, "bf16") for x in (q, *cached)]
        want = mmaudit.attention(*narrow, type="bf16", like="torch-flash")
        self.assertEqual(hash_of(np.asarray(mmaudit.attention(q, k, v, like="kv-e4m3-tensor"))), hash_of(np.asarray(want)))
        per_head = mmaudit.attention(q, k, v, like="kv-e4m3")
        self.assertNotEqual(hash_of(np.asarray(per_head)), hash_of(np.asarray(want)))

    def test_refusals(self) -> None:
        x, y = np.zeros((6, 2, 64), np.float16), np.zeros((1, 2, 6, 64), np.float16)
        for how, said in (({"softcap": 5.0}, "softcap: found it with torch-flash, allowed: fa3, or a plan of your own"),
                          ({"softcap": -1.0, "like": "fa3"}, "softcap: found -1, allowed: 0 to"),
                          ({"sinks": [1.0, 2.0], "like": "fa3"}, "sinks: found it with fa3, allowed: fa4"),
                          ({"sinks": [1.0], "like": "fa4"}, "sinks"),
                          ({"sinks": [1.0, 2.0], "like": "fa4-e4m3"}, "sinks: found a plan with splits 1, offset 8")):
            with self.assertRaisesRegex(ValueError, said):
                mmaudit.attention(y, y, y, **how)
        for how, said in (({"cu_seqlens_q": [0, 6]}, "found one of them, allowed: both"),
                          ({"cu_seqlens_q": [0, 5], "cu_seqlens_k": [0, 6]}, "cu_seqlens_q: found .0, 5., allowed: places that ascend"),
                          ({"cu_seqlens_q": [0, 2, 6], "cu_seqlens_k": [0, 6]}, "cu_seqlens_k: found 2 places, allowed: 3"),
                          ({"cu_seqlens_q": [0, 2, 6], "cu_seqlens_k": [0, 6, 6]}, "no key for sequence 1"),
                          ({"cu_seqlens_q": [0, 6], "cu_seqlens_k": [0, 6], "like": "torch-cudnn"},
                           "cu_seqlens: found it with torch-cudnn")):
            with self.assertRaisesRegex(ValueError, said):
                mmaudit.attention(x, x, x, **how)
        ends = {"cu_seqlens_q": [0, 1, 2], "cu_seqlens_k": [0, 3, 6]}
        with self.assertRaisesRegex(ValueError, "cu_seqlens: found 1 query at most of grouped heads"):
            mmaudit.attention(x[:2], x[:, :1].copy(), x[:, :1].copy(), **ends)
        self.assertEqual(mmaudit.attention(x[:2], x, x, **ends).shape, (2, 2, 64))


if __name__ == "__main__":
    unittest.main()
