"""Finds and loads libmmaudit.so, and declares its structures with the names and fields of mmaudit.h."""
import ctypes
import os
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any, Callable, Dict, NamedTuple, Optional

from ._refuse import refused

_ABI = 1


class In(Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_size_t)]


class Out(Structure):
    _fields_ = [("data", c_void_p), ("bytes", c_size_t)]


class _Sized(Structure):
    """All fields zero except `size`."""

    def __init__(self) -> None:
        super().__init__()
        self.size = ctypes.sizeof(self)


class Format(_Sized):
    _fields_ = [
        ("size", c_size_t), ("name", c_char_p), ("storage_bits", c_uint32), ("value_bits", c_uint32),
        ("exponent_bits", c_uint32), ("fraction_bits", c_uint32), ("bias", c_int32), ("is_integer", c_int32),
        ("is_signed", c_int32), ("has_infinity", c_int32), ("has_nan", c_int32),
        ("nan_at_minus_zero", c_int32), ("file", c_char_p), ("numpy", c_char_p), ("ml_dtypes", c_char_p),
        ("torch", c_char_p),
    ]


class _Instruction(_Sized):
    _fields_ = [
        ("size", c_size_t), ("name", c_char * 96), ("m", c_uint32), ("n", c_uint32), ("k", c_uint32),
        ("stored_k", c_uint32), ("a", c_char_p), ("b", c_char_p), ("c", c_char_p), ("d", c_char_p),
        ("scale", c_char_p), ("scale_block", c_uint32), ("takes_modifiers", c_int32), ("evidence", c_char_p),
        ("source", c_char_p),
    ]


class Tiles(_Sized):
    _fields_ = [
        ("size", c_size_t), ("arch", c_char_p), ("inst", c_char_p), ("tiles", c_size_t), ("a", In), ("b", In),
        ("c", In), ("d", Out), ("scale_a", In), ("scale_b", In), ("metadata", In), ("modifiers", In),
    ]


class Product(_Sized):
    _fields_ = [
        ("size", c_size_t), ("arch", c_char_p), ("inst", c_char_p), ("batch", c_uint64), ("m", c_uint64),
        ("n", c_uint64), ("k", c_uint64), ("a", In), ("b", In), ("c", In), ("d", Out), ("promote", c_uint64),
        ("split_k", c_uint64), ("threads", c_uint32), ("epilogue", c_uint32), ("alpha", c_float),
        ("beta", c_float), ("d_format", c_char_p), ("simd", c_char_p), ("plain", c_uint32),
        ("scale_a", In), ("scale_b", In), ("metadata", In), ("scale_layout", c_char_p), ("factor_a", In),
        ("factor_b", In), ("factor_block", c_uint64), ("factor_order", c_char_p),
    ]


class GemmPath(_Sized):
    _fields_ = [
        ("size", c_size_t), ("arch", c_char_p), ("dtype", c_char_p), ("scaling", c_char_p), ("policy", c_char_p),
        ("inst", c_char * 96), ("taken_scaling", c_char * 16), ("a", c_char_p), ("b", c_char_p), ("d", c_char_p),
        ("scale", c_char_p), ("output", c_char_p), ("scale_block", c_uint64), ("factor_block", c_uint64),
        ("factor_per_lane", c_int32), ("factor_per_tensor", c_int32), ("promote", c_uint64), ("split_k", c_uint64),
        ("factor_order", c_char_p), ("activations", c_char_p),
    ]


class Quantization(_Sized):
    _fields_ = [
        ("size", c_size_t), ("dtype", c_char_p), ("scaling", c_char_p), ("of_b", c_uint32), ("threads", c_uint32),
        ("batch", c_uint64), ("lanes", c_uint64), ("k", c_uint64), ("from_", c_char_p), ("x", In),
        ("batch_stride", c_uint64), ("lane_stride", c_uint64), ("k_stride", c_uint64), ("tensor_largest", In),
        ("largest", In), ("elements", Out), ("scales", Out), ("factors", Out), ("find_largest", c_uint32),
    ]


class Gemm(_Sized):
    _fields_ = [
        ("size", c_size_t), ("like", c_char_p), ("type", c_char_p), ("d_format", c_char_p), ("layout", c_char_p),
        ("m", c_uint64), ("n", c_uint64), ("k", c_uint64), ("a", In), ("b", In), ("d", Out), ("plan", c_char_p),
        ("kernels", c_char_p), ("algorithm", c_char_p), ("grid", c_uint32 * 3), ("block", c_uint32 * 3),
        ("cluster", c_uint32 * 3), ("threads", c_uint32), ("problem", c_char_p), ("c", In), ("bias", In),
    ]


class GemmCheck(_Sized):
    _fields_ = [
        ("size", c_size_t), ("within", c_int32), ("vacuous", c_int32), ("elements", c_uint64), ("beyond", c_uint64),
        ("worst_matrix", c_uint64), ("worst_row", c_uint64), ("worst_column", c_uint64), ("worst_exact", c_double),
        ("worst_found", c_double), ("worst_bound", c_double),
    ]


class GemmCloseness(_Sized):
    _fields_ = [
        ("size", c_size_t), ("close", c_int32), ("follows", c_int32), ("elements", c_uint64), ("bit_exact", c_uint64),
        ("beyond", c_uint64), ("drift", c_double), ("drift_limit", c_double), ("spread", c_double),
        ("spread_limit", c_double), ("worst_matrix", c_uint64), ("worst_row", c_uint64), ("worst_column", c_uint64),
        ("worst_exact", c_double), ("worst_found", c_double), ("worst_model", c_double), ("worst_limit", c_double),
    ]


class Dot(_Sized):
    _fields_ = [
        ("size", c_size_t), ("arch", c_char_p), ("inst", c_char_p), ("a", In), ("b", In), ("c", In),
        ("scale_a", In), ("scale_b", In), ("metadata", In), ("modifiers", c_uint32),
    ]


class Shrunk(_Sized):
    _fields_ = [("size", c_size_t), ("a", Out), ("b", Out), ("c", Out), ("scale_a", Out), ("scale_b", Out)]


#: (user, count, dots) -> index of the first that still fails.
FirstFailing = ctypes.CFUNCTYPE(c_size_t, c_void_p, c_size_t, POINTER(Dot))


class Rows(_Sized):
    _fields_ = [
        ("size", c_size_t), ("like", c_char_p), ("operation", c_char_p), ("type", c_char_p), ("output", c_char_p),
        ("rows", c_uint64), ("n", c_uint64), ("x", In), ("weight", In), ("bias", In), ("y", Out), ("epsilon", c_float),
    ]


class Collective(_Sized):
    _fields_ = [
        ("size", c_size_t), ("kind", c_char_p), ("operation", c_char_p), ("library", c_char_p), ("type", c_char_p),
        ("ranks", c_uint64), ("count", c_uint64), ("algorithm", c_char_p), ("protocol", c_char_p), ("rings", c_char_p),
        ("log", c_char_p), ("channels", c_uint64), ("threads", c_uint64), ("buffer", c_uint64), ("x", In), ("y", Out),
    ]


class Attention(_Sized):
    _fields_ = [
        ("size", c_size_t), ("like", c_char_p), ("plan", c_char_p), ("kernels", c_char_p), ("arch", c_char_p),
        ("type", c_char_p), ("causal", c_char_p), ("batch", c_uint64), ("heads", c_uint64), ("kv_heads", c_uint64), ("queries", c_uint64),
        ("keys", c_uint64), ("depth", c_uint64), ("left", c_uint64), ("right", c_uint64), ("scale", c_double), ("q", In),
        ("k", In), ("v", In), ("bias", In), ("bias_batch", c_uint64), ("bias_heads", c_uint64), ("descale_q", In),
        ("descale_k", In), ("descale_v", In), ("o", Out), ("lse", Out), ("scores", Out), ("weights", Out),
        ("bases", Out), ("later", Out), ("maxima", Out), ("sums", Out), ("threads", c_uint32),
        ("packed", c_uint32), ("softcap", c_double), ("sinks", In),
    ]


class ExactScale(Structure):
    _fields_ = [("given", c_uint32), ("per_lane", c_uint32), ("block", c_uint64)]


class Exact(_Sized):
    _fields_ = [
        ("size", c_size_t), ("type", c_char_p), ("d_format", c_char_p), ("batch", c_uint64), ("m", c_uint64),
        ("n", c_uint64), ("k", c_uint64), ("alpha", c_double), ("beta", c_double), ("one_a", c_uint32),
        ("one_b", c_uint32), ("bias", c_uint32), ("relu", c_uint32), ("scale_a", ExactScale), ("scale_b", ExactScale),
        ("repeat", c_uint64), ("seed", c_uint64),
    ]


class ExactOperands(_Sized):
    _fields_ = [
        ("size", c_size_t), ("a", POINTER(c_float)), ("b", POINTER(c_float)), ("c", POINTER(c_float)),
        ("bias", POINTER(c_float)), ("scale_a", POINTER(c_float)), ("scale_b", POINTER(c_float)), ("padding", c_uint32),
    ]


#: (user, operands, D) -> 0, 1: something outside of D was written, -1: stop.
ExactRun = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(ExactOperands), POINTER(c_double))


class CastCounts(_Sized):
    _fields_ = [
        ("size", c_size_t), ("exact", c_uint64), ("inexact", c_uint64), ("overflow", c_uint64), ("nan", c_uint64),
        ("underflow", c_uint64), ("subnormal", c_uint64),
    ]


class Cast(_Sized):
    _fields_ = [
        ("size", c_size_t), ("from_", c_char_p), ("to", c_char_p), ("rounding", c_char_p), ("saturate", c_int32),
        ("source", In), ("result", Out), ("counts", POINTER(CastCounts)),
    ]


class CheckpointLayer(_Sized):
    _fields_ = [
        ("size", c_size_t), ("name", c_char_p), ("convention", c_char_p), ("experts", c_uint64), ("n", c_uint64),
        ("k", c_uint64), ("format", c_char_p), ("scale_format", c_char_p), ("scale_rows", c_uint64),
        ("scale_columns", c_uint64), ("block_n", c_uint64), ("block_k", c_uint64), ("has_zeros", c_uint32),
        ("has_offsets", c_uint32), ("has_factors", c_uint32), ("has_groups", c_uint32), ("dequantized", c_char_p),
        ("recipe", c_char_p), ("input_scale", c_double),
    ]


class CheckpointRows(_Sized):
    _fields_ = [
        ("size", c_size_t), ("layer", c_size_t), ("first_row", c_uint64), ("rows", c_uint64), ("to", c_char_p),
        ("weights", Out), ("codes", Out), ("scales", Out), ("zeros", Out), ("offsets", Out), ("factors", Out),
        ("groups", Out),
    ]


def _candidates() -> "list[str]":
    given = os.environ.get("MMAUDIT_LIBRARY")
    if given:
        return [given]
    return [str(Path(__file__).with_name("libmmaudit.so")), "libmmaudit.so.0"]


def _load() -> ctypes.CDLL:
    reasons = []
    for candidate in _candidates():
        try:
            return ctypes.CDLL(candidate)
        except OSError as error:
            reasons.append(str(error))
    raise ImportError(
        "mmaudit: found no libmmaudit.so (" + "; ".join(reasons) + "), allowed: one beside this package, one that is "
        "installed, or $MMAUDIT_LIBRARY"
    )


lib = _load()
lib.mmaudit_abi.restype = ctypes.c_uint
for _name in ("version", "revision", "last_error"):
    getattr(lib, "mmaudit_" + _name).restype = c_char_p
if lib.mmaudit_abi() != _ABI:
    raise refused("mmaudit", f"a library of interface {lib.mmaudit_abi()}", _ABI, ImportError)

lib.mmaudit_free.argtypes, lib.mmaudit_free.restype = [c_void_p], None
lib.mmaudit_architecture_count.restype = lib.mmaudit_format_count.restype = c_size_t
lib.mmaudit_architecture_name.argtypes, lib.mmaudit_architecture_name.restype = [c_size_t], c_char_p
lib.mmaudit_checkpoint_close.argtypes, lib.mmaudit_checkpoint_close.restype = [c_void_p], None
lib.mmaudit_checkpoint_layers.argtypes, lib.mmaudit_checkpoint_layers.restype = [c_void_p], c_size_t
for _name, _arguments in {  # these return a status, which check() takes
    "find_format": [c_char_p, POINTER(Format)],
    "format_at": [c_size_t, POINTER(Format)],
    "find_instruction": [c_char_p, c_char_p, POINTER(_Instruction)],
    "list": [c_char_p, POINTER(c_void_p)],
    "emulate": [POINTER(Tiles)],
    "matmul": [POINTER(Product)],
    "matmul_bytes": [POINTER(Product), POINTER(c_uint64)],
    "sliced_matmul": [POINTER(Product), c_char_p],
    "find_path": [POINTER(GemmPath)],
    "recipes": [POINTER(c_void_p)],
    "quantize": [POINTER(Quantization)],
    "gemm_predict": [POINTER(Gemm), c_void_p],
    "gemm_tolerance": [POINTER(Product), Out, Out],
    "check_gemm": [POINTER(Product), POINTER(GemmCheck), POINTER(c_void_p)],
    "check_gemm_close": [POINTER(Product), c_double, POINTER(GemmCloseness), POINTER(c_void_p)],
    "check_exact": [POINTER(Exact), ExactRun, c_void_p, POINTER(c_void_p)],
    "exact_condition": [POINTER(c_uint64), c_size_t, POINTER(c_void_p)],
    "explain": [POINTER(Dot), POINTER(c_void_p)],
    "shrink": [POINTER(Dot), FirstFailing, c_void_p, POINTER(Shrunk)],
    "convert": [POINTER(Cast)],
    "reduce_rows": [POINTER(Rows), POINTER(c_void_p)],
    "collective": [POINTER(Collective), POINTER(c_void_p)],
    "attention_predict": [POINTER(Attention), c_void_p],
    "render_report": [c_char_p, c_char_p, POINTER(c_void_p)],
    "function": [c_char_p, c_void_p, c_void_p, c_size_t, c_void_p],
    "checkpoint_open": [c_char_p, c_char_p, POINTER(c_void_p)],
    "checkpoint_describe": [c_void_p, POINTER(c_void_p)],
    "checkpoint_layer_at": [c_void_p, c_size_t, POINTER(CheckpointLayer)],
    "checkpoint_read": [c_void_p, POINTER(CheckpointRows)],
    "cvt": [c_char_p, POINTER(c_uint32), c_size_t, c_uint32, POINTER(c_uint32)],
}.items():
    _function = getattr(lib, "mmaudit_" + _name)
    _function.argtypes, _function.restype = _arguments, c_int


def check(status: int) -> None:
    """Raises ValueError with the library's line for bad input, MemoryError or RuntimeError for other failures."""
    if status == 0:
        return
    line = lib.mmaudit_last_error().decode()
    if status == 2:
        raise ValueError(line)
    raise MemoryError(line) if line.startswith("memory") else RuntimeError(line)


def text_from(function: Callable[..., int], *arguments: Any) -> str:
    """Text that `function` returns through its last argument."""
    pointer = c_void_p()
    check(function(*arguments, byref(pointer)))
    try:
        return ctypes.string_at(pointer.value or 0).decode()
    finally:
        lib.mmaudit_free(pointer)


def text_of(field: str, given: Any) -> str:
    """A name; ValueError for what is no text, and where the library would see only a part, up to a NUL."""
    if not isinstance(given, str):
        raise refused(field, f"a {type(given).__name__}", "a name")
    if "\0" in given:
        raise refused(field, repr(given), "a name without NUL")
    return given


def encoded(text: Optional[str], field: str = "name") -> Optional[bytes]:
    """As the library takes it; None stays null."""
    return None if text is None else text_of(field, text).encode(errors="replace")  # no name has a lone surrogate


def values_of(work: Structure) -> Dict[str, Any]:
    """The fields of a structure by name, texts as str."""
    found = {name: getattr(work, name) for name, *_ in work._fields_ if name != "size"}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in found.items()}


class Instruction(NamedTuple):
    """An instruction of an architecture; fields as mmaudit.h has them."""

    name: str
    m: int
    n: int
    k: int
    stored_k: int
    a: str
    b: str
    c: str
    d: str
    scale: Optional[str]
    scale_block: int
    takes_modifiers: int
    evidence: str
    source: str

    @property
    def sparse(self) -> bool:
        return self.stored_k != self.k

    def blocks(self, k: int) -> int:
        """Scales of a row of A of so many elements; 0 without scales."""
        return -(-k // self.scale_block) if self.scale_block else 0


def instruction(arch: Optional[str], inst: str) -> Instruction:
    """ValueError for an instruction that the architecture lacks."""
    found = _Instruction()
    check(lib.mmaudit_find_instruction(encoded(arch), encoded(inst), byref(found)))
    return Instruction(**values_of(found))


def formats() -> "list[Format]":
    """All of them, in the order of listings."""
    found = [Format() for _ in range(lib.mmaudit_format_count())]
    for index, one in enumerate(found):
        check(lib.mmaudit_format_at(index, byref(one)))
    return found


def format_named(name: str) -> Format:
    found = Format()
    check(lib.mmaudit_find_format(encoded(name), byref(found)))
    return found
