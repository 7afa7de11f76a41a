"""Which tensors share memory with which: by storages, of which none is kept alive."""
from typing import Any, Iterable, Set

from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from ._sharded import local


def _storage(x: Tensor) -> Any:
    """Equal for tensors that share memory. An address is not: a later tensor may stand at it."""
    try:
        return StorageWeakRef(local(x).untyped_storage())  # type: ignore[no-untyped-call, unused-ignore]
    except (NotImplementedError, RuntimeError):
        return id(x)  # a sparse tensor has no storage


class Storages:
    """A set of them. Those that are freed leave it now and then."""

    def __init__(self, tensors: Iterable[Tensor] = ()) -> None:
        self._all: Set[Any] = {_storage(one) for one in tensors}
        self._most = 2 * len(self._all) + 1024

    def __contains__(self, x: Tensor) -> bool:
        return bool(self._all) and _storage(x) in self._all

    def add(self, x: Tensor) -> None:
        self._all.add(_storage(x))
        if len(self._all) > self._most:
            self._all = {one for one in self._all if isinstance(one, int) or not one.expired()}
            self._most = 2 * len(self._all) + 1024
