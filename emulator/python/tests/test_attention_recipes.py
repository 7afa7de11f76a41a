"""INT8 and NVFP4 attention, blocks in the order of a block mask, cuDNN's kernels of one query: against a second computation."""
import itertools
import json
import subprocess
import unittest
from typing import Any, List, Tuple

import numpy as np

import mmaudit
from tests.tool import WithTool

from .test_attention import RECORDING, hash_of, operand, recorded

LOG2E = np.float32(1.4426950408889634)
f32 = np.float32


def fused(a: Any, b: Any, c: Any) -> np.ndarray:
    """fma of binary32 numbers, whose product is exact in binary64."""
    return (np.asarray(a, np.float64) * np.asarray(b, np.float64) + np.asarray(c, np.float64)).astype(f32)


def bf16(x: np.ndarray) -> np.ndarray:
    bits = np.asarray(x, f32).view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(f32)


def e4m3(x: np.ndarray) -> np.ndarray:
    """To nearest even, at most 448."""
    size = np.abs(x.astype(np.float64))
    step = 2.0 ** (np.maximum(np.floor(np.log2(np.maximum(size, 2.0**-20))), -6) - 3)
    return np.copysign(np.minimum(np.rint(size / step) * step, 448.0), x).astype(f32)


def e2m1(x: np.ndarray) -> np.ndarray:
    """Of sizes; a tie goes to the even one."""
    steps = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float64)
    at = np.abs(x.astype(np.float64)[..., None] - steps)
    best = at.argmin(-1)  # of two the smaller, which is the even one at every second tie
    tie = (at[..., 1:] == at[..., :-1]) & (at[..., :-1] == at.min(-1, keepdims=True))
    odd = tie.any(-1) & (tie.argmax(-1) % 2 == 1)
    return steps[np.where(odd, best + 1, best)]


def bits_of_bf16(x: Any) -> np.ndarray:
    return (np.asarray(x).view(np.uint16).astype(np.uint32) << np.uint32(16)).view(f32)


def exp2(x: np.ndarray) -> np.ndarray:
    return mmaudit.function("ex2.approx.ftz.f32", np.asarray(x, f32))


def operands(seed: int, queries: int, keys: int, depth: int) -> List[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [bf16(draw.standard_normal((1, 2, n, depth)) + shift) for n, shift in ((queries, 0), (keys, 3), (keys, 0.5))]


class Sage(unittest.TestCase):
    @staticmethod
    def whole(x: np.ndarray, groups: np.ndarray, threads: bool) -> Tuple[np.ndarray, np.ndarray]:
        """INT8 of rows (heads, rows, depth), and each row's scale; rows of one number in `groups` share it."""
        numbers, scales = np.empty_like(x), np.empty(x.shape[:2], f32)
        for head in range(x.shape[0]):
            for group in np.unique(groups):
                rows = groups == group
                most = np.abs(x[head, rows]).max()
                if threads:
                    scale = most / f32(127) + f32(1e-7)
                    y = x[head, rows] / scale
                    numbers[head, rows] = np.trunc(y + np.where(y >= 0, f32(0.5), f32(-0.5)))
                else:
                    scale = most / f32(127)
                    numbers[head, rows] = np.clip(np.rint(x[head, rows] * (f32(127) / most)), -128, 127)
                scales[head, rows] = scale
        return numbers, scales

    def expected(self, q: np.ndarray, k: np.ndarray, v: np.ndarray, threads: bool, causal: bool) -> np.ndarray:
        q, k, v = q[0], k[0], v[0]
        queries, keys, depth = q.shape[1], k.shape[1], q.shape[2]
        k = k - bf16(k.astype(np.float64).mean(1, keepdims=True))
        row, key = np.arange(queries), np.arange(keys)
        q8, of_q = self.whole(q, row // 16 * 8 + row % 8 if threads else row // 16, threads)
        k8, of_k = self.whole(bf16(k) if threads else k, key // 128 * 4 + key % 8 // 2 if threads else key // 128, threads)
        most = np.abs(v).max(1)
        v8, of_v = e4m3(v * (f32(448) / most)[:, None]), most / f32(448)
        s = (q8.astype(np.float64) @ k8.astype(np.float64).swapaxes(1, 2)).astype(f32)
        scale2 = f32(1 / np.sqrt(depth)) * LOG2E
        o = np.zeros_like(q)
        for head in range(q.shape[0]):
            for i in range(queries):
                end = i + 1 if causal else keys
                old, lanes, sums = f32(-np.inf), np.zeros(4, f32), np.zeros(depth, f32)
                for first in range(0, end, 128):
                    last = min(first + 128, end)
                    factor = of_q[head, i] * of_k[head, first:last]
                    x = s[head, i, first:last]
                    x, scale = (x * factor, np.full_like(factor, scale2)) if last == end else (x, scale2 * factor)
                    now = max(old, fused(x, scale, f32(-8.807)).max())
                    p = np.zeros(128, f32)
                    p[: last - first] = exp2(fused(x, scale, -now))
                    rescale = exp2(np.array([old - now]))[0]
                    lanes = lanes * rescale
                    for t in range(4):
                        for n in range(2 * t, 128, 16):
                            lanes[t] = lanes[t] + (((p[n] + p[n + 1]) + p[n + 8]) + p[n + 9])
                    values = np.zeros((128, depth), f32)
                    values[: last - first] = v8[head, first:last]
                    bits = [np.asarray(mmaudit.convert(z, "e4m3", saturate=True)) for z in (p[None], values)]
                    part = mmaudit.matmul(bits[0], bits[1], inst="wgmma.m64n64k32.f32.e4m3.e4m3", arch="hopper")[0]
                    sums, old = sums * rescale + part, now
                total = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
                o[head, i] = sums * mmaudit.function("rcp.approx.f32", np.array([total]))[0] * of_v[head]
        return bf16(o)

    def test_whole_outputs(self) -> None:
        for name, threads in (("sage2", True), ("sage2-warp", False)):
            for queries, keys, causal in ((37, 300, False), (150, 150, True)):
                q, k, v = operands(queries, queries, keys, 64)
                found = mmaudit.attention(q, k, v, like=name, causal="top_left" if causal else None)
                np.testing.assert_array_equal(bits_of_bf16(found)[0], self.expected(q, k, v, threads, causal), name)

    def test_smoothing_keeps_what_a_shift_of_k_would_cost(self) -> None:
        q, k, v = operands(5, 64, 256, 64)
        score = q.astype(float) @ k.astype(float).swapaxes(-1, -2) / 8
        p = np.exp(score - score.max(-1, keepdims=True))
        exact = p / p.sum(-1, keepdims=True) @ v
        found = bits_of_bf16(mmaudit.attention(q, k, v, like="sage2"))
        self.assertLess(np.linalg.norm(found - exact) / np.linalg.norm(exact), 0.05)

    def test_what_it_lacks_is_said(self) -> None:
        q, k, v = operands(1, 8, 16, 64)
        for how, said in (({"causal": True}, "causal: found 8 queries and 16 keys, allowed: equal numbers"),
                          ({"mask": np.zeros((8, 16), f32)}, "allowed: causal alone with sageattention"),
                          ({"softcap": 5.0}, "softcap: found it with sageattention")):
            with self.assertRaisesRegex(ValueError, said):
                mmaudit.attention(q, k, v, like="sage2", **how)
        with self.assertRaisesRegex(ValueError, "depth: found 160, allowed: 1 to 128"):
            mmaudit.attention(*(np.zeros((1, 1, 8, 160), f32) for _ in range(3)), like="sage2")


class Nvfp4(unittest.TestCase):
    @staticmethod
    def blocks(x: np.ndarray, amax: np.float32) -> np.ndarray:
        """Of 16 along the last axis."""
        whole, out = f32(amax) / (f32(6) * f32(448)), np.empty_like(x)
        for i in range(0, x.shape[-1], 16):
            part = x[..., i: i + 16]
            scale = e4m3(np.minimum(np.abs(part).max(-1) / (f32(6) * whole), f32(448))) * whole
            scale = scale[..., None]
            safe = np.where(scale == 0, f32(1), scale)
            size = e2m1(np.abs(part) / safe).astype(f32) * scale
            out[..., i: i + 16] = np.where(scale == 0, f32(0), np.copysign(size, part))
        return out

    def test_whole_outputs(self) -> None:
        for queries, keys, depth in ((5, 77, 40), (40, 40, 64), (5, 40, 80), (3, 40, 192)):
            q, k, v = operands(keys, queries, keys, depth)
            kq = self.blocks(q, np.abs(q).max())[0]
            kk = bf16(self.blocks(k, np.abs(k).max()))[0]
            kv = bf16(self.blocks(v.swapaxes(-1, -2), np.abs(v).max()).swapaxes(-1, -2))[0]
            s = np.zeros((2, queries, keys), f32)
            for d in range(depth):
                s = fused(kq[:, :, d, None], kk[:, None, :, d], s)
            scale2 = f32(1.0 / depth**0.5 * 1.44269504088896)  # as triton_fa.py has it, of Python's numbers
            x = s * scale2
            old, total, o = np.full((2, queries), -np.inf, f32), np.zeros((2, queries), f32), np.zeros((2, queries, depth), f32)
            for first in range(0, keys, 32):
                part = x[..., first: first + 32]
                now = np.maximum(old, part.max(-1))
                p = np.zeros((2, queries, 32), f32)
                p[..., : part.shape[-1]] = exp2(part - now[..., None])
                rescale = exp2(old - now)
                lanes = [p[..., 2 * t] + p[..., 2 * t + 1] for t in range(4)]
                for n in range(8, 32, 8):
                    for t in range(4):
                        lanes[t] = (lanes[t] + p[..., n + 2 * t]) + p[..., n + 2 * t + 1]
                total = fused(total, rescale, (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]))
                o = o * rescale[..., None]
                kept = self.blocks(bf16(p), f32(1))
                for j in range(part.shape[-1]):
                    o = fused(kept[..., j, None], kv[:, None, first + j], o)
                old = now
            found, lse = mmaudit.attention(q, k, v, like="nvfp4", lse=True)
            np.testing.assert_array_equal(bits_of_bf16(found)[0], bf16(o / total[..., None]))
            log = mmaudit.function("lg2.approx.f32", total) * f32(np.log(2.0))
            np.testing.assert_array_equal(lse[0], fused(old, f32(np.log(2.0)), log))

    def test_no_number_stays_none(self) -> None:
        for which, where in itertools.product(range(3), (float("nan"), float("inf"))):
            q, k, v = operands(3, 4, 40, 32)
            (q, k, v)[which][0, 1, 2, 5] = where
            found = np.isnan(bits_of_bf16(mmaudit.attention(q, k, v, like="nvfp4")))
            wrong = found if where == float("inf") else found[0, 1, 2] if which == 0 else found[0, 1] if which == 1 else found[0, 1, :, 5]
            self.assertTrue(wrong.all(), (which, where))
            self.assertTrue(where == float("inf") or not found[0, 0].any())

    def test_zeros_stay_zeros(self) -> None:
        q, k, v = operands(2, 4, 20, 32)
        for name in ("nvfp4", "sage2", "sage2-warp"):
            found = bits_of_bf16(mmaudit.attention(q * 0, k * 0, np.ones_like(v), like=name))
            np.testing.assert_array_equal(found, np.ones_like(found), name)
            self.assertFalse(np.isnan(bits_of_bf16(mmaudit.attention(q, k * 0, v, like=name))).any())


class Pages(WithTool):
    def test_what_saturates_is_a_note_and_the_table_fits(self) -> None:
        draw = np.random.default_rng(1)
        names = [f"--{name}={self.saved(name, draw.standard_normal((1, 2, 512, 128)).astype(np.float16))}" for name in "qkv"]
        done = self.run_tool("attention", "audit", *names, "--recipe=fa4-e4m3,fa3-head", "--limit=0.08")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(" ".join(done.stdout.split()), r"P saturated and P to 0: fa4-e4m3 0\.\d\d% and 0\.00%\.")
        table = next(line for line in done.stdout.splitlines() if line.startswith("  fa4-e4m3 "))
        self.assertNotIn("%,", table)
        self.assertRegex(done.stdout, r"Beyond the limit 0\.08: fa4-e4m3 0\.1\d+ \(most by P saturation")
        csv = self.run_tool("attention", "audit", *names, "--recipe=fa4-e4m3", "--csv=-").stdout
        self.assertIn('"P saturated, to 0"', csv)

    def audited(self, v: np.ndarray, *more: str) -> "subprocess.CompletedProcess[str]":
        draw = np.random.default_rng(2)
        q, k = (draw.standard_normal(v.shape).astype(np.float16) for _ in "qk")
        names = [f"--{name}={self.saved(name, part)}" for name, part in zip("qkv", (q, k, v))]
        return self.run_tool("attention", "audit", *names, *more)

    def test_a_head_that_is_lost_does_not_pass(self) -> None:
        v = np.full((1, 2, 8, 64), 1e4, np.float16)
        v[0, 1] = 6e-7  # below what one scale of both heads leaves of e4m3; |O - exact O| / |exact O| does not show it
        done = self.audited(v, "--recipe=fa3-head", "--limit=0.1")
        self.assertEqual(done.returncode, 0, done.stdout)
        done = self.audited(v, "--recipe=fa3-tensor", "--limit=0.1", "--json=-")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(json.loads(done.stdout)["recipes"][0]["lost"], {"rows": 8, "columns": 64})
        said = " ".join(self.audited(v, "--recipe=fa3-tensor", "--limit=0.1").stdout.split())
        self.assertIn("8 rows and 64 columns of heads came out zero or not finite, where exact ones are not", said)

    def test_zeros_are_not_judged(self) -> None:
        done = self.audited(np.zeros((1, 2, 8, 64), np.float16), "--recipe=bf16", "--limit=0.1")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("bf16 is not measured", done.stdout)

    def test_refusals(self) -> None:
        for given, said in ((("--heads=3", "--kv-heads=2"), "--heads: found 3, allowed: a multiple of 2"),
                            (("--like=fa3-head",), "like: found fa3-head, a recipe, allowed: torch-flash, torch-efficient")):
            done = self.run_tool("attention", "invariant", *given)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)


class Fp8Lse(unittest.TestCase):
    def test_it_is_of_p_without_the_offset(self) -> None:
        q, k, v = operands(11, 9, 300, 64)
        score = q.astype(float) @ k.astype(float).swapaxes(-1, -2) / 8
        want = np.log(np.exp(score).sum(-1))
        for name in ("fa3-head", "fa4-e4m3", "fa4-e4m3-mended"):
            np.testing.assert_allclose(mmaudit.attention(q, k, v, like=name, lse=True)[1], want, atol=1.0, err_msg=name)


class Orders(unittest.TestCase):
    def test_blocks_that_the_mask_cuts_come_first(self) -> None:
        """128 rows of a tile alone, causal: the plan takes the diagonal's keys first, so they are put first here."""
        draw = np.random.default_rng(3)
        q, k, v = (draw.standard_normal((1, 2, 512, 64)).astype(np.float16) for _ in range(3))
        plan = {"qk": "mma.m16n8k16.f32.f16.f16.f32", "pv": "mma.m16n8k16.f32.f16.f16.f32", "block_k": 64, "score": "scaled_after",
                "row_sum": "joined", "exponential": "ex2.approx.ftz.f32", "p": "f16", "output": "f16"}
        found = mmaudit.attention(q, k, v, plan={**plan, "order": "partial_first"}, causal="top_left")
        other = mmaudit.attention(q, k, v, plan={**plan, "order": "ascending"}, causal="top_left")
        self.assertFalse(np.array_equal(found, other))
        for tile in range(4):
            rows = slice(128 * tile, 128 * tile + 128)
            for i in (0, 17, 127):  # one row: its keys of the diagonal piece, then the whole ones
                row = 128 * tile + i
                keys = list(range(128 * tile, row + 1)) + list(range(128 * tile))
                first = -(-(i + 1) // 64) * 64  # the diagonal's keys fill their blocks up with keys that are not seen
                mask = np.zeros(first + 128 * tile, bool)
                order = np.zeros(first + 128 * tile, int)
                order[: i + 1], order[first:] = keys[: i + 1], keys[i + 1:]
                mask[: i + 1] = mask[first:] = True
                parts = [np.ascontiguousarray(x[:, :, order]) for x in (k, v)]
                want = self.masked(q[:, :, row: row + 1], *parts, mask, plan)
                np.testing.assert_array_equal(found[:, :, row], want[:, :, 0], (tile, i))
            self.assertTrue(np.isfinite(found[:, :, rows].astype(float)).all())
        whole = mmaudit.attention(q, k, v, plan={**plan, "order": "partial_first"})
        np.testing.assert_array_equal(whole, mmaudit.attention(q, k, v, plan={**plan, "order": "ascending"}))
        with self.assertRaisesRegex(ValueError, "order: found partial_first, allowed: with splits 1 and block_k a divisor of 128"):
            mmaudit.attention(q, k, v, plan={**plan, "order": "partial_first", "block_k": 96})

    @staticmethod
    def masked(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, plan: Any) -> np.ndarray:
        """Keys outside the mask: as if K made their scores so low that P is 0."""
        k = k.copy()
        lowest = -np.sign(q[:, :, 0]) * np.float16(2000)
        for j in np.flatnonzero(~mask):
            k[:, :, j] = lowest
        return mmaudit.attention(q, k, v, plan={**plan, "order": "ascending"})


class OneQuery(unittest.TestCase):
    """cudnn_generated_fort_native_sdpa_sm80_*: names as an H200 had them."""

    def test_names_say_tiles_and_warps(self) -> None:
        draw = np.random.default_rng(4)
        q, k, v = (draw.standard_normal((1, 2, n, 64)).astype(np.float16) for n in (1, 300, 300))
        name = "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_{}_cga1x1x1_kernel0_0"
        found = [mmaudit.attention(q, k, v, kernels=[name.format(tile)], details=True) for tile in ("3_64x64x64_4x1x1", "2_64x32x64_4x1x1")]
        said = [[word for word in one.plan.split(", ") if word.split()[0] in ("block", "row", "output", "score")] for one in found]
        self.assertEqual(said[0], ["block q 64", "block k 64", "score scaled", "row sum block lanes", "output f16"])
        self.assertIn("block k 32", said[1])
        for kernel in (name.format("35_16x128x64_1x4x1"), "x_sdpa_sm80_flash_fprop_wmma_"):
            with self.assertRaisesRegex(ValueError, "kernels: found"):
                mmaudit.attention(q, k, v, kernels=[kernel, "cudnn::fusion::lean_reduction_kernel<false>"])


class Math(unittest.TestCase):
    """An H200's tensors by torch's math backend, by hash."""

    def test_whole_tensors_of_an_h200(self) -> None:
        rows = recorded(RECORDING.with_name("h200-torch-2.11-math.jsonl"))
        for p in rows:
            q, k, v = (operand(p, i) for i in range(3))
            how = {"like": "torch-math", "kernels": p["kernels"], "causal": p["causal"], "scale": p.get("scale")}
            self.assertEqual(hash_of(np.asarray(mmaudit.attention(q, k, v, **how))), p["o"], p)
        self.assertEqual(len(rows), 7)
        with self.assertRaisesRegex(ValueError, "kernels: Q K.T: found gemvx::kernel"):
            mmaudit.attention(q, k, v, like="torch-math", kernels=["gemvx::kernel<float>", p["kernels"][-1]])
        for kernels in ((), ["ampere_sgemm_32x32_nn", "cublasLt::splitKreduce_kernel<gemm>"]):
            with self.assertRaisesRegex(ValueError, "kernels: found"):
                mmaudit.attention(q, k, v, like="torch-math", kernels=kernels)
        with self.assertRaisesRegex(ValueError, "sinks: found it, allowed: none with torch-math"):
            mmaudit.attention(q, k, v, like="torch-math", kernels=p["kernels"], sinks=[1.0])


if __name__ == "__main__":
    unittest.main()
