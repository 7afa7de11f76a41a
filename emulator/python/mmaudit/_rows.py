"""Rows as torch's kernels reduce them."""
from ctypes import byref
from typing import Any, Optional, Tuple

import numpy as np

from . import _arrays, _library
from ._library import lib
from ._refuse import refused


def reduce_rows(
    operation: str, x: Any, weight: Any = None, bias: Any = None, *, epsilon: float = 0.0, output: Optional[str] = None,
    like: str = "torch-2.11",
) -> Tuple[np.ndarray, str]:
    """Every row of x reduced, with the bits that torch gives on an H200. Needs no GPU.

    Args:
        operation: "sum", "mean", "amax", "softmax", "log_softmax", "layer_norm", "rms_norm" (torch's), "rms_norm_steps"
            (as transformers writes it).
        x: (..., n), f32, bf16 or f16; on the GPU without gaps, at a multiple of 16 bytes.
        weight, bias: (n,), of x's type: of the norms; only layer_norm has a bias.
        epsilon: of the norms. output: "f32", but of norms, or None: x's type. like: the only value.
    Returns: y, (...,) of sum, mean and amax, else of x's shape; and the order of the sums in words.
    Range, rounding, source: docs/row-reductions.md. Raises: ValueError, in one line "field: found X, allowed: Y".
    """
    _library.text_of("operation", operation)
    output = None if output is None else _library.text_of("output", output)
    if epsilon is None:
        raise refused("epsilon", None, "a number (torch's rms_norm takes torch.finfo(x.dtype).eps for None)")
    array = _arrays.array_of("x", x)
    kind = _arrays.format_of(array.dtype)
    if kind is None or array.ndim == 0:
        raise refused("x", f"{array.ndim} dimensions of {array.dtype}", "rows of f32, bf16 or f16")
    given = {"x": _arrays.operand("x", array, kind, _arrays.Casting())}
    for name, one in (("weight", weight), ("bias", bias)):
        if one is not None:
            given[name] = _arrays.operand(name, _arrays.array_of(name, one), kind, _arrays.Casting(), "")
            _arrays.require_shape(name, given[name], array.shape[-1:], "n")
    shape = array.shape[:-1] if operation in ("sum", "mean", "amax") else array.shape
    y = np.empty(shape, _arrays.value_dtype(kind if output is None else output, _arrays.is_ml(array)))
    work = _arrays.filled(_library.Rows(), like=like, operation=operation, type=kind, output=output, n=array.shape[-1],
                          rows=int(np.prod(array.shape[:-1])), y=y, epsilon=epsilon, **given)
    return y, _library.text_from(lib.mmaudit_reduce_rows, byref(work))
