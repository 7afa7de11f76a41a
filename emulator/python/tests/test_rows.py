"""reduce_rows(): the face, and one order of sums computed by numpy. Bits of the GPU: emulator/tests/row_reduction_test.cpp."""
import unittest

import numpy as np

import mmaudit


def by_halves(parts: np.ndarray) -> np.ndarray:
    while parts.shape[-1] > 1:
        half = parts.shape[-1] // 2
        parts = parts[..., :half] + parts[..., half:]
    return parts[..., 0]


class Rows(unittest.TestCase):
    def test_a_sum_in_the_order_of_its_plan(self) -> None:
        x = np.random.RandomState(1).standard_normal((8, 512)).astype(np.float32)
        y, plan = mmaudit.reduce_rows("sum", x)
        self.assertIn("walk=vectors statistic=sum vector=4 accumulators=4 lanes=64 groups=1 blocks=1", plan)
        sums = np.zeros((8, 64, 4), np.float32)
        for step in range(2):
            sums += x[:, step * 256:(step + 1) * 256].reshape(8, 64, 4)
        lanes = ((sums[..., 0] + sums[..., 1]) + sums[..., 2]) + sums[..., 3]
        np.testing.assert_array_equal(y, by_halves(lanes))

    def test_shapes_and_types(self) -> None:
        x = np.random.RandomState(2).standard_normal((2, 3, 40)).astype(np.float16)
        self.assertEqual(mmaudit.reduce_rows("mean", x)[0].shape, (2, 3))
        y, plan = mmaudit.reduce_rows("softmax", x, output="f32")
        self.assertEqual((y.shape, y.dtype), ((2, 3, 40), np.float32))
        self.assertIn("kernel=softmax_warp_forward", plan)
        np.testing.assert_allclose(y.sum(-1), 1, rtol=1e-6)
        weight = np.ones(40, np.float16)
        for name in ("layer_norm", "rms_norm", "rms_norm_steps"):
            y, _ = mmaudit.reduce_rows(name, x, weight, epsilon=1e-6)
            self.assertEqual((y.shape, y.dtype), (x.shape, x.dtype))
            np.testing.assert_allclose((y.astype(np.float32) ** 2).mean(-1), 1, rtol=1e-2)
        np.testing.assert_array_equal(mmaudit.reduce_rows("amax", x)[0], x.max(-1))

    def test_refusals(self) -> None:
        x = np.zeros((2, 4), np.float32)
        for arguments, line in (
            (("median", x), 'operation: found "median", allowed: sum, mean, amax, softmax, log_softmax, layer_norm, '
                            "rms_norm, rms_norm_steps"),
            (("sum", x.astype(np.float64)), "type: found f64, allowed: f32, bf16, f16"),
            (("sum", x[:0]), "x: found 0 rows of 4, allowed: at least one of each"),
            (("sum", np.float32(1)), "x: found 0 dimensions of float32, allowed: rows of f32, bf16 or f16"),
            (("sum", x, np.ones(4, np.float32)), "weight: found one, allowed: none of sum"),
            (("layer_norm", x, np.ones(3, np.float32)), "weight shape: found [3], allowed: [4] (n)"),
            (("layer_norm", x, np.ones(4, np.float16)),
             "weight dtype: found float16, allowed: uint32 (raw bits of f32), float32"),
        ):
            with self.assertRaises(ValueError) as caught:
                mmaudit.reduce_rows(*arguments)
            self.assertEqual(str(caught.exception), line)
        with self.assertRaisesRegex(ValueError, "epsilon: found 1e-05, allowed: 0 of softmax"):
            mmaudit.reduce_rows("softmax", x, epsilon=1e-5)
        with self.assertRaisesRegex(ValueError, 'like: found "torch-1", allowed: torch-2.11'):
            mmaudit.reduce_rows("sum", x, like="torch-1")


if __name__ == "__main__":
    unittest.main()
