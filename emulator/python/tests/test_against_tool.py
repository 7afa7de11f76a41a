"""The same bits and the same refusals as the command line tool."""
import numpy as np

import mmaudit
from tests.tool import WithTool, same_bits

F16 = "mma.m16n8k16.f32.f16.f16.f32"
FP8 = "wgmma.m64n64k32.f32.e4m3.e4m3"
SPARSE = "mma.sp.m16n8k32.f32.f16.f16.f32"
SCALED = "mma.m16n8k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.f32.ue4m3"
INT8 = "mma.m16n8k32.satfinite.s32.s8.u8.s32"


def bits(dtype, *shape, seed=1):
    return np.random.default_rng(seed).integers(0, np.iinfo(dtype).max, shape, dtype, endpoint=True)


class Tiles(WithTool):
    def agrees(self, inst, *options, a, b, c=None, **more):
        given = {"a": a, "b": b, **({} if c is None else {"c": c})}
        arrays = {key: x for key, x in more.items() if isinstance(x, np.ndarray)}
        theirs = self.result("matmul", "--tiles", "--inst", inst, *options, **given, **arrays)
        ours = mmaudit.emulate(inst, a, b, c, **more)
        self.assertTrue(same_bits(ours, theirs), f"{inst}: {ours} {theirs}")

    def test_any_bits(self):
        a, b = bits(np.uint8, 3, 64, 32), bits(np.uint8, 3, 32, 64, seed=2)
        self.agrees(FP8, a=a, b=b)
        self.agrees(FP8, "--negate-a", "--scale-d", "0", a=a, b=b, c=bits(np.uint32, 3, 64, 64), negate_a=True, scale_d=0)

    def test_floats(self):
        rng = np.random.default_rng(3)
        a, b = rng.standard_normal((2, 16, 16)).astype(np.float16), rng.standard_normal((2, 16, 8)).astype(np.float16)
        for arch in ("ampere", "hopper", "sm_120"):
            self.agrees(F16, "--arch", arch, a=a, b=b, c=rng.standard_normal((2, 16, 8)).astype(np.float32), arch=arch)

    def test_binary64(self):
        rng = np.random.default_rng(4)
        self.agrees("mma.m8n8k4.f64.f64.f64.f64", a=rng.standard_normal((1, 8, 4)), b=rng.standard_normal((1, 4, 8)))

    def test_integers(self):
        a, b = bits(np.uint8, 2, 16, 32).view(np.int8), bits(np.uint8, 2, 32, 8, seed=2)
        self.agrees(INT8, a=a, b=b, c=bits(np.uint32, 2, 16, 8).view(np.int32))

    def test_sparse(self):
        metadata = np.tile(np.array([1, 3, 0, 2], np.uint8), (1, 16, 4))
        self.agrees(SPARSE, a=bits(np.uint16, 1, 16, 16), b=bits(np.uint16, 1, 32, 8), metadata=metadata)

    def test_block_scaled(self):
        a, b = bits(np.uint8, 2, 16, 64) & 15, bits(np.uint8, 2, 64, 8, seed=2) & 15
        scales = {"scale_a": bits(np.uint8, 2, 16, 4), "scale_b": bits(np.uint8, 2, 4, 8, seed=9)}
        self.agrees(SCALED, "--arch", "sm_120", a=a, b=b, arch="sm_120", **scales)


class Files(WithTool):
    def test_a_converted_file_keeps_its_format(self):
        x = np.random.default_rng(5).standard_normal((7, 9)).astype(np.float32)
        self.assertTrue(same_bits(mmaudit.load(self.saved("x", x)), x))
        for name in ("e4m3", "e5m2", "bf16"):
            done = self.run_tool("convert", "--to", name, "--in", "x.npy", "--out", f"{name}.npy")
            self.assertEqual(done.returncode, 0, done.stderr)
            loaded = mmaudit.load(self.folder / f"{name}.npy")
            ours = mmaudit.convert(mmaudit.convert(x, name), "f32", source=name)
            self.assertTrue(same_bits(mmaudit.convert(loaded, "f32"), ours), name)
        with self.assertRaisesRegex(ValueError, "a dtype: found (e5m2|float8_e5m2), allowed: uint8"):
            mmaudit.matmul(mmaudit.load(self.folder / "e5m2.npy"), x.T, inst=FP8, rounding=None)


class Products(WithTool):
    def test_promotion_slices_and_epilogue(self):
        a, b, c = bits(np.uint8, 17, 300), bits(np.uint8, 300, 33, seed=2), bits(np.uint16, 17, 33, seed=3)
        a, b = a & 0xBF, b & 0xBF  # no NaN, no overflow: sums that differ by policy
        plain = mmaudit.matmul(a, b, inst=FP8)
        self.assertTrue(same_bits(plain, self.result("matmul", "--inst", FP8, a=a, b=b)))
        promoted = mmaudit.matmul(a, b, inst=FP8, promote=64, split_k=3, threads=2)
        options = ("--promote", 64, "--split-k", 3)
        self.assertTrue(same_bits(promoted, self.result("matmul", "--inst", FP8, *options, a=a, b=b)))
        self.assertFalse(same_bits(plain, promoted))
        finished = mmaudit.matmul(a, b, c, inst=FP8, alpha=0.5, beta=2, d_format="bf16")
        options = ("--alpha", 0.5, "--beta", 2, "--d-format", "bf16")
        self.assertTrue(same_bits(finished, self.result("matmul", "--inst", FP8, *options, a=a, b=b, c=c)))

    def test_scales_in_both_layouts_and_factors(self):
        a, b = bits(np.uint8, 17, 200) & 15, bits(np.uint8, 200, 33, seed=2) & 15
        scale_a, scale_b = bits(np.uint8, 17, 13, seed=3) & 0x7B, bits(np.uint8, 13, 33, seed=4) & 0x7B
        inst = ("--arch", "sm_120", "--inst", SCALED)
        theirs = self.result("matmul", *inst, a=a, b=b, scale_a=scale_a, scale_b=scale_b)
        ours = mmaudit.matmul(a, b, inst=SCALED, arch="sm_120", scale_a=scale_a, scale_b=scale_b)
        self.assertTrue(same_bits(ours, theirs))
        self.assertFalse(same_bits(ours, mmaudit.matmul(a, b, inst=SCALED, arch="sm_120", scale_a=scale_a)))

        def blocked(scales):  # (rows, blocks), as torch's to_blocked() does it
            rows, blocks = -(-scales.shape[0] // 128), -(-scales.shape[1] // 4)
            tiles = np.zeros((rows * 128, blocks * 4), np.uint8)
            tiles[: scales.shape[0], : scales.shape[1]] = scales
            tiles = tiles.reshape(rows, 128, blocks, 4).transpose(0, 2, 1, 3)
            return tiles.reshape(-1, 4, 32, 4).transpose(0, 2, 1, 3).reshape(-1)

        both = dict(scale_a=blocked(scale_a), scale_b=blocked(scale_b.T))
        again = mmaudit.matmul(a, b, inst=SCALED, arch="sm_120", scale_layout="blocked", **both)
        self.assertTrue(same_bits(again, theirs))
        options = ("--factor-a", 0.3, "--factor-b", 7, "--alpha", 0.1)
        theirs = self.result("matmul", *inst, *options, a=a, b=b, scale_a=scale_a, scale_b=scale_b)
        scaled = dict(inst=SCALED, arch="sm_120", scale_a=scale_a, scale_b=scale_b)
        self.assertTrue(same_bits(mmaudit.matmul(a, b, **scaled, alpha=0.1, factor_a=0.3, factor_b=7), theirs))
        with self.assertRaisesRegex(ValueError, "scale_a shape: found .*17, 12.* allowed: .*17, 13"):
            mmaudit.matmul(a, b, inst=SCALED, arch="sm_120", scale_a=scale_a[:, :12])

    def test_sparse_products(self):
        a, b = bits(np.uint16, 9, 70) & 0xBFFF, bits(np.uint16, 140, 40, seed=2) & 0xBFFF
        metadata = np.tile(np.array([1, 3, 0, 2, 2, 3], np.uint8), (9, 12))[:, :70]
        theirs = self.result("matmul", "--inst", SPARSE, a=a, b=b, metadata=metadata)
        self.assertTrue(same_bits(mmaudit.matmul(a, b, inst=SPARSE, metadata=metadata), theirs))

    def test_batch_and_every_means(self):
        a, b = bits(np.uint16, 2, 9, 70) & 0xBFFF, bits(np.uint16, 2, 70, 40, seed=2) & 0xBFFF
        theirs = self.result("matmul", "--inst", F16, a=a, b=b)
        for means in ({}, {"plain": True}, {"simd": "portable"}, {"threads": 3}):
            self.assertTrue(same_bits(mmaudit.matmul(a, b, inst=F16, **means), theirs), means)


class Listings(WithTool):
    def test_list(self):
        ours, theirs = mmaudit.list(), self.json("list")
        self.assertEqual(ours["architectures"], theirs["architectures"])
        self.assertIn("e4m3", [row["name"] for row in ours["formats"]])
        self.assertEqual(mmaudit.architectures(), [row["name"] for row in theirs["architectures"]])

    def test_explain(self):
        cases = [
            (FP8, ["448", "0", "0", "0", "0", "0.140625"], ["1", "0", "0", "0", "0", "0.375"], "0.5"),
            (F16, ["inf", "1"], ["1", "2"], "0"),
            (INT8, ["100", "-3"], ["200", "7"], "5"),
            ("mma.m8n8k4.f64.f64.f64.f64", ["0.1", "3"], ["0.2", "7"], "-1"),
        ]
        for inst, a, b, c in cases:
            theirs = self.json("explain", "--inst", inst, "--a", ",".join(a), "--b", ",".join(b), "--c", c)["traces"][0]
            ours = mmaudit.explain(inst, [float(x) for x in a], [float(x) for x in b], float(c))
            self.assertEqual(ours["row"], theirs["row"])
            for key, value in ours["trace"].items():
                self.assertEqual(value, theirs[key], f"{inst} {key}")

    def test_explain_sparse_and_scaled(self):
        theirs = self.json("explain", "--inst", SPARSE, "--a", "1,2", "--b", "3,4,5,6", "--metadata", "1,3")["traces"][0]
        metadata = [1, 3] + [0, 1] * 7
        ours = mmaudit.explain(SPARSE, [1.0, 2.0], [3.0, 4.0, 5.0, 6.0], metadata=metadata)["trace"]
        self.assertEqual(ours["steps"], theirs["steps"])
        options = ("--arch", "sm_120", "--a", "1,2", "--b", "3,4", "--scale-a", "2", "--scale-b", "1,0.5")
        theirs = self.json("explain", "--inst", SCALED, *options)["traces"][0]
        ours = mmaudit.explain(SCALED, [1, 2], [3, 4], arch="sm_120", scale_a=[2], scale_b=[1, 0.5])["trace"]
        self.assertEqual((ours["steps"], ours["scales"]), (theirs["steps"], theirs["scales"]))

    def test_convert(self):
        x = np.random.default_rng(5).standard_normal(1000).astype(np.float32) * 300
        for to, rounding, saturate in (("e4m3", "rn", False), ("e2m1", "rz", True), ("tf32", "rna", False), ("f16", "rp", False)):
            options = ("--to", to, "--round", rounding) + (("--saturate",) if saturate else ())
            theirs = self.result("convert", *options, **{"in": x})
            ours, counts = mmaudit.convert(x, to, rounding=rounding, saturate=saturate, counts=True)
            self.assertTrue(same_bits(ours, theirs), to)
            said = self.json("convert", *options, "--in", "in.npy", "--out", "D.npy")["counts"]
            self.assertEqual(counts["exact"], said["exact"])
            self.assertEqual(counts["overflow"], said["overflow"])
            self.assertEqual(counts["underflow"], said["underflow_to_zero"])


class Refusals(WithTool):
    def test_the_same_line(self):
        a, b = np.zeros((16, 16), np.float16), np.zeros((16, 8), np.float16)
        for options, more in (
            (("--inst", "mma.m16n8k17.f32.f16.f16.f32"), {"inst": "mma.m16n8k17.f32.f16.f16.f32"}),
            (("--inst", F16, "--arch", "hoper"), {"inst": F16, "arch": "hoper"}),
            (("--inst", F16, "--arch", "volta"), {"inst": F16, "arch": "volta"}),
            (("--inst", F16, "--promote", 3), {"inst": F16, "promote": 3}),
            (("--inst", F16, "--split-k", 0), {"inst": F16, "split_k": 0}),
        ):
            line = self.refusal("matmul", *options, a=a, b=b)
            with self.assertRaises(ValueError) as raised:
                mmaudit.matmul(a, b, **more)
            self.assertEqual(str(raised.exception), line)
