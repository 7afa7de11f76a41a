"""Arguments of foreign types and sizes: a result, or a ValueError in one line "field: found X, allowed: Y"."""
import unittest
from typing import Any, Callable, Dict

import numpy as np

import mmaudit

FOREIGN = (None, True, -1, 0, 1.5, float("nan"), float("inf"), 2**64, 2**70,
           "x", "", [], {}, (), object(), b"x", [1, "x"], {"x": 1}, {1: 2})
Q = np.ones((1, 2, 8, 64), np.float16)
A, B = np.ones((16, 64), np.float16), np.ones((64, 16), np.float16)
X = np.ones((4, 64), np.float32)

#: The call, and its arguments that are tried.
CALLS: "Dict[str, tuple[Callable[..., Any], Dict[str, Any], str]]" = {
    "attention": (lambda **how: mmaudit.attention(Q, Q, Q, **how), {},
                  "like plan kernels causal window mask scale type arch descale_q softcap sinks threads cu_seqlens_q"),
    "collective": (lambda **how: mmaudit.collective(X, **how), {},
                   "kind operation library log algorithm protocol channels rings threads buffer"),
    "gemm": (lambda **how: mmaudit.gemm(A, B, **how), {"plan": {"scalar": True, "a": "f16", "b": "f16"}},
             "like problem plan call c bias threads"),
    "reduce_rows": (lambda **how: mmaudit.reduce_rows(x=X, **how), {"operation": "rms_norm"}, "operation weight bias epsilon output like"),
    "function": (lambda **how: mmaudit.function(**how), {"name": "ex2.approx.f32", "x": 1.0}, "name x y"),
    "convert": (lambda **how: mmaudit.convert(**how), {"x": [1.0], "to": "e4m3"}, "x to source rounding"),
    "cvt": (lambda **how: mmaudit.cvt(**how), {"opcode": "cvt.rn.f16x2.f32", "operands": [1.0, 2.0]}, "opcode operands"),
    "check_gemm": (lambda **how: mmaudit.check_gemm(lambda a, b: a @ b, **how), {"dtype": "f32", "count": 1, "repeat": 1},
                   "count shapes repeat seed layout"),
    "matmul": (lambda **how: mmaudit.matmul(A, B, **how), {"inst": "mma.m16n8k16.f32.f16.f16.f32"},
               "inst arch c promote split_k alpha beta threads"),
    "close": (lambda **how: mmaudit.close(np.full((16, 16), 64, np.float32), A, B, **how), {"inst": "mma.m16n8k16.f32.f16.f16.f32"},
              "inst arch promote split_k false_alarm"),
}


class ForeignArguments(unittest.TestCase):
    def test_each_is_read_or_refused(self) -> None:
        refusals = 0
        for name, (call, usual, tried) in CALLS.items():
            call(**usual)
            for field in tried.split():
                for value in FOREIGN:
                    if name == "check_gemm" and field in ("count", "repeat") and value == 0:
                        continue  # none, and as usual
                    with self.subTest(call=name, field=field, value=repr(value)):
                        try:
                            call(**{**usual, field: value})
                        except ValueError as error:
                            refusals += 1
                            self.assertRegex(str(error), r"\A[^\n]*: found [^\n]*, allowed: [^\n]*\Z")
        self.assertGreater(refusals, 500)

    def test_no_number_is_cut_to_what_fits(self) -> None:
        for field in ("channels", "threads", "buffer"):
            with self.assertRaisesRegex(ValueError, f"{field}: found 18446744073709551617, allowed: "):
                mmaudit.collective(X, **{field: 2**64 + 1})

    def test_a_text_is_no_list_of_kernels(self) -> None:
        with self.assertRaisesRegex(ValueError, "kernels: found a str, allowed: a list of names"):
            mmaudit.attention(Q, Q, Q, kernels="flash")  # type: ignore[arg-type]
