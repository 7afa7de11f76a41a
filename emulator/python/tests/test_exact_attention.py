"""check_attention(): faulty callables are found and named, right ones raise no alarm."""
import unittest

import numpy as np

import mmaudit


def attention(q, k, v, causal=False, mask=None, scale=None):
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat(group, 1), v.repeat(group, 1)
    scores = q @ k.swapaxes(-1, -2) * (scale or 1 / np.sqrt(q.shape[-1]))
    if causal:
        rows, keys = scores.shape[-2:]
        scores = np.where(np.arange(keys) <= np.arange(rows)[:, None] + keys - rows, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ v).astype(np.float32)


def right(q, k, v, causal):
    return attention(q, k, v, causal)


def without_a_mask(q, k, v, causal):
    return attention(q, k, v)


def without_the_last_keys(q, k, v):
    last = max(1, k.shape[2] - 8)
    return attention(q, k[:, :, :last], v[:, :, :last])


def of_another_head(q, k, v):
    return attention(q, np.roll(k, 1, 1), np.roll(v, 1, 1))


def masked_from_the_left(q, k, v, causal):
    """Query i sees the keys up to i, as if there were as many queries as keys."""
    keys = k.shape[2]
    return attention(q, k, v) if not causal else np.concatenate(
        [attention(q[:, :, i:i + 1], k[:, :, :min(i + 1, keys)], v[:, :, :min(i + 1, keys)]) for i in range(q.shape[2])], 2)


class Races:
    def __init__(self):
        self.runs = 0

    def __call__(self, q, k, v):
        self.runs += 1
        o = attention(q, k, v)
        return o * 2 if self.runs % 20 == 0 else o


class ExactAttention(unittest.TestCase):
    def test_right_ones_raise_no_alarm(self):
        found = mmaudit.check_attention(right, dtype="f32", count=60)
        self.assertTrue(found, str(found))
        self.assertEqual(found.attentions, 120)
        self.assertGreater(found.rows, 5000)

    def test_faults_are_named(self):
        for function, shape, words in ((without_a_mask, (1, 2, 1, 40, 64, 64), "keys behind the causal mask are taken"),
                                       (without_the_last_keys, (2, 2, 2, 90, 90, 64), "no query takes a key from 82 on"),
                                       (of_another_head, (2, 4, 2, 16, 50, 96), "takes the keys of head"),
                                       (masked_from_the_left, (1, 1, 1, 16, 64, 64), "another key is taken")):
            with self.subTest(function.__name__):
                found = mmaudit.check_attention(function, dtype="f32", shapes=[shape])
                self.assertFalse(found)
                self.assertIn(words, str(found))

    def test_padding_that_is_read(self):
        def reads(q, k, v):
            return attention(q, k, v) + 0 * np.asarray(v.base[..., -1, :v.shape[-1]], np.float32)[..., None, :].sum()

        self.assertFalse(mmaudit.check_attention(reads, dtype="f32", shapes=[(1, 1, 1, 4, 16, 64)]))
        self.assertTrue(mmaudit.check_attention(attention, dtype="f32", shapes=[(1, 1, 1, 4, 16, 64)]))

    def test_a_race_takes_many_runs(self):
        self.assertTrue(mmaudit.check_attention(Races(), dtype="f32", shapes=[(1, 1, 1, 4, 16, 64)], repeat=2))
        self.assertFalse(mmaudit.check_attention(Races(), dtype="f32", shapes=[(1, 1, 1, 4, 16, 64)], repeat=40))

    def test_what_is_refused(self):
        def refuses(q, k, v):
            raise RuntimeError("no kernel\nand more")

        found = mmaudit.check_attention(refuses, dtype="f32", count=3)
        self.assertFalse(found)
        self.assertEqual(found.refused, {"no kernel": 3})
        self.assertFalse(mmaudit.check_attention(attention, dtype="f32", shapes=[]))
        wrong = mmaudit.check_attention(without_the_last_keys, dtype="f32", shapes=[(1, 1, 1, 64, 64, 64)], repeat=0)
        self.assertFalse(wrong)  # 0 runs it as usual, not at all would judge nothing
        self.assertEqual(wrong.runs, 2)
        for more, line in (({"repeat": -1}, "repeat: found -1"), ({"count": 1.5}, "count: found 1.5"),
                           ({"dtype": "fp32"}, "dtype: found fp32"), ({"shapes": [(1, 1, 1, 4, 4.5, 64)]}, "shapes: found 4.5")):
            with self.subTest(line), self.assertRaisesRegex(ValueError, f"^{line}, allowed: "):
                mmaudit.check_attention(attention, **{"dtype": "f32", **more})
        for said in ("CUDA error: an illegal memory access was encountered", "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED",
                     "Triton Error [CUDA]: misaligned address"):
            def fails(q, k, v, said=said):
                raise RuntimeError(said)

            with self.subTest(said), self.assertRaisesRegex(RuntimeError, said[:9]):
                mmaudit.check_attention(fails, dtype="f32", count=3)
        lacks = "CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasLtMatmul`"
        self.assertEqual(mmaudit.check_attention(lambda q, k, v: fails(q, k, v, lacks), dtype="f32", count=3).refused, {lacks: 3})
        for shapes in ([(1, 2, 3, 4)], [(1, 3, 2, 4, 4, 64)], [(1, 1, 1, 4, 4, 8)], [(1, 1, 1, 0, 4, 64)]):
            with self.subTest(shapes), self.assertRaisesRegex(ValueError, "^shapes: found"):
                mmaudit.check_attention(attention, dtype="f32", shapes=shapes)
        with self.assertRaisesRegex(ValueError, "^causal: found True"):
            mmaudit.check_attention(without_the_last_keys, dtype="f32", causal=True)


if __name__ == "__main__":
    unittest.main()
