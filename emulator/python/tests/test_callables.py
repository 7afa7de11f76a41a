"""probe() and reveal() of functions of Python, through the tool."""
import unittest

import numpy as np

import mmaudit

from .tool import WithTool

F16 = "mma.m16n8k8.f32.f16.f16.f32"
F64 = "mma.m8n8k4.f64.f64.f64.f64"


def by_plan(**plan):
    return lambda a, b: mmaudit.matmul(a, b, inst=F16, **plan)


class Callables(WithTool):
    def test_reveal_finds_the_plan_of_a_function(self):
        found = mmaudit.reveal(by_plan(promote=96), m=16, n=16, k=512, arch="hopper")
        self.assertIn("promote 96", found["plan"])
        self.assertEqual(found["mismatches"], 0)
        self.assertGreater(found["verified"], 0)
        self.assertNotIn("promote", mmaudit.reveal(by_plan(), m=16, n=16, k=128, arch="hopper")["plan"])

    def test_reveal_finds_pairs_of_pairs_and_says_where_there_is_no_plan(self):
        def products(a, b):
            return (a.astype(np.float32)[:, :, None] * b.astype(np.float32)[None, :, :]).transpose(1, 0, 2)

        def neighbours(a, b):
            sums = products(a, b)
            while len(sums) > 1:
                sums = sums[0::2] + sums[1::2]
            return sums[0]

        def halves(a, b):
            sums = products(a, b)
            while len(sums) > 1:
                sums = sums[: len(sums) // 2] + sums[len(sums) // 2 :]
            return sums[0]

        # A product of two binary16 is exact in binary32: a sum of two is one fma.
        found = mmaudit.reveal(neighbours, m=8, n=8, k=16)
        self.assertIn("tile k 2, slices 8, slice order bisected", found["plan"])
        self.assertEqual(found["mismatches"], 0)
        found = mmaudit.reveal(halves, m=8, n=8, k=16)
        self.assertIn("lanes 16, lane order halved", found["plan"])
        found = mmaudit.reveal(lambda a, b: neighbours(a, b).astype(np.float16).astype(np.float32), m=8, n=8, k=16)
        self.assertIsNone(found["plan"])
        self.assertTrue(found["why_no_plan"])
        self.assertIn("k 0-15", found["tree"])

    def test_probe_finds_a_datapath(self):
        def fused(a, b, c):
            return mmaudit.emulate(F64, a, b, c).view(np.uint64)

        found = mmaudit.probe(fused, F64, dots=1000)
        self.assertTrue(found["explained"])
        claims = {one["rule"]: one for one in found["claims"]}
        self.assertEqual(claims["rounding"]["value"], "RNE")
        self.assertTrue(claims["rounding"]["witnesses"])
        self.assertEqual(found["model"]["rows"][0]["arithmetic"], "fma_chain")

    def test_what_the_function_raises_comes_back(self):
        def broken(a, b):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            mmaudit.reveal(broken, m=8, n=8, k=16)
        with self.assertRaisesRegex(ValueError, r"D shape: found \[4, 4\], allowed: \[8, 8\]"):
            mmaudit.reveal(lambda a, b: np.zeros((4, 4), np.float32), m=8, n=8, k=16)
        with self.assertRaisesRegex(ValueError, "type: found s9, allowed: "):
            mmaudit.reveal(by_plan(), type="s9")


if __name__ == "__main__":
    unittest.main()
