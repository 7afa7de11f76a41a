"""The tensors of a trace: which number each has, and rows that wait for their hashes."""
import math
from typing import Any, Dict, List, Optional, Set, Tuple

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import _disable_current_modes

from ._trace_file import TraceFile, as_json
from ._trace_hash import Cut, Pending, cut_of, hashed, joined, value_of
from ._trace_operators import parts_of

_MOST_PENDING, _MOST_BYTES = 2048, 1 << 30  #: tensors, and bytes of results, that wait for their hashes
_MOST_ROWS = 1 << 22  #: numbers of rows that wait on a GPU for the disk


class _Storage:
    """Memory whose address stays its own, since `alive` holds it; the numbers of tensors in it, as they are now."""

    __slots__ = ("alive", "weight", "base", "plain", "at", "version", "seen")

    def __init__(self, storage: Any, weight: str = "") -> None:
        self.alive, self.weight = StorageWeakRef(storage), weight  # type: ignore[no-untyped-call, unused-ignore]
        self.base = -1  #: the tensor of who wrote it last
        self.plain: Optional[Tuple[Any, ...]] = None  #: of `base`: which tensors have the same rows
        self.at: Any = 0
        self.version = 0
        self.seen: Dict[Any, Tuple[int, int]] = {}  #: version and number by place and shape


class Tensors:
    """What a Trace knows of tensors."""

    _file: TraceFile

    def _begin(self, module: nn.Module) -> None:
        self._tensors: List[Tuple[Dict[str, Any], str, Any]] = []
        self._found: Dict[int, Dict[str, Any]] = {}  #: hashes of tensors, or where their rows are
        self._held: Dict[int, Tuple[Tensor, int, int]] = {}  #: by id, which is its own while the tensor is held
        self._storages: Dict[int, _Storage] = {}
        self._pending: List[Pending] = []
        self._waiting: Set[int] = set()  #: storages of pending tensors
        self._bytes_pending = self._rows = self._parts = 0
        self._results: List[Tuple[List[Tuple[Cut, int]], Tensor]] = []
        self._batch, self._tokens, self._past = 1, 0, 0
        for name, one in (*module.named_parameters(), *module.named_buffers()):
            if one.numel() and one.layout == torch.strided and not one.is_nested:
                storage = one.untyped_storage()
                self._storages.setdefault(storage._cdata, _Storage(storage, name))

    def _number(self, x: Tensor) -> int:
        """The number of an input in the file, which is hashed where it has not been."""
        version, held = 0 if x.is_inference() else x._version, self._held.get(id(x))
        if held is not None and held[1] == version:
            return held[2]
        if x.is_meta or x.layout is not torch.strided or x.is_nested:
            return self._without_strides(x)
        dtype = x.dtype
        if dtype.is_complex or x.is_neg():
            x = x.resolve_conj().resolve_neg()
        storage, at, shape, stride = x.untyped_storage(), x.storage_offset(), x.shape, x.stride()
        address = storage._cdata
        of = self._storages.get(address)
        if of is None:
            of = self._storages[address] = _Storage(storage)
        key = at, shape, stride, dtype
        seen = of.seen.get(key)
        if seen is not None and seen[0] == version:
            return seen[1]
        if of.weight:
            found = self._add(x, cut_of(shape, stride, dtype, 0, 0, 0), ("name", of.weight), address)
        else:
            cut = cut_of(shape, stride, dtype, self._batch, self._tokens, self._past + self._tokens)
            if of.base < 0:
                found = of.base = self._add(x, cut, ("", None), address)
                of.plain, of.at, of.version = cut.plain, at, version
            elif of.plain is not None and of.plain == cut.plain and of.at == at and of.version == version:
                found = of.base
            else:
                found = self._add(x, cut, ("of", of.base), address)
        of.seen[key] = version, found
        self._held[id(x)] = x, version, found
        return found

    def _without_strides(self, x: Tensor, more: Tuple[str, Any] = ("", None)) -> int:
        """One hash of the bytes of all parts; none where there are no numbers, and then the tensor is not judged."""
        if x.is_meta:
            self._tensors.append(({"shape": [], "dtype": str(x.dtype)[6:]}, *more))
            return len(self._tensors) - 1
        bytes_of = torch.cat([one.detach().contiguous().reshape(-1).view(torch.uint8) for one in parts_of(x)])
        return self._add(bytes_of, cut_of(bytes_of.shape, bytes_of.stride(), torch.uint8, 0, 0, 0), more, 0)

    def _made(self, x: Tensor, by: int) -> int:
        """The number of a result of an operation."""
        if x.is_meta or x.layout is not torch.strided or x.is_nested:
            return self._without_strides(x, ("made", by))
        storage, at, shape, stride, dtype = x.untyped_storage(), x.storage_offset(), x.shape, x.stride(), x.dtype
        version, address = 0 if x.is_inference() else x._version, storage._cdata
        cut = cut_of(shape, stride, dtype, self._batch, self._tokens, self._past + self._tokens)
        found = self._add(x, cut, ("made", by), address)
        of = self._storages.get(address)
        if of is None:
            of = self._storages[address] = _Storage(storage)
        of.base, of.plain, of.at, of.version = found, cut.plain, at, version
        of.seen[at, shape, stride, dtype] = version, found
        self._held[id(x)] = x, version, found
        return found

    def _writes(self, x: Tensor) -> None:
        """An operation is about to change a tensor."""
        if x.layout is not torch.strided or x.is_nested:
            return  # its bytes were copied
        storage = x.untyped_storage()
        if storage._cdata in self._waiting:
            self._flush()
        self._held.clear()
        of = self._storages.get(storage._cdata)
        if of is not None:
            of.seen.clear()
            of.plain = None

    def _forget(self, x: Tensor) -> None:
        """A tensor is one that nothing made, from now on."""
        self._held.pop(id(x), None)
        of = self._storages.get(x.untyped_storage()._cdata) if x.layout == torch.strided and not x.is_nested else None
        if of is not None and not of.weight:
            of.base, of.plain = -1, None
            of.seen.clear()

    def _add(self, x: Tensor, cut: Cut, more: Tuple[str, Any], storage: int) -> int:
        """The tensor's rows are hashed later; who writes to `storage` has to see to that first."""
        number = len(self._tensors)
        self._tensors.append((cut.said, *more))
        if cut.bytes:
            self._pending.append((x, cut, number))
            self._waiting.add(storage)
            if more[0] != "name":
                self._bytes_pending += cut.bytes
            if len(self._pending) >= _MOST_PENDING or self._bytes_pending >= _MOST_BYTES:
                self._flush()
        return number

    def _flush(self) -> None:
        if self._pending:
            with _disable_current_modes():
                self._results.extend(hashed(self._pending))
        self._pending, self._bytes_pending = [], 0
        self._waiting.clear()
        self._held.clear()
        self._storages = {at: one for at, one in self._storages.items() if not one.alive.expired()}  # type: ignore[no-untyped-call, unused-ignore]
        if sum(rows.numel() for _, rows in self._results) > _MOST_ROWS:
            self._drain()

    def _drain(self) -> None:
        """Rows go to the file; a tensor without rows of tokens has one hash."""
        for pending, rows in self._results:
            raw, at, first = rows.cpu().numpy(), 0, len(rows)
            for cut, tensor in pending:
                of = raw[at:at + cut.length]
                if cut.rows is None:
                    whole = joined(of[:, 0], cut.turned)
                    self._found.setdefault(tensor, {})["hash"] = whole
                    if math.prod(cut.shape) == 1:
                        self._found[tensor]["value"] = value_of(whole, cut.dtype)
                else:
                    self._found.setdefault(tensor, {})["at"] = self._rows
                    self._rows += cut.length
                    first = min(first, at)
                at += cut.length
            if first < at:  # tensors without rows of tokens stand before
                self._file.add(f"rows.{self._parts}", "I64", [at - first, 2], raw[first:])
                self._parts += 1
        self._results = []

    def _turn(self, x: Tensor) -> None:
        """Hashes a matrix as its transpose, too, so that a copy in the wrong order is known."""
        number, turned = self._number(x), x.detach().t()
        cut = cut_of(turned.shape, turned.stride(), turned.dtype, 0, 0, 0)
        (_, rows), = hashed([(turned, cut, number)])
        self._found.setdefault(number, {})["transposed"] = joined(rows.cpu().numpy()[:, 0], cut.turned)

    def _described(self) -> List[str]:
        """The tensors as the file has them, in JSON."""
        out: List[str] = []
        texts: Dict[int, str] = {}
        for number, (said, key, value) in enumerate(self._tensors):
            text = texts.get(id(said)) or texts.setdefault(id(said), as_json(said)[:-1])
            if key:
                text += f',"{key}":{as_json(value) if key == "name" else value}'
            found = self._found.get(number)
            out.append(text + ("}" if found is None else f',"at":{found["at"]}}}' if list(found) == ["at"] else f",{as_json(found)[1:]}"))
        return out
