"""Attention as fused kernels compute it, by their plans."""
from ctypes import byref
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _arrays, _library
from ._library import lib
from ._math_attention import math_attention
from ._products import threads_of
from ._refuse import refused

#: What a fused kernel can do and no plan describes.
_NOT_MODELLED = ("dropout_p", "backward", "block_table")
Window = Tuple[Optional[int], Optional[int]]


class Attended(NamedTuple):
    """O, the logarithm of the row sums, and the plan in words; `details` has S, P, the maxima and the row sums."""

    o: np.ndarray
    lse: np.ndarray
    plan: str
    details: "Dict[str, np.ndarray]"


def _words(plan: Mapping[str, Any]) -> str:
    if not isinstance(plan, Mapping):
        raise refused("plan", f"a {type(plan).__name__}", "fields with values, as a dict has")
    words = [f"{name}={value}" for name, value in plan.items()]
    for word in words:
        if len(word.split()) != 1:
            raise refused("plan", repr(word), "names with one number or name each")
    return " ".join(words)


def _descale(name: str, factors: Any, shape: "Tuple[int, int]") -> np.ndarray:
    found = _arrays.numbers_of(name, factors).astype(np.float32)
    try:
        return np.ascontiguousarray(np.broadcast_to(found, shape))
    except ValueError:
        raise refused(f"{name} shape", [*found.shape], f"{[*shape]} (batch, heads of K), or one for all") from None


def _lines(names: Sequence[str]) -> str:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise refused("kernels", f"a {type(names).__name__}", "a list of names")
    return "\n".join(_library.text_of("kernels", name) for name in names)


def _bias(mask: Any, kind: str, shape: "Tuple[int, ...]") -> np.ndarray:
    """A mask of torch's: added to the scores, or truth values, which become 0 and -inf."""
    array = _arrays.array_of("mask", mask)
    if array.dtype == np.bool_:
        array = np.where(array, np.float32(0), np.float32(-np.inf))
        array = _arrays.operand("mask", array, kind, _arrays.Casting("rn"))
    array = _arrays.operand("mask", array, kind, _arrays.Casting())
    array = array.reshape((1,) * (4 - array.ndim) + array.shape)
    for i, name in ((0, "batch"), (1, "heads")):
        if array.shape[i] not in (1, shape[i]):
            raise refused(f"mask {name}", array.shape[i], f"1, {shape[i]}")
    return np.ascontiguousarray(np.broadcast_to(array, (*array.shape[:2], *shape[2:])))


def _gpu_of(tensors: Sequence[Any], like: Optional[str]) -> Any:
    """The GPU that Q, K and V are on; None: the host computes, as it does recipes, which convert there."""
    if not all(_arrays.is_tensor(x) and x.device.type == "cuda" for x in tensors):
        return None
    from .torch._attention import known
    return None if known().get(like or "", {}).get("dtype") else tensors[0].device


def _attend_on(place: Any, work: _library.Attention, inputs: "Dict[str, np.ndarray]", results: "Dict[str, np.ndarray]") -> None:
    import torch

    from .torch import _cuda
    there = {name: torch.tensor(np.ascontiguousarray(x).view(np.uint8), device=place) for name, x in inputs.items()}
    there.update({name: torch.empty(x.nbytes, dtype=torch.uint8, device=place) for name, x in results.items()})
    for name, x in there.items():
        setattr(work, name, (_library.Out if name in results else _library.In)(x.data_ptr(), x.numel()))
    _cuda.attention(work, place)
    for name, array in results.items():
        array[...] = there[name].cpu().numpy().view(array.dtype).reshape(array.shape)


def _run(q: Any, k: Any, v: Any, whose: "Dict[str, Optional[str]]", causal: Optional[str], window: Window, mask: Any,
         scale: Optional[float], kind: Optional[str], descales: "Dict[str, Any]", details: bool, threads: int,
         softcap: float = 0.0, sinks: Any = None, packed: int = 0) -> Attended:
    arrays = {name: _arrays.array_of(name, x) for name, x in (("q", q), ("k", k), ("v", v))}
    kind = kind or _arrays.format_of(arrays["q"].dtype)
    if kind is None:
        raise refused("q dtype", arrays["q"].dtype, "f16, bf16, e4m3, e5m2 (raw bits with type=)")
    given = {name: _arrays.operand(name, x, kind, _arrays.Casting()) for name, x in arrays.items()}
    if given["q"].ndim != 4 or given["k"].ndim != 4:
        raise refused("q, k", f"{given['q'].ndim} and {given['k'].ndim} dimensions", "(batch, heads, rows, depth)")
    batch, heads, queries, depth = given["q"].shape
    kv_heads, keys = given["k"].shape[1:3]
    for name in ("k", "v"):
        _arrays.require_shape(name, given[name], (batch, kv_heads, keys, depth), "batch, heads, keys, depth")
    work = _arrays.filled(
        _library.Attention(), **whose, type=kind, causal=causal, batch=batch, heads=heads, kv_heads=kv_heads,
        queries=queries, keys=keys, depth=depth, scale=scale or 0.0, threads=threads_of(threads), softcap=softcap,
        packed=packed, **given)
    if scale is not None and not (isinstance(scale, (int, float, np.number)) and 0 < abs(scale) < 2.0**1023):
        raise refused("scale", scale, "a finite number that is not 0, or None")
    sides = tuple(window) if isinstance(window, (tuple, list)) else ()
    if len(sides) != 2 or not all(side is None or (isinstance(side, (int, np.integer)) and side >= 0) for side in sides):
        raise refused("window", window, "keys to the left and right, None for all")
    _arrays.filled(work, **{name: 0 if side is None else side + 1 for name, side in zip(("left", "right"), sides)})
    if mask is not None:
        bias = _bias(mask, kind, (batch, heads, queries, keys))
        _arrays.filled(work, bias=bias, bias_batch=bias.shape[0], bias_heads=bias.shape[1])
    if sinks is not None:
        shares = _arrays.numbers_of("sinks", sinks).astype(np.float32)
        _arrays.require_shape("sinks", shares, (heads,), "heads")
        _arrays.filled(work, sinks=shares)
    descaled = {name: _descale(name, factors, (batch, kv_heads)) for name, factors in descales.items() if factors is not None}
    _arrays.filled(work, **descaled)
    text = _library.text_from(lib.mmaudit_attention_predict, byref(work))  # the plan says O's format
    output = next((word.split()[1] for word in text.split(", ") if word.startswith("output ") and word.count(" ") == 1), "f32")
    o = np.empty((batch, heads, queries, depth), _arrays.value_dtype(output, _arrays.is_ml(arrays["q"])))
    lse = np.empty((batch, heads, queries), np.float32)
    extra = {}
    if details:
        extra = {name: np.empty((batch, heads, queries, keys), np.float32) for name in ("scores", "weights", "bases", "later")}
        extra.update({name: np.empty((batch, heads, queries), np.float32) for name in ("maxima", "sums")})
    place = _gpu_of((q, k, v), whose["like"])
    if place is not None and not details:
        inputs = dict(given, **descaled, **({} if mask is None else {"bias": bias}), **({} if sinks is None else {"sinks": shares}))
        _attend_on(place, work, inputs, {"o": o, "lse": lse})
    else:
        _arrays.filled(work, o=o, lse=lse, **extra)
        _library.check(lib.mmaudit_attention_predict(byref(work), None))
    return Attended(o, lse, text, extra)


def _bounds(name: str, given: Any, rows: int) -> "List[int]":
    """cu_seqlens: where each sequence begins, and the number of rows."""
    found = _arrays.array_of(name, given).astype(np.int64).ravel().tolist()
    if len(found) < 2 or found[0] != 0 or found[-1] != rows or found != sorted(found):
        raise refused(name, found if len(found) < 9 else f"{found[:8]} ...", f"places that ascend from 0 to {rows}, the rows")
    return found


def _packed(q: Any, k: Any, v: Any, bounds: "Tuple[Any, Any]", run: Callable[..., Attended]) -> Attended:
    """Sequences of different lengths, (rows, heads, depth): each is a problem of its own, with unsplit keys."""
    arrays = [_arrays.array_of(name, x) for name, x in (("q", q), ("k", k), ("v", v))]
    for name, x in zip("qkv", arrays):
        if x.ndim != 3:
            raise refused(name, f"{x.ndim} dimensions", "(rows, heads, depth) with cu_seqlens")
    of_q, of_k = (_bounds(f"cu_seqlens_{name}", given, x.shape[0]) for name, given, x in zip("qk", bounds, arrays))
    if len(of_q) != len(of_k):
        raise refused("cu_seqlens_k", f"{len(of_k)} places", f"{len(of_q)}, as cu_seqlens_q")
    o: Any = None
    lse = np.empty((arrays[0].shape[1], arrays[0].shape[0]), np.float32)
    plan = ""
    for i, (first, last) in enumerate(zip(of_q, of_q[1:])):
        if first == last:
            continue
        if of_k[i] == of_k[i + 1]:
            raise refused("cu_seqlens_k", f"no key for sequence {i}", "1 key or more where there are queries")
        parts = [np.ascontiguousarray(x[a:b].swapaxes(0, 1)[None]) for x, (a, b) in
                 zip(arrays, ((first, last), *((of_k[i], of_k[i + 1]),) * 2))]
        found = run(*parts, max(b - a for a, b in zip(of_q, of_q[1:])))
        o = np.empty(arrays[0].shape, found.o.dtype) if o is None else o
        o[first:last], lse[:, first:last], plan = found.o[0].swapaxes(0, 1), found.lse[0], found.plan
    if o is None:
        raise refused("cu_seqlens_q", "no query", "1 query or more")
    return Attended(o, lse, plan, {})


def attention(
    q: Any, k: Any, v: Any, *, like: Optional[str] = None, plan: Optional[Mapping[str, Any]] = None,
    kernels: Optional[Sequence[str]] = None, causal: Union[None, bool, str] = None, window: Window = (None, None),
    mask: Any = None, scale: Optional[float] = None, type: Optional[str] = None,  # pylint: disable=redefined-builtin
    arch: Optional[str] = None, descale_q: Any = None, descale_k: Any = None, descale_v: Any = None, softcap: float = 0.0,
    sinks: Any = None, cu_seqlens_q: Any = None, cu_seqlens_k: Any = None, lse: bool = False,
    details: bool = False, threads: int = 0, **others: Any,
) -> Any:
    """softmax(scale * Q K^T + mask) V, with the bits that a fused kernel returns. Needs no GPU; computed
    on the one that q, k and v are on, but a recipe and details on the host.

    Args:
        q: (batch, heads, queries, depth), f16 or bf16; with a plan also e4m3, e5m2. k, v: (batch, key heads, keys, depth).
        like: "torch-flash" (the default), "torch-efficient", "torch-cudnn", or a recipe ("fa3-head"), which converts, or
            "torch-math" with the names of its kernels; or plan:
            fields of docs/attention.md, {"qk": "wgmma...", ...}; or kernels: names of the library's kernels, as torch's
            profiler prints them.
        causal: "top_left" (also True) or "bottom_right", as causal_lower_right() and the aten operators have it.
        window: keys to the left and right of the bottom right diagonal; None: all.
        mask: (..., queries, keys), added to the scores, or truth values; where the plan takes masks.
        scale: None: 1 / sqrt(depth). type: of raw bits. arch: whose datapaths; None: the library's, else hopper.
        descale_*: binary32 per batch and key head.
        softcap: not 0: scores become softcap * tanh(scale * S / softcap) by tanh.approx.f32 ("fa3").
        sinks: per head one more logit in each row's sum ("fa4" with 16 bits).
        cu_seqlens_*: where each sequence begins in q, k, v of (rows, heads, depth), as flash_attn_varlen_func() and
            torch.nn.attention.varlen have them ("torch-flash", "fa3", "fa4"). causal=True is then "bottom_right", lse (heads, rows).
        lse: gives (O, lse). details: gives an Attended with S, P, maxima, row sums and the plan.
        threads: 0: one per core.
    Returns: O, (batch, heads, queries, depth), in q's type.
    Range, rounding, source, limits: docs/attention.md. Raises: ValueError, in one line "field: found X, allowed: Y".
    """
    for name in others:
        raise refused(name, "it", "nothing of " + ", ".join(_NOT_MODELLED) if name in _NOT_MODELLED else "arguments of attention()")
    if like is None and plan is None and kernels is None:
        like = "torch-flash"
    if like == "torch-math":
        of_fused = {"window": None if window == (None, None) else window, "mask": mask, "plan": plan, "softcap": softcap or None,
                    "sinks": sinks, "cu_seqlens_q": cu_seqlens_q, "cu_seqlens_k": cu_seqlens_k, "descale_q": descale_q,
                    "descale_k": descale_k, "descale_v": descale_v, "details": details or None, "lse": lse or None}
        for name in (name for name, one in of_fused.items() if one is not None):
            raise refused(name, "it", "none with torch-math")
        if causal not in (None, False, True, "top_left"):
            raise refused("causal", causal, "top_left with torch-math")
        return math_attention(q, k, v, kernels or (), bool(causal), scale)
    whose = {"arch": arch, "like": like, "plan": None if plan is None else _words(plan),
             "kernels": None if kernels is None else _lines(kernels)}
    packed = cu_seqlens_q is not None or cu_seqlens_k is not None
    corner = ("bottom_right" if packed else "top_left") if causal is True else causal or None
    descales = {"descale_q": descale_q, "descale_k": descale_k, "descale_v": descale_v}
    for name, one in {**descales, "mask": mask, "details": details or None}.items() if packed else ():
        if one is not None:
            raise refused(name, "it", "none with cu_seqlens_q and cu_seqlens_k")
    if packed and (cu_seqlens_q is None or cu_seqlens_k is None):
        raise refused("cu_seqlens_q, cu_seqlens_k", "one of them", "both")

    def run(a: Any, b: Any, c: Any, most: int = 0) -> Attended:
        return _run(a, b, c, whose, corner, window, mask, scale, type, descales, details, threads, softcap, sinks, most)
    found = _packed(q, k, v, (cu_seqlens_q, cu_seqlens_k), run) if packed else run(q, k, v)
    if details:
        return found
    return (found.o, found.lse) if lse else found.o
