"""dtypes, shapes, memory: what a numpy user meets. Values where numpy can tell them."""
import types
import unittest
import unittest.mock

import numpy as np

import mmaudit
from tests.tool import same_bits

F16 = "mma.m16n8k16.f32.f16.f16.f32"
BF16 = "wgmma.m64n64k16.f32.bf16.bf16"
FP8 = "wgmma.m64n64k32.f32.e4m3.e4m3"
INT8 = "mma.m16n8k32.s32.s8.s8.s32"

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None


class BadInput(unittest.TestCase):
    """Input that would be misread without a word."""

    ONES = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)

    def refused(self, part, function, *arguments, **named):
        with self.assertRaises(ValueError) as caught:
            function(*arguments, **named)
        self.assertIn(part, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_metadata_is_whole_and_fits(self):
        sparse = "mma.sp.m16n8k32.f32.f16.f16.f32"
        for bad in ([256], [0.9], [-1]):
            self.refused("metadata", mmaudit.explain, sparse, [1.0], [1.0], metadata=bad)
        self.assertTrue(mmaudit.explain(sparse, [1.0], [1.0], metadata=[0, 1] * 8))

    def test_names_are_whole(self):
        self.refused("NUL", mmaudit.emulate, F16 + "\0x", *self.ONES)
        self.refused("NUL", mmaudit.list, "hopper\0")

    def test_rounding_is_checked_where_it_is_not_used(self):
        for function in (mmaudit.matmul, mmaudit.tolerance):
            self.refused('rounding: found "up"', function, *self.ONES, inst=F16, rounding="up")
        self.refused("rounding", mmaudit.emulate, F16, *self.ONES, rounding="up")
        self.refused("rounding", mmaudit.explain, F16, [1.0], [1.0], rounding="up")

    def test_masks_are_not_lost(self):
        a, b = self.ONES
        self.refused("a: found a masked array", mmaudit.matmul, np.ma.masked_array(a, a == 1), b, inst=F16)
        whole = np.ma.masked_array(a, a == 2)
        self.assertTrue(same_bits(mmaudit.matmul(whole, b, inst=F16), mmaudit.matmul(a, b, inst=F16)))

    def test_bytes_of_files(self):
        a, b = np.full((8, 32), 0x38, np.uint8), np.full((32, 8), 0x38, np.uint8)
        self.refused("a dtype: found |V1, a type that numpy.load() lost", mmaudit.matmul, a.view("V1"), b, inst=FP8)
        self.assertTrue((mmaudit.matmul(a, b, inst=FP8) == 32).all())
        a, b = np.full((8, 16), 0x3F80, np.uint16), np.full((16, 8), 0x3F80, np.uint16)
        self.assertTrue((mmaudit.matmul(a.view("V2"), b.view("V2"), inst=BF16) == 16).all())
        self.refused("bf", mmaudit.matmul, a.view("V2"), b.view("V2"), inst=F16)

    def test_torch(self):
        torch = types.ModuleType("torch")
        torch.int16 = np.int16

        class Tensor:
            """As much of torch.Tensor as is called: numpy lacks its dtype."""

            dtype = "torch.bfloat16"

            def __init__(self, array):
                self.array, self.shape, self.ndim = array, array.shape, array.ndim

            def __array__(self, *_):
                raise TypeError("Got unsupported ScalarType BFloat16")

            def detach(self):
                return self

            cpu = contiguous = detach

            def view(self, dtype):
                return Tensor(self.array.view(dtype))

            def numpy(self):
                return self.array

        Tensor.__module__ = "torch"
        with unittest.mock.patch.dict("sys.modules", torch=torch):
            a, b = Tensor(np.full((8, 16), 0x3F80, np.uint16)), Tensor(np.full((16, 8), 0x3F80, np.uint16))
            self.assertTrue((mmaudit.matmul(a, b, inst=BF16) == 16).all())
            self.refused("a dtype: found bf", mmaudit.matmul, a, b, inst=F16)
            self.assertTrue((mmaudit.matmul(a, b, inst=F16, rounding="rn") == 16).all())

    def test_names_of_others(self):
        pasted = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
        self.assertTrue(same_bits(mmaudit.emulate(pasted, *self.ONES, arch="sm90"), mmaudit.emulate(F16, *self.ONES)))


class Numbers(unittest.TestCase):
    def test_small_integers_are_exact(self):
        rng = np.random.default_rng(1)
        a, b = rng.integers(-8, 9, (37, 200)), rng.integers(-8, 9, (200, 21))
        c = rng.integers(-100, 100, (37, 21))
        for inst, dtype in ((F16, np.float16), ("mma.m16n8k8.f32.tf32.tf32.f32", np.float32), ("mma.m8n8k4.f64.f64.f64.f64", np.float64)):
            d = mmaudit.matmul(a.astype(dtype), b.astype(dtype), c.astype(np.float64 if dtype is np.float64 else np.float32), inst=inst)
            np.testing.assert_array_equal(d, a @ b + c, inst)
        d = mmaudit.matmul(a.astype(np.int8), b.astype(np.int8), c.astype(np.int32), inst=INT8)
        self.assertEqual(d.dtype, np.int32)
        np.testing.assert_array_equal(d, a @ b + c)

    def test_results_are_numpys_types(self):
        a, b = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16)
        self.assertEqual(mmaudit.emulate(F16, a, b).dtype, np.float32)
        self.assertEqual(mmaudit.emulate(F16, a, b).shape, (16, 8))
        self.assertEqual(mmaudit.emulate(F16, a[None], b[None]).shape, (1, 16, 8))
        self.assertEqual(mmaudit.matmul(a, b, inst=F16, d_format="f16").dtype, np.float16)
        self.assertEqual(mmaudit.matmul(a, b, inst=F16, d_format="bf16").dtype, np.uint16)
        self.assertEqual(mmaudit.matmul(a[:0], b, inst=F16).shape, (0, 8))
        self.assertTrue((mmaudit.matmul(a[:, :0], b[:0], inst=F16) == 0).all())

    def test_strides_do_not_matter(self):
        rng = np.random.default_rng(2)
        a, b = rng.standard_normal((20, 30)).astype(np.float16), rng.standard_normal((30, 10)).astype(np.float16)
        whole = mmaudit.matmul(a, b, inst=F16)
        self.assertTrue(same_bits(whole, mmaudit.matmul(np.asfortranarray(a), np.repeat(b, 2, 1)[:, ::2], inst=F16)))
        odd = np.frombuffer(b"\0" + a.tobytes(), np.uint8)[1:].view(np.float16).reshape(a.shape)
        self.assertTrue(same_bits(whole, mmaudit.matmul(odd, b, inst=F16)))

    def test_contiguous_operands_are_not_copied(self):
        from mmaudit import _arrays

        a = np.ones((4, 4), np.float16)
        self.assertIs(_arrays.operand("a", a, "f16", _arrays.Casting()), a)


class Conversions(unittest.TestCase):
    def test_bf16_is_the_upper_half(self):
        x = np.random.default_rng(3).standard_normal(100).astype(np.float32)
        self.assertTrue(same_bits(mmaudit.convert(x, "bf16", rounding="rz"), (x.view(np.uint32) >> 16).astype(np.uint16)))
        back = mmaudit.convert(mmaudit.convert(x, "bf16"), "f32", "bf16")
        np.testing.assert_allclose(back, x, rtol=2.0**-8)

    def test_f16_is_numpys(self):
        x = np.concatenate([np.random.default_rng(4).standard_normal(1000) * 1e5, [np.inf, 0.0, -0.0, 6e-8, 65519, 65520]])
        with np.errstate(over="ignore"):
            self.assertTrue(same_bits(mmaudit.convert(x, "f16"), x.astype(np.float16)))

    def test_of_operands_only_when_asked_for(self):
        rng = np.random.default_rng(5)
        a, b = rng.standard_normal((8, 64)).astype(np.float32), rng.standard_normal((64, 8)).astype(np.float32)
        for inst, name in ((BF16, "bf16"), (FP8, "e4m3")):
            with self.assertRaisesRegex(ValueError, f"a dtype: found float32, allowed: uint.* {name}.*rounding='rn'"):
                mmaudit.matmul(a, b, inst=inst)
            by_hand = mmaudit.matmul(mmaudit.convert(a, name), mmaudit.convert(b, name), inst=inst)
            self.assertTrue(same_bits(mmaudit.matmul(a, b, inst=inst, rounding="rn"), by_hand))
        with self.assertRaisesRegex(ValueError, "rounding: found \"up\", allowed: rn, rz, rna, rp"):
            mmaudit.matmul(a, b, inst=BF16, rounding="up")

    def test_lists(self):
        np.testing.assert_array_equal(mmaudit.convert([1, 2], "e4m3"), np.array([0x38, 0x40], np.uint8))
        self.assertEqual(mmaudit.convert(1.0, "f16").shape, ())
        with self.assertRaisesRegex(ValueError, "allowed: a float type"):
            mmaudit.convert(np.zeros(3, np.uint8), "f32")

    @unittest.skipUnless(ml_dtypes, "ml_dtypes is not installed")
    def test_ml_dtypes(self):
        rng = np.random.default_rng(6)
        a, b = (rng.standard_normal(s).astype(ml_dtypes.float8_e4m3fn) for s in ((8, 64), (64, 8)))
        raw = mmaudit.matmul(a.view(np.uint8), b.view(np.uint8), inst=FP8)
        self.assertTrue(same_bits(mmaudit.matmul(a, b, inst=FP8), raw))
        self.assertEqual(mmaudit.matmul(a, b, inst=FP8, d_format="bf16").dtype, ml_dtypes.bfloat16)


class Refusals(unittest.TestCase):
    def refused(self, pattern, function, *arguments, **more):
        with self.assertRaisesRegex(ValueError, pattern) as raised:
            function(*arguments, **more)
        self.assertNotIn("\n", str(raised.exception))

    def test_in_one_line(self):
        a, b = np.zeros((16, 16), np.float16), np.zeros((16, 8), np.float16)
        emulate, matmul = mmaudit.emulate, mmaudit.matmul
        self.refused(r"^b shape: found \[15, 8\]|^b shape: found \[1, 15, 8\], allowed", matmul, a, b[:15], inst=F16)
        self.refused(r"^a shape: found \[1, 15, 16\], allowed: \[1, 16, 16\] \(tiles, m, k\)", emulate, F16, a[:15], b)
        self.refused(r"^a shape: found \[16\], allowed: two or three", emulate, F16, a[0], b)
        self.refused(r"^c dtype: found float16, allowed: uint32 \(raw bits of f32\), float32; rounding", emulate, F16, a, b, b)
        self.refused(r"^a dtype: found int64", emulate, F16, a.astype(np.int64), b)
        self.refused(r"^a dtype: found >f2", emulate, F16, a.astype(">f2"), b)
        self.refused(r"^scale_a: found with mma", emulate, F16, a, b, scale_a=np.zeros(3, np.uint8))
        self.refused(r"^metadata: found some with mma", emulate, F16, a, b, metadata=np.zeros((16, 16), np.uint8))
        self.refused(r"^modifiers: found with mma", emulate, F16, a, b, negate_a=True)
        self.refused(r"^scale_d: found 2", emulate, F16, a, b, scale_d=2)
        self.refused(r"^threads: found -1", matmul, a, b, inst=F16, threads=-1)
        self.refused(r"^threads: found 4294967297, allowed: 0 to 4096", matmul, a, b, inst=F16, threads=2**32 + 1)
        self.refused(r"^split_k: found 18446744073709551619, allowed: 1 to", matmul, a, b, inst=F16, split_k=2**64 + 3)
        self.refused(r"^promote: found -16, allowed: 0 to", matmul, a, b, inst=F16, promote=-16)
        self.refused(r"^simd: found neon, allowed: portable", matmul, a, b, inst=F16, simd="neon")
        self.refused(r"^epilogue output: found e4m3", matmul, a, b, inst=F16, d_format="e4m3")
        self.refused(r'^format: found "f99", allowed: f64', matmul, a, b, inst=F16, d_format="f99")
        self.refused(r'^to: found "e9m9"|^format: found "e9m9"', mmaudit.convert, [1.0], "e9m9")
        self.refused(r"^a: found 17 values, allowed: at most 16", mmaudit.explain, F16, [1.0] * 17, [1.0])
        self.refused(r"^a: found values that e4m3 does not hold", mmaudit.explain, FP8, [1.1], [1.0])
        self.assertEqual(mmaudit.explain(FP8, [1.1], [1.0], rounding="rn")["trace"]["d"], "3f900000")
        self.refused(r'^arch: found "x"', mmaudit.list, "x")

    def test_memory(self):
        with self.assertRaisesRegex(MemoryError, r"memory: found \d+ bytes needed .*, allowed: 1000 bytes"):
            mmaudit.matmul(np.ones((8, 8), np.float16), np.ones((8, 8), np.float16), inst=F16, memory=1000)
        wide = np.broadcast_to(np.float16(1), (2**20, 16)), np.broadcast_to(np.float16(1), (16, 2**24))
        with self.assertRaisesRegex(MemoryError, "found 70368744177664 bytes needed for the result, allowed: 1 bytes"):
            mmaudit.matmul(*wide, inst=F16, memory=1)

    def test_numbers_of_a_product(self):
        a, b = np.ones((4, 16), np.float16), np.ones((16, 8), np.float16)
        for field, values in {"alpha": [np.nan, np.inf, 1e300, "1"], "beta": [np.nan], "factor_a": [1e39, np.ones(1)],
                              "threads": ["x", 1.5, 4097], "promote": [1.5, -1], "split_k": [0, "2"]}.items():
            for value in values:
                self.refused(f"^{field}: found ", mmaudit.matmul, a, b, inst=F16, **{field: value})
        self.refused(r"^alpha \* factor_a \* factor_b", mmaudit.matmul, a, b, inst=F16, factor_a=3e38, factor_b=3e38)

    def test_packed_conversions(self):
        self.assertEqual(mmaudit.cvt("cvt.rn.satfinite.e2m1x2.f32", [1.0, -1.0]), 0x2A)
        self.assertEqual(mmaudit.cvt("cvt.rn.f16x2.e2m1x2", [0x2A]), 0x3C00BC00)
        self.assertEqual(mmaudit.cvt("cvt.rs.bf16x2.f32", [1 + 2**-8, 1 + 2**-8], 0x80000000), 0x3F813F80)
        with self.assertRaisesRegex(ValueError, r"^rounding of \.e4m3x2: found rz, allowed: rn"):
            mmaudit.cvt("cvt.rz.satfinite.e4m3x2.f32", [1.0, 2.0])
        with self.assertRaisesRegex(ValueError, r"^operands"):
            mmaudit.cvt("cvt.rn.f16x2.f32", [2**32, 0])


if __name__ == "__main__":
    unittest.main()
