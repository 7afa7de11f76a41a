"""numpy arrays as the library takes them: the dtypes of every format, and conversions on request."""
from ctypes import byref
from typing import Any, NamedTuple, Optional, Tuple

import numpy as np

from . import _library
from ._library import lib

try:
    import ml_dtypes as _ml
except ImportError:  # optional: without it FP8 and bf16 are raw bits
    _ml = None

_RAW = {8: np.dtype(np.uint8), 16: np.dtype(np.uint16), 32: np.dtype(np.uint32), 64: np.dtype(np.uint64)}
# Formats that numpy has.
_VALUE = {
    "f64": np.dtype(np.float64), "f32": np.dtype(np.float32), "tf32": np.dtype(np.float32),
    "f16": np.dtype(np.float16), "s32": np.dtype(np.int32), "s8": np.dtype(np.int8), "s4": np.dtype(np.int8),
}
_ML_NAMES = {
    "bf16": "bfloat16", "e5m2": "float8_e5m2", "e4m3": "float8_e4m3fn", "e3m2": "float6_e3m2fn",
    "e2m3": "float6_e2m3fn", "e2m1": "float4_e2m1fn", "ue8m0": "float8_e8m0fnu",
}
_ML = {
    name: np.dtype(getattr(_ml, ml_name)) for name, ml_name in _ML_NAMES.items() if _ml is not None and hasattr(_ml, ml_name)
}
_FORMAT_OF = {dtype: name for name, dtype in {**_ML, "f64": _VALUE["f64"], "f32": _VALUE["f32"], "f16": _VALUE["f16"]}.items()}


class Casting(NamedTuple):
    """How float arrays of another format are converted to an operand's; rounding None: they are refused."""

    rounding: Optional[str] = None
    saturate: bool = False


def raw_dtype(name: str) -> np.dtype:
    """The unsigned integer of a format's storage width."""
    return _RAW[_library.format_named(name).storage_bits]


def value_dtype(name: str, with_ml: bool) -> np.dtype:
    """The dtype of a result of format `name`: numpy's, else (with_ml) ml_dtypes', else raw bits."""
    if name in _VALUE:
        return _VALUE[name]
    return _ML[name] if with_ml and name in _ML else raw_dtype(name)


def is_ml(array: np.ndarray) -> bool:
    return array.dtype in _ML.values()


def format_of(dtype: np.dtype) -> Optional[str]:
    """The format that a float dtype is; None for integers, which may be raw bits of anything."""
    return _FORMAT_OF.get(dtype)


def _accepted(name: str) -> "list[np.dtype]":
    found = [raw_dtype(name)]
    found += [table[name] for table in (_VALUE, _ML) if name in table]
    return list(dict.fromkeys(found))


def cast(source: np.ndarray, from_: str, to: str, how: Casting, dtype: np.dtype) -> Tuple[np.ndarray, dict]:
    """`source`, of format `from_`, as an array of format `to`, and how many numbers changed in which way."""
    source = np.ascontiguousarray(source)
    result = np.empty(source.shape, dtype)
    counts = _library.CastCounts()
    work = _library.Cast()
    work.from_, work.to = from_.encode(), to.encode()
    work.rounding, work.saturate = _library.encoded(how.rounding), int(bool(how.saturate))
    work.source, work.result = given(source), written(result)
    work.counts = _library.POINTER(_library.CastCounts)(counts)
    _library.check(lib.mmaudit_convert(byref(work)))
    names = [name for name, _ in _library.CastCounts._fields_ if name != "size"]
    return result, {"total": source.size, **{name: getattr(counts, name) for name in names}}


def operand(field: str, array: Any, name: str, how: Casting) -> np.ndarray:
    """A contiguous array of a dtype that holds format `name`. Copies only if `array` is not contiguous or `how` converts
    it."""
    array = np.asanyarray(array)
    accepted = _accepted(name)
    if array.dtype in accepted:
        return np.ascontiguousarray(array)
    source = format_of(array.dtype)
    if source is not None and how.rounding is not None:
        return cast(array, source, name, how, raw_dtype(name))[0]
    allowed = ", ".join([f"{accepted[0]} (raw bits of {name})"] + [str(dtype) for dtype in accepted[1:]])
    hint = "; rounding='rn' would convert it" if source is not None else ""
    raise ValueError(f"{field} dtype: found {array.dtype}, allowed: {allowed}{hint}")


def given(array: Optional[np.ndarray]) -> _library.In:
    return _library.In() if array is None else _library.In(array.ctypes.data, array.nbytes)


def written(array: np.ndarray) -> _library.Out:
    return _library.Out(array.ctypes.data, array.nbytes)


def require_shape(field: str, array: np.ndarray, shape: Tuple[int, ...], axes: str) -> None:
    if array.shape != shape:
        raise ValueError(f"{field} shape: found {list(array.shape)}, allowed: {list(shape)} ({axes})")


def three_axes(field: str, array: np.ndarray) -> np.ndarray:
    """(rows, columns) is one of (1, rows, columns)."""
    if array.ndim == 2:
        return array[np.newaxis]
    if array.ndim != 3:
        raise ValueError(f"{field} shape: found {list(array.shape)}, allowed: two or three dimensions")
    return array
