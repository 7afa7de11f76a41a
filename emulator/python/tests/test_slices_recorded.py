"""Schemes of slices against what an H200 returned: Triton 3.6.0 with input_precision, cuBLAS 13.1 with its emulation of
binary64. Hashes of D are in recorded_slices.json; operands are made of raw words of PCG64, the same everywhere."""
import hashlib
import json
import unittest
from pathlib import Path

import numpy as np

import mmaudit

RECORDED = json.loads((Path(__file__).parent / "recorded_slices.json").read_text(encoding="ascii"))
KINDS = ["uniform", "bell", "wide", "raw", "special", "cancel", "subnormal", "zeros"]
KINDS64 = ["uniform", "close", "wide", "extreme", "cancel", "one", "pair", "special", "zeros"]
ROWS, COLUMNS, DEPTH = 1024, 1024, 192


def words(seed, count):
    return np.random.PCG64(seed).random_raw(count)


def matrix(kind, rows, columns, seed, of_b):
    """binary32, by integers alone."""
    n = rows * columns
    w = words(seed, n)
    low, high = (w & 0xFFFFFFFF).astype(np.uint64), (w >> np.uint64(32)).astype(np.uint64)
    sign = ((high >> np.uint64(31)) & np.uint64(1)).astype(np.uint32) << np.uint32(31)
    fraction = (low & np.uint64(0x7FFFFF)).astype(np.uint32)
    pick = (high & np.uint64(0x7FFFFFFF)).astype(np.uint32)

    def of_exponent(first, count):
        return (sign | ((pick % np.uint32(count) + np.uint32(first)) << np.uint32(23)) | fraction).view(np.float32)

    def bell():
        parts = [((w >> np.uint64(16 * i)) & np.uint64(0xFFFF)).astype(np.int64) for i in range(4)]
        return ((parts[0] + parts[1] + parts[2] + parts[3] - 131070) * 4099 + parts[3]).astype(np.float32) * np.float32(2.0**-28)

    if kind == "uniform":
        x = (low.astype(np.uint32).view(np.int32).astype(np.float64) * 2.0**-31).astype(np.float32)
    elif kind == "bell":
        x = bell()
    elif kind == "wide":
        x = of_exponent(107, 40)
    elif kind == "raw":
        x = of_exponent(0, 255)
    elif kind == "special":
        x = bell().copy()
        bits = x.view(np.uint32)
        values = np.array([0x7F800000, 0xFF800000, 0x7FC00001, 0xFFA00000, 0x80000000, 0x00000001, 0x807FFFFF, 0x7F7FFFFF,
                           0xFF7FFFFF, 0x7F7FF000, 0x3F800000, 0x00800000, 0x7F7F8000, 0, 0x33800000, 0xBF7FFFFF], np.uint32)
        where = pick % np.uint32(4096) == 0
        bits[where] = values[(fraction[where] & np.uint32(15))]
    elif kind == "cancel":
        x = bell().reshape(rows, columns).copy()
        if of_b:
            x[1::2] = x[0::2]
        else:
            x[:, 1::2] = -x[:, 0::2]
    elif kind == "subnormal":
        x = of_exponent(100, 70) if of_b else of_exponent(0, 30)
    else:
        small = (fraction & np.uint32(7)).astype(np.float32) - np.float32(3)
        x = np.where(pick % np.uint32(3) == 0, small, (sign).view(np.float32)).astype(np.float32)
    return np.ascontiguousarray(x.reshape(rows, columns))


def matrix64(kind, rows, columns, seed, of_b):
    """binary64, by integers alone."""
    n = rows * columns
    w, v = words(seed, n), words(seed + 7, n)
    sign = w & np.uint64(1 << 63)
    fraction = w & np.uint64((1 << 52) - 1)
    pick = v >> np.uint64(32)

    def of_exponent(first, count):
        return (sign | ((pick % np.uint64(count) + np.uint64(first)) << np.uint64(52)) | fraction).view(np.float64)

    if kind == "uniform":
        x = (w >> np.uint64(10)).astype(np.int64).astype(np.float64) * 2.0**-53 - 1
    elif kind == "close":
        x = of_exponent(1020, 4)
    elif kind == "wide":
        x = of_exponent(1003, 40)
    elif kind == "extreme":
        x = of_exponent(700, 600)
    elif kind == "cancel":
        x = of_exponent(1020, 4).reshape(rows, columns).copy()
        if of_b:
            x[1::2] = x[0::2]
        else:
            x[:, 1::2] = -x[:, 0::2]
    elif kind == "one":  # a single product per element: shows the slices
        x = np.zeros((rows, columns))
        y = of_exponent(1020, 4).reshape(rows, columns)
        if of_b:
            x[0] = y[0]
        else:
            x[:, 0] = y[:, 0]
    elif kind == "pair":  # the same beside a product of zero whose factor sets the exponent of the row of A
        x = matrix64("one", rows, columns, seed, of_b)
        if of_b:
            x[1] = 0
        else:
            x[:, 1] = 2.0 ** (np.arange(rows) % 24)
    elif kind == "special":
        x = of_exponent(1020, 4).copy()
        bits = x.view(np.uint64)
        values = np.array([0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000001, 0x8000000000000000, 1,
                           0x800FFFFFFFFFFFFF, 0x3FF0000000000000, 0], np.uint64)
        where = (v & np.uint64(1023)) == 0
        bits[where] = values[(fraction[where] & np.uint64(7))]
    else:  # zeros
        x = np.where(pick % np.uint64(3) == 0, (fraction & np.uint64(7)).astype(np.float64) - 3, sign.view(np.float64))
    return np.ascontiguousarray(np.asarray(x, np.float64).reshape(rows, columns))


def digest(d):
    return hashlib.sha1(np.ascontiguousarray(d).tobytes()).hexdigest()[:16]


def product(precision, a, b, small, block):
    """What the kernel computes: small tiles take mma, others wgmma, in rounds of `block`."""
    if precision == "ieee":
        problem = {"type": "f32", "layout": "nn", "m": a.shape[0], "n": b.shape[1], "k": a.shape[1]}
        return mmaudit.gemm(a, b, problem=problem, plan={"scalar": True, "a": "f32", "b": "f32"}, like="cublaslt")
    tf32, bf16 = "mma.m16n8k8.f32.tf32.tf32.f32", "mma.m16n8k16.f32.bf16.bf16.f32"
    if precision == "tf32":
        return mmaudit.matmul(a, b, inst=tf32 if small else "wgmma.m64n64k8.f32.tf32.tf32")
    inst = None if not small else tf32 if precision == "tf32x3" else bf16
    return mmaudit.matmul(a, b, scheme=precision, promote=block, inst=inst)


class Recorded(unittest.TestCase):
    def test_triton(self):
        for kernel, kinds in RECORDED["triton_tiles"].items():
            precision, tile = kernel.split("_")
            rows, _, block = map(int, tile.split("x"))
            for kind, tiles in kinds.items():
                seed = 1000 * KINDS.index(kind)
                a = matrix(kind, ROWS, DEPTH, seed + 1, False)[:128]
                b = np.ascontiguousarray(matrix(kind, DEPTH, COLUMNS, seed + 2, True)[:, :256])
                d = np.asarray(product(precision, a, b, rows < 64, block), np.float32)
                self.assertEqual([digest(d[:, :128]), digest(d[:, 128:])], tiles, (kernel, kind))

    def test_cublas(self):
        for slices, kinds in RECORDED["cublas_tiles"].items():
            for kind, tile in kinds.items():
                seed = 1000 * KINDS64.index(kind) + 500000
                a, b = matrix64(kind, 48, 64, seed + 1, False), matrix64(kind, 64, 48, seed + 2, True)
                self.assertEqual(digest(mmaudit.matmul(a, b, scheme=f"cublas-f64:{slices}")), tile, (slices, kind))

    def test_a_wrong_plan_is_seen(self):
        recorded = RECORDED["triton_tiles"]["bf16x3_64x64x32"]["bell"][0]
        a = matrix("bell", ROWS, DEPTH, 1001, False)[:128]
        b = np.ascontiguousarray(matrix("bell", DEPTH, COLUMNS, 1002, True)[:, :128])
        self.assertEqual(digest(product("bf16x3", a, b, False, 32)), recorded)
        self.assertNotEqual(digest(product("bf16x3", a, b, False, 64)), recorded)
        self.assertNotEqual(digest(product("bf16x6", a, b, False, 32)), recorded)


if __name__ == "__main__":
    unittest.main()
