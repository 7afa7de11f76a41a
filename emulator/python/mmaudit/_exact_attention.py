"""Does a callable compute the attention that it is asked for? Attentions whose every row is one row of V."""
import inspect
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ._dtypes import NAMES
from ._exact import _Maker, _seconds, asked, refusal, refusals
from ._products import whole
from ._refuse import listed, refused

_DIGITS = 8  #: a digit of a place in V: every format has the integers up to 8
_MARGIN = 128.0  #: by which the best scaled score leads: e^-128 is 0 in binary32, so P is 1 and 0

AttentionShape = Tuple[int, int, int, int, int, int]


class WrongAttention(NamedTuple):
    """A shape whose O is wrong: (batch, heads, kv_heads, queries, keys, dim); what is wrong, in words."""

    shape: AttentionShape
    causal: bool
    faults: Tuple[str, ...]
    wrong_rows: int
    rows: int


@dataclass
class AttentionCheck:
    """What check_attention() found. True where every attention is right."""

    attentions: int = 0
    runs: int = 0
    rows: int = 0
    wrong: List[WrongAttention] = field(default_factory=list)
    refused: Dict[str, int] = field(default_factory=dict)  #: what the callable raised RuntimeError for, and how often
    seconds: float = 0.0

    def __bool__(self) -> bool:
        return self.rows > 0 and not self.wrong

    def __str__(self) -> str:
        left = refusals(self.refused)
        if not self.wrong:
            said = f"{self.attentions} attentions are right, {self.rows} rows in {self.runs} runs" if self else "no attention was run"
            return said + left
        lines = [f"{len(self.wrong)} of {self.attentions} attentions are wrong"]
        for one in self.wrong[:5]:
            name = " x ".join(map(str, one.shape)) + (" causal" if one.causal else "")
            lines.append(f"  {name}: {one.wrong_rows} of {one.rows} rows; {'; '.join(one.faults)}")
        return "\n".join(lines) + left


def _drawn(shape: AttentionShape, causal: bool, seed: int) -> Tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """q, k, v and the key that each query takes, (batch, heads, queries); -1: a row that may be anything."""
    batch, heads, kv_heads, queries, keys, dim = shape
    rng = np.random.default_rng(seed)
    size = 2.0 ** np.floor(np.log2(128 / dim**0.25))
    k = rng.choice((-size, size), (batch, kv_heads, keys, dim))
    group = heads // kv_heads
    last = np.arange(queries) + (keys - queries) if causal else np.full(queries, keys - 1)
    allowed = np.arange(keys) <= last[:, None]
    taken = np.full((batch, heads, queries), -1)
    q = np.zeros((batch, heads, queries, dim))
    places = np.arange(queries)
    for b in range(batch):
        for h in range(heads):
            own = k[b, h // group]
            # Each key is somebody's, the first and the last one too; of a causal one often the last that is allowed.
            wanted = (rng.permutation(max(queries, keys))[:queries] + h) % np.maximum(last + 1, 1)
            if causal:
                wanted = np.where(rng.random(queries) < 0.3, last, wanted)
            q[b, h] = own[wanted]
            if causal:  # a key behind the mask that would win
                behind = np.minimum(last + 1 + rng.integers(0, 3, queries), keys - 1)
                q[b, h] = np.where((rng.random(queries) < 0.5)[:, None] & (behind > last)[:, None],
                                   1.5 * own[behind] + own[wanted], q[b, h])
            scores = np.where(allowed, q[b, h] @ own.T / np.sqrt(dim), -np.inf)
            best = scores.argmax(1)
            top = scores[places, best]
            scores[places, best] = -np.inf
            taken[b, h] = np.where((last >= 0) & (top - scores.max(1) >= _MARGIN), best, -1)
    digits = [np.arange(keys) // _DIGITS**i % _DIGITS for i in range(5)]
    v = rng.integers(-7, 8, (batch, kv_heads, keys, dim)).astype(np.float64)
    for i, digit in enumerate(digits):
        v[..., i] = digit
    for i in range(2):
        v[..., 5 + i] = (np.arange(kv_heads) // _DIGITS**i % _DIGITS)[:, None]
        v[..., 7 + i] = (np.arange(batch) // _DIGITS**i % _DIGITS)[:, None, None]
    return q, k, v, taken


def _place(row: np.ndarray) -> Optional[Tuple[int, int, int]]:
    """Batch, head of K and V, key whose row of V this is."""
    if not (np.isfinite(row[:9]).all() and (row[:9] == np.floor(row[:9])).all() and ((row[:9] >= 0) & (row[:9] < _DIGITS)).all()):
        return None
    key = int(sum(row[i] * _DIGITS**i for i in range(5)))
    return int(row[7] + row[8] * _DIGITS), int(row[5] + row[6] * _DIGITS), key


def _faults(shape: AttentionShape, causal: bool, o: np.ndarray, v: np.ndarray, taken: np.ndarray, wrong: np.ndarray) -> List[str]:
    _, heads, kv_heads, queries, keys, _ = shape
    group, found, mixed = heads // kv_heads, Counter[str](), 0
    bad = np.argwhere(wrong)
    for b, h, i in bad[:4096]:
        row = o[b, h, i]
        place = _place(row)
        if place is None or place[0] >= v.shape[0] or place[1] >= kv_heads or place[2] >= keys or not (v[place] == row).all():
            mixed += 1
            continue
        at_batch, at_head, key = place
        if at_batch != b:
            found[f"the batch is another's: of {at_batch} for {b}"] += 1
        if at_head != h // group:
            found[f"head {h} takes the keys of head {at_head} of K and V, not of {h // group}"] += 1
        elif causal and key > i + keys - queries:
            found["keys behind the causal mask are taken"] += 1
        elif at_batch == b:
            found["another key is taken"] += 1
    said = [f"{text} ({count} rows)" for text, count in found.most_common(3)]
    if mixed:
        said.append(f"{mixed} rows are no row of V")
    missing = taken[wrong & (taken >= 0)]
    right = taken[~wrong & (taken >= 0)]
    if len(missing) and len(right) and missing.min() > right.max():
        said.insert(0, f"no query takes a key from {right.max() + 1} on")
    elif len(missing) and len(right) and missing.max() < right.min():
        said.insert(0, f"no query takes a key before {right.min()}")
    b, h, i = bad[0]
    return said + [f"first: batch {b}, head {h}, query {i}, whose key is {taken[b, h, i]}"]


def usual_attentions(seed: int, count: int) -> List[AttentionShape]:
    """Batches of 1 to 3, heads that share keys or not, odd lengths to 700, dim 64, 128 or 96."""
    rng = np.random.default_rng(seed)
    shapes: List[AttentionShape] = []
    for index in range(count):
        kv_heads, group = int(rng.integers(1, 4)), int(rng.choice((1, 1, 2, 4)))
        keys = int(np.exp2(rng.uniform(0, 9.5)))
        queries = 1 if index % 4 == 3 else keys if index % 4 == 1 else int(rng.integers(1, keys + 1))
        shapes.append((int(rng.integers(1, 4)), kv_heads * group, kv_heads, queries, keys, int(rng.choice((64, 128, 96)))))
    return shapes


def check_attention(
    function: Callable[..., Any], *, dtype: str = "bf16", shapes: Optional[Iterable[Sequence[int]]] = None, count: int = 40,
    causal: Union[None, bool] = None, repeat: int = 2, budget: Union[None, str, float] = None, seed: int = 1,
    device: Optional[str] = None, padded: bool = True,
) -> AttentionCheck:
    """Whether a callable computes softmax(Q K^T / sqrt(dim)) V, and what it does instead.

    The scores are such that the best key of a query leads by so much that its weight is 1 and every other one 0, in any
    order and format of sums: a row of O is a row of V, bit for bit. V numbers its rows, so a wrong one says whose it is.

    Args:
        function: takes q (batch, heads, queries, dim), k and v (batch, kv_heads, keys, dim), and by name `causal` if its
            signature has it; returns O (batch, heads, queries, dim). Query i of a causal one sees the keys up to
            i + keys - queries.
        dtype: format of q, k, v and O.
        shapes: (batch, heads, kv_heads, queries, keys, dim), dim 16 or more; None: `count` usual ones.
        causal: True, False; None: both where the signature has `causal`.
        repeat, budget, seed, device, padded: as check_gemm() has them; NaN lies round K and V.
    Returns: what was found; False where an attention is wrong or none was run. A RuntimeError that `function` raises counts
        as refused, unless a device failed.
    Raises: what `function` raises else; ValueError, in one line "field: found X, allowed: Y".
    """
    repeat, count, seed = asked(function, repeat, count, seed)
    if dtype not in NAMES:
        raise refused("dtype", dtype, listed(NAMES))
    try:
        takes_causal = "causal" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        takes_causal = False
    if causal and not takes_causal:
        raise refused("causal", True, "False, since the callable takes no `causal`")
    kinds = [causal] if causal is not None else [False, True] if takes_causal else [False]
    start, limit, result, make = time.monotonic(), _seconds(budget), AttentionCheck(), _Maker(device)
    given = usual_attentions(seed, count) if shapes is None else list(shapes)
    for index, one in enumerate(given):
        shape: AttentionShape = tuple(  # type: ignore[assignment]
            whole("shapes", size, 0, 2**31 - 1, "0 to 2**31 - 1") for size in (one if isinstance(one, Iterable) else [one]))
        if len(shape) != 6 or min(shape) < 1 or shape[1] % shape[2] or shape[5] < 16 or shape[4] >= _DIGITS**5:
            raise refused("shapes", list(one), "(batch, heads, kv_heads, queries, keys, dim), heads a multiple of kv_heads, dim 16 or more")
        for kind in kinds:
            if time.monotonic() - start > limit:
                break
            q, k, v, taken = _drawn(shape, kind, seed + index)
            group = shape[1] // shape[2]
            batches, heads = np.arange(shape[0])[:, None, None], (np.arange(shape[1]) // group)[None, :, None]
            exact, known = v[batches, heads, np.maximum(taken, 0)], taken >= 0
            wrong = np.zeros(known.shape, bool)
            seen = exact
            guard = 8 if padded else 0
            held = [make.padded(values, dtype, float("nan"), False, guard) for values in (k, v)]
            operands = [make.of(q, dtype), held[0][1], held[1][1]]
            try:
                for _ in range(repeat or 2):
                    o = make.numbers(function(*operands, **({"causal": kind} if takes_causal else {})))
                    if o.shape != q.shape:
                        raise refused("O shape", list(o.shape), list(q.shape))
                    now = known & (o != exact).any(-1)
                    result.runs += 1
                    if now.any() and not wrong.any():
                        seen = o
                    wrong |= now
            except RuntimeError as error:
                why = refusal(error)
                result.refused[why] = result.refused.get(why, 0) + 1
                if not wrong.any():
                    continue
            result.attentions += 1
            result.rows += int(known.sum())
            if wrong.any():
                shown = known & (seen != exact).any(-1)
                result.wrong.append(WrongAttention(shape, kind, tuple(_faults(shape, kind, seen, v, taken, shown)), int(wrong.sum()),
                                                   int(known.sum())))
    result.seconds = time.monotonic() - start
    return result
