"""Products of libraries by their plans."""
import unittest

import numpy as np

import mmaudit

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

    def test_refusals_name_the_field(self):
        a, b = operands()
        for wrong, line in (
            ({"plan": {"instruction": INST, "slicse": 3}}, "plan: found slicse, allowed: a field of docs/gemm.md"),
            ({"plan": {}}, "plan: found no instruction, allowed: instruction=NAME"),
            ({}, "plan, kernels: found neither, allowed: one"),
            ({"call": {"kernels": [{"name": "x"}]}}, "kernels: found no plan for the kernel x, allowed: kernels of docs/gemm.md"),
            ({"plan": {"instruction": INST}, "problem": {"alpha": 2}},
             "problem alpha: found 2, allowed: 1 (mmaudit gemm predict takes others)"),
            ({"plan": {"instruction": INST}, "problem": {"m": 6}}, "problem m: found 6, allowed: 5, as A and B have"),
        ):
            with self.assertRaises(ValueError) as caught:
                mmaudit.gemm(a, b, **wrong)
            self.assertEqual(str(caught.exception), line)


if __name__ == "__main__":
    unittest.main()
