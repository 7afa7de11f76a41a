"""Bounds of products, and results held to them."""
import unittest

import numpy as np

import mmaudit

FP8 = "wgmma.m64n64k32.f32.e4m3.e4m3"
F16 = "mma.m16n8k16.f32.f16.f16.f32"


def operands(k=512, m=5, n=7):
    rng = np.random.default_rng(1)
    return (mmaudit.convert(rng.standard_normal(s).astype(np.float32), "e4m3") for s in ((m, k), (k, n)))


def numbers(raw):
    return mmaudit.convert(raw, "f64", "e4m3")


class Bounds(unittest.TestCase):
    def test_the_model_is_within(self):
        a, b = operands()
        for more in ({}, {"promote": 128}, {"split_k": 4}):
            exact, bound = mmaudit.tolerance(a, b, inst=FP8, **more)
            self.assertEqual((exact.shape, exact.dtype, bound.shape), ((5, 7), np.float64, (5, 7)))
            np.testing.assert_allclose(exact, numbers(a) @ numbers(b), rtol=0, atol=1e-10)
            d = mmaudit.matmul(a, b, inst=FP8, **more)
            self.assertTrue((np.abs(d - exact) <= bound).all())
            self.assertTrue(((bound > 0) & np.isfinite(bound)).all())
            self.assertTrue(mmaudit.within(d, a, b, inst=FP8, **more))

    def test_promotion_is_held_tighter(self):
        a, b = operands(4096)
        plain, promoted = (mmaudit.tolerance(a, b, inst=FP8, promote=p).bound for p in (None, 128))
        self.assertTrue((promoted < plain / 4).all())

    def test_batches_addends_and_conversion(self):
        rng = np.random.default_rng(2)
        a, b = rng.standard_normal((3, 4, 64)).astype(np.float32), rng.standard_normal((3, 64, 2)).astype(np.float32)
        c = rng.standard_normal((3, 4, 2)).astype(np.float32)
        exact, bound = mmaudit.tolerance(a, b, c, inst=F16, rounding="rn")
        halves = (x.astype(np.float16).astype(np.float64) for x in (a, b))
        np.testing.assert_allclose(exact, np.matmul(*halves) + c, rtol=0, atol=1e-12)
        self.assertEqual(bound.shape, (3, 4, 2))
        d = mmaudit.matmul(a, b, c, inst=F16, rounding="rn")
        self.assertTrue(mmaudit.within(np.asfortranarray(d), a, b, c, inst=F16, rounding="rn"))
        self.assertFalse(mmaudit.within(d, a, b, inst=F16, rounding="rn"))  # without C

    def test_what_has_no_bound(self):
        a, b = np.ones((2, 16), np.float16), np.ones((16, 3), np.float16)
        a[0, 0] = np.nan
        exact, bound = mmaudit.tolerance(a, b, inst=F16)
        self.assertTrue(np.isnan(exact[0]).all() and np.isnan(bound[0]).all() and np.isfinite(bound[1]).all())
        self.assertEqual(mmaudit.within(mmaudit.matmul(a, b, inst=F16), a, b, inst=F16).elements, 3)
        empty = mmaudit.tolerance(a[:0], b, inst=F16)
        self.assertEqual(empty.exact.shape, (0, 3))


class Checks(unittest.TestCase):
    def test_a_wrong_element_is_named(self):
        a, b = operands(64)
        d = mmaudit.matmul(a, b, inst=FP8)
        exact, bound = mmaudit.tolerance(a, b, inst=FP8)
        d[3, 2] = np.float32(exact[3, 2] + 2 * bound[3, 2])
        before = d.copy()
        check = mmaudit.within(d, a, b, inst=FP8)
        np.testing.assert_array_equal(d, before)
        self.assertFalse(check)
        self.assertFalse(check.within)
        self.assertEqual((check.elements, check.beyond, check.worst), (35, 1, (0, 3, 2)))
        self.assertEqual((check.exact, check.found, check.bound), (exact[3, 2], float(d[3, 2]), bound[3, 2]))
        self.assertRegex(check.explanation, r"^1 of 35 elements are beyond their bound; worst \(0, 3, 2\)")
        d[3, 2] = np.nan
        self.assertFalse(mmaudit.within(d, a, b, inst=FP8))

    def test_zeros_say_nothing(self):
        a, b = operands(4096)
        self.assertTrue(mmaudit.within(mmaudit.matmul(a, b, inst=FP8), a, b, inst=FP8))  # its bits: never vacuous
        check = mmaudit.within(np.zeros((5, 7), np.float32), a, b, inst=FP8)
        self.assertTrue(check.within and check.vacuous)
        self.assertFalse(check)

    def test_no_element_is_no_pass(self):
        a, b = operands(64)
        none = mmaudit.matmul(a[:0], b, inst=FP8)
        for check in (mmaudit.within(none, a[:0], b, inst=FP8), mmaudit.close(none, a[:0], b, inst=FP8)):
            self.assertFalse(check)
            self.assertEqual(check.elements, 0)
        nan = np.full_like(a, 0x7F)
        self.assertFalse(mmaudit.within(mmaudit.matmul(nan, b, inst=FP8), nan, b, inst=FP8).within)

    def test_rounded_sums(self):
        rng = np.random.default_rng(4)
        a, b = rng.standard_normal((48, 256)).astype(np.float16), rng.standard_normal((256, 48)).astype(np.float16)
        c = rng.standard_normal((48, 48)).astype(np.float16)
        order = np.concatenate([k + rng.permutation(16) for k in range(0, 256, 16)])
        for inst, arch in ((F16, "hopper"), (F16, "ampere"), ("mma.m16n8k16.f16.f16.f16.f16", "ampere")):
            for d_format in ("f32", "f16", "bf16"):
                for more in ({}, {"alpha": 0.5, "beta": 2.0, "c": mmaudit.convert(c, d_format, "f16")}):
                    how = {"inst": inst, "arch": arch, "d_format": d_format, **more}
                    d = mmaudit.matmul(a, b, **how)
                    self.assertEqual(mmaudit.assert_gemm_close(d, a, b, **how).bit_exact, d.size)
                    other = mmaudit.matmul(a[:, order].copy(), b[order].copy(), **how)
                    mmaudit.assert_gemm_close(other, a, b, **how)
                    self.assertTrue(mmaudit.within(other, a, b, **how))
                    self.assertFalse(mmaudit.close(d, a, b, **{**how, "alpha": 0.25}))
                    exact, bound = mmaudit.tolerance(a, b, **how)
                    expected = how.get("alpha", 1) * (a.astype(np.float64) @ b.astype(np.float64))
                    if more:
                        expected += 2 * mmaudit.convert(more["c"], "f64", d_format)
                    np.testing.assert_allclose(exact, expected, rtol=0, atol=1e-9)
                    self.assertTrue((np.abs(mmaudit.convert(other, "f64", d_format) - exact) <= bound).all())

    def test_the_hint_names_what_helps(self):
        a, b = (np.ones(s, np.float16) for s in ((16, 64), (64, 16)))
        d = mmaudit.matmul(a, b, inst=F16, d_format="f16")
        for function in (mmaudit.close, mmaudit.within):
            for more in ({}, {"rounding": "rn"}):
                with self.assertRaisesRegex(ValueError, r"^d dtype: found float16, allowed: uint32 .*; d_format='f16' says") as raised:
                    function(d, a, b, inst=F16, **more)
                self.assertNotIn("rounding", str(raised.exception))
            self.assertTrue(function(d, a, b, inst=F16, d_format="f16"))
        with self.assertRaisesRegex(ValueError, r"^d dtype: found float64, allowed: uint32 \(raw bits of f32\), float32$"):
            mmaudit.close(d.astype(np.float64), a, b, inst=F16)
        with self.assertRaisesRegex(ValueError, r"allowed: uint32 \(raw bits of s32\), int32$|allowed: uint32 \(raw bits of s32\)$"):
            mmaudit.close(d, a.astype(np.int8), b.astype(np.int8), inst="mma.m16n8k32.s32.s8.s8.s32")

    def test_integers_have_the_bits_of_the_model(self):
        rng = np.random.default_rng(5)
        a, b = (rng.integers(-128, 128, s, np.int8) for s in ((5, 64), (64, 7)))
        inst = "mma.m16n8k32.s32.s8.s8.s32"
        d = mmaudit.matmul(a, b, inst=inst)
        self.assertTrue(mmaudit.close(d, a, b, inst=inst) and mmaudit.within(d, a, b, inst=inst))
        np.testing.assert_array_equal(mmaudit.tolerance(a, b, inst=inst).exact, a.astype(np.int64) @ b.astype(np.int64))
        d.view(np.int32)[2, 3] += 1
        self.assertFalse(mmaudit.close(d, a, b, inst=inst))
        self.assertFalse(mmaudit.within(d, a, b, inst=inst))

    def test_refusals(self):
        a, b = operands(64)
        for pattern, d, more in (
            (r"^d dtype: found float16, allowed: uint32 \(raw bits of f32\), float32", np.zeros((5, 7), np.float16), {}),
            (r"^d shape: found \[5, 8\], allowed: \[5, 7\] \(as A B\)", np.zeros((5, 8), np.float32), {}),
            (r"^promote: found -1", np.zeros((5, 7), np.float32), {"promote": -1}),
            (r"^promote: found 33", np.zeros((5, 7), np.float32), {"promote": 33}),
        ):
            with self.assertRaisesRegex(ValueError, pattern) as raised:
                mmaudit.within(d, a, b, inst=FP8, **more)
            self.assertNotIn("\n", str(raised.exception))
        with self.assertRaisesRegex(ValueError, r"^row: found .*, allowed: fused dot-adds that truncate"):
            mmaudit.tolerance(np.ones((8, 4)), np.ones((4, 8)), inst="mma.m8n8k4.f64.f64.f64.f64")


class Closeness(unittest.TestCase):
    def setUp(self):
        self.a, self.b = operands(2048, 48, 48)

    def d(self, a=None, **more):
        return mmaudit.matmul(self.a if a is None else a, self.b, inst=FP8, **more)

    def test_the_model_passes_and_bits_are_counted(self):
        found = mmaudit.assert_gemm_close(self.d(promote=128), self.a, self.b, inst=FP8, promote=128)
        self.assertEqual((found.elements, found.bit_exact, found.beyond), (2304, 2304, 0))
        zeros = np.zeros((4, 32), np.uint8)
        mmaudit.assert_gemm_close(np.zeros((4, 4), np.float32), zeros, zeros.T.copy(), inst=FP8)

    def test_a_missing_step_is_caught(self):
        less = self.a.copy()
        less[:, 512:544] = 0
        self.assertFalse(mmaudit.close(self.d(less), self.a, self.b, inst=FP8))
        self.assertTrue(mmaudit.within(self.d(less), self.a, self.b, inst=FP8).within)  # the worst case allows it

    def test_another_promotion_is_caught(self):
        with self.assertRaisesRegex(AssertionError, "another promotion"):
            mmaudit.assert_gemm_close(self.d(promote=256), self.a, self.b, inst=FP8, promote=128)

    def test_one_wrong_element_is_named(self):
        d = self.d()
        d[3, 5] *= np.float32(1 + 2.0**-8)
        found = mmaudit.close(d, self.a, self.b, inst=FP8)
        self.assertFalse(found)
        self.assertTrue(found.follows)
        self.assertEqual((found.worst, found.bit_exact), ((0, 3, 5), 2303))

    def test_swapped_scales_are_caught(self):
        inst = "tcgen05.m128n64k32.kind_mxf8f6f4.scale_vec_1X.f32.e4m3.e4m3.ue8m0"
        rng = np.random.default_rng(2)
        x, y = rng.integers(125, 130, (48, 64), np.uint8), rng.integers(125, 130, (64, 48), np.uint8)
        d = mmaudit.matmul(self.a, self.b, inst=inst, arch="blackwell", scale_a=x, scale_b=y)
        mmaudit.assert_gemm_close(d, self.a, self.b, inst=inst, arch="blackwell", scale_a=x, scale_b=y)
        with self.assertRaises(AssertionError):
            mmaudit.assert_gemm_close(d, self.a, self.b, inst=inst, arch="blackwell", scale_a=y.T.copy(), scale_b=x.T.copy())

    def test_false_alarm_is_a_probability(self):
        with self.assertRaisesRegex(ValueError, r"^false_alarm: found 0, allowed: above 0 and below 1"):
            mmaudit.close(self.d(), self.a, self.b, inst=FP8, false_alarm=0)
        for wrong in ("x", "0.5", None, 1j, [1e-3], np.complex64(1)):
            with self.assertRaisesRegex(ValueError, r"^false_alarm: found .*, allowed: a number above 0 and below 1$"):
                mmaudit.close(self.d(), self.a, self.b, inst=FP8, false_alarm=wrong)
        self.assertTrue(mmaudit.close(self.d(), self.a, self.b, inst=FP8, false_alarm=np.float32(1e-3)))

    def test_another_order_inside_the_instructions_passes(self):
        inst = "mma.m16n8k32.f32.e4m3.e4m3.f32"
        for seed in range(5):
            order = np.concatenate([k + np.random.default_rng(seed).permutation(32) for k in range(0, 2048, 32)])
            for more in ({}, {"promote": 128}, {"d_format": "bf16"}):
                d = mmaudit.matmul(self.a[:, order].copy(), self.b[order].copy(), inst=inst, arch="ada", **more)
                found = mmaudit.assert_gemm_close(d, self.a, self.b, inst=inst, arch="ada", **more)
                self.assertLess(found.bit_exact, found.elements)


if __name__ == "__main__":
    unittest.main()
