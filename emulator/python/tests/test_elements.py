"""Element functions of a Llama's block: roundings against torch on the CPU, silu against its chain by hand."""
import unittest
from importlib.util import find_spec

import numpy as np

import mmaudit


def hostile(shape: tuple, seed: int) -> np.ndarray:
    """Numbers of many exponents, zeros of both signs, subnormal numbers, infinities."""
    draws = np.random.default_rng(seed)
    x = draws.standard_normal(shape) * 2.0 ** draws.integers(-20, 20, shape)
    x.flat[: 8] = [0.0, -0.0, np.inf, -np.inf, 1e-40, -1e-41, 3e38, -1e-38]
    return x.astype(np.float32)


class Rope(unittest.TestCase):
    def test_by_hand(self) -> None:
        # x1 cos - x2 sin and x2 cos + x1 sin; 1 + 2^-8 is no bf16, so products show their own rounding in f16.
        x = np.float16([[1.0009765625, 3.0]])
        y = mmaudit.rope(x, np.float16([[1.0009765625, 0.5]]), np.float16([[0.25, 2.0]]))
        # 1.0009765625^2 = 1.00195407867... rounds to 1.001953125 before the sum; 3 * 0.25 = 0.75; 1.5 + 2.001953125.
        self.assertEqual(y.tolist(), [[1.001953125 - 0.75, 3.501953125]])
        self.assertEqual(y.dtype, np.float16)

    @unittest.skipUnless(find_spec("torch"), "torch is not installed")
    def test_as_torch_rounds(self) -> None:
        import torch
        for dtype, bits in ((torch.float32, torch.int32), (torch.bfloat16, torch.int16), (torch.float16, torch.int16)):
            q = torch.from_numpy(hostile((2, 4, 16, 64), 1)).to(dtype)
            angle = torch.from_numpy(np.random.default_rng(2).uniform(-9, 9, (1, 1, 16, 64)).astype(np.float32))
            cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
            # transformers, models/llama/modeling_llama.py: rotate_half, apply_rotary_pos_emb.
            turned = torch.cat((-q[..., 32:], q[..., :32]), dim=-1)
            wanted = (q * cos) + (turned * sin)
            found = mmaudit.rope(q, cos, sin)
            raw = wanted.view(bits).numpy()
            numbers = ~torch.isnan(wanted).numpy()
            self.assertGreater(numbers.sum(), raw.size * 0.99)
            np.testing.assert_array_equal(found.view(raw.dtype)[numbers], raw[numbers])
            self.assertTrue((found.view(raw.dtype)[~numbers] == np.iinfo(raw.dtype).max).all())

    def test_refusals(self) -> None:
        x = np.zeros((2, 4), np.float32)
        for call, line in (
            (lambda: mmaudit.rope(x[:, :3], x, x), "x shape: found"),
            (lambda: mmaudit.rope(x, x[:, :3], x), "cos shape: found"),
            (lambda: mmaudit.rope(x, x, x.astype(np.float16)), "sin dtype: found float16, allowed: f32"),
            (lambda: mmaudit.rope(x.astype(int), x, x), "x dtype: found int64"),
        ):
            with self.assertRaisesRegex(ValueError, line):
                call()


class Swiglu(unittest.TestCase):
    def test_values(self) -> None:
        gate, up = np.float32([0, -200, 200, 1]), np.float32([3, 3, 3, 2])
        found = mmaudit.swiglu(gate, up)
        self.assertEqual(found[:3].tolist(), [0.0, -0.0, 600.0])
        self.assertAlmostEqual(float(found[3]), 2 / (1 + np.exp(-1.0)), places=6)

    @unittest.skipUnless(find_spec("torch"), "torch is not installed")
    def test_rounds_twice_as_torch(self) -> None:
        import torch
        for dtype, bits in ((torch.bfloat16, torch.int16), (torch.float16, torch.int16)):
            gate = torch.from_numpy(np.random.default_rng(3).standard_normal(20000).astype(np.float32) * 3).to(dtype)
            up = torch.from_numpy(hostile((20000,), 4)).to(dtype)
            # exp of the CPU is another one: its bf16 differs where binary32 is near the middle of two numbers.
            wanted = (torch.nn.functional.silu(gate) * up).view(bits).numpy()
            found = mmaudit.swiglu(gate, up).view(wanted.dtype)
            same = (found == wanted).mean()
            self.assertGreater(same, 0.998)
            once = (torch.nn.functional.silu(gate.float()) * up.float()).to(dtype).view(bits).numpy()
            self.assertLess((found == once).mean(), 0.9)

    def test_refusals(self) -> None:
        with self.assertRaisesRegex(ValueError, r"up shape: found \[3\], allowed: \[2\]"):
            mmaudit.swiglu(np.zeros(2, np.float32), np.zeros(3, np.float32))


if __name__ == "__main__":
    unittest.main()
