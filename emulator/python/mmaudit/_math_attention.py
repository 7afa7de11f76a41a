"""torch's math backend of attention: two products and a softmax, each as its own kernel has it."""
import math
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from . import _arrays
from ._gemm import gemm
from ._refuse import refused
from ._rows import reduce_rows

_PRODUCTS = ("gemm", "gemv")  #: what the names of cuBLAS's kernels have


def _product(a: np.ndarray, b: np.ndarray, kernel: str, what: str) -> np.ndarray:
    try:
        return np.asarray(gemm(a, b, like="cublas", problem={"type": "f32"}, call={"kernels": [{"name": kernel}]}))
    except ValueError as error:
        raise refused(f"kernels: {what}", f"{kernel[:60]} ({error})", "a kernel of docs/gemm-kernels.md without split K") from None


def math_attention(q: Any, k: Any, v: Any, kernels: Sequence[str], causal: bool = False, scale: Optional[float] = None) -> np.ndarray:
    """O of scaled_dot_product_attention() with SDPBackend.MATH (sdp_utils, attention.cpp of torch 2.11), without
    dropout.

    Args: q, k, v: (batch, heads, rows, depth) of as many heads, f16, bf16 or f32. kernels: what torch's profiler printed, in order;
        the first and the last product count. causal: the upper left corner.
    Rounding: Q and K times sqrt(scale), both products and the softmax in binary32; O once more, to q's type.
    Raises: ValueError where the plan of a product is unknown, with its kernel's name.
    """
    split = [name for name in kernels if "split" in name.lower()]
    products = [name for name in kernels if any(word in name for word in _PRODUCTS)]
    if split or len(products) < 2:
        raise refused("kernels", split[0][:60] if split else f"{len(products)} products", "two products without split K")
    arrays = [_arrays.array_of(name, x) for name, x in zip("qkv", (q, k, v))]
    kind = _arrays.format_of(arrays[0].dtype)
    if kind not in ("f16", "bf16", "f32"):
        raise refused("q dtype", arrays[0].dtype, "f16, bf16, f32")
    wide = [_arrays.cast(_arrays.operand(name, x, kind, _arrays.Casting()), kind, "f32", _arrays.Casting(), np.dtype(np.float32))[0]
            for name, x in zip("qkv", arrays)]
    root = np.float32(math.sqrt(scale or 1 / math.sqrt(wide[0].shape[-1])))
    flat: Tuple[np.ndarray, ...] = tuple(x.reshape(-1, *x.shape[2:]) for x in (wide[0] * root, wide[1] * root, wide[2]))
    score = _product(flat[0], np.ascontiguousarray(flat[1].swapaxes(1, 2)), products[0], "Q K^T")
    if causal:
        score = np.where(np.tri(*score.shape[1:]) != 0, score, np.float32(-np.inf))
    p, _ = reduce_rows("softmax", score)
    o = _product(np.asarray(p), flat[2], products[-1], "P V").reshape(wide[0].shape)
    return o if kind == "f32" else _arrays.cast(o, "f32", kind, _arrays.Casting("rn"), _arrays.raw_dtype(kind))[0]
