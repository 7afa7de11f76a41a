"""A hash, a norm and a sketch per row of a tensor, computed where the tensor is."""
import math
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
#: Of which torch gives no raw bits.
_QUANTIZED = {torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4}
_MOST_COLUMNS = 1 << 30  #: of a row, which the kernel counts in 32 bits


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


class Cut(NamedTuple):
    """How tensors of one shape, strides and type are cut into rows that are hashed."""

    rows: Optional[Rows]
    shape: Tuple[int, ...]  #: as it is hashed; of a product of heads the first axis is entries, then heads
    stride: Tuple[int, ...]
    axes: Tuple[int, ...]  #: of `shape`, whose elements are rows; without tokens walks in memory, which are joined later
    length: int  #: so many rows
    turned: bool  #: rows are columns of a matrix, so that memory is read in its order
    plain: Optional[Tuple[Any, ...]]  #: of a tensor without gaps, tokens first: what a reshaped one with the same rows shares
    bytes: int
    dtype: torch.dtype
    said: Dict[str, Any]  #: in the file
    fields: Optional[List[int]]  #: for the kernel; None where it can't
    kind: Tuple[int, int, bool]  #: bytes of an element, how the kernel reads numbers, whether columns are one axis


def _contiguous(shape: Tuple[int, ...], stride: Tuple[int, ...]) -> bool:
    size = 1
    for count, step in zip(reversed(shape), reversed(stride)):
        if count != 1 and step != size:
            return False
        size *= count
    return True


@cache
def cut_of(shape: Tuple[int, ...], stride: Tuple[int, ...], dtype: torch.dtype, batch: int, tokens: int, context: int) -> Cut:
    """`batch` 0: a tensor without tokens, such as a weight."""
    gaps = 0 not in shape and not _contiguous(shape, stride)
    said: Dict[str, Any] = {"shape": list(shape), "dtype": str(dtype)[6:], **({"stride": list(stride)} if gaps else {})}
    if dtype.is_complex:
        shape, stride, dtype = (*shape, 2), (*(2 * one for one in stride), 1), dtype.to_real()
    rows, heads = rows_of(shape, batch, tokens, context), shape[0] // max(batch, 1) if len(shape) == 3 else 0
    if rows is None and heads > 1 and shape[0] == heads * batch:
        apart = rows_of((batch, heads, *shape[1:]), batch, tokens, context)
        if apart is not None and apart.axes[-1] > 1:
            rows, shape, stride = apart, (batch, heads, *shape[1:]), (heads * stride[0], *stride)
    turned, axes = False, (0,) if rows is None else rows.axes
    if rows is not None:
        said.update({"batch": rows.batch, "tokens": rows.tokens, **({"context": True} if rows.context else {})})
    elif len(shape) < 2:
        shape, stride = (1, *(shape or (1,))), (0, *(stride or (1,)))
    elif len(shape) == 2 and stride[0] < stride[1] and shape[0] > 1:
        turned, shape, stride = True, shape[::-1], stride[::-1]
    columns: List[List[int]] = []
    for axis in range(len(shape)):
        size, step = shape[axis], stride[axis]
        if axis in axes or size == 1:
            continue
        if columns and columns[-1][1] == size * step:
            columns[-1] = [columns[-1][0] * size, step]
        else:
            columns.append([size, step])
    padded, total = [[1, 0]] * (3 - len(columns)) + columns, math.prod(size for size, _ in columns)
    fields: Optional[List[int]] = None
    if len(columns) < 4 and total < _MOST_COLUMNS:
        outer, inner = [(1, 0)] * (2 - len(axes)) + [(shape[axis], stride[axis]) for axis in axes]
        fields = [0, 0, inner[0], outer[1], inner[1], total, padded[1][0], padded[2][0], padded[0][1], padded[1][1],
                  padded[2][1], 0, PERIOD if turned else 0, math.prod(shape[axis] for axis in axes), 0, 0]
    whole = rows is not None and not gaps and not rows.context and rows.axes in ((0,), (0, 1))
    plain = (dtype, math.prod(shape), batch, tokens) if whole else None
    size = 0 if dtype in _QUANTIZED else math.prod(shape) * dtype.itemsize
    return Cut(rows, shape, stride, axes, math.prod(shape[axis] for axis in axes), turned, plain, size, dtype, said, fields,
               (dtype.itemsize, _KINDS.get(dtype, 0) if rows is not None else 0, len(columns) < 2))


def integers(x: Tensor) -> Tensor:
    return x.view(_INTEGER[x.element_size()])


def joined(hashes: np.ndarray, turned: bool) -> int:
    """One hash of the rows of a tensor without tokens."""
    of = _weights()[0 if turned else 1].view(np.uint64)
    with np.errstate(over="ignore"):
        parts = [hashes[at:at + PERIOD].view(np.uint64) for at in range(0, len(hashes), PERIOD)]
        return sum((2 * turn + 1) * int(np.dot(part, of[:len(part)])) for turn, part in enumerate(parts)) % (1 << 64)


def value_of(hash: int, dtype: torch.dtype) -> str:
    """The number of a tensor of one element, whose raw bits its hash is, times two odd numbers."""
    weight = int(_weights()[0, 0]) * int(_weights()[1, 0])
    raw = hash * pow(weight, -1, 1 << 64) % (1 << 8 * dtype.itemsize)
    return str(torch.frombuffer(bytearray(raw.to_bytes(dtype.itemsize, "little")), dtype=dtype).item())


Pending = Tuple[Tensor, Cut, int]  #: a tensor and its number in the file


def _by_torch(x: Tensor, cut: Cut, out: Tensor) -> None:
    """`out`: (rows, 2) of int64."""
    x = (torch.view_as_real(x) if x.is_complex() else x).as_strided(cut.shape, cut.stride)
    x = x.permute(*cut.axes, *(axis for axis in range(x.dim()) if axis not in cut.axes)).reshape(cut.length, -1)
    weights = _stream(1 if cut.turned else 0, x.shape[1], x.device)
    step = max(1, _CHUNK // max(1, x.shape[1]))
    floats = x.is_floating_point() and x.element_size() > 1 and cut.rows is not None
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


def hashed(pending: List[Pending]) -> List[Tuple[List[Tuple[Cut, int]], Tensor]]:
    """Rows of all of them, (rows, 2) of int64 per device: hash, and norm and sketch as two binary32. Tensors with rows
    of tokens are the last ones."""
    found = []
    devices: Dict[torch.device, List[Pending]] = {}
    for one in sorted(pending, key=lambda one: one[1].rows is not None):
        devices.setdefault(one[0].device, []).append(one)
    for device, of in devices.items():
        out = torch.zeros((sum(cut.length for _, cut, _ in of), 2), dtype=torch.int64, device=device)
        run = _kernel() if device.type == "cuda" else None
        groups: Dict[Tuple[int, int, bool], List[Tuple[int, int, List[int]]]] = {}
        at = 0
        for x, cut, _ in of:
            if run is not None and cut.fields is not None:
                groups.setdefault(cut.kind, []).append((x.data_ptr(), at, cut.fields))
            else:
                _by_torch(x.detach(), cut, out[at:at + cut.length])
            at += cut.length
        for kind, group in groups.items():
            assert run is not None  # without it no group has a tensor
            run(group, kind, _table(device), out)
        found.append(([(cut, number) for _, cut, number in of], out))
    return found
