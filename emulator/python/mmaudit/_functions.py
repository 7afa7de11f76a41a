"""Special functions of a GPU on numpy arrays: what they give, bit for bit."""
import json
from typing import Any, Dict, List, Optional

import numpy as np

from . import _arrays, _library
from ._library import lib
from ._operations import Values
from ._refuse import refused


def functions() -> List[Dict[str, Any]]:
    """The special functions of the model: {"name", "value", "operands", "bits", "steps", "evidence"} each."""
    found: List[Dict[str, Any]] = json.loads(_library.text_from(lib.mmaudit_functions))["functions"]
    return found


def function(name: str, x: Values, y: Optional[Values] = None) -> np.ndarray:
    """What a GPU gives for each number of ``x``, with its bits.

    Args:
        name: "ex2.approx.f32", "expf", "__expf", "expf/fast" (with --use_fast_math), ...: the names of functions().
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
        return _arrays.operand(field, array, narrow or "f32", _arrays.Casting("rn" if array.dtype.kind == "f" and
                               not hasattr(given, "dtype") else None))

    operand = words("x", x)
    bits = [np.ascontiguousarray(operand.view(raw).astype(np.uint32))]
    if y is not None:
        bits.append(np.ascontiguousarray(words("y", y).view(raw).astype(np.uint32)))
        if bits[1].shape != bits[0].shape:
            raise refused("y shape", bits[1].shape, bits[0].shape)
    result = np.empty(operand.shape, np.uint32)
    _library.check(lib.mmaudit_function(_library.encoded(name), bits[0].ctypes.data,
                                        bits[1].ctypes.data if y is not None else None, result.size, result.ctypes.data))
    return result.astype(raw).view(operand.dtype)


def _form(op: str, x: Values, ftz: bool, narrow: "tuple[str, ...]" = ()) -> np.ndarray:
    """The form of a PTX instruction that takes x's dtype."""
    name = _arrays.format_of(_arrays.array_of("x", x).dtype) if hasattr(x, "dtype") else "f32"
    for form in narrow:
        if name is not None and form.endswith("." + name):
            return function(f"{op}.approx{form}", x)
    return function(f"{op}.approx{'.ftz' if ftz else ''}.f32", x)


def ex2(x: Values, ftz: bool = False) -> np.ndarray:
    """2 ** x as ex2.approx gives it: .f32 (with ``ftz`` .ftz.f32), .f16 or .ftz.bf16 after x's dtype; see function()."""
    return _form("ex2", x, ftz, (".f16", ".ftz.bf16"))


def lg2(x: Values, ftz: bool = False) -> np.ndarray:
    """log2(x) as lg2.approx.f32 gives it, with ``ftz`` lg2.approx.ftz.f32; see function()."""
    return _form("lg2", x, ftz)


def rcp(x: Values, ftz: bool = False) -> np.ndarray:
    """1 / x as rcp.approx.f32 gives it, with ``ftz`` rcp.approx.ftz.f32; see function()."""
    return _form("rcp", x, ftz)


def rsqrt(x: Values, ftz: bool = False) -> np.ndarray:
    """1 / sqrt(x) as rsqrt.approx.f32 gives it, with ``ftz`` rsqrt.approx.ftz.f32; see function()."""
    return _form("rsqrt", x, ftz)


def sqrt(x: Values, ftz: bool = False) -> np.ndarray:
    """sqrt(x) as sqrt.approx.f32 gives it, with ``ftz`` sqrt.approx.ftz.f32; see function()."""
    return _form("sqrt", x, ftz)


def sin(x: Values, ftz: bool = False) -> np.ndarray:
    """sin(x) as sin.approx.f32 gives it; see function()."""
    return _form("sin", x, ftz)


def cos(x: Values, ftz: bool = False) -> np.ndarray:
    """cos(x) as cos.approx.f32 gives it; see function()."""
    return _form("cos", x, ftz)


def tanh(x: Values) -> np.ndarray:
    """tanh(x) as tanh.approx gives it: .f32, .f16 or .bf16 after x's dtype; see function()."""
    return _form("tanh", x, False, (".f16", ".bf16"))
