"""A hash, a norm and a sketch per row of a tensor, computed where the tensor is."""
from functools import cache
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
from torch import Tensor

PERIOD = 1 << 16  #: columns after which weights repeat, times another odd number
_CHUNK = 1 << 24  #: elements that torch's path widens at once
_INTEGER = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
#: How the kernel reads numbers; others have a hash alone.
_KINDS = {torch.float32: 1, torch.bfloat16: 2, torch.float16: 3}


@cache
def _weights() -> np.ndarray:
    """Two streams of odd 64-bit numbers: of columns, and of the rows of what has no rows of tokens (splitmix64)."""
    with np.errstate(over="ignore"):
        z = np.arange(1, 2 * PERIOD + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) | np.uint64(1)).view(np.int64).reshape(2, PERIOD)


@cache
def _table(device: torch.device) -> Tensor:
    return torch.from_numpy(_weights()).to(device)


def _stream(which: int, count: int, device: torch.device) -> Tensor:
    of = _table(device)[which]
    if count <= PERIOD:
        return of[:count]
    turns = torch.arange(-(-count // PERIOD), device=device, dtype=torch.int64).mul_(2).add_(1)
    return (turns[:, None] * of).reshape(-1)[:count]


class Rows(NamedTuple):
    """How a tensor is cut into rows: its axes of rows, from the outer one on; without any the tensor is one row."""

    axes: Tuple[int, ...]
    batch: int  #: entries of the batch, 1 where all share one
    tokens: int  #: per entry
    context: bool = False  #: tokens are the positions from the first one on, as in a KV cache

    @property
    def length(self) -> int:
        return self.batch * self.tokens


@cache
def rows_of(shape: Tuple[int, ...], batch: int, tokens: int, context: int) -> Optional[Rows]:
    """The axes along which a tensor has `batch` entries of `tokens` rows, or of all positions of the context."""
    if not shape or not batch * tokens:
        return None
    for entries in dict.fromkeys((batch, 1)):
        if shape[0] != entries:
            continue
        for axis in range(1, len(shape)):
            if shape[axis] == tokens:
                return Rows((0, axis), entries, tokens)
        for axis in range(1, len(shape)):
            if shape[axis] == context and context > 1:
                return Rows((0, axis), entries, context, True)
    return Rows((0,), batch, tokens) if shape[0] == batch * tokens and len(shape) > 1 else None


def cut(x: Tensor, batch: int, tokens: int, context: int) -> "Tuple[Tensor, Optional[Rows]]":
    """A tensor as its rows are hashed, and these; of a product of heads the first axis is entries, then heads."""
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    rows = rows_of(tuple(x.shape), batch, tokens, context)
    heads = x.shape[0] // max(batch, 1) if x.dim() == 3 else 0
    if rows is None and heads > 1 and x.shape[0] == heads * batch:
        apart = rows_of((batch, heads, *x.shape[1:]), batch, tokens, context)
        if apart is not None and apart.axes[-1] > 1:
            return x.view(batch, heads, *x.shape[1:]), apart
    return x, rows


def integers(x: Tensor) -> Tensor:
    return x.view(_INTEGER[x.element_size()])


def _matrix(x: Tensor) -> Tensor:
    """Two dimensions, the one with the smaller stride last, so that memory is read in its order."""
    x = x.reshape(1, -1) if x.dim() < 2 else x.flatten(1) if x.dim() > 2 else x
    return x.t() if _turned(x) else x


def _turned(x: Tensor) -> bool:
    return x.dim() == 2 and x.stride(0) < x.stride(1) and x.shape[0] > 1


def joined(hashes: np.ndarray, turned: bool) -> int:
    """One hash of the rows of a tensor without tokens."""
    of = _weights()[0 if turned else 1].view(np.uint64)
    with np.errstate(over="ignore"):
        at = np.arange(len(hashes), dtype=np.uint64)
        weights = of[at % np.uint64(PERIOD)] * (at // np.uint64(PERIOD) * np.uint64(2) + np.uint64(1))
        return int((hashes.view(np.uint64) * weights).sum(dtype=np.uint64))


class Pending(NamedTuple):
    x: Tensor
    rows: Optional[Rows]
    tensor: int  #: its number in the file

    @property
    def length(self) -> int:
        """Rows that are hashed: where there are no tokens, walks in memory, which are joined later."""
        return self.rows.length if self.rows is not None else _matrix(self.x).shape[0]

    @property
    def turned(self) -> bool:
        return _turned(self.x)


def _by_torch(one: Pending, out: Tensor) -> None:
    """`out`: (rows, 2) of int64."""
    x, device = one.x, one.x.device
    if one.rows is None:
        turned, x = _turned(x), _matrix(x)
        weights = _stream(1 if turned else 0, x.shape[1], device)
    else:
        rest = [axis for axis in range(x.dim()) if axis not in one.rows.axes]
        x = x.permute(*one.rows.axes, *rest).reshape(one.rows.length, -1)
        weights = _stream(0, x.shape[1], device)
    step = max(1, _CHUNK // max(1, x.shape[1]))
    floats = x.is_floating_point() and x.element_size() > 1 and one.rows is not None
    signs = ((weights >> 40) & 1).mul(2).sub(1).double() if floats else None
    for at in range(0, x.shape[0], step):
        part = x[at:at + step]
        out[at:at + step, 0] = (integers(part).to(torch.int64) * weights).sum(1)
        if signs is not None:
            wide = part.double()
            both = torch.stack([wide.square().sum(1).sqrt(), (wide * signs).sum(1)], 1).float()
            out[at:at + step, 1] = both.contiguous().view(torch.int64)[:, 0]


@cache
def _kernel() -> Any:
    """The kernel of Triton, or None."""
    try:
        from . import _trace_kernel
    except ImportError:
        return None
    return _trace_kernel.run


_FIELDS = 16  #: of a tensor in the kernel's table


def _described(one: Pending, first: int, out_at: int) -> Optional[List[int]]:
    """Sizes and strides of rows (two) and of columns (three), for the kernel; None where it has more of them."""
    x = one.x
    if one.rows is None:
        turned, x = _turned(x), _matrix(x)
        rows, rest, stream = [0], [1], 1 if turned else 0
    else:
        rows, stream = list(one.rows.axes), 0
        rest = [axis for axis in range(x.dim()) if axis not in rows]
    of_rows = [(x.shape[axis], x.stride(axis)) for axis in rows]
    columns: List[List[int]] = []
    for axis in rest:
        size, stride = x.shape[axis], x.stride(axis)
        if size == 1:
            continue
        if columns and columns[-1][1] == size * stride:
            columns[-1] = [columns[-1][0] * size, stride]
        else:
            columns.append([size, stride])
    if len(columns) > 3:
        return None
    of_rows = [(1, 0)] * (2 - len(of_rows)) + of_rows
    padded = [[1, 0]] * (3 - len(columns)) + columns
    total = padded[0][0] * padded[1][0] * padded[2][0]
    sizes = of_rows[1][0], of_rows[0][1], of_rows[1][1]
    return [x.data_ptr(), first, *sizes, total, padded[1][0], padded[2][0], padded[0][1], padded[1][1], padded[2][1],
            out_at, stream * PERIOD, int(one.rows is not None), 0, 0]


def hashed(pending: List[Pending]) -> List[Tuple[List[Pending], Tensor]]:
    """Rows of all of them, (rows, 2) of int64 per device: hash, and norm and sketch as two binary32."""
    found = []
    pending = [one._replace(x=one.x.detach()) for one in pending]
    for device in dict.fromkeys(one.x.device for one in pending):
        of = [one for one in pending if one.x.device == device]
        counts = [one.length for one in of]
        starts = np.concatenate([[0], np.cumsum(counts)])
        out = torch.zeros((int(starts[-1]), 2), dtype=torch.int64, device=device)
        run = _kernel() if device.type == "cuda" else None
        groups: Dict[Tuple[int, int], List[Tuple[List[int], int]]] = {}
        for one, count, at in zip(of, counts, starts):
            fields = None
            if run is not None:
                key = one.x.element_size(), _KINDS.get(one.x.dtype, 0)
                group = groups.setdefault(key, [])
                first = sum(rows for _, rows in group[-1:]) + (group[-1][0][1] if group else 0)
                fields = _described(one, first, int(at))
                if fields is not None:
                    group.append((fields, count))
            if fields is None:
                _by_torch(one, out[int(at):int(at) + count])
        for (size, kind), group in groups.items():
            if group and run is not None:
                run(group, size, kind, _table(device), out)
        found.append((of, out))
    return found
