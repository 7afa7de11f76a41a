"""The plan of an attention that is only a callable: plans are tried until one gives every bit."""
import itertools
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _arrays, _callable
from ._attention import attention
from ._products import whole
from ._refuse import refused

_FIELDS: Dict[str, List[Any]] = {
    "block_k": [64, 128, 32, 256, 16, 48, 80, 96, 112, 144, 160, 176, 192, 224],
    "order": ["ascending", "descending", "partial_first"],
    "score": ["products", "fused", "scaled", "scaled_once", "fused_after", "scaled_after", "scaled_masked"],
    "row_sum": ["lanes", "block_lanes", "warps", "joined", "eighths", "quads"],
    "output_sum": ["chain", "blocks", "two_level"], "join": ["crossed", "neighbours"],
    "division": ["reciprocal", "approximate", "quotient"], "log2e": ["binary64", "binary32"],
    "exponential": ["exp2f", "ex2.approx.ftz.f32"], "threshold": [0, 8],
    "products": ["mma.m16n8k16.f32.{0}.{0}.f32", "mma.m16n8k8.f32.{0}.{0}.f32"], "splits": [1, 2, 3, 4, 5, 6, 7, 8],
}


class RevealedAttention(NamedTuple):
    """`plan`: what attention(plan=...) takes. `others`: values of a field that give the same bits on every operand that was
    tried. `same`: of the elements that were compared, how many the plan gives."""

    plan: Dict[str, Any]
    others: Dict[str, List[Any]]
    same: int
    compared: int


def _plan(fields: Dict[str, Any], kind: str) -> Dict[str, Any]:
    product = fields["products"].format(kind)
    rest = {name: value for name, value in fields.items() if name != "products"}
    return {"qk": product, "pv": product, "block_q": 64, "p": kind, "output": kind, **rest}


def reveal_attention(
    callable: Callable[..., Any], *, kind: str = "f16", heads: int = 2, queries: int = 128,  # pylint: disable=redefined-builtin
    keys: int = 512, depth: int = 64, causal: Optional[str] = None, seed: int = 1, device: Optional[str] = None,
) -> RevealedAttention:
    """The plan of `callable`, from what it returns.

    What: fields are changed one by one, and then two by two, as long as more elements of O have the plan's bits. In every
    second round half of V is the other half's negative, so that O is nothing but roundings, and a wrong field shows.
    Args: callable: takes Q, K, V of (1, heads, rows, depth), arrays of numpy, or tensors of torch with `device`; returns O.
        No mask, scale 1 / sqrt(depth). kind: "f16" or "bf16". causal: the corner of the diagonal that the callable has,
        "top_left" or "bottom_right". seed: of the operands.
    Returns: the plan and what it leaves open. Where `same` is less than `compared`, no plan of docs/attention.md fits.
    Raises: ValueError where O has another shape; what the callable raises.
    """
    for name, size in (("heads", heads), ("queries", queries), ("keys", keys), ("depth", depth)):
        whole(name, size, 1, 1 << 20, "1 to 2**20")
    draw, shapes = np.random.default_rng(seed), [(1, heads, n, depth) for n in (queries, keys, keys)]
    asked: List[Tuple[List[np.ndarray], np.ndarray]] = []
    for spread, mirrored in itertools.product((1.0, 3.0), (True, False)):
        x = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
        x[0] *= np.float32(spread)
        for i in (1, 2) if mirrored else ():
            x[i][:, :, keys // 2:] = x[i][:, :, : keys - keys // 2] * (1 if i == 1 else -1)
        bits = [_arrays.cast(one, "f32", kind, _arrays.Casting("rn"), _arrays.raw_dtype(kind))[0] for one in x]
        given = [_callable._tensor(one.tobytes(), kind, one.shape, device) for one in bits]
        o = _arrays.operand("O", callable(*given), kind, _arrays.Casting()).view(np.uint16)
        _arrays.require_shape("O", o, shapes[0], "1, heads, queries, depth")
        asked.append((bits, o))
    compared = sum(o.size for _, o in asked)
    fields = _FIELDS if causal else {**_FIELDS, "order": _FIELDS["order"][:2]}  # without a mask no block is partly seen
    known: Dict[str, int] = {}

    def same(tried: Dict[str, Any]) -> int:
        key = str(tried)
        if key not in known:
            try:
                how: Any = {"plan": _plan(tried, kind), "type": kind, "causal": causal}
                known[key] = sum(int((np.asarray(attention(*bits, **how)).view(np.uint16) == o).sum()) for bits, o in asked)
            except ValueError:  # a block that no instruction's k divides
                known[key] = -1
        return known[key]

    first = {name: values[0] for name, values in fields.items()}
    coarse = ("block_k", "order", "score", "threshold", "products")  # what changes many bits
    best = max(({**first, **dict(zip(coarse, some))} for some in itertools.product(*(fields[name][:6] for name in coarse))), key=same)
    for width in (1, 2):
        improved = True
        while improved and same(best) < compared:
            some = [best]
            for name, values in fields.items():
                one = [{**best, name: value} for value in values]
                some += one if width == 1 else [{**x, other: value} for x in one for other in fields if other > name
                                                 for value in fields[other]]
            found = max(some, key=same)
            improved, best = same(found) > same(best), found
    if same(best) == 0:
        raise refused("callable", "an O that shares no bit with any plan", "an attention without mask, scale 1 / sqrt(depth)")
    others = {name: [value for value in values if value != best[name] and same({**best, name: value}) == same(best)]
              for name, values in fields.items()}
    return RevealedAttention(_plan(best, kind), {name: values for name, values in others.items() if values}, same(best), compared)
