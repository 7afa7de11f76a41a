"""Special functions of a GPU on numpy arrays: what they give, bit for bit."""
from typing import Callable, Optional, Tuple

import numpy as np

from . import _arrays, _library
from ._library import lib
from ._operations import Values
from ._refuse import refused


def function(name: str, x: Values, y: Optional[Values] = None) -> np.ndarray:
    """What a GPU gives for each number of ``x``, with its bits.

    Args:
        name: "ex2.approx.f32", "expf", "__expf", "expf/fast" (with --use_fast_math), ...: the names of
            `mmaudit list --functions`.
        x: numbers of any shape: float32 or lists of numbers; for the 16-bit functions float16, ml_dtypes.bfloat16. Raw
            bits are uint32 or uint16.
        y: the divisor of a quotient, of x's shape.
    Returns: an array of x's shape and dtype. Range and errors: docs/functions.md.
    Raises: ValueError, in one line "field: found X, allowed: Y".
    """
    narrow = "f16" if name.endswith(".f16") else "bf16" if name.endswith("bf16") else None
    raw = np.uint16 if narrow else np.uint32

    def words(field: str, given: Values) -> np.ndarray:
        array = _arrays.array_of(field, given if hasattr(given, "dtype") else np.asarray(given, np.float32))
        how = _arrays.Casting(None if hasattr(given, "dtype") else "rn")
        return _arrays.operand(field, array, narrow or "f32", how)

    operand = words("x", x)
    bits = [np.ascontiguousarray(operand.view(raw).astype(np.uint32))]
    if y is not None:
        bits.append(np.ascontiguousarray(words("y", y).view(raw).astype(np.uint32)))
        if bits[1].shape != bits[0].shape:
            raise refused("y shape", bits[1].shape, bits[0].shape)
    result = np.empty(operand.shape, np.uint32)
    divisors = bits[1].ctypes.data if y is not None else None
    _library.check(lib.mmaudit_function(_library.encoded(name), bits[0].ctypes.data, divisors, result.size,
                                        result.ctypes.data))
    return result.astype(raw).view(operand.dtype)


def _named(op: str, value: str, ftz_too: bool = True, narrow: Tuple[str, ...] = ()) -> Callable[..., np.ndarray]:
    """The function of a PTX instruction, whose form is the one of x's dtype."""
    def one(x: Values, ftz: bool = False) -> np.ndarray:
        dtype = _arrays.format_of(_arrays.array_of("x", x).dtype) if hasattr(x, "dtype") else None
        forms = [form for form in narrow if dtype is not None and form.endswith("." + dtype)]
        return function(op + ".approx" + (forms[0] if forms else ".ftz.f32" if ftz and ftz_too else ".f32"), x)

    one.__name__ = op
    forms = ", ".join((".f32 (with ``ftz`` .ftz.f32)" if ftz_too else ".f32",) + narrow)
    one.__doc__ = f"""{value} as {op}.approx gives it, by x's dtype: {forms}; see function()."""
    return one


ex2 = _named("ex2", "2 ** x", narrow=(".f16", ".ftz.bf16"))
lg2 = _named("lg2", "log2(x)")
rcp = _named("rcp", "1 / x")
rsqrt = _named("rsqrt", "1 / sqrt(x)")
sqrt = _named("sqrt", "sqrt(x)")
sin = _named("sin", "sin(x)")
cos = _named("cos", "cos(x)")
tanh = _named("tanh", "tanh(x)", ftz_too=False, narrow=(".f16", ".bf16"))
