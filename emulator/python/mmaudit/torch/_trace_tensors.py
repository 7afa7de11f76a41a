"""The tensors of a trace: which number each has, and rows that wait for their hashes."""
import weakref
from functools import cache
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes

from ._trace_file import TraceFile
from ._trace_hash import Pending, Rows, cut, hashed, joined

_MOST_PENDING, _MOST_BYTES = 2048, 2 << 30  #: tensors, and bytes of them, that wait for their hashes
_MOST_ROWS = 1 << 22  #: numbers of rows that wait on a GPU for the disk


@cache
def _dtype(of: torch.dtype) -> str:
    return str(of)[6:]


class _Known(NamedTuple):
    alive: "weakref.ReferenceType[Tensor]"
    version: int
    epoch: int
    tensor: int  #: its number in the file


class _Storage(NamedTuple):
    """The result of who wrote it last, and what shares it."""

    tensor: int
    alive: List["weakref.ReferenceType[Tensor]"]
    layout: Tuple[Any, ...]  #: of the result, where a reshaped one has the same rows


def _layout(x: Tensor, rows: Optional[Rows]) -> Tuple[Any, ...]:
    """Equal for contiguous tensors of one storage whose rows have the same elements."""
    if rows is None or rows.context or rows.axes not in ((0,), (0, 1)) or not x.is_contiguous():
        return ()
    return x.dtype, x.storage_offset(), x.numel(), rows.batch, rows.tokens


class Tensors:
    """What a Trace knows of tensors."""

    _file: TraceFile
    _ops: List[Dict[str, Any]]

    def _begin(self, module: nn.Module) -> None:
        self._tensors: List[Dict[str, Any]] = []
        self._known: Dict[int, _Known] = {}
        self._epochs: Dict[int, int] = {}
        self._of_storage: Dict[int, _Storage] = {}
        self._pending: List[Pending] = []
        self._waiting: Set[int] = set()  #: storages of pending tensors
        self._bytes_pending = self._rows = self._parts = 0
        self._results: List[Tuple[List[Pending], Tensor]] = []
        self._batch, self._tokens, self._past = 1, 0, 0
        weights = (*module.named_parameters(), *module.named_buffers())
        self._weights = {one.untyped_storage()._cdata: name for name, one in weights if one.numel()}
        self._weights_seen: Dict[Any, int] = {}

    def _number(self, x: Tensor) -> int:
        """The number of an input in the file, which is hashed where it has not been."""
        version, known = 0 if x.is_inference() else x._version, self._known.get(id(x))
        if known is not None and known.alive() is x and known.version == version and (
                not self._epochs or known.epoch == self._epochs.get(x.untyped_storage()._cdata, 0)):
            return known.tensor
        if x.is_meta or x.layout != torch.strided or x.is_nested:
            self._tensors.append({"shape": [], "dtype": _dtype(x.dtype)})  # without numbers that can be hashed
            return len(self._tensors) - 1
        storage = x.untyped_storage()._cdata
        epoch = self._epochs.get(storage, 0)
        weight = self._weights.get(storage)
        if weight is not None:
            key = (storage, x.storage_offset(), x.shape, x.stride(), version, epoch)
            found = self._weights_seen.get(key)
            if found is None:
                found = self._weights_seen[key] = self._add(x, *cut(x, 0, 0, 0), {"name": weight}, storage)
            return found
        hashes, rows = cut(x, self._batch, self._tokens, self._past + self._tokens)
        base = self._of_storage.get(storage)
        based = base is not None and any(ref() is not None for ref in base.alive)
        layout = _layout(x, rows)
        if base is not None and based and base.layout and base.layout == layout:
            found = base.tensor
        else:
            found = self._add(x, hashes, rows, {"of": base.tensor} if base is not None and based else {}, storage)
            if not based:
                self._of_storage[storage] = _Storage(found, [weakref.ref(x)], layout)
        self._known[id(x)] = _Known(weakref.ref(x), version, epoch, found)
        return found

    def _made(self, x: Tensor) -> int:
        """The number of a result of the operation that comes next in the file."""
        if x.is_meta or x.layout != torch.strided or x.is_nested:
            return self._number(x)
        storage = x.untyped_storage()._cdata
        hashes, rows = cut(x, self._batch, self._tokens, self._past + self._tokens)
        found, alive = self._add(x, hashes, rows, {"made": len(self._ops)}, storage), weakref.ref(x)
        self._known[id(x)] = _Known(alive, 0 if x.is_inference() else x._version, self._epochs.get(storage, 0), found)
        self._of_storage[storage] = _Storage(found, [alive], _layout(x, rows))
        return found

    def _add(self, x: Tensor, hashes: Tensor, rows: Optional[Rows], one: Dict[str, Any], storage: int) -> int:
        """`hashes`: the tensor as its rows are hashed, later; who writes to `storage` has to see to that first."""
        number = len(self._tensors)
        one["shape"], one["dtype"] = list(x.shape), _dtype(x.dtype)
        if not x.is_contiguous():
            one["stride"] = list(x.stride())
        self._tensors.append(one)
        size = x.numel()
        if size:
            if rows is not None:
                one["batch"], one["tokens"] = rows.batch, rows.tokens
                if rows.context:
                    one["context"] = True
            self._pending.append(Pending(hashes, rows, number))
            self._waiting.add(storage)
            self._bytes_pending += size * x.element_size()
            if len(self._pending) >= _MOST_PENDING or self._bytes_pending >= _MOST_BYTES:
                self._flush()
        return number

    def _flush(self) -> None:
        if self._pending:
            with _disable_current_modes():
                self._results.extend(hashed(self._pending))
        self._pending, self._bytes_pending = [], 0
        self._waiting.clear()
        if sum(rows.numel() for _, rows in self._results) > _MOST_ROWS:
            self._drain()

    def _drain(self) -> None:
        """Rows go to the file; a tensor without rows of tokens has one hash."""
        for pending, rows in self._results:
            raw, at, kept = rows.cpu().numpy(), 0, []
            for one in pending:
                of, count = raw[at:at + one.length], one.length
                at += count
                record = self._tensors[one.tensor]
                if one.rows is None:
                    record["hash"] = joined(of[:, 0], one.turned)
                else:
                    record["at"] = self._rows
                    self._rows += count
                    kept.append(of)
            if kept:
                part = np.ascontiguousarray(np.concatenate(kept))
                self._file.add(f"rows.{self._parts}", "I64", list(part.shape), part.tobytes())
                self._parts += 1
        self._results = []
