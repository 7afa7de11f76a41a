"""Listings, tiles, explanations and conversions of numpy arrays."""
import json
from ctypes import byref, c_uint32
from typing import Any, Dict, List, Literal, Optional, Sequence, Tuple, Union, overload

import numpy as np

from . import _arrays, _library
from ._arrays import Casting
from ._library import lib
from ._refuse import refused
from ._views import Trace

Values = Union[np.ndarray, Sequence[float], float]


def list(arch: Optional[str] = None) -> Dict[str, Any]:  # noqa: A001 - the name of the command
    """The datapaths of the model, as ``mmaudit list --json`` prints them, and the number formats.

    Args:
        arch: one architecture by name or alias ("hopper", "sm_90", "h200"); None: all.
    Returns: {"schema", "architectures": [{"name", "instructions": [{"instruction", "shape", "F", ...}], ...}],
        "formats": [{"name", "storage_bits", ...}]}.
    Raises: ValueError for an unknown architecture.
    """
    found: Dict[str, Any] = json.loads(_library.text_from(lib.mmaudit_list, _library.encoded(arch)))
    return found


def architectures() -> List[str]:
    """Names of the architectures, oldest first."""
    return [lib.mmaudit_architecture_name(i).decode() for i in range(lib.mmaudit_architecture_count())]


def instructions(arch: str = "hopper") -> List[str]:
    """Names of the instructions of ``arch``; "nN" and "mM" stand for numbers that the caller chooses."""
    return [one["instruction"] for one in list(arch)["architectures"][0]["instructions"]]


def _modifiers(scale_d: int, negate_a: bool, negate_b: bool) -> int:
    if scale_d not in (0, 1):
        raise refused("scale_d", scale_d, "0, 1")
    return (0 if scale_d else 1) | (2 if negate_a else 0) | (4 if negate_b else 0)


def emulate(
    inst: str, a: np.ndarray, b: np.ndarray, c: Optional[np.ndarray] = None, arch: str = "hopper", *,
    scale_a: Optional[np.ndarray] = None, scale_b: Optional[np.ndarray] = None, metadata: Optional[np.ndarray] = None,
    scale_d: int = 1, negate_a: bool = False, negate_b: bool = False, rounding: Optional[str] = None,
    saturate: bool = False,
) -> np.ndarray:
    """D = A * B + C of tiles of one instruction, with the bits the hardware produces.

    Args:
        inst: an instruction, e.g. "mma.m16n8k16.f32.f16.f16.f32".
        a: (tiles, M, K) or (M, K), a sparse instruction (tiles, M, K/2); b: (tiles, K, N); c: (tiles, M, N) or None
            for +0. dtypes: as the formats have them (float16, float32, float64, int8, int32), raw bits as unsigned
            integers of the storage width, or ml_dtypes.
        scale_a, scale_b: block-scaled: (tiles, M, K / block) and (tiles, K / block, N), uint8; None: every scale is 1.
        metadata: sparse: (tiles, M, K/2), uint8: the position of every element of A inside its group.
        scale_d, negate_a, negate_b: wgmma and tcgen05 only; scale_d=0 leaves C out.
        rounding: None refuses float arrays of another format; "rn", "rz", "rna" or "rp" converts them, with
            `saturate` to the largest number instead of infinity or NaN.
    Returns: D, (tiles, M, N), or (M, N) where A is one matrix.
    Raises: ValueError, in one line "field: found X, allowed: Y".
    """
    spec = _library.instruction(arch, inst)
    how = _arrays.casting(rounding, saturate)
    a, b = _arrays.array_of("a", a), _arrays.array_of("b", b)
    single, with_ml = a.ndim == 2, _arrays.is_ml(a) or _arrays.is_ml(b)
    a = _arrays.three_axes("a", _arrays.operand("a", a, spec.a, how))
    b = _arrays.three_axes("b", _arrays.operand("b", b, spec.b, how))
    tiles, m, n, k, stored = a.shape[0], spec.m, spec.n, spec.k, spec.stored_k
    _arrays.require_shape("a", a, (tiles, m, stored), "tiles, m, k" if stored == k else "tiles, m, k / 2")
    _arrays.require_shape("b", b, (tiles, k, n), "tiles, k, n")
    if c is not None:
        c = _arrays.three_axes("c", _arrays.operand("c", c, spec.c, how))
        _arrays.require_shape("c", c, (tiles, m, n), "tiles, m, n")
    blocks = spec.blocks(k)
    scale_a = _arrays.scales("scale_a", scale_a, spec, _arrays.side_shapes(tiles, m, blocks), "tiles, m, k / block")
    scale_b = _arrays.scales("scale_b", scale_b, spec, _arrays.side_shapes(tiles, blocks, n), "tiles, k / block, n")
    metadata = _arrays.side_bytes("metadata", metadata, _arrays.side_shapes(tiles, m, stored), "tiles, m, k / 2")
    bits = _modifiers(scale_d, negate_a, negate_b)
    modifiers = np.full(tiles, bits, np.uint8) if bits else None
    d = np.empty((tiles, m, n), _arrays.value_dtype(spec.d, with_ml))
    work = _arrays.filled(_library.Tiles(), arch=arch, inst=inst, tiles=tiles, a=a, b=b, c=c, d=d, scale_a=scale_a,
                          scale_b=scale_b, metadata=metadata, modifiers=modifiers)
    _library.check(lib.mmaudit_emulate(byref(work)))
    return d[0] if single else d


@overload
def convert(
    x: Values, to: str, source: Optional[str] = None, *, rounding: str = "rn", saturate: bool = False,
    counts: Literal[False] = False,
) -> np.ndarray: ...


@overload
def convert(
    x: Values, to: str, source: Optional[str] = None, *, rounding: str = "rn", saturate: bool = False,
    counts: Literal[True],
) -> Tuple[np.ndarray, Dict[str, int]]: ...


@overload
def convert(
    x: Values, to: str, source: Optional[str] = None, *, rounding: str = "rn", saturate: bool = False,
    counts: bool,
) -> Union[np.ndarray, Tuple[np.ndarray, Dict[str, int]]]: ...


def convert(
    x: Values, to: str, source: Optional[str] = None, *, rounding: str = "rn", saturate: bool = False,
    counts: bool = False,
) -> Union[np.ndarray, Tuple[np.ndarray, Dict[str, int]]]:
    """Numbers in another format, as the conversion instructions of the GPU do.

    Args:
        x: an array, or numbers. to: a format, e.g. "e4m3".
        source: the format of x; required where x is raw bits, otherwise taken from its dtype.
        rounding: "rn" to nearest even, "rz" toward zero, "rna" nearest with ties away from zero, "rp" up.
        saturate: a number beyond the largest becomes the largest.
        counts: also return {"total", "exact", "inexact", "overflow", "nan", "underflow", "subnormal"}.
    Returns: an array of x's shape, of numpy's dtype for the format, else ml_dtypes' where x has one of these, else raw
        bits.
    Raises: ValueError, in one line "field: found X, allowed: Y".
    """
    array = _arrays.array_of("x", x)
    if array.dtype == np.dtype(np.int64) and not isinstance(x, np.ndarray):
        array = array.astype(np.float64)  # a list of whole numbers
    name = source if source is not None else _arrays.format_of(array.dtype)
    if name is None:
        raise refused("x dtype", array.dtype, "a float type (give the format of raw bits, e.g. source='e4m3')")
    array = _arrays.operand("x", array, name, Casting())
    dtype = _arrays.value_dtype(_library.text_of("to", to), _arrays.is_ml(array))
    result, counted = _arrays.cast(array, name, to, _arrays.casting(rounding, saturate), dtype)
    result = result.reshape(np.shape(x))
    return (result, counted) if counts else result


def cvt(opcode: str, operands: Sequence[Union[int, float]], rbits: int = 0) -> int:
    """One packed conversion of PTX: the bits of its destination register.

    Args:
        opcode: as PTX writes it, e.g. "cvt.rs.satfinite.e4m3x4.f32".
        operands: floats (taken as binary32) or the bits of registers; the first is in the highest element.
        rbits: the random bits of ".rs".
    Range and rounding: docs/numerics.md, "Conversions". Raises: ValueError, in one line "field: found X, allowed Y".
    """
    bits = []
    if not isinstance(operands, (Sequence, np.ndarray)):
        raise refused("operands", f"a {type(operands).__name__}", "a list of numbers")
    for x in operands:
        if not isinstance(x, (int, float, np.integer, np.floating)):
            raise refused("operands", repr(x), "floats, or whole numbers for the bits of registers")
        bits.append(int(x) if isinstance(x, (int, np.integer)) else int(np.float32(x).view(np.uint32)))
    if any(not 0 <= x < 2**32 for x in (*bits, rbits)):
        raise refused("operands", "bits beyond 32", "0 to 2**32 - 1")
    given, result = (c_uint32 * max(len(bits), 1))(*bits), c_uint32()
    _library.check(lib.mmaudit_cvt(_library.encoded(opcode), given, len(bits), rbits, byref(result)))
    return result.value


def _exactly(field: str, x: Optional[Values], name: str, count: int, how: Casting) -> np.ndarray:
    """At most `count` numbers as raw bits, then +0; numbers that the format does not hold are refused."""
    raw = np.zeros(count, _arrays.raw_dtype(name))
    if x is None:
        return raw
    array = np.atleast_1d(_arrays.array_of(field, x))
    if not isinstance(x, np.ndarray) and not _arrays.is_tensor(x) and array.dtype.kind not in "biuf":
        raise refused(field, f"values of {array.dtype}", "numbers")
    if array.ndim != 1 or array.size > count:
        raise refused(field, f"{array.size} values", f"at most {count} (the depth of the instruction)")
    if not isinstance(x, np.ndarray) and not _arrays.is_tensor(x):
        array = array.astype(np.float64)
        found, lost = _arrays.cast(array, "f64", name, Casting(how.rounding or "rn", how.saturate), raw.dtype)
        if how.rounding is None and lost["inexact"] + lost["overflow"] != 0:
            raise refused(field, f"values that {name} does not hold", "its values, or rounding='rn'")
    else:
        found = _arrays.operand(field, array, name, how).view(raw.dtype)
    raw[: found.size] = found
    return raw


def _positions(metadata: Union[np.ndarray, Sequence[int]]) -> np.ndarray:
    """The positions of one row as bytes; numbers that a byte does not hold are refused."""
    found = _arrays.array_of("metadata", metadata)
    if found.ndim > 1:
        raise refused("metadata shape", [*found.shape], "one dimension: the positions of a row")
    if found.size and (found.dtype.kind not in "iu" or found.min() < 0 or found.max() > 255):
        raise refused("metadata", found.ravel()[:8].tolist(), "positions inside a group, whole numbers from 0")
    return np.ascontiguousarray(found, dtype=np.uint8)


def explain(
    inst: str, a: Values, b: Values, c: Optional[Values] = None, arch: str = "hopper", *,
    scale_a: Optional[Values] = None, scale_b: Optional[Values] = None,
    metadata: Union[np.ndarray, Sequence[int], None] = None,
    scale_d: int = 1, negate_a: bool = False, negate_b: bool = False, rounding: Optional[str] = None,
    saturate: bool = False,
) -> Trace:
    """One dot product step by step: exponents, the bits that alignment drops, the sum, its rounding.

    Args:
        a, b: a row of A and a column of B, at most K numbers each (a sparse A: K/2); missing ones are +0. Python
            numbers must be values of the format, unless `rounding` is given; arrays as in emulate().
        c: one number. scale_a, scale_b: block-scaled: one number per block; missing ones are 1.
        metadata: sparse: the K/2 positions of the row of A.
    Returns: {"architecture", "instruction", "row", "trace": {"c", "d", "final_add", and "steps", "stages",
        "fmas" or "products"}}, a dictionary that a notebook shows as a table per step. Bits are hexadecimal digits.
    Raises: ValueError, in one line "field: found X, allowed: Y".
    """
    spec = _library.instruction(arch, inst)
    how = _arrays.casting(rounding, saturate)
    modifiers = _modifiers(scale_d, negate_a, negate_b)
    kept = {
        "a": _exactly("a", a, spec.a, spec.stored_k, how),
        "b": _exactly("b", b, spec.b, spec.k, how),
        "c": _exactly("c", c, spec.c, 1, how),
    }
    for field, given in (("scale_a", scale_a), ("scale_b", scale_b)):
        if given is None:
            continue
        if not spec.scale:
            raise refused(field, f"with {spec.name}", "with block-scaled instructions only (kind_mx...)")
        blocks, name = spec.blocks(spec.k), spec.scale
        scales = _exactly(field, [1.0] * blocks, name, blocks, how)
        some = _exactly(field, given, name, blocks, how)
        count = np.atleast_1d(_arrays.array_of(field, given)).size
        scales[:count] = some[:count]
        kept[field] = scales
    if metadata is not None:
        kept["metadata"] = _positions(metadata)
    work = _arrays.filled(_library.Dot(), arch=arch, inst=inst, modifiers=modifiers, **kept)
    return Trace(json.loads(_library.text_from(lib.mmaudit_explain, byref(work))))
