"""Special functions on arrays."""
import unittest

import numpy as np

import mmaudit


def bits(x: np.ndarray) -> list:
    return [hex(each) for each in x.view(np.uint32 if x.dtype.itemsize == 4 else np.uint16)]


class Functions(unittest.TestCase):
    def test_recorded_bits(self) -> None:
        # Recorded on an H200: corpus/data/hopper/functions.
        x = np.array([0.25, -1, 2.0 ** -20, np.inf], np.float32)
        assert bits(mmaudit.sin(x)) == ["0x3e7d5776", "0xbf576aa3", "0x357b5680", "0x7fffffff"]
        assert bits(mmaudit.ex2(x))[1] == "0x3f000000"

    def test_near_the_value(self) -> None:
        x = np.linspace(0.1, 3, 1001, dtype=np.float32)
        wide = x.astype(np.float64)
        for found, exact in ((mmaudit.ex2(x), 2 ** wide), (mmaudit.lg2(x), np.log2(wide)), (mmaudit.rcp(x), 1 / wide),
                             (mmaudit.rsqrt(x), wide ** -0.5), (mmaudit.sqrt(x, ftz=True), wide ** 0.5),
                             (mmaudit.cos(x), np.cos(wide)), (mmaudit.function("expf", x), np.exp(wide))):
            assert found.dtype == np.float32 and np.allclose(found, exact, rtol=1e-6, atol=1e-6)

    def test_forms_follow_the_dtype(self) -> None:
        half = np.array([0.5, -2], np.float16)
        assert mmaudit.ex2(half).dtype == np.float16 and mmaudit.tanh(half).dtype == np.float16
        assert mmaudit.ex2([[1.0, 2.0]]).tolist() == [[2.0, 4.0]]
        assert mmaudit.function("divide", np.float32([1]), np.float32([3]))[0] == np.float32(1) / np.float32(3)

    def test_refusals(self) -> None:
        for call, line in (
            (lambda: mmaudit.function("expg", [1.0]), "did you mean expf"),
            (lambda: mmaudit.function("expf", [1.0], [1.0]), "no y for expf"),
            (lambda: mmaudit.function("divide", np.float32([1, 2]), np.float32([1])), "y shape: found"),
            (lambda: mmaudit.lg2(np.zeros(2)), "x dtype: found float64"),
        ):
            with self.assertRaisesRegex(ValueError, line):
                call()


if __name__ == "__main__":
    unittest.main()
