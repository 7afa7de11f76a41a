"""Operators that are one matrix product, as problems of docs/gemm.md."""
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import torch
from torch import Tensor

from ._rules import given
from ._tensors import NUMBERS, dtype_of

aten = torch.ops.aten


class Gemm(NamedTuple):
    """D = A B of a product, and where its operands are: A (..., m, k), B (..., k, n)."""

    problem: Dict[str, Any]
    a: Tensor
    b: Tensor
    c: Optional[Tensor] = None
    bias: Optional[Tensor] = None
    ends: Optional[Tensor] = None  #: of groups of rows of A, each by a B of its own


def _stored(x: Tensor) -> "tuple[str, int]":
    """How a matrix is stored, "n" or "t", and its leading dimension, 0 where there is no gap."""
    rows, columns = x.shape[-2:]
    turned = x.stride(-2) == 1 and x.stride(-1) != 1 and columns > 1
    lead, tight = (x.stride(-1), rows) if turned else (x.stride(-2), columns)
    few = (columns if turned else rows) <= 1
    return "t" if turned else "n", 0 if few or lead == tight else lead


#: Operators by how their arguments are named: A, B, what is added, the arguments alpha and beta.
PRODUCTS: Dict[Any, "tuple[str, str, str]"] = {
    aten.mm.default: ("self", "mat2", ""), aten.bmm.default: ("self", "mat2", ""),
    aten.addmm.default: ("mat1", "mat2", "self"), aten.baddbmm.default: ("batch1", "batch2", "self"),
    aten.mm.out: ("self", "mat2", ""), aten.addmm.out: ("mat1", "mat2", "self"), aten.bmm.out: ("self", "mat2", ""),
    aten._scaled_mm.default: ("self", "mat2", "bias"), aten.linear.default: ("input", "weight", "bias"),
}
_GROUPED = getattr(aten, "_grouped_mm", None)
if _GROUPED is not None:
    PRODUCTS[_GROUPED.default] = ("self", "mat2", "bias")


def format_name(dtype: torch.dtype) -> Optional[str]:
    known = {**NUMBERS, **{dtype_of(one): one for one in ("e4m3", "e5m2")}, torch.int8: "s8", torch.int32: "s32"}
    return known.get(dtype)


def gemm_of(func: Any, args: Any, kwargs: Dict[str, Any], d: Any) -> Optional[Gemm]:
    """None for an operator that is not one product of two matrices."""
    names = PRODUCTS.get(func)
    if names is None or not isinstance(d, Tensor):
        return None
    by = given(func, args, kwargs)
    a, b, extra = by[names[0]], by[names[1]], by.get(names[2])
    if a.layout != torch.strided or b.layout != torch.strided:
        return None
    if func is aten.linear.default:
        a, b = (a if a.dim() == 2 else a.flatten(0, -2)) if a.dim() > 1 else a.unsqueeze(0), b.t()
    ends = by.get("offs")
    if ends is not None and (a.dim(), b.dim()) != (2, 3):
        return None
    kind, output = format_name(a.dtype), format_name(d.dtype)
    if kind is None or output is None or a.dim() < 2:
        return None
    if kind == "f32" and a.is_cuda and torch.backends.cuda.matmul.allow_tf32:
        kind = "tf32"
    (layout_a, lda), (layout_b, ldb) = _stored(a), _stored(b)
    alpha, beta = float(by.get("alpha", 1)), float(by.get("beta", 1 if extra is not None else 0))
    bias = extra if extra is not None and extra.dim() == 1 and beta == 1 else None
    c = extra if extra is not None and bias is None and beta != 0 else None
    by_lt = bias is not None or func is aten._scaled_mm.default
    problem: Dict[str, Any] = {
        "api": "cublaslt" if by_lt else "cublas", "type": kind, "d": output, "m": a.shape[-2], "n": b.shape[-1],
        "k": a.shape[-1], "layout": layout_a + layout_b}
    for name, value, usual in (("lda", lda, 0), ("ldb", ldb, 0), ("alpha", alpha, 1.0), ("beta", 0.0 if c is None else beta, 0.0)):
        if value != usual:
            problem[name] = value
    if b.dim() == 3:
        problem["batch"] = b.shape[0]
    if bias is not None:
        problem["bias"] = True
    if by.get("use_fast_accum"):
        problem["fast_accum"] = True
    return Gemm(problem, a, b, c, bias, ends)


def problem_of(known: Dict[Any, Optional[Dict[str, Any]]], func: Any, args: Any, kwargs: Dict[str, Any], d: Any,
               flags: int) -> Optional[Dict[str, Any]]:
    """The problem of gemm_of(), found once for operands of the same shapes, strides and types."""
    parts: List[Any] = [func, flags, *kwargs]
    try:
        for one in (*args, d, *kwargs.values()):
            parts += (one.shape, one.stride(), one.dtype) if isinstance(one, Tensor) else (one,)
        key = tuple(parts)
        if key not in known:
            gemm = gemm_of(func, args, kwargs, d)
            known[key] = None if gemm is None else gemm.problem
        return known[key]
    except (TypeError, RuntimeError):  # an argument without a hash, or without strides
        gemm = gemm_of(func, args, kwargs, d)
        return None if gemm is None else gemm.problem


def spread(count: int, most: int) -> List[int]:
    """`most` of `count` indices, evenly, the first and the last among them."""
    return list(range(count)) if count <= most else [round(i * (count - 1) / (most - 1)) for i in range(most)]


#: Rows of A and columns of B of a product that are kept: D has as many elements as a proof looks at.
ROWS, COLUMNS = 32, 64
_MOST_SUMMED = 1 << 26  #: multiply-adds of a sample whose rows are chosen, which a diff computes by several plans


def sample(gemm: Gemm, d: Tensor, keep: Callable[[str, Tensor], None], rows: Sequence[int]) -> Dict[str, Any]:
    """Gives `keep` some rows of A with columns of B, all of K, and their D; of several products the first one. `rows`: these
    rows with more columns, since few elements of them may differ; none: any."""
    m, n = gemm.problem["m"], gemm.problem["n"]
    a, b = (one[0] if one.dim() == 3 else one for one in (gemm.a, gemm.b))
    c = gemm.c[0] if gemm.c is not None and gemm.c.dim() == 3 else gemm.c
    d = d[0] if gemm.a.dim() == 3 else d.reshape(m, n)
    most = max(COLUMNS, _MOST_SUMMED // (len(rows) * gemm.a.shape[-1])) if rows and gemm.a.shape[-1] else COLUMNS
    rows, columns = list(rows) or spread(m, ROWS), spread(n, most)
    if gemm.ends is not None:
        ends = [0, *gemm.ends.tolist()]
        group = next((one for one in range(len(ends) - 1) if ends[one + 1] > ends[one]), 0)
        b, rows = gemm.b[group], [ends[group] + one for one in spread(ends[group + 1] - ends[group], ROWS)]
    at_rows, at_columns = (torch.tensor(one, device=d.device) for one in (rows, columns))
    keep("a", a.index_select(0, at_rows))
    keep("b", b.index_select(1, at_columns))
    keep("d", d.index_select(0, at_rows).index_select(1, at_columns))
    if c is not None:
        keep("c", c.expand(m, n).index_select(0, at_rows).index_select(1, at_columns))
    if gemm.bias is not None:
        keep("bias", gemm.bias.index_select(0, at_columns))
    return {"rows": rows, "columns": columns}


def row_sample(inputs: List[Tensor], out: Tensor, keep: Callable[[str, Tensor], None]) -> bool:
    """Gives `keep` some rows of a reduction of the last axis, their results, weight and bias; else false."""
    x, n = inputs[0], inputs[0].shape[-1] if inputs[0].dim() else 0
    rows = x.numel() // n if n else 0
    if not rows or out.numel() not in (rows, rows * n) or not x.is_contiguous() or not out.is_contiguous():
        return False
    # Where a row begins within 16 bytes decides its order: such rows keep their places.
    chosen: Sequence[int] = spread(rows, ROWS) if n * x.element_size() % 16 == 0 else range(min(rows, ROWS))
    at = torch.tensor(chosen, device=x.device)
    keep("0", x.reshape(rows, n).index_select(0, at))
    keep("out", out.reshape(rows, -1).index_select(0, at))
    for number, one in enumerate(inputs[1:]):
        keep(str(number + 1), one.clone())
    return True
