"""Laws in Python: what they judge, what they report, and that failures end as small as in `mmaudit verify laws`."""
import os
import unittest

import numpy as np

import mmaudit

F16 = "mma.m16n8k16.f32.f16.f16.f32"
FP8 = "wgmma.m64n8k32.f32.e4m3.e4m3"
SCALED = "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3"


@mmaudit.law
def signs_are_symmetric(batch):
    "D of -A and -C is -D."
    other = batch.run(a=-batch.a, c=-batch.c)
    return np.ma.array(other.values("d") == -batch.values("d"), mask=np.isnan(batch.values("d")))


@mmaudit.law
def products_are_added_exactly(batch):
    "D is the exact sum, correctly rounded: false, alignment drops bits."
    with np.errstate(all="ignore"):
        exact = batch.values("a") @ batch.values("b") + batch.values("c")
        rounded = exact.astype(np.float32)
    return np.ma.array(rounded == batch.values("d"), mask=~np.isfinite(exact) | (np.abs(exact) > 1e38))


class Laws(unittest.TestCase):
    def test_a_law_that_holds(self):
        for inst in (F16, "mma.m16n8k8.f32.bf16.bf16.f32"):
            law = signs_are_symmetric if inst == F16 else same_twice
            found = law.check(inst, tiles=16, seed=3)
            self.assertTrue(found, found)
            self.assertGreater(found.judged, 16 * 16 * 8 // 4)
            self.assertIsNone(found.failure)

    def test_a_failure_is_made_simple(self):
        found = products_are_added_exactly.check(F16, tiles=12, seed=1)
        self.assertFalse(found)
        failure = found.failure
        self.assertTrue(failure.alone)
        self.assertLessEqual(np.count_nonzero(failure.a) + np.count_nonzero(failure.c), 3, str(failure))
        batch = mmaudit.Batch(mmaudit._library.instruction("hopper", F16), lambda inst, x: mmaudit.emulate(inst, **x), {
            "a": np.pad(failure.a[None, None], ((0, 0), (0, 15), (0, 0))),
            "b": np.pad(failure.b[None, :, None], ((0, 0), (0, 0), (0, 7))),
            "c": np.pad(np.full((1, 1, 1), failure.c), ((0, 0), (0, 15), (0, 7))),
        })
        self.assertFalse(products_are_added_exactly(batch)[0, 0, 0])
        self.assertEqual(batch.d[0, 0, 0], failure.d)
        self.assertIn("a = [", str(found))
        self.assertEqual(failure.trace["instruction"], F16)
        self.assertEqual(int(failure.trace["trace"]["d"], 16), int(np.float32(failure.d).view(np.uint32)))
        again = products_are_added_exactly.check(F16, tiles=12, seed=1)
        self.assertEqual((again.broken, str(again)), (found.broken, str(found)))

    def test_narrow_and_scaled_ones_are_shrunk_too(self):
        @mmaudit.law
        def d_is_zero(batch):
            return batch.bits("d") == 0

        for inst, arch, one in ((FP8, "hopper", 0x38), (SCALED, "blackwell_rtx", 2)):
            failure = d_is_zero.check(inst, arch, tiles=4, seed=5).failure
            self.assertTrue(failure.alone)
            self.assertLessEqual(np.count_nonzero(failure.a), 1, str(failure))
            self.assertIn(failure.a.max(), (0, one, 1), str(failure))

    def test_a_backend_of_ones_own(self):
        def kernel(a, b, c):  # forgets C beyond the first column
            c = c.copy()
            c[:, :, 1:] = 0
            return mmaudit.emulate(F16, a, b, c)

        @mmaudit.law
        def is_the_model(batch):
            "The bits of the model."
            model = mmaudit.emulate(F16, batch.a, batch.b, batch.c).view(np.uint32)
            return batch.bits("d") == model

        self.assertTrue(is_the_model.check(F16, tiles=4))
        found = is_the_model.check(F16, tiles=4, on=kernel)
        self.assertFalse(found)
        self.assertFalse(found.failure.alone)  # column 0 alone shows nothing

    def test_nothing_judged_is_no_success(self):
        @mmaudit.law
        def silent(batch):
            return np.ma.masked_all(batch.d.shape, bool)

        found = silent.check(F16, tiles=2)
        self.assertFalse(found)
        self.assertIn("judged no element", str(found))

    def test_refusals(self):
        with self.assertRaisesRegex(ValueError, "allowed: a bool per element"):
            mmaudit.law(lambda batch: batch.d).check(F16, tiles=1)
        with self.assertRaisesRegex(ValueError, "on: found gpu, allowed: model, hardware"):
            same_twice.check(F16, on="gpu")
        with self.assertRaisesRegex(ValueError, "run: found x, allowed: a, b, c"):
            mmaudit.law(lambda batch: batch.run(x=1)).check(F16, tiles=1)

        @mmaudit.law
        def breaks_in_the_middle(batch):
            if batch.d.shape[0] != 3:
                raise ZeroDivisionError("of the law")
            return batch.bits("d") == 0

        with self.assertRaisesRegex(ZeroDivisionError, "of the law"):
            breaks_in_the_middle.check(F16, tiles=3, seed=2)

    def test_sparse_takes_tiles(self):
        inst = "mma.sp.m16n8k32.f32.f16.f16.f32"
        rng = np.random.default_rng(1)
        tiles = {
            "a": rng.standard_normal((2, 16, 16)).astype(np.float16), "b": rng.standard_normal((2, 32, 8)).astype(np.float16),
            "c": np.zeros((2, 16, 8), np.float32), "metadata": np.tile(np.array([0, 1], np.uint8), (2, 16, 8)),
        }

        @mmaudit.law
        def is_zero(batch):
            return batch.d == 0

        self.assertTrue(same_twice.check(inst, tiles=tiles))
        failure = is_zero.check(inst, tiles=tiles).failure
        self.assertEqual(np.count_nonzero(failure.a), 1, str(failure))
        with self.assertRaisesRegex(ValueError, "tiles"):
            same_twice.check(inst)

    def test_hardware_is_the_program(self):
        if not os.environ.get("MMAUDIT_TOOL"):
            self.skipTest("MMAUDIT_TOOL names no mmaudit")
        hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        try:
            with self.assertRaisesRegex(RuntimeError, "no NVIDIA GPU|without CUDA"):
                same_twice.check(F16, on="hardware", tiles=1)
        finally:
            if hidden is None:
                del os.environ["CUDA_VISIBLE_DEVICES"]
            else:
                os.environ["CUDA_VISIBLE_DEVICES"] = hidden


@mmaudit.law
def same_twice(batch):
    "The same operands give the same bits."
    return batch.run().bits("d") == batch.bits("d")
