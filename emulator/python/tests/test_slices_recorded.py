"""Schemes of slices against what an H200 returned: Triton 3.6.0 with input_precision, cuBLAS 13.1 with its emulation of
binary64. Hashes of D are in recorded_slices.json; operands are made of raw words of PCG64, the same everywhere."""
import hashlib
import json
import unittest
from pathlib import Path

import numpy as np

import mmaudit

from .record_slices import KINDS, KINDS64, matrix, matrix64
from .record_slices import K as DEPTH
from .record_slices import M as ROWS
from .record_slices import N as COLUMNS

RECORDED = json.loads((Path(__file__).parent / "recorded_slices.json").read_text(encoding="ascii"))

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

    def test_cublas_chooses(self):
        for kind, tile in RECORDED["cublas_dynamic_tiles"].items():
            seed = 1000 * KINDS64.index(kind) + 500000
            a, b = matrix64(kind, 512, 256, seed + 1, False), matrix64(kind, 256, 512, seed + 2, True)
            self.assertEqual(digest(mmaudit.matmul(a, b, scheme="cublas-f64:auto")[:128, :128]), tile, kind)
        a, b = matrix64("wide", 48, 64, 502001, False), matrix64("wide", 64, 48, 502002, True)
        with self.assertRaisesRegex(ValueError, "needs 12 slices, allowed: up to 10"):  # cuBLAS reported 93 bits
            mmaudit.matmul(a, b, scheme="cublas-f64:auto")

    def test_a_wrong_plan_is_seen(self):
        recorded = RECORDED["triton_tiles"]["bf16x3_64x64x32"]["bell"][0]
        a = matrix("bell", ROWS, DEPTH, 1001, False)[:128]
        b = np.ascontiguousarray(matrix("bell", DEPTH, COLUMNS, 1002, True)[:, :128])
        self.assertEqual(digest(product("bf16x3", a, b, False, 32)), recorded)
        self.assertNotEqual(digest(product("bf16x3", a, b, False, 64)), recorded)
        self.assertNotEqual(digest(product("bf16x6", a, b, False, 32)), recorded)


if __name__ == "__main__":
    unittest.main()
