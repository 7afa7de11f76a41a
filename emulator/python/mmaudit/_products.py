"""Whole matrix products of numpy arrays, and their tolerances."""
import math
import operator
from ctypes import byref, c_uint64
from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _arrays, _library
from ._arrays import Casting
from ._library import lib
from ._refuse import refused


def whole(field: str, value: Any, least: int, most: int, allowed: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise refused(field, repr(value), "a whole number") from None
    if not least <= number <= most:
        raise refused(field, number, allowed)
    return number


def threads_of(value: Any) -> int:
    return whole("threads", value, 0, 4096, "0 to 4096")


def _finite(field: str, value: Any) -> np.float32:
    try:
        with np.errstate(over="ignore"):
            number = np.float32(value)
        finite = number.ndim == 0 and not isinstance(value, str) and bool(np.isfinite(number))
    except (TypeError, ValueError):
        finite = False
    if not finite:
        raise refused(field, repr(value), "a finite number of binary32")
    return number


def _epilogue(alpha: Optional[float], beta: Optional[float], d_format: Optional[str]) -> Dict[str, Any]:
    """The fields of a product structure that finish the sums; without `d_format` the sums are D."""
    if alpha is None and beta is None and d_format is None:
        return {"epilogue": 0, "d_format": None, "alpha": 1.0, "beta": None}
    output = d_format or "f32"
    _arrays.raw_dtype(output)  # refuses an unknown format
    single = [None if x is None else float(_finite(field, x)) for field, x in (("alpha", alpha), ("beta", beta))]
    return {"epilogue": 1, "d_format": output, "alpha": 1.0 if single[0] is None else single[0], "beta": single[1]}


def _product(
    spec: _library.Instruction, arch: str, inst: str, ending: Dict[str, Any], a: Any, b: Any, c: Optional[Any],
    promote: Optional[int], split_k: int, how: Casting, scale_a: Optional[Any] = None, scale_b: Optional[Any] = None,
    scale_layout: str = "rows", metadata: Optional[Any] = None,
) -> Tuple[_library.Product, List[np.ndarray], Tuple[int, ...]]:
    """A product structure without D, with this _epilogue(), the arrays it points to, and the shape of D."""
    promote = whole("promote", promote or 0, 0, 2**64 - 1, "0 to 2^64 - 1")
    split_k = whole("split_k", split_k, 0, 2**64 - 1, "1 to 2^64 - 1")  # 0 is refused by the library
    a, b = _arrays.operand("a", a, spec.a, how), _arrays.operand("b", b, spec.b, how)
    lead, lead_b = a.shape[:-1], b.shape[:-2]
    a, b, shape = _arrays.together(a, b)
    batch, m, stored = a.shape
    k, n = (2 * stored if spec.sparse else stored), b.shape[2]
    _arrays.require_shape("b", b, (batch, k, n), "batch, k, n")
    if c is not None:
        c = _arrays.operand("c", c, ending["d_format"] or spec.d, how)
        _arrays.require_shape("c", c, shape, "as D")
    blocks = spec.blocks(k)
    if scale_layout == "blocked":
        scale_a = _arrays.scales("scale_a", scale_a, spec, _arrays.blocked_shapes(batch, m, blocks), "blocked")
        scale_b = _arrays.scales("scale_b", scale_b, spec, _arrays.blocked_shapes(batch, n, blocks), "blocked")
    else:
        of_a = _arrays.side_shapes(batch, m, blocks, (*lead, blocks))
        of_b = _arrays.side_shapes(batch, blocks, n, (*lead_b, blocks, n))
        scale_a = _arrays.scales("scale_a", scale_a, spec, of_a, "batch, m, k / block")
        scale_b = _arrays.scales("scale_b", scale_b, spec, of_b, "batch, k / block, n")
    of_a = _arrays.side_shapes(batch, m, stored, (*lead, stored))
    metadata = _arrays.side_bytes("metadata", metadata, of_a, "batch, m, k / 2")
    arrays = {"a": a, "b": b, "c": c, "scale_a": scale_a, "scale_b": scale_b, "metadata": metadata}
    work = _arrays.filled(_library.Product(), arch=arch, inst=inst, batch=batch, m=m, n=n, k=k, promote=promote,
                          split_k=split_k, scale_layout=scale_layout, **ending, **arrays)
    return work, [x for x in arrays.values() if x is not None], shape


def _available_memory() -> Optional[int]:
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _result_bytes(a: Any, b: Any, output: str) -> int:
    """Of D, by the shapes alone; 0 where they are none of a product."""
    rows, columns = np.shape(a), np.shape(b)
    if len(rows) < 2 or len(columns) < 2:
        return 0
    return int(math.prod(rows[:-1]) * columns[-1] * _arrays.raw_dtype(output).itemsize)


def _sliced(
    a: Any, b: Any, scheme: str, arch: str, inst: Optional[str], promote: Optional[int], split_k: int, threads: int,
    plain: bool,
) -> np.ndarray:
    """D = A * B as a scheme of slices computes it."""
    dtype = _arrays.array_of("a", a).dtype
    number = {"float32": "f32", "uint32": "f32", "float64": "f64", "uint64": "f64"}.get(str(dtype))
    if number is None:
        raise refused("a dtype", dtype, "float32 or float64, as the scheme has it")
    a, b = (_arrays.operand(field, x, number, Casting(), "") for field, x in (("a", a), ("b", b)))
    a, b, shape = _arrays.together(a, b)
    batch, m, k = a.shape
    _arrays.require_shape("b", b, (batch, k, b.shape[2]), "batch, k, n")
    d = np.empty((batch, m, b.shape[2]), _arrays.value_dtype(number, False))
    work = _arrays.filled(_library.Product(), arch=arch, inst=inst, batch=batch, m=m, n=b.shape[2], k=k,
                          promote=whole("promote", promote or 0, 0, 2**64 - 1, "0 to 2^64 - 1"), split_k=split_k,
                          threads=threads_of(threads), plain=int(bool(plain)), a=a, b=b)
    work.d = _arrays.written(d)
    _library.check(lib.mmaudit_sliced_matmul(byref(work), _library.encoded(scheme)))
    return d.reshape(shape)


def matmul(
    a: np.ndarray, b: np.ndarray, c: Optional[np.ndarray] = None, *, inst: Optional[str] = None, arch: str = "hopper",
    promote: Optional[int] = None, split_k: int = 1, alpha: Optional[float] = None, beta: Optional[float] = None,
    d_format: Optional[str] = None, threads: int = 0, simd: Optional[str] = None, plain: bool = False,
    memory: Optional[int] = None, rounding: Optional[str] = None, saturate: bool = False,
    scale_a: Optional[np.ndarray] = None, scale_b: Optional[np.ndarray] = None, scale_layout: str = "rows",
    factor_a: Optional[float] = None, factor_b: Optional[float] = None, metadata: Optional[np.ndarray] = None,
    scheme: Optional[str] = None,
) -> np.ndarray:
    """D = A * B + C of any sizes, as a chain of one instruction over K in the order a kernel uses.

    Args:
        a: (..., M, K); b: (K, N), or (..., K, N) with the leading dimensions of A; c: (..., M, N) in D's format, or
            None for +0. dtypes as in emulate().
        inst: an instruction; of its shape, only K matters. With a scheme None is the newest unit's.
        scheme: D = A B of float32 or float64 out of products of smaller formats: "tf32x3", "bf16x3", "bf16x6", "bf16x9",
            "3xtf32", "ozaki1:8", "cublas-f64:7" or ":auto", "ozaki2:15" (docs/slices.md). With it only arch, inst, promote
            (k of a round of products), threads and plain count.
        promote: k after which the running sum is added to a float32 total, a multiple of the instruction's K.
        split_k: number of slices of K; their sums are added in ascending order.
        alpha, beta, d_format: with any of them D = fma(alpha, sum, beta * C) in float32, then one rounding to
            d_format (f32, f16 or bf16); with none of them C starts the chain.
        threads: 0: one per core. simd: "portable", "avx2", "avx512", "avx512vnni" or None for the widest. plain: no
            vector code.
            None of them changes a bit of D.
        memory: bytes that the result and the work space may take; None: what is available.
        rounding, saturate: as in emulate().
        scale_a, scale_b: block-scaled: (M, K / block) and (K / block, N), or with a batch, uint8; None: every scale is
            1. scale_layout "blocked": the bytes that cuBLASLt and torch._scaled_mm take (tiles of 128 rows x 4 blocks,
            a row being a row of A or a column of B), of any shape.
        factor_a, factor_b: factors of whole tensors, NVFP4's second level; alpha is multiplied by
            float32(factor_a) * float32(factor_b).
        metadata: sparse: (M, K/2), uint8, or with a batch: the position of every element of A inside its group.
    Returns: D, (..., M, N) with the leading dimensions of A.
    Raises: ValueError, in one line "field: found X, allowed: Y"; MemoryError.
    """
    if scheme is not None:
        others = {"c": c, "alpha": alpha, "beta": beta, "d_format": d_format, "simd": simd, "memory": memory,
                  "rounding": rounding, "scale_a": scale_a, "scale_b": scale_b, "factor_a": factor_a, "factor_b": factor_b,
                  "metadata": metadata}
        for field, value in others.items():
            if value is not None:
                raise refused(field, "some with a scheme", "none")
        return _sliced(a, b, scheme, arch, inst, promote, split_k, threads, plain)
    if inst is None:
        raise refused("inst", "none", "an instruction, or a scheme")
    spec = _library.instruction(arch, inst)
    if factor_a is not None or factor_b is not None:
        one = np.float32(1)
        of_sum, of_a, of_b = (one if x is None else _finite(field, x)
                              for field, x in (("alpha", alpha), ("factor_a", factor_a), ("factor_b", factor_b)))
        with np.errstate(over="ignore"):
            alpha = float(_finite("alpha * factor_a * factor_b", of_sum * (of_a * of_b)))
    ending = _epilogue(alpha, beta, d_format)
    output = ending["d_format"] or spec.d
    threads = threads_of(threads)
    limit = _available_memory() if memory is None else memory
    least = _result_bytes(a, b, output)
    if limit is not None and least > limit:  # before anything is copied
        raise refused("memory", f"{least} bytes needed for the result", f"{limit} bytes", MemoryError)
    work, kept, shape = _product(
        spec, arch, inst, ending, a, b, c, promote, split_k, _arrays.casting(rounding, saturate), scale_a, scale_b,
        scale_layout, metadata,
    )
    _arrays.filled(work, threads=threads, simd=simd, plain=int(bool(plain)))
    total = c_uint64()
    _library.check(lib.mmaudit_matmul_bytes(byref(work), byref(total)))
    needed = total.value - sum(array.nbytes for array in kept)
    if limit is not None and needed > limit:
        raise refused("memory", f"{needed} bytes needed for result and work space", f"{limit} bytes", MemoryError)
    with_ml = any(_arrays.is_ml(_arrays.array_of(field, x)) for field, x in (("a", a), ("b", b)))
    d = np.empty((work.batch, work.m, work.n), _arrays.value_dtype(output, with_ml))
    work.d = _arrays.written(d)
    _library.check(lib.mmaudit_matmul(byref(work)))
    return d.reshape(shape)


class Tolerance(NamedTuple):
    """float64, of D's shape. Where the exact value is NaN or infinite the bound is NaN; where D may overflow it is
    infinite."""

    exact: np.ndarray
    bound: np.ndarray


def tolerance(
    a: np.ndarray, b: np.ndarray, c: Optional[np.ndarray] = None, *, inst: str, arch: str = "hopper",
    promote: Optional[int] = None, split_k: int = 1, alpha: Optional[float] = None, beta: Optional[float] = None,
    d_format: Optional[str] = None, rounding: Optional[str] = None, saturate: bool = False,
    scale_a: Optional[np.ndarray] = None, scale_b: Optional[np.ndarray] = None, scale_layout: str = "rows",
    metadata: Optional[np.ndarray] = None,
) -> Tolerance:
    """The exact value of every element of D = A * B + C, or of alpha * A * B + beta * C, and the largest |D - exact| that
    the arithmetic of the instruction allows.

    Args:
        a, b, c, inst, arch, promote, split_k, alpha, beta, d_format, scales, metadata, rounding, saturate: as in
            matmul(). With ``rounding``, exact values are computed from the converted operands.
    Returns: (exact, bound), each (..., M, N).
    Range and rounding: exact within 2^-50 of the sum of all |a b|; the bound is a worst case (docs/audit.md). One
        thread, about 10^7 products per second.
    Raises: ValueError, in one line "field: found X, allowed: Y", also where no bound is known.
    """
    spec = _library.instruction(arch, inst)
    work, _kept, shape = _product(spec, arch, inst, _epilogue(alpha, beta, d_format), a, b, c, promote, split_k,
                                  _arrays.casting(rounding, saturate), scale_a, scale_b, scale_layout, metadata)
    exact, bound = (np.empty((work.batch, work.m, work.n), np.float64) for _ in range(2))
    _library.check(lib.mmaudit_gemm_tolerance(byref(work), _arrays.written(exact), _arrays.written(bound)))
    return Tolerance(exact.reshape(shape), bound.reshape(shape))


@dataclass(frozen=True)
class Check:
    """How a D compares with its tolerance. True in a condition, as in ``assert mmaudit.within(...)``, when every element
    is within its bound and a D of zeros would not be."""

    within: bool  #: an element was checked, none is off by more than its bound, and no NaN is unexpected
    vacuous: bool  #: a D of zeros would pass too, and this one has not the bits of matmul()
    elements: int  #: number checked
    beyond: int  #: number off by more than their bound
    worst: Tuple[int, int, int]  #: matrix, row and column of the largest |D - exact| / bound; leading dimensions counted through
    exact: float  #: at the worst element, as are `found` and `bound`
    found: float
    bound: float
    explanation: str  #: the verdict and the worst element in one line

    def __bool__(self) -> bool:
        return self.within and not self.vacuous


#: Formats of D that an epilogue takes as sums, and that it rounds to.
_SUMS, _OUTPUTS = ("f32", "f16"), ("f32", "f16", "bf16")


def _compared(
    d: Any, a: Any, b: Any, c: Optional[Any], inst: str, arch: str, promote: Optional[int], split_k: int,
    alpha: Optional[float], beta: Optional[float], d_format: Optional[str],
    rounding: Optional[str], saturate: bool, scale_a: Optional[Any], scale_b: Optional[Any], scale_layout: str,
    metadata: Optional[Any],
) -> Tuple[_library.Product, List[np.ndarray]]:
    """A product structure whose D is the caller's, and the arrays it points to."""
    spec = _library.instruction(arch, inst)
    ending = _epilogue(alpha, beta, d_format)
    work, kept, shape = _product(spec, arch, inst, ending, a, b, c, promote, split_k, _arrays.casting(rounding, saturate),
                                 scale_a, scale_b, scale_layout, metadata)
    rounded = _arrays.format_of(_arrays.array_of("d", d).dtype)  # what a kernel may have made of the sums
    hint = f"d_format='{rounded}' says that sums were rounded to it" if spec.d in _SUMS and rounded in _OUTPUTS else ""
    d = _arrays.operand("d", d, ending["d_format"] or spec.d, Casting(), hint)
    _arrays.require_shape("d", d, shape, "as A B")
    work.d = _arrays.written(d)  # read only
    return work, [*kept, d]


def within(
    d: np.ndarray, a: np.ndarray, b: np.ndarray, c: Optional[np.ndarray] = None, *, inst: str, arch: str = "hopper",
    promote: Optional[int] = None, split_k: int = 1, alpha: Optional[float] = None, beta: Optional[float] = None,
    d_format: Optional[str] = None, rounding: Optional[str] = None, saturate: bool = False,
    scale_a: Optional[np.ndarray] = None, scale_b: Optional[np.ndarray] = None, scale_layout: str = "rows",
    metadata: Optional[np.ndarray] = None,
) -> Check:
    """Whether a D from anywhere, say a kernel, stays within tolerance() of A * B + C.

    Args:
        d: (..., M, N): in the instruction's format of D, or in ``d_format``; never converted.
        a, b, c, inst, arch, promote, split_k, alpha, beta, d_format, scales, metadata, rounding, saturate: as in
            tolerance().
    Returns: a Check, true where D has elements that pass and a D of zeros would not.
    Raises: ValueError, as tolerance().
    """
    work, _kept = _compared(d, a, b, c, inst, arch, promote, split_k, alpha, beta, d_format, rounding, saturate, scale_a,
                            scale_b, scale_layout, metadata)
    found = _library.GemmCheck()
    explanation = _library.text_from(lib.mmaudit_check_gemm, byref(work), byref(found))
    return Check(
        bool(found.within), bool(found.vacuous), found.elements, found.beyond,
        (found.worst_matrix, found.worst_row, found.worst_column), found.worst_exact, found.worst_found,
        found.worst_bound, explanation,
    )


@dataclass(frozen=True)
class Closeness:
    """How a D compares with matmul()'s. True in a condition when it is what another order of the products inside the
    instructions could give."""

    close: bool  #: bit-exact, or everything below is what another order allows
    follows: bool  #: D follows the model's order, so that elements which differ are wrong
    elements: int  #: number compared
    bit_exact: int  #: number with the bits of matmul()
    beyond: int  #: number further from matmul()'s than another order allows
    drift: float  #: mean of (D - model) / unit, away from zero, less its mean over the drawn orders (docs/audit.md)
    drift_limit: float
    spread: float  #: mean size of D's errors over that of the drawn orders; 1 / spread_limit to spread_limit is allowed
    spread_limit: float
    worst: Tuple[int, int, int]  #: matrix, row and column of the largest share of its limit
    exact: float  #: at the worst element, as are `found`, `model` and `limit`
    found: float
    model: float
    limit: float
    explanation: str  #: the verdict, its reasons and the worst element in one line

    def __bool__(self) -> bool:
        return self.close


def close(
    d: np.ndarray, a: np.ndarray, b: np.ndarray, c: Optional[np.ndarray] = None, *, inst: str, arch: str = "hopper",
    promote: Optional[int] = None, split_k: int = 1, alpha: Optional[float] = None, beta: Optional[float] = None,
    d_format: Optional[str] = None, rounding: Optional[str] = None, saturate: bool = False,
    scale_a: Optional[np.ndarray] = None, scale_b: Optional[np.ndarray] = None, scale_layout: str = "rows",
    metadata: Optional[np.ndarray] = None, false_alarm: float = 1e-6, threads: int = 0,
) -> Closeness:
    """Whether a D from anywhere, say a kernel, is what the arithmetic of the instruction gives, up to the order of the
    products inside every instruction. A missing instruction, another promotion interval, other scales and one wrong element
    are caught.

    Args:
        d: (..., M, N): in the instruction's format of D, or in ``d_format``; never converted.
        a, b, c, inst, arch, promote, split_k, alpha, beta, d_format, scales, metadata, rounding, saturate: as in
            matmul().
        false_alarm: chance that a correct D in a random order does not pass (docs/audit.md). threads: 0: one per core.
    Returns: a Closeness. A D with the bits of matmul() always passes.
    Raises: ValueError, in one line "field: found X, allowed: Y".
    """
    work, _kept = _compared(d, a, b, c, inst, arch, promote, split_k, alpha, beta, d_format, rounding, saturate, scale_a,
                            scale_b, scale_layout, metadata)
    work.threads = threads_of(threads)
    if not isinstance(false_alarm, (int, float, np.number)) or isinstance(false_alarm, np.complexfloating):
        raise refused("false_alarm", repr(false_alarm), "a number above 0 and below 1")
    found = _library.GemmCloseness()
    explanation = _library.text_from(lib.mmaudit_check_gemm_close, byref(work), float(false_alarm), byref(found))
    return Closeness(
        bool(found.close), bool(found.follows), found.elements, found.bit_exact, found.beyond, found.drift,
        found.drift_limit, found.spread, found.spread_limit, (found.worst_matrix, found.worst_row, found.worst_column),
        found.worst_exact, found.worst_found, found.worst_model, found.worst_limit, explanation,
    )


def assert_gemm_close(d: np.ndarray, a: np.ndarray, b: np.ndarray, c: Optional[np.ndarray] = None, **how: Any) -> Closeness:
    """close() as an assertion, for tests of kernels; the fixture of the same name of the pytest plugin.

    Args: as close() takes them.
    Returns: the Closeness.
    Raises: AssertionError with the line of the check where D is not close.
    """
    __tracebackhide__ = True  # pytest shows the caller
    found = close(d, a, b, c, **how)
    if not found:
        raise AssertionError(found.explanation)
    return found
