"""Products of libraries by their plans."""
import unittest
from ctypes import byref, c_void_p
from fractions import Fraction

import numpy as np

import mmaudit
from mmaudit import _arrays, _library

INST = "wgmma.m64n64k16.f32.f16.f16"


def operands():
    rng = np.random.default_rng(3)
    return rng.standard_normal((5, 640)).astype(np.float16), rng.standard_normal((640, 7)).astype(np.float16)


class Gemm(unittest.TestCase):
    def test_a_plan_is_a_matmul(self):
        a, b = operands()
        d = mmaudit.gemm(a, b, problem={"type": "f16", "layout": "nt"}, plan={"instruction": INST, "output": "f16"})
        self.assertEqual(d.dtype, np.float16)
        np.testing.assert_array_equal(d, mmaudit.matmul(a, b, inst=INST, d_format="f16"))

    def test_a_call_is_its_plan(self):
        a, b = operands()
        call = {
            "algorithm": {"split_k": 3, "custom": 0},
            "kernels": [
                {"name": "nvjet_sm90_hss_64x32_64x16_2x1_v_bz_splitK_TNT", "grid": [1, 1, 3]},
                {"name": "_ZN8cublasLt19splitKreduce_kernelILi32ELi16Eiffff"},
            ],
        }
        problem = {"type": "f16", "d": "f32"}
        by_call = mmaudit.gemm(a, b, problem=problem, call=call)
        by_plan = mmaudit.gemm(a, b, problem=problem, plan={"instruction": INST, "tile_k": 64, "slices": 3})
        np.testing.assert_array_equal(by_call, by_plan)
        other = mmaudit.gemm(a, b, problem=problem, plan={"instruction": INST, "tile_k": 64, "slices": 2})
        self.assertTrue((by_call != other).any())

    def test_epilogue_in_binary32(self):
        a, b = operands()
        rng = np.random.default_rng(4)
        c, bias = rng.standard_normal((5, 7)).astype(np.float32), rng.standard_normal(7).astype(np.float32)
        problem = {"type": "f16", "d": "f32", "alpha": 0.75, "beta": -1.25, "bias": True, "activation": "relu"}
        sums = mmaudit.gemm(a, b, problem={"type": "f16", "d": "f32"}, plan={"instruction": INST})
        for rule in ("fused_sum", "fused_c"):
            found = mmaudit.gemm(a, b, c, problem=problem, plan={"instruction": INST, "epilogue": rule}, bias=bias)
            expected = np.empty((5, 7), np.float32)
            for i in range(5):
                for j in range(7):
                    s, x = sums[i, j], c[i, j]
                    rounded = np.float32(-1.25) * x if rule == "fused_sum" else np.float32(0.75) * s
                    other = (Fraction(3, 4) * Fraction(float(s)) if rule == "fused_sum" else Fraction(-5, 4) * Fraction(float(x)))
                    # Both terms have at most 48 bits near each other: binary64 holds their sum, and binary32 rounds it once.
                    fused = np.float32(float(other + Fraction(float(rounded))))
                    expected[i, j] = max(np.float32(fused + bias[j]), np.float32(0))
            np.testing.assert_array_equal(found, expected)
        fused, plain = (mmaudit.gemm(a, b, c, problem={**problem, "alpha": 0.7, "beta": 1.3, "activation": "none"},
                                     plan={"instruction": INST, "epilogue": rule}, bias=bias) for rule in ("fused_sum", "fused_c"))
        self.assertTrue((fused != plain).any())  # the place of C counts

    def test_a_batch_is_its_products(self):
        rng = np.random.default_rng(5)
        a, b = rng.standard_normal((3, 5, 640)).astype(np.float16), rng.standard_normal((3, 640, 7)).astype(np.float16)
        plan, problem = {"instruction": INST, "tile_k": 64, "slices": 2}, {"type": "f16", "d": "f32"}
        d = mmaudit.gemm(a, b, problem=problem, plan=plan)
        self.assertEqual(d.shape, (3, 5, 7))
        shared = mmaudit.gemm(a, b[1], problem=problem, plan=plan)
        for i in range(3):
            np.testing.assert_array_equal(d[i], mmaudit.gemm(a[i], b[i], problem=problem, plan=plan))
            np.testing.assert_array_equal(shared[i], mmaudit.gemm(a[i], b[1], problem=problem, plan=plan))
        self.assertTrue((d[0] != shared[0]).any())
        with self.assertRaises(ValueError) as caught:
            mmaudit.gemm(a, b[:2], problem=problem, plan=plan)
        self.assertEqual(str(caught.exception), "b shape: found [2, 640, 7], allowed: [3, 640, 7] (batch, k, n)")

    def test_binary64(self):
        rng = np.random.default_rng(6)
        a, b = rng.standard_normal((2, 9)), rng.standard_normal((9, 3))
        chain = {"instruction": "mma.m8n8k4.f64.f64.f64.f64", "output": "f64"}
        d = mmaudit.gemm(a, b, problem={"type": "f64"}, plan=chain)
        expected = np.zeros((2, 3))
        for k in range(9):
            for i in range(2):
                for j in range(3):
                    expected[i, j] = float(Fraction(a[i, k]) * Fraction(b[k, j]) + Fraction(expected[i, j]))
        np.testing.assert_array_equal(d, expected)
        halves = mmaudit.gemm(a, b, problem={"type": "f64", "alpha": 1 / 3}, plan={**chain, "tile_k": 4, "slices": 2})
        first = mmaudit.gemm(a[:, :8], b[:8], problem={"type": "f64"}, plan=chain)
        np.testing.assert_array_equal(halves, (first + a[:, 8:] * b[8:]) * (1 / 3))

    def test_a_scalar_plan_may_name_its_formats(self):
        a, b = operands()
        problem = {"type": "f16", "d": "f32"}
        named = mmaudit.gemm(a, b, problem=problem, plan={"scalar": True, "a": "f16", "b": "f16"})
        np.testing.assert_array_equal(named, mmaudit.gemm(a, b, problem=problem, plan={"scalar": True}))

    def test_a_running_sum_may_be_short(self):
        a, b = operands()
        scalar = {"scalar": True, "running": "f16"}
        sums = np.zeros((5, 7), np.float16)
        for k in range(a.shape[1]):  # binary64 holds each product, and rounds its sum far from a tie of f16
            sums = (np.multiply.outer(a[:, k], b[k], dtype=np.float64) + sums).astype(np.float16)
        np.testing.assert_array_equal(mmaudit.gemm(a, b, problem={"type": "f16"}, plan=scalar), sums)
        with self.assertRaisesRegex(ValueError, "running: found bf16, allowed: f32, or a format that has every number of f16"):
            mmaudit.gemm(a, b, problem={"type": "f16"}, plan={**scalar, "running": "bf16"})

    def test_words_of_the_c_interface_are_fields_with_values(self):
        a, b, d = np.zeros((1, 1), np.float32), np.zeros((1, 1), np.float32), np.empty((1, 1), np.float32)
        for words, line in (
            (b"alpha", "problem: found alpha without a value, allowed: name=value"),
            (b"alpha=1 alpha=2", "problem: found alpha twice, allowed: once"),
            (b"alpha=", "problem: alpha: found , allowed: a number"),
            (b"  alpha=1 ", ""),
        ):
            work = _library.Gemm()
            work.type, work.plan, work.problem = b"f32", b"scalar=1", words
            work.m = work.n = work.k = 1
            work.a, work.b, work.d = _arrays.given(a), _arrays.given(b), _arrays.written(d)
            found = ""
            try:
                _library.check(_library.lib.mmaudit_gemm_predict(byref(work), c_void_p()))
            except ValueError as error:
                found = str(error)
            self.assertEqual(found, line)

    def test_refusals_name_the_field(self):
        a, b = operands()
        for wrong, line in (
            ({"plan": {"instruction": INST, "slicse": 3}}, "plan: found slicse, allowed: a field of docs/gemm.md"),
            ({"plan": {}}, "plan: found no instruction, allowed: instruction=NAME"),
            ({}, "plan, kernels: found neither, allowed: one"),
            ({"call": {"kernels": [{"name": "x"}]}}, "kernels: found no plan for the kernel x, allowed: kernels of docs/gemm.md"),
            ({"plan": {"instruction": INST}, "problem": {"alhpa": 2}}, "problem: found alhpa, allowed: a field of docs/gemm.md"),
            ({"plan": {"instruction": INST}, "problem": {"beta": 2}}, "c: found none, allowed: one where the problem has a beta"),
            ({"plan": {"instruction": INST}, "bias": a[0, :7]}, "bias: found one, allowed: none where the problem has no bias"),
            ({"plan": {"instruction": INST}, "problem": {"bias": True}, "bias": a[0, :6]},
             "bias shape: found [6], allowed: [7] (n)"),
            ({"plan": {"instruction": INST}, "problem": {"batch": 3}}, "problem batch: found 3, allowed: 1, as A and B have"),
            ({"plan": {"instruction": INST}, "problem": {"m": 6}}, "problem m: found 6, allowed: 5, as A and B have"),
            ({"plan": {"instruction": INST}, "problem": {"api": "cublas"}},
             "problem api: found cublas, allowed: cublaslt, as `like` is"),
            ({"plan": {"instruction": INST}, "problem": {"alpha": "1 beta=2"}},
             "problem alpha: found '1 beta=2', allowed: one number, name or truth value"),
            ({"plan": {"instruction": INST}, "problem": "f16"}, "problem: found str, allowed: fields with values, as a dict has"),
            ({"plan": "scalar"}, "plan: found str, allowed: fields with values, as a dict has"),
            ({"plan": {"instruction": INST, "scalar": True}},
             f"plan: instruction: found {INST} beside scalar, allowed: one of both"),
            ({"plan": {"scalar": True, "a": "bf16", "b": "bf16"}},
             "a, b: found bf16 and bf16, allowed: f16 and f16, as A and B of the problem are"),
            ({"call": {"kernels": [{}]}}, "call kernels name: found None, allowed: the name of a kernel"),
            ({"call": {"kernels": ["nvjet"]}}, "call kernels: found str, allowed: fields with values, as a dict has"),
            ({"call": {"kernels": "nvjet"}}, "call kernels: found str, allowed: a list"),
            ({"call": {"kernels": [{"name": "x"}], "foo": 1}},
             "call: found foo, allowed: algorithm, kernels; of a kernel name, grid, block, cluster"),
            ({"call": {"kernels": [{"name": "x", "grid": [1, 2, 3, 4]}]}},
             "call kernels grid: found [1, 2, 3, 4], allowed: up to 3 integers of 32 bits"),
            ({"call": {"kernels": [{"name": "x", "grid": 3}]}},
             "call kernels grid: found 3, allowed: up to 3 integers of 32 bits"),
            ({"call": {"kernels": [{"name": "x"}], "algorithm": None}},
             "call algorithm: found NoneType, allowed: fields with values, as a dict has"),
            ({"call": {"kernels": [{"name": "cutlass_80_tensorop_s16816gemm_f16"}], "algorithm": {"split_k": 2.5}}},
             "algorithm: split_k: found 2.5, allowed: an integer"),
        ):
            with self.assertRaises(ValueError) as caught:
                mmaudit.gemm(a, b, **wrong)
            self.assertEqual(str(caught.exception), line)


if __name__ == "__main__":
    unittest.main()
