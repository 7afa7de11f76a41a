"""numpy arrays as the library takes them: the dtypes of every format, and conversions on request."""
import ctypes
import math
import re
import sys
from os import PathLike
from typing import Any, NamedTuple, Optional, Tuple, TypeVar, Union

import numpy as np

from . import _library
from ._dtypes import NAMES
from ._library import Instruction, lib
from ._refuse import listed, refused

try:
    import ml_dtypes as _ml  # type: ignore[import-not-found, import-untyped, unused-ignore]
except ImportError:  # optional: without it FP8 and bf16 are raw bits
    _ml = None  # type: ignore[assignment, unused-ignore]

#: Formats that numpy has, and that ml_dtypes has.
_VALUE: "dict[str, np.dtype]" = {name: np.dtype(one.numpy) for name, one in NAMES.items() if one.numpy}
_ML: "dict[str, np.dtype]" = {name: np.dtype(getattr(_ml, one.ml)) for name, one in NAMES.items() if one.ml and hasattr(_ml, one.ml)}
_FORMAT_OF = {dtype: name for name, dtype in {**_ML, "f64": _VALUE["f64"], "f32": _VALUE["f32"], "f16": _VALUE["f16"]}.items()}
#: Formats by dtypes of torch that numpy lacks, and by dtypes with two elements per byte.
_TORCH = {f"torch.{one.torch}": name for name, one in NAMES.items() if one.torch and one.ml}
_PACKED = {f"torch.{one.ml}_x2": name for name, one in NAMES.items() if _library.format_named(name).value_bits == 4 and one.ml}
#: Formats by their names in files; a .npy has no type for these: a comment of the header says them.
_NAMED_IN_FILE = {one.file: name for name, one in NAMES.items() if one.file and one.ml}
_ROUNDINGS = ("rn", "rz", "rna", "rp")


class Casting(NamedTuple):
    """How float arrays of another format are converted to an operand's; rounding None: they are refused."""

    rounding: Optional[str] = None
    saturate: bool = False


def casting(rounding: Optional[str], saturate: bool) -> Casting:
    """A Casting, checked even where nothing has to be converted."""
    if rounding is not None and rounding not in _ROUNDINGS:
        raise refused("rounding", f"\"{rounding}\"", listed(_ROUNDINGS))
    return Casting(rounding, saturate)


def _bits_of(array: np.ndarray, name: str) -> np.ndarray:
    """Raw bits that are known to be of format `name`: ml_dtypes' type, else unsigned integers that say so."""
    return array.view(_ML[name] if name in _ML else np.dtype(raw_dtype(name), metadata={"mmaudit": name}))


def _said(dtype: np.dtype) -> Optional[str]:
    found = dict(dtype.metadata or {}).get("mmaudit")
    return None if found is None else str(found)


def is_tensor(x: Any) -> bool:
    return type(x).__module__.partition(".")[0] == "torch" and hasattr(x, "dtype") and hasattr(x, "detach")


def unpacked(field: str, x: Any) -> Any:
    """A tensor whose dtype has two elements per byte, the first in the low half, as bytes of one element each; any other
    as it is. Bytes follow one another along the last axis but in a transposed matrix. Source: torch's float4_e2m1fn_x2."""
    if str(x.dtype) not in _PACKED:
        return x
    strides = x.stride()[-2:]
    if 1 not in strides:
        raise refused(f"{field} strides", [*strides], f"1 along an axis of {x.dtype}, which has two elements per byte")
    axis = -1 if strides[-1] == 1 else -2
    torch = sys.modules["torch"]
    raw = x.view(torch.uint8).movedim(axis, -1)
    return torch.stack((raw & 15, raw >> 4), -1).flatten(-2).movedim(-1, axis)


def _array_of_tensor(field: str, x: Any) -> np.ndarray:
    name = str(x.dtype)
    try:
        if name in _PACKED:
            return _bits_of(unpacked(field, x.detach().cpu()).contiguous().numpy(), _PACKED[name])
        if name not in _TORCH:
            return np.asarray(x.detach().cpu())
        ours = raw_dtype(_TORCH[name])
        theirs = {1: "uint8", 2: "int16"}[ours.itemsize]  # an old torch lacks uint16
        raw = x.detach().cpu().contiguous().view(getattr(sys.modules["torch"], theirs)).numpy()
        return _bits_of(raw.view(ours), _TORCH[name])
    except (RuntimeError, TypeError):  # quantized, sparse, without numbers, of fewer bits than a byte
        raise refused(f"{field} dtype", f"{name}, {x.layout}, on {x.device}",
                      f"strided numbers of a dtype of numpy, {listed([*_TORCH, *_PACKED])}") from None


def array_of(field: str, x: Any) -> np.ndarray:
    """`x` as a numpy array: tensors of torch in the dtypes that numpy lacks, too, and what numpy.load() makes of a file of
    bf16. ValueError for an array with masked elements, whose mask would be lost, and for one of unknown type."""
    if np.ma.is_masked(x):
        raise refused(field, "a masked array", "one without masked elements (x.filled(value))")
    if is_tensor(x):
        return _array_of_tensor(field, x)
    try:
        array = np.asarray(x)
    except (TypeError, ValueError, RuntimeError):
        raise refused(field, f"a {type(x).__name__} that is no array", "numbers in rows of one length") from None
    if array.dtype.type is np.void and array.dtype.names is None:  # what numpy.load() makes of a type that it lacks
        if array.dtype.itemsize == 2:
            return _bits_of(array.view(np.uint16), "bf16")
        raise refused(f"{field} dtype", f"{array.dtype}, a type that numpy.load() lost",
                      "x.view() of the type that it is, or of unsigned integers for raw bits")
    return array


def numbers_of(field: str, x: Any) -> np.ndarray:
    """array_of(), where numbers without a type, as in a list, are binary64."""
    array = array_of(field, x)
    if hasattr(x, "dtype"):
        return array
    if array.dtype.kind not in "fiub" or isinstance(x, (bytearray, memoryview)):
        raise refused(field, f"a {type(x).__name__} of {array.dtype}", "numbers")
    return array.astype(np.float64)


def load(path: "Union[str, PathLike[str]]") -> np.ndarray:
    """A .npy file as numpy.load() reads it, in the format that `mmaudit convert --out` named in it.

    Returns: of e4m3, e5m2 and bf16 an array of ml_dtypes' type, else of unsigned integers that this package knows as
    that format until numpy computes with them; any other file as numpy.load() gives it.
    Raises: what numpy.load() raises; no file that holds Python objects is read.
    """
    array: np.ndarray = np.load(path, allow_pickle=False)
    if not isinstance(array, np.ndarray) or array.dtype.kind != "V" or array.dtype.names is not None:
        return array
    with open(path, "rb") as file:
        start = file.read(12)
        length = int.from_bytes(start[8:10] if start[6] == 1 else start[8:12], "little")
        file.seek(10 if start[6] == 1 else 12)
        said = re.search(rb"}\s*#\s*(\w+)\s*$", file.read(length))
    name = _NAMED_IN_FILE.get(said.group(1).decode() if said else "")
    return array if name is None or array.dtype.itemsize != raw_dtype(name).itemsize else _bits_of(array.view(raw_dtype(name)), name)


def raw_dtype(name: str) -> np.dtype:
    """The unsigned integer of a format's storage width."""
    return np.dtype(f"u{_library.format_named(name).storage_bits // 8}")


def value_dtype(name: str, with_ml: bool) -> np.dtype:
    """The dtype of a result of format `name`: numpy's, else (with_ml) ml_dtypes', else raw bits."""
    if name in _VALUE:
        return _VALUE[name]
    return _ML[name] if with_ml and name in _ML else raw_dtype(name)


def is_ml(array: np.ndarray) -> bool:
    return array.dtype in _ML.values()


def format_of(dtype: np.dtype) -> Optional[str]:
    """The format that a float dtype is; None for integers, which may be raw bits of anything."""
    return _said(dtype) or _FORMAT_OF.get(dtype)


def _accepted(name: str) -> "list[np.dtype]":
    found = [raw_dtype(name)]
    found += [table[name] for table in (_VALUE, _ML) if name in table]
    return list(dict.fromkeys(found))


def cast(source: np.ndarray, from_: str, to: str, how: Casting, dtype: np.dtype) -> "Tuple[np.ndarray, dict[str, int]]":
    """`source`, of format `from_`, as an array of format `to`, and how many numbers changed in which way."""
    source = np.ascontiguousarray(source)
    result = np.empty(source.shape, dtype)
    counts = _library.CastCounts()
    work = filled(_library.Cast(), from_=from_, to=to, rounding=how.rounding, saturate=int(bool(how.saturate)),
                  source=source, result=result, counts=ctypes.pointer(counts))
    _library.check(lib.mmaudit_convert(ctypes.byref(work)))
    return result, {"total": source.size, **_library.values_of(counts)}


def operand(field: str, array: Any, name: str, how: Casting, hint: str = "rounding='rn' would convert it") -> np.ndarray:
    """A contiguous array of a dtype that holds format `name`. Copies only if `array` is not contiguous or `how` converts
    it. `hint`: what a refusal of another format ends with."""
    array = array_of(field, array)
    accepted = _accepted(name)
    if name == "s4" and array.dtype == np.int8 and array.size and array.max() > 7:
        raise refused(field, array.max(), "-8 to 7 (s4)")  # whose four bits would be another number
    if array.dtype in accepted and _said(array.dtype) in (None, name):
        return np.ascontiguousarray(array)
    source = format_of(array.dtype)
    if source is not None and how.rounding is not None:
        return cast(array, source, name, how, raw_dtype(name))[0]
    allowed = ", ".join([f"{accepted[0]} (raw bits of {name})"] + [str(dtype) for dtype in accepted[1:]])
    hint = f"; {hint}" if source is not None and hint else ""
    raise refused(f"{field} dtype", _said(array.dtype) or array.dtype, f"{allowed}{hint}")


def given(array: Optional[np.ndarray]) -> _library.In:
    return _library.In() if array is None else _library.In(array.ctypes.data, array.nbytes)


def written(array: np.ndarray) -> _library.Out:
    return _library.Out(array.ctypes.data, array.nbytes)


Work = TypeVar("Work", bound=ctypes.Structure)


def filled(work: Work, **fields: Any) -> Work:
    """`work` with these fields: texts encoded, arrays as their memory, of which the caller keeps the array; None stays
    null."""
    kinds: dict[str, Any] = {name: kind for name, kind, *_ in work._fields_}
    for name, value in fields.items():
        kind = kinds[name]
        if isinstance(value, np.ndarray) and kind in (_library.In, _library.Out):
            value = kind(value.ctypes.data, value.nbytes)
        elif kind is ctypes.c_char_p:
            value = _library.encoded(value, name)
        elif isinstance(value, np.ndarray):
            value = value.tolist()  # a row of one number is none
        if value is not None:
            try:
                setattr(work, name, value)
            except (TypeError, ValueError, OverflowError, RuntimeError):
                raise refused(name, f"a {type(value).__name__} that is no number", "a number") from None
            if isinstance(getattr(work, name), int) and getattr(work, name) != value:  # ctypes takes what is left of it
                raise refused(name, value, f"a whole number of {8 * ctypes.sizeof(kind)} bits")
    return work


def require_shape(field: str, array: Any, shape: Tuple[int, ...], axes: str, *others: Tuple[int, ...]) -> None:
    """Refuses an array or tensor of any shape but these."""
    found, shapes = tuple(array.shape), dict.fromkeys((shape, *others))
    if found not in shapes:
        exchanged = len(found) > 1 and (*found[:-2], found[-1], found[-2]) in shapes
        raise refused(f"{field} shape", [*found], f"{' or '.join(str([*one]) for one in shapes)} ({axes})"
                      f"{'; with its last two axes exchanged it fits' if exchanged else ''}")


def side_shapes(batch: int, rows: int, columns: int, *natural: Tuple[int, ...]) -> "list[Tuple[int, ...]]":
    """Shapes of scales, metadata or factors of an operand: with a batch axis, of one matrix without it too, and
    `natural`, with the axes that the operand has."""
    return [(batch, rows, columns), *([(rows, columns)] if batch == 1 else []), *natural]


def blocked_shapes(batch: int, rows: int, blocks: int) -> "list[Tuple[int, ...]]":
    """Shapes that libraries give blocked scales: bytes, the padded matrix, or its tiles of 128 rows x 4 blocks."""
    down, across = -(-rows // 128), -(-blocks // 4)
    shapes = [(down * across * 512,), (down * 128, across * 4), (down, across, 512), (down, across, 32, 16)]
    return [(batch, *one) for one in shapes] + (shapes if batch == 1 else [])


def flattened(field: str, array: np.ndarray) -> np.ndarray:
    """(..., rows, columns) as (all rows, columns)."""
    if array.ndim < 2:
        raise refused(f"{field} shape", [*array.shape], "two dimensions or more")
    return array.reshape(-1, array.shape[-1])


def together(a: np.ndarray, b: np.ndarray) -> "Tuple[np.ndarray, np.ndarray, Tuple[int, ...]]":
    """A and B of a product with one batch axis each, and the shape of D. Leading dimensions of A are rows where B is one
    matrix, else batches of both."""
    for field, array in (("a", a), ("b", b)):
        if array.ndim < 2:
            raise refused(f"{field} shape", [*array.shape], "two dimensions or more")
    if a.ndim == 2 and b.ndim == 3 and b.shape[0] == 1:
        b = b[0]
    if b.ndim == 2:
        rows = math.prod(a.shape[:-1])
        return a.reshape(1, rows, a.shape[-1]), b[np.newaxis], (*a.shape[:-1], b.shape[-1])
    if a.shape[:-2] != b.shape[:-2]:
        raise refused("b shape", [*b.shape], f"{[*a.shape[:-2], a.shape[-1]]} and n, or k and n")
    batch = math.prod(a.shape[:-2])
    return a.reshape(batch, *a.shape[-2:]), b.reshape(batch, *b.shape[-2:]), (*a.shape[:-1], b.shape[-1])


def three_axes(field: str, array: np.ndarray) -> np.ndarray:
    """(rows, columns) is one of (1, rows, columns)."""
    if array.ndim == 2:
        return array[np.newaxis]
    if array.ndim != 3:
        raise refused(f"{field} shape", list(array.shape), "two or three dimensions")
    return array


def side_bytes(field: str, array: Optional[Any], shapes: "list[Tuple[int, ...]]", axes: str,
               form: Optional[str] = None) -> Optional[np.ndarray]:
    """Bytes of one of these shapes: uint8, or of the type of format `form`."""
    if array is None:
        return None
    array = array_of(field, array)
    said = "e4m3" if form == "ue4m3" else form  # without a sign, and files of checkpoints call it that
    if array.dtype != np.uint8 and array.dtype != _ML.get(said or "") or _said(array.dtype) not in (None, said):
        raise refused(f"{field} dtype", _said(array.dtype) or array.dtype, listed(dict.fromkeys(("uint8", _ML.get(said or "", "uint8")))))
    if form == "ue4m3" and array.dtype != np.uint8 and (array.view(np.uint8) > 127).any():
        raise refused(field, "a negative scale", "scales from 0 (ue4m3)")
    require_shape(field, array, shapes[0], axes, *shapes[1:])
    return np.ascontiguousarray(array)


def scales(field: str, array: Optional[Any], spec: Instruction, shapes: "list[Tuple[int, ...]]",
           axes: str) -> Optional[np.ndarray]:
    if array is not None and not spec.scale:
        raise refused(field, f"with {spec.name}", "with block-scaled instructions only (kind_mx...)")
    return side_bytes(field, array, shapes, axes, spec.scale)
