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
            (lambda: mmaudit.lg2(np.zeros(2)), "x dtype: found float64, .* float32$"),
        ):
            with self.assertRaisesRegex(ValueError, line):
                call()

    def test_what_is_no_operand_is_refused_in_one_grammar(self) -> None:
        x = np.ones((2, 4), np.float32)
        calls = {op: getattr(mmaudit, op) for op in ("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos", "tanh")}
        calls.update({
            "function name": lambda one: mmaudit.function(one, [1.0]), "x": lambda one: mmaudit.function("expf", one),
            "x of f16": lambda one: mmaudit.function("ex2.approx.f16", one), "y": lambda one: mmaudit.function("divide", x, one),
            "operation": lambda one: mmaudit.reduce_rows(one, x), "row": lambda one: mmaudit.reduce_rows("sum", one),
            "weight": lambda one: mmaudit.reduce_rows("layer_norm", x, one),
            "bias": lambda one: mmaudit.reduce_rows("layer_norm", x, x[0], one),
            "epsilon": lambda one: mmaudit.reduce_rows("rms_norm", x, epsilon=one),
            "output": lambda one: mmaudit.reduce_rows("sum", x, output=one), "like": lambda one: mmaudit.reduce_rows("sum", x, like=one),
            "gate": lambda one: mmaudit.swiglu(one, x), "up": lambda one: mmaudit.swiglu(x, one),
            "rope": lambda one: mmaudit.rope(one, x, x),
            "cos table": lambda one: mmaudit.rope(x, one, x), "sin table": lambda one: mmaudit.rope(x, x, one)})
        absent = ("weight", "bias", "output", "like")  # None means that there is none
        hostile = [None, "", "ex2", b"ex2", bytearray(b"ex2"), memoryview(b"ex2"), {}, {"a": 1}, {1}, object(), len, int, np.float32,
                   np.array([None]), np.array([1.0, "a"], object), ["1.5"], [None], [b"1"], 1j, [1j], [[1.0], [1.0, 2.0]], 10 ** 400,
                   iter([1.0]), np.array(["1.5"]), np.array([1j]), np.zeros(2, bool), np.zeros(2, "M8[s]"), np.zeros(2, "V3"),
                   np.zeros(2, [("a", "f4")]), np.zeros(2, ">f4"), np.zeros(2, np.int64), np.zeros(2), np.ma.array([1, 2], mask=[0, 1])]
        for name, call in calls.items():
            for one in hostile:
                if one is None and name in absent:
                    continue
                with self.subTest(call=name, given=repr(one)), \
                        self.assertRaisesRegex(ValueError, r"\A[^\n]+: found [^\n]*, allowed: [^\n]+\Z"):
                    call(one)

    def test_numbers_of_lists_round_once(self) -> None:
        # 1 + 2^-11 + 2^-40: to binary32 it would lose the last bit, and then be a tie of binary16.
        found = mmaudit.function("ex2.approx.f16", [2 ** -11 + 1 + 2 ** -40])
        self.assertEqual(bits(found), bits(mmaudit.ex2(np.float16([1 + 2 ** -10]))))
        self.assertEqual(found.dtype, np.float16)
        for one in (3, 3.0, True, np.float32(3), np.array(3, np.float32), range(3), []):
            self.assertEqual(mmaudit.ex2(one).shape, np.shape(one))


if __name__ == "__main__":
    unittest.main()
