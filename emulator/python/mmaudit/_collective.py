"""Sums over the ranks of a group, as NCCL and gloo make them."""
from ctypes import byref
from typing import Any, Optional, Tuple

import numpy as np

from . import _arrays, _library
from ._library import lib
from ._refuse import refused


def collective(
    x: Any, *, kind: str = "all-reduce", operation: str = "sum", library: Optional[str] = None,
    log: Optional[str] = None, algorithm: Optional[str] = None, protocol: Optional[str] = None, channels: int = 1,
    rings: Optional[str] = None, threads: int = 0, buffer: int = 0,
) -> Tuple[np.ndarray, str]:
    """The result of a collective from the inputs of all ranks, with the library's bits. Needs no GPU.

    Args:
        x: (ranks, ...), f32, bf16 or f16. kind: "all-reduce" or "reduce-scatter". operation: "sum" or "average".
        library: "nccl-2.29" (2.29 and 2.30; None), "nccl-2.27" (2.27 and 2.28) or "gloo".
        log: what NCCL printed on all ranks (NCCL_DEBUG=INFO, NCCL_DEBUG_SUBSYS=INIT,GRAPH,TUNING): all that follows.
        algorithm: "ring" (None) or "tree". protocol: "simple" (None), "ll", "ll128". channels: of the communicator.
        rings: "0 1 2 3; 0 3 2 1", a ring per channel, then again. threads, buffer: NCCL_NTHREADS, NCCL_BUFFSIZE.
    Returns: y, x.shape[1:], of a reduce-scatter the results of ranks 0, 1, ...; and the order of the sums in words.
    Range, rounding, source: docs/collectives.md. Raises: ValueError, in one line "field: found X, allowed: Y".
    """
    for name, word in (("kind", kind), ("operation", operation), ("library", library), ("log", log),
                       ("algorithm", algorithm), ("protocol", protocol), ("rings", rings)):
        if word is not None:
            _library.text_of(name, word)
    if log is not None and not log.strip():
        raise refused("log", "nothing", "what NCCL printed")
    array = _arrays.array_of("x", x)
    kind_of_x = _arrays.format_of(array.dtype)
    if kind_of_x is None or array.ndim == 0:
        raise refused("x", f"{array.ndim} dimensions of {array.dtype}", "ranks of f32, bf16 or f16")
    y = np.empty(array.shape[1:], _arrays.value_dtype(kind_of_x, _arrays.is_ml(array)))
    work = _arrays.filled(
        _library.Collective(), kind=kind, operation=operation, library=library, type=kind_of_x, ranks=array.shape[0],
        count=int(np.prod(array.shape[1:])), algorithm=algorithm, protocol=protocol, rings=rings, log=log,
        channels=channels, threads=threads, buffer=buffer, x=_arrays.operand("x", array, kind_of_x, _arrays.Casting()), y=y)
    return y, _library.text_from(lib.mmaudit_collective, byref(work))
