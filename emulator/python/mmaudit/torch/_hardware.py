"""Products by the GPU that is here instead of its model, which checks a sample of them."""
import random
import threading
from collections import deque
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Deque, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np
import torch
from torch import Tensor

from .. import _library
from .._refuse import listed, refused
from . import _checked, _cuda
from ._coverage import HARDWARE, MODEL

SWITCHES = ("auto", "always", "never")
SIDE = 128  #: rows and columns of a tile, at most
MOST_BYTES = 1 << 28  #: of operands that wait for the model, which is quick with many tiles at once
MOST_JUDGED = 16  #: comparisons that nothing has waited for
_WORD = 8  #: bytes that are copied at once

_here = threading.local()


def current() -> "Optional[Hardware]":
    """Of the product that this thread computes."""
    found: Optional[Hardware] = getattr(_here, "hardware", None)
    return found


@lru_cache(maxsize=4096)
def _why_not(place: torch.device, arch: str, inst: str, sizes: Tuple[int, int, int, int], promote: int, split_k: int) -> str:
    work = _library.Product()
    work.arch, work.inst = _library.encoded(arch), _library.encoded(inst)
    work.batch, work.m, work.n, work.k = sizes
    work.promote, work.split_k = promote, split_k
    return _cuda.why_no_hardware(work, place)


def _sizes(a: Tensor, b: Tensor) -> Tuple[int, int, int, int]:
    """Matrices, m, n, k."""
    batch = 1 if b.dim() == 2 else a.shape[:-2].numel()
    return batch, (a.shape[:-1] if b.dim() == 2 else a.shape[-2:-1]).numel(), b.shape[-1], b.shape[-2]


def _bits(x: Tensor) -> Tensor:
    return x.view({1: torch.uint8, 2: torch.int16, 4: torch.int32}[x.element_size()])


@lru_cache(maxsize=64)
def _counted(count: int, place: torch.device, stream: Any) -> Tensor:
    """0, 1, ...; of each stream its own, which has made it when it reads it."""
    return torch.arange(count, device=place)


def _on(place: torch.device, *parts: Any) -> List[Tensor]:
    """Arrays of whole numbers, by one copy that nothing waits for."""
    whole = torch.from_numpy(np.concatenate([one.ravel() for one in parts]))
    if place.type == "cuda":
        whole = whole.pin_memory().to(place, non_blocking=True)
    split = whole.split([one.size for one in parts])  # type: ignore[no-untyped-call, unused-ignore]
    return [one.view(of.shape) for one, of in zip(split, parts)]


def _per_word(x: Tensor) -> int:
    """Elements along the last axis that are copied at once."""
    size = x.element_size()
    fits = x.is_contiguous() and x.shape[-1] % _WORD == 0 and x.storage_offset() * size % _WORD == 0
    return _WORD // size if fits else 1


def _taken(x: Tensor, per: int, *places: Tensor) -> Tensor:
    """x[places], where the last axis, if it is among them, counts words."""
    words = _bits(x) if per == 1 else x.view(torch.int64)
    return words[places].view(x.dtype)


class _Sample(NamedTuple):
    """Tiles of one product: operands and D of these, and their first elements: (matrix, row, column)."""

    operands: Tuple[Any, ...]  #: A, B, C, factors of A and B, D; a factor of the tensor as it is
    layer: str
    at: List[Tuple[int, int, int]]
    sizes: Tuple[int, int]  #: m, n


class Hardware:
    """Which products of an emulation the GPU's own instructions compute, and what became of the tiles that the model
    checks: `share` of every product's, at least one, drawn at random."""

    def __init__(self, switch: str = "auto", share: float = 0.01) -> None:
        if switch not in SWITCHES:
            raise refused("hardware", repr(switch), listed(SWITCHES))
        self.switch, self.share = switch, _checked.number("check", share)
        if not 0 <= self.share <= 1:
            raise refused("check", share, "from 0 to 1")
        self._random = random.Random(0)
        self._waiting: Dict[Any, List[_Sample]] = {}
        self._compared: Deque[_Compared] = deque()
        self._bytes = 0
        self._layer, self._by, self._checked = "", "", 0

    @contextmanager
    def computing(self, layer: str) -> Iterator[None]:
        """Products of this thread inside are of this layer. Afterwards taken() says what computed them."""
        before, _here.hardware = current(), self
        self._layer, self._by, self._checked = layer, MODEL, 0
        try:
            yield
        finally:
            _here.hardware = before

    def taken(self) -> Tuple[str, int]:
        """What computed the last product, and how many of its elements the model checks; "" where nothing did since."""
        found, self._by, self._checked = (self._by, self._checked), "", 0
        return found

    def takes(self, a: Tensor, b: Tensor, how: Dict[str, Any], dense: bool) -> bool:
        """Whether the GPU's own instructions are to compute A * B; `dense`: without block scales and metadata. ValueError
        where they have to and can't."""
        why = ""
        if self.switch == "never":
            return False
        if not a.is_cuda or type(a) is not Tensor:
            why = f"hardware: found always with tensors on {a.device}, allowed: tensors on a GPU, or auto, never"
        elif torch.cuda.is_current_stream_capturing():
            why = "hardware: found always while a graph is captured, allowed: auto, never"
        elif not dense:
            why = f"inst: found {how['inst']} with hardware, allowed: dense ones without block scales"
        else:
            sizes = _sizes(a, b)
            if sizes[0] * sizes[1] * sizes[2] == 0:
                return False  # D has no elements, so that nobody computes it
            why = _why_not(a.device, how["arch"], how["inst"], sizes, how["promote"], how["split_k"])
        if why and self.switch == "always":
            raise ValueError(why)
        return not why

    def sample(self, a: Tensor, b: Tensor, c: Optional[Tensor], factor_a: Optional[Tensor], factor_b: Optional[Tensor],
               d: Tensor, how: Dict[str, Any]) -> None:
        """Takes tiles of the product D that the GPU computed, for check()."""
        self._by = HARDWARE
        batch, m, n, k = _sizes(a, b)
        blocks = -(-k // how["factor_block"]) if how["factor_block"] else 1
        factors = [one if one is None or one.numel() == 1 else one.reshape(batch, lanes, blocks)
                   for one, lanes in ((factor_a, m), (factor_b, n))]
        a, b, d = a.reshape(batch, m, k), b.reshape(batch, k, n), d.reshape(batch, m, n)
        c = None if c is None else c.reshape(batch, m, n)
        height, width = min(SIDE, m), min(SIDE, n)
        down, across = -(-m // SIDE), -(-n // SIDE)
        tiles = batch * down * across
        count = 0 if self.share == 0 else max(1, round(self.share * tiles))
        if not count:
            return
        at = [(one // (down * across), one // across % down * SIDE, one % across * SIDE)
              for one in sorted(self._random.sample(range(tiles), count))]
        self._checked += sum(min(height, m - row) * min(width, n - column) for _, row, column in at)
        stream = torch.cuda.current_stream(d.device) if d.is_cuda else None
        places = np.array(at)
        # What is beyond the edge is the last row again, or the last columns that are copied at once.
        rows = np.minimum(places[:, 1:2] + np.arange(height), m - 1)
        unit = _WORD if n % _WORD == 0 else 1
        columns = np.minimum(places[:, 2:] // unit + np.arange(width) // unit, n // unit - 1) * unit + np.arange(width) % unit
        per_b, per_d, per_c = (1 if one is None else _per_word(one) for one in (b, d, c))
        matrix, on_rows, on_columns, of_b, of_d, of_c = _on(
            d.device, places[:, :1], rows, columns, *(columns[:, ::per] // per for per in (per_b, per_d, per_c)))
        of_one, down_rows = matrix[..., None], on_rows[..., None]
        tiles_a = _taken(a, _per_word(a), matrix, on_rows)
        tiles_b = _taken(b, per_b, of_one, _counted(k, d.device, stream)[:, None], of_b[:, None, :])
        tiles_c = None if c is None else _taken(c, per_c, of_one, down_rows, of_c[:, None, :])
        of_lanes = [None if one is None else one.clone() if one.numel() == 1 else one[matrix, lanes]
                    for one, lanes in zip(factors, (on_rows, on_columns))]
        sample = _Sample((tiles_a, tiles_b, tiles_c, *of_lanes, _taken(d, per_d, of_one, down_rows, of_d[:, None, :])),
                         self._layer, at, (m, n))
        shapes = [None if one is None else one.dim() for one in (c, *of_lanes)]
        key = (stream, height, width, k, a.dtype, b.dtype, *shapes, tuple(how.items()))
        self._waiting.setdefault(key, []).append(sample)
        self._bytes += sum(one.numel() * one.element_size() for one in (tiles_a, tiles_b))
        if self._bytes > MOST_BYTES:
            self.check(finish=False)

    def check(self, compare: bool = True, finish: bool = True) -> None:
        """Compares what waits, or forgets it. RuntimeError, which names the first tile and element, where the model has
        other bits; unless `finish`, of comparisons that the GPU has done already."""
        self._compared = self._compared if compare else deque()
        waiting, self._waiting, self._bytes = self._waiting if compare else {}, {}, 0
        before, _here.hardware = current(), None  # the model alone
        try:
            for (stream, *_, how), samples in waiting.items():
                with torch.cuda.stream(stream):
                    self._compared.append(_compared(samples, dict(how)))
        finally:
            _here.hardware = before
        try:
            while self._compared and (finish or len(self._compared) > MOST_JUDGED or self._compared[0].done()):
                _judge(self._compared.popleft())
        except RuntimeError:
            self._compared.clear()
            raise


class _Compared(NamedTuple):
    """Tiles by the model and by the hardware, and whether any element differs: on a GPU once `event` has come."""

    samples: List[_Sample]
    how: Dict[str, Any]
    k: int
    model: Tensor
    found: Tensor
    any: Tensor
    event: Optional[torch.cuda.Event]

    def done(self) -> bool:
        return self.event is None or bool(self.event.query())  # type: ignore[no-untyped-call, unused-ignore]


def _joined(parts: Tuple[Any, ...]) -> Any:
    """Of all samples; as bytes, because torch does not join all of FP8."""
    return None if parts[0] is None else torch.cat([_bits(one) for one in parts]).view(parts[0].dtype)


def _compared(samples: List[_Sample], how: Dict[str, Any]) -> _Compared:
    """Starts the comparison; on a GPU nothing waits for it."""
    operands = [list(parts) for parts in zip(*(one.operands for one in samples))]
    (height, k), width = operands[0][0].shape[-2:], operands[1][0].shape[-1]
    blocks = -(-k // how["factor_block"]) if how["factor_block"] else 1
    for at, side in ((3, height), (4, width)):  # a factor of the tensor is one of every lane and block
        operands[at] = [one if one is None or one.numel() != 1 else one.reshape(1, 1, 1).expand(len(of.at), side, blocks)
                        for one, of in zip(operands[at], samples)]
    a, b, c, factor_a, factor_b, d = (_joined(tuple(parts)) for parts in operands)
    by_model = torch.ops.mmaudit.matmul(a, b, c, None, None, factor_a, factor_b, None, scale_layout="rows", threads=0, **how)
    model, found = _bits(by_model), _bits(d)
    differs, event = (model != found).any(), None
    if differs.is_cuda:
        there = torch.empty((), dtype=torch.bool, device="cpu", pin_memory=True)
        differs = there.copy_(differs, non_blocking=True)
        event = torch.cuda.Event()  # type: ignore[no-untyped-call, unused-ignore]
        event.record()
    return _Compared(samples, how, k, model, found, differs, event)


def _judge(one_of_all: _Compared) -> None:
    samples, how, k, model, found, any_differs, event = one_of_all
    if event is not None:
        event.synchronize()
    if not bool(any_differs):
        return
    different = model != found
    tile, row, column = (int(one) for one in different.nonzero()[0])
    layer, (matrix, top, left), (rows, columns) = [(one.layer, at, one.sizes) for one in samples for at in one.at][tile]
    mask, digits = (1 << 8 * found.element_size()) - 1, 2 * found.element_size()
    bits = [f"0x{int(one[tile, row, column]) & mask:0{digits}x}" for one in (found, model)]
    bottom, right = (min(first + SIDE, size) - 1 for first, size in ((top, rows), (left, columns)))
    wrong = int(different[tile, :bottom - top + 1, :right - left + 1].sum())
    raise refused(
        f"hardware in layer {layer!r}",
        f"D {bits[0]} at matrix {matrix}, row {top + row}, column {left + column} (tile of rows {top} to {bottom}, columns "
        f"{left} to {right}; {wrong} element{' differs' if wrong == 1 else 's differ'}; K {k}, {how['inst']}, "
        f"promote {how['promote']})", f"{bits[1]}, as the model has it", RuntimeError)
