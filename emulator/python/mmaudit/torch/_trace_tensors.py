"""The tensors of a trace: which number each has, and rows that wait for their hashes."""
import math
from typing import Any, Dict, Iterable, List, Optional, Set, Tuple, Union

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import _disable_current_modes

from ._trace_file import TraceFile, as_json
from ._trace_hash import Cut, cut_of, hashed, joined, value_of
from ._trace_operators import parts_of

_MOST_PENDING, _MOST_BYTES = 2048, 1 << 30  #: tensors, and bytes of results, that wait for their hashes
_STRIDED = torch.strided
_MOST_ROWS = 1 << 22  #: numbers of rows that wait on a GPU for the disk


#: A tensor, how it is cut, its number in the file, its version.
Record = Tuple[Tensor, Cut, int, int]


class _Storage:
    """Memory whose address stays its own, since `owner` or `alive` holds it; the numbers of tensors in it, as they are now."""

    __slots__ = ("owner", "alive", "weight", "base", "plain", "at", "version", "seen")

    def __init__(self, owner: Optional[Tensor], weight: str = "") -> None:
        self.owner, self.alive, self.weight = owner, None, weight
        self.base = -1  #: the tensor of who wrote it last
        self.plain: Optional[Tuple[Any, ...]] = None  #: of `base`: which tensors have the same rows
        self.at: Any = 0
        self.version = 0
        self.seen: Dict[Any, Tuple[int, int]] = {}  #: version and number by place and shape

    def alone(self) -> None:
        """Nothing of the trace holds the memory any more."""
        if self.alive is None:
            self.alive = StorageWeakRef(self.owner.untyped_storage())  # type: ignore[no-untyped-call, union-attr, unused-ignore]
            self.owner = None


def _storage_of(record: Record) -> _Storage:
    """Of the memory of a result."""
    x, cut, number, version = record
    of = _Storage(x)
    of.base, of.plain, of.at, of.version = number, cut.plain, x.storage_offset(), version
    of.seen[of.at, x.shape, x.stride(), x.dtype] = version, number
    return of


class Tensors:
    """What a Trace knows of tensors."""

    _file: TraceFile

    def _begin(self, module: nn.Module) -> None:
        self._tensors: List[Tuple[Dict[str, Any], str, Any]] = []
        self._found: Dict[int, Dict[str, Any]] = {}  #: hashes of tensors, or where their rows are
        self._held: Dict[int, Record] = {}  #: by id, which is its own while the tensor is held
        self._storages: Dict[int, Union[_Storage, Record]] = {}  #: by address; a record where there is no more than a result
        self._pending: List[Record] = []
        self._waiting: Set[int] = set()  #: storages of pending tensors
        self._bytes_pending = self._rows = self._parts = 0
        self._results: List[Tuple[List[Tuple[Cut, int]], Tensor]] = []
        self._batch, self._tokens, self._past = 1, 0, 0
        self._cuts: Dict[Any, Cut] = {}  #: of the call that runs
        for name, one in (*module.named_parameters(), *module.named_buffers()):
            if one.numel() and one.layout == torch.strided and not one.is_nested:
                of = self._storages.setdefault(one.untyped_storage()._cdata, _Storage(one, name))
                assert isinstance(of, _Storage)
                of.alone()

    def _number(self, x: Tensor) -> int:
        """The number of an input in the file, which is hashed where it has not been."""
        version, held = 0 if x.is_inference() else x._version, self._held.get(id(x))
        if held is not None and held[3] == version:
            return held[2]
        if x.is_meta or x.layout is not _STRIDED or x.is_nested:
            return self._without_strides(x)
        dtype = x.dtype
        if dtype.is_complex or x.is_neg():
            x = x.resolve_conj().resolve_neg()
        at, shape, stride, address = x.storage_offset(), x.shape, x.stride(), x.untyped_storage()._cdata
        of = self._storages.get(address)
        if of is None:
            of = self._storages[address] = _Storage(x)
        elif type(of) is tuple:
            of = self._storages[address] = _storage_of(of)
        key = at, shape, stride, dtype
        seen = of.seen.get(key)
        if seen is not None and seen[0] == version:
            return seen[1]
        if of.weight:
            record = self._add(x, cut_of(shape, stride, dtype, 0, 0, 0), "name", of.weight, address, version)
        else:
            cut = self._cuts.get((shape, stride, dtype)) or self._cut(x)
            if of.base < 0:
                record = self._add(x, cut, "", None, address, version)
                of.base, of.plain, of.at, of.version = record[2], cut.plain, at, version
            elif of.plain is not None and of.plain == cut.plain and of.at == at and of.version == version:
                record = x, cut, of.base, version
            else:
                record = self._add(x, cut, "of", of.base, address, version)
        of.seen[key] = version, record[2]
        self._held[id(x)] = record
        return record[2]

    def _numbers(self, values: Iterable[Any], out: List[int]) -> List[int]:
        """The numbers of all tensors in arguments or results, into `out`."""
        for one in values:
            if isinstance(one, Tensor):
                out.append(self._number(one))
            elif isinstance(one, (list, tuple)):
                self._numbers(one, out)
            elif isinstance(one, dict):
                self._numbers(one.values(), out)
        return out

    def _cut(self, x: Tensor) -> Cut:
        """How tensors of this shape are cut in this call."""
        shape, stride, dtype = key = x.shape, x.stride(), x.dtype
        found = self._cuts[key] = cut_of(shape, stride, dtype, self._batch, self._tokens, self._past + self._tokens)
        return found

    def _without_strides(self, x: Tensor, more: Tuple[str, Any] = ("", None)) -> int:
        """One hash of the bytes of all parts; none where there are no numbers, and then the tensor is not judged."""
        if x.is_meta:
            self._tensors.append(({"shape": [], "dtype": str(x.dtype)[6:]}, *more))
            return len(self._tensors) - 1
        bytes_of = torch.cat([one.detach().contiguous().reshape(-1).view(torch.uint8) for one in parts_of(x)])
        return self._add(bytes_of, cut_of(bytes_of.shape, bytes_of.stride(), torch.uint8, 0, 0, 0), *more, 0, 0)[2]

    def _made(self, x: Tensor, by: int) -> int:
        """The number of a result of an operation."""
        if x.is_meta or x.layout is not _STRIDED or x.is_nested:
            return self._without_strides(x, ("made", by))
        cut = self._cuts.get((x.shape, x.stride(), x.dtype)) or self._cut(x)
        address, version = x.untyped_storage()._cdata, 0 if x.is_inference() else x._version
        of, record = self._storages.get(address), self._add(x, cut, "made", by, address, version)
        if of is None:
            self._storages[address] = record
        else:
            if type(of) is tuple:
                of = self._storages[address] = _storage_of(of)
            of.base, of.plain, of.at, of.version = record[2], cut.plain, x.storage_offset(), version
            of.seen[of.at, x.shape, x.stride(), x.dtype] = version, record[2]
        self._held[id(x)] = record
        return record[2]

    def _known(self, x: Tensor) -> Optional[_Storage]:
        """Of the memory of a tensor, where the trace has seen it."""
        if x.layout is not _STRIDED or x.is_nested:
            return None  # its bytes were copied
        address = x.untyped_storage()._cdata
        of = self._storages.get(address)
        if type(of) is tuple:
            of = self._storages[address] = _storage_of(of)
        return of  # type: ignore[return-value]

    def _writes(self, x: Tensor) -> None:
        """An operation is about to change a tensor."""
        of = self._known(x)
        if of is None:
            return
        if x.untyped_storage()._cdata in self._waiting:
            self._flush()
        self._held.clear()
        of.seen.clear()
        of.plain = None

    def _forget(self, x: Tensor) -> None:
        """A tensor is one that nothing made, from now on."""
        self._held.pop(id(x), None)
        of = self._known(x)
        if of is not None and not of.weight:
            of.base, of.plain = -1, None
            of.seen.clear()

    def _add(self, x: Tensor, cut: Cut, key: str, value: Any, storage: int, version: int) -> Record:
        """The tensor's rows are hashed later; who writes to `storage` has to see to that first."""
        record = x, cut, len(self._tensors), version
        self._tensors.append((cut.said, key, value))
        if cut.bytes:
            self._pending.append(record)
            self._waiting.add(storage)
            if key != "name":
                self._bytes_pending += cut.bytes
            if len(self._pending) >= _MOST_PENDING or self._bytes_pending >= _MOST_BYTES:
                self._flush()
        return record

    def _flush(self) -> None:
        if self._pending:
            with _disable_current_modes():
                self._results.extend(hashed(self._pending))
        storages = {at: _storage_of(one) if type(one) is tuple else one for at, one in self._storages.items()}
        for of in storages.values():
            of.alone()
        self._pending, self._bytes_pending = [], 0
        self._waiting.clear()
        self._held.clear()
        self._storages = {at: one for at, one in storages.items() if not one.alive.expired()}
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
        out, texts = [], {}
        for number, (said, key, value) in enumerate(self._tensors):
            text = texts.get(id(said)) or texts.setdefault(id(said), as_json(said)[:-1])
            if key:
                text += f',"{key}":{as_json(value) if key == "name" else value}'
            found = self._found.get(number)
            out.append(text + ("}" if found is None else f',"at":{found["at"]}}}' if list(found) == ["at"] else f",{as_json(found)[1:]}"))
        return out
