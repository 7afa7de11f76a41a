"""An input is what its dtype and shape say, or it is refused in one line. What a dtype means, numpy and ml_dtypes say."""
import unittest

import numpy as np

import mmaudit

try:
    import ml_dtypes
except ImportError:
    ml_dtypes = None

#: An instruction per format of A and B, the format's value of 1, and raw bits of it.
INSTRUCTIONS = {
    "f64": ("hopper", "mma.m8n8k4.f64.f64.f64.f64"), "tf32": ("hopper", "mma.m16n8k8.f32.tf32.tf32.f32"),
    "bf16": ("hopper", "wgmma.m64n64k16.f32.bf16.bf16"), "f16": ("hopper", "mma.m16n8k16.f32.f16.f16.f32"),
    "e4m3": ("hopper", "wgmma.m64n64k32.f32.e4m3.e4m3"), "e5m2": ("hopper", "wgmma.m64n64k32.f32.e5m2.e5m2"),
    "e2m1": ("blackwell", "tcgen05.m128n64k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3"),
    "s8": ("hopper", "mma.m16n8k32.s32.s8.s8.s32"), "s4": ("ampere", "mma.m16n8k64.s32.s4.s4.s32"),
    "u8": ("hopper", "mma.m16n8k32.s32.u8.u8.s32"),
}
#: Types that are raw bits by what they say: unsigned integers of the width.
RAW = (np.uint8, np.uint16, np.uint32, np.uint64)


def every_dtype():
    names = [np.dtype(one) for one in np.typecodes["All"] if one not in "SUVO"]
    names += [np.dtype(one) for one in ("S1", "U1", "V1", "V4", "O", ">f2", ">f4")]
    for name in dir(ml_dtypes) if ml_dtypes else ():
        kind = getattr(ml_dtypes, name)
        if isinstance(kind, type) and issubclass(kind, np.generic):
            names.append(np.dtype(kind))
    return list(dict.fromkeys(names))


class Types(unittest.TestCase):
    def test_every_dtype_is_its_numbers_or_refused(self):
        rng, computed = np.random.default_rng(1), set()
        for form, (arch, inst) in INSTRUCTIONS.items():
            for dtype in every_dtype():
                raw = rng.integers(0, 2, (4, 64)) if dtype.kind != "O" else np.ones((4, 64), int)
                try:
                    a = raw.astype(dtype) if dtype.kind not in "V" or dtype.type is not np.void else np.zeros((4, 64), dtype)
                except (TypeError, ValueError, OverflowError):
                    continue  # numpy itself has no numbers of it
                with self.subTest(form=form, dtype=str(dtype)):
                    try:
                        d = mmaudit.matmul(a, a.T.copy(), inst=inst, arch=arch)
                    except ValueError as error:
                        self.assertRegex(str(error), r"^[ab]( dtype)?: found .*, allowed: ")
                        self.assertNotIn("\n", str(error))
                        continue
                    computed.add((form, str(dtype)))
                    if dtype in RAW and form not in ("u8",):
                        continue  # raw bits, and the caller said so
                    wide = raw.astype(np.float64)
                    np.testing.assert_array_equal(d, wide @ wide.T)
        for one in [("f16", "float16"), ("tf32", "float32"), ("f64", "float64"), ("s8", "int8"), ("u8", "uint8"), ("s4", "int8")]:
            self.assertIn(one, computed)
        if ml_dtypes:
            for one in [("e4m3", "float8_e4m3fn"), ("e5m2", "float8_e5m2"), ("bf16", "bfloat16"), ("e2m1", "float4_e2m1fn")]:
                self.assertIn(one, computed)

    def refused(self, pattern, function, *arguments, **how):
        with self.assertRaisesRegex(ValueError, pattern) as raised:
            function(*arguments, **how)
        self.assertNotIn("\n", str(raised.exception))

    def test_packed_bytes(self):
        arch, inst = INSTRUCTIONS["e2m1"]
        packed = np.full((1, 64), 0x22, np.uint8)
        self.refused("^a: found the byte 0x22 at 0, allowed: e2m1, one per byte in its low 4 bits, not packed$",
                     mmaudit.matmul, packed, packed.T.copy(), inst=inst, arch=arch)
        self.refused("^source: found the byte 0x22", mmaudit.convert, packed, "f32", "e2m1")
        arch, inst = INSTRUCTIONS["s4"]
        self.refused("^b: found the byte 0x88", mmaudit.matmul, np.full((1, 64), 255, np.uint8), np.full((64, 1), 0x88, np.uint8),
                     inst=inst, arch=arch)
        self.refused("^a: found 9, allowed: -8 to 7", mmaudit.matmul, np.full((1, 64), 9, np.int8), np.ones((64, 1), np.int8),
                     inst=inst, arch=arch)
        minus = mmaudit.matmul(np.full((1, 64), -8, np.int8), np.ones((64, 1), np.int8), inst=inst, arch=arch)
        self.assertEqual(minus[0, 0], -512)

    def test_shapes_of_scales(self):
        arch, inst = INSTRUCTIONS["e2m1"]
        a, b = np.full((3, 64), 2, np.uint8), np.full((64, 5), 2, np.uint8)
        one = np.full((3, 4), 0x38, np.uint8)
        how = {"inst": inst, "arch": arch}
        self.assertTrue((mmaudit.matmul(a, b, scale_a=one, **how) == 64).all())
        self.refused(r"^scale_a shape: found \[4, 3\], allowed: \[1, 3, 4\] or \[3, 4\] .*exchanged it fits$", mmaudit.matmul, a, b,
                     scale_a=one.T.copy(), **how)
        for shape in ((12,), (1, 12), (12, 1), (2, 6)):
            self.refused(r"^scale_a shape", mmaudit.matmul, a, b, scale_a=one.reshape(shape), **how)
        for shape in ((512,), (1, 512), (128, 4), (1, 1, 32, 16)):
            blocked = np.full(shape, 0x38, np.uint8)
            self.assertTrue((mmaudit.matmul(a, b, scale_a=blocked, scale_layout="blocked", **how) == 64).all())
        for shape in ((4, 128), (512, 1), (2, 256)):
            self.refused(r"^scale_a shape", mmaudit.matmul, a, b, scale_a=np.full(shape, 0x38, np.uint8), scale_layout="blocked", **how)
        if ml_dtypes:
            for dtype in (ml_dtypes.float8_e5m2, ml_dtypes.float8_e8m0fnu, ml_dtypes.float8_e4m3):
                self.refused("^scale_a dtype", mmaudit.matmul, a, b, scale_a=one.view(dtype), **how)
            typed = one.view(ml_dtypes.float8_e4m3fn)
            self.assertTrue((mmaudit.matmul(a, b, scale_a=typed, **how) == 64).all())
            self.refused("^scale_a: found a negative", mmaudit.matmul, a, b, scale_a=-typed, **how)

    def test_callables_give_what_they_say(self):
        @mmaudit.law
        def anything(batch):
            return np.ones(batch.d.shape, bool)

        inst = INSTRUCTIONS["f16"][1]
        for d in (np.zeros((2, 16, 8)), np.zeros((2, 8, 16), np.float32), np.zeros((2, 16, 8), np.int32)):
            self.refused("^d (dtype|shape): found", anything.check, inst, tiles=2, on=lambda a, b, c, d=d: d)

    def test_values_of_lists(self):
        inst = INSTRUCTIONS["f16"][1]
        self.refused("^a: found values of", mmaudit.explain, inst, ["1"], [1.0])
        self.refused("^a: found values of complex128", mmaudit.explain, inst, [1j], [1.0])
        self.assertEqual(mmaudit.cvt("cvt.rn.f16x2.e2m1x2", [np.uint32(0x2A)]), 0x3C00BC00)
        self.refused("^operands: found '1'", mmaudit.cvt, "cvt.rn.f16x2.e2m1x2", ["1"])


if __name__ == "__main__":
    unittest.main()
