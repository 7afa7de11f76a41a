"""scaled_dot_product_attention by the plan of a fused kernel, in place of two products and a softmax."""
import json
import math
from ctypes import byref
from functools import cache, lru_cache
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from .. import _library
from .._attention import attention
from .._library import lib
from .._refuse import refused, with_nearest
from . import _cuda, _sharded
from ._tensors import NUMBERS, dtype_of, require_place, taken, written

SDPA = F.scaled_dot_product_attention
VARLEN = "torch_attn._varlen_attn"  #: the operator of torch.nn.attention.varlen
PRODUCTS = "products"  #: two products and a softmax, by the recipe of the layer


@cache
def known() -> Dict[str, Dict[str, Any]]:
    """Kernels and recipes by name: "arch", "dtype" (None: as the tensors), "evidence", "source"."""
    rows = json.loads(_library.text_from(lib.mmaudit_recipes))["attention"]
    return {row["name"]: row for row in rows}


def names_in(field: str, given: str) -> List[str]:
    """Of "torch-flash,torch-efficient": the first that has a plan for a call runs it."""
    names = [one.strip() for one in given.split(",")]
    for name in names:
        if name != PRODUCTS and name not in known():
            raise refused(field, with_nearest(name, known()), ", ".join([PRODUCTS, *known()]))
    return names


def may_be_products(given: Optional[str]) -> bool:
    return given is None or PRODUCTS in names_in("attention", given)


def base_of(given: str) -> Tuple[str, str]:
    """arch and dtype of a recipe that names an attention alone."""
    row = known().get(names_in("attention", given)[0], {})
    return row.get("arch") or "hopper", row.get("dtype") or "bf16"


class Call(NamedTuple):
    """Arguments of scaled_dot_product_attention, whose operands have four dimensions and numbers."""

    q: Tensor
    k: Tensor
    v: Tensor
    mask: Optional[Tensor]
    causal: str
    scale: float

    @property
    def multiply_adds(self) -> int:
        return 2 * self.q.numel() * self.k.shape[-2]

    def weights(self) -> Tuple[Tensor, Tensor]:
        """softmax(scale Q K^T + mask) in binary32, and V, both (batch heads, rows, columns)."""
        k, v = (x.repeat_interleave(self.q.shape[1] // self.k.shape[1], 1) for x in (self.k, self.v))
        s = torch.matmul(self.q.float(), k.float().mT) * (self.scale or 1 / math.sqrt(self.q.shape[-1]))
        s = s if self.mask is None else s + self.mask
        if self.causal != "none":
            shift = 0 if self.causal == "top_left" else s.shape[-1] - s.shape[-2]
            s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device).triu(shift + 1), -torch.inf)
        p = torch.softmax(s, -1).masked_fill((s == -torch.inf).all(-1, True), 0)
        return p.flatten(0, 1), v.flatten(0, 1)


def _signature(query: Tensor, key: Tensor, value: Tensor, attn_mask: Any = None, dropout_p: float = 0.0,
               is_causal: bool = False, scale: Optional[float] = None, enable_gqa: bool = False) -> Tuple[Any, ...]:
    return query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa


def call_of(layer: str, args: Any, kwargs: Dict[str, Any], products: bool = False) -> Optional[Call]:
    """None: torch's own refuses it, or there is nothing to multiply; with `products` also where no plan describes it, which
    is a ValueError else."""
    q, k, v, mask, dropout, causal, scale, grouped = _signature(*args, **kwargs)
    corner = "top_left" if causal else "none"
    variant = getattr(mask, "variant", None)  # of torch.nn.attention.bias.CausalBias
    if variant is not None:
        corner, mask = ("bottom_right" if variant.name == "LOWER_RIGHT" else "top_left"), None
    if (mask is not None and causal) or not (q.dim() == k.dim() == v.dim()) or (
            q.dim() > 2 and not grouped and q.shape[1] != k.shape[1]) or q.is_meta:
        return None
    found = "operands of DTensor" if _sharded.among([type(one) for one in (q, k, v)]) else (
        f"dropout_p {dropout}" if dropout else f"scale {scale}" if scale is not None and not (
            scale and math.isfinite(scale)) else f"operands of {q.dim()} dimensions" if q.dim() != 4 else "")
    if not found and (k.shape != v.shape or (q.shape[0], q.shape[3]) != (k.shape[0], k.shape[3]) or
                      not q.dtype == k.dtype == v.dtype):
        found = f"Q, K, V of {list(q.shape)}, {list(k.shape)}, {list(v.shape)}, {q.dtype}, {k.dtype}, {v.dtype}"
    if found and products:
        return None
    if found:
        raise refused(f"attention in layer {layer!r}", found, "(batch, heads, rows, depth) of one batch, depth and dtype, "
                      f'without dropout, or "attention": "{PRODUCTS}" for that layer')
    if not q.numel() or not k.numel():
        return None
    if mask is not None:
        if mask.dtype == torch.bool:
            mask = torch.zeros_like(mask, dtype=q.dtype).masked_fill_(~mask, -torch.inf)
        elif mask.dtype != q.dtype:
            return None
        mask = mask.reshape((1,) * (4 - mask.dim()) + tuple(mask.shape)) if mask.dim() < 4 else mask
        mask = mask.expand(*mask.shape[:2], q.shape[2], k.shape[2])
    return Call(q, k, v, mask, corner, 0.0 if scale is None else float(scale))


def _work(like: str, dtype: torch.dtype, causal: str, scale: float, q: Tuple[int, ...], k: Tuple[int, ...]) -> Any:
    work = _library.Attention()
    work.like, work.type, work.causal = (_library.encoded(one) for one in (like, NUMBERS.get(dtype, str(dtype)), causal))
    work.batch, work.heads, work.queries, work.depth = q
    work.kv_heads, work.keys, work.scale = k[1], k[2], scale
    return work


@lru_cache(maxsize=4096)
def _output(like: str, dtype: torch.dtype, causal: str, scale: float, q: Tuple[int, ...], k: Tuple[int, ...],
            masked: bool) -> torch.dtype:
    """What the plan of such a call gives; ValueError where there is none."""
    work = _work(like, dtype, causal, scale, q, k)
    if masked:
        work.bias, work.bias_batch, work.bias_heads = _library.In(1, 1), 1, 1  # that there is one: it is not read
    words = _library.text_from(lib.mmaudit_attention_predict, byref(work)).split(", ")
    return dtype_of(next((one.split()[1] for one in words if one.startswith("output ") and one.count(" ") == 1), "f32"))


def chosen(layer: str, names: str, call: Call) -> Optional[str]:
    """The first name with a plan for the call; None: two products. ValueError with every name's reason."""
    why: List[str] = []
    for name in names_in("attention", names):
        try:
            if name != PRODUCTS:
                _output(name, call.q.dtype, call.causal, call.scale, tuple(call.q.shape), tuple(call.k.shape), call.mask is not None)
            return None if name == PRODUCTS else name
        except ValueError as error:
            why.append(f"{name}: {error}")
    raise refused(f"attention in layer {layer!r}", "; ".join(why),
                  f"several names with a comma, the first that takes a call runs it; {PRODUCTS} takes all")


@torch.library.custom_op("mmaudit::attention", mutates_args=())
def _attention(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], like: str, causal: str, scale: float) -> Tensor:
    """O in Q's dtype, computed where Q is; a recipe converts on the host, so its operands go there, and O comes back."""
    place = require_place(q=q, k=k, v=v, mask=mask)
    at = place if known()[like]["dtype"] is None else torch.device("cpu")
    kept = [None if x is None else x.to(at).contiguous() for x in (q, k, v, mask)]
    of_q, of_k = tuple(q.shape), tuple(k.shape)
    o = torch.empty(of_q, dtype=_output(like, q.dtype, causal, scale, of_q, of_k, mask is not None), device=at)
    work = _work(like, q.dtype, causal, scale, of_q, of_k)
    work.q, work.k, work.v, work.bias = map(taken, kept)
    if mask is not None:
        work.bias_batch, work.bias_heads = mask.shape[:2]
    work.o = written(o)
    if at.type == "cuda":
        _cuda.attention(work, at)
    else:
        _library.check(lib.mmaudit_attention_predict(byref(work), None))
    return o.to(place, q.dtype)


@_attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], like: str, causal: str, scale: float) -> Tensor:
    return torch.empty_like(q, memory_format=torch.contiguous_format)


def _backward(ctx: Any, gradient: Tensor) -> Any:
    raise refused("attention", "a backward pass", f'forward passes alone; attention="{PRODUCTS}" has gradients', NotImplementedError)


_attention.register_autograd(_backward)


def attended(call: Call, like: str) -> Tensor:
    """O with the bits of the kernel or recipe `like`."""
    found: Tensor = _attention(call.q, call.k, call.v, call.mask, like, call.causal, call.scale)
    return found


def _varlen(query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Tensor, cu_seq_k: Optional[Tensor], max_q: int, max_k: int,
            is_causal: bool = False, scale: Optional[float] = None, window_size: Any = None, enable_gqa: bool = False,
            seqused_k: Any = None, block_table: Any = None, num_splits: Any = None) -> Tuple[Any, ...]:
    others = {"seqused_k": seqused_k, "block_table": block_table, "num_splits": None if num_splits == 1 else num_splits}
    return query, key, value, cu_seq_q, cu_seq_q if cu_seq_k is None else cu_seq_k, is_causal, scale, window_size or (-1, -1), others


def packed(owner: Any, site: Any, names: str, key: Optional[str], func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
    """varlen_attn() by the first name with a plan, on the host."""
    q, k, v, of_q, of_k, causal, scale, window, others = _varlen(*args, **kwargs)
    left, right = (None if side < 0 else side for side in window)
    ends, lacks = [x.tolist() for x in (of_q, of_k)], [f"{name}: found it" for name, one in others.items() if one is not None]
    why = list(lacks)
    for name in names_in("attention", names):
        if name == PRODUCTS:
            return func(*args, **kwargs)
        if lacks:
            continue
        try:
            o, lse = attention(q, k, v, like=name, cu_seqlens_q=ends[0], cu_seqlens_k=ends[1], causal=causal, scale=scale,
                               window=(left, right), lse=True)
        except ValueError as error:
            why.append(f"{name}: {error}")
            continue
        pairs = sum((b - a) * (d - c) for a, b, c, d in zip(ends[0], ends[0][1:], ends[1], ends[1][1:]))
        owner.attended(name, site, key, 2 * pairs * q.shape[1] * q.shape[2])
        kind = known()[name]["dtype"] and torch.bfloat16 or q.dtype
        bits = torch.from_numpy(np.ascontiguousarray(o).view(np.int16)).view(kind)
        return bits.to(q.device, q.dtype), torch.from_numpy(lse).to(q.device), torch.zeros(2, dtype=torch.uint64, device=q.device)
    raise refused(f"varlen_attn in layer {site.layer!r}", "; ".join(why), f'names that take it, or "{PRODUCTS}"')


def recorder(layer: Callable[[], str], see: Callable[[str, Optional[Call], str], None]) -> "Calls":
    """Calls, which run as they are: `see` gets the layer and the call, or why no plan takes it."""
    def attend(func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        if func is not SDPA:
            see(layer(), None, f"{VARLEN}: found sequences of different lengths, allowed: scaled_dot_product_attention")
            return func(*args, **kwargs)
        try:
            call = call_of(layer(), args, kwargs)
            if call is not None:
                see(layer(), call, "")
        except ValueError as error:
            see(layer(), None, str(error))
        return func(*args, **kwargs)
    return Calls(attend)


class Calls(TorchFunctionMode):
    """Hands scaled_dot_product_attention to `attend` before torch takes it apart."""

    def __init__(self, attend: Callable[[Any, Any, Dict[str, Any]], Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.attend = attend

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (),
                           kwargs: Optional[Dict[str, Any]] = None) -> Any:
        if func is SDPA or (isinstance(func, torch._ops.OpOverloadPacket) and str(func) == VARLEN):
            return self.attend(func, args, kwargs or {})
        return func(*args, **(kwargs or {}))
