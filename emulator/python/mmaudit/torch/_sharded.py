"""Modules under tensor parallelism (DTensor): each process computes its own part, as each GPU does."""
import sys
from typing import Any, Dict, Iterable, Optional, Tuple

import torch
from torch import Tensor

from .._refuse import listed, refused
from ._operator import Path

aten = torch.ops.aten
#: Which arguments of an operator are A and B.
_OPERANDS: Dict[Any, Tuple[int, int]] = {
    **{getattr(aten, name).default: (0, 1) for name in ("mm", "bmm", "mv")},
    **{getattr(aten, name).default: (1, 2) for name in ("addmm", "baddbmm", "addmv")},
}


def _kind() -> Any:
    """The class DTensor; None while nobody has imported it."""
    return getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)


def local(x: Tensor) -> Tensor:
    """The part of a DTensor that this process has; another tensor itself."""
    kind = _kind()
    return x._local_tensor if kind is not None and isinstance(x, kind) else x


def among(types: Any) -> bool:
    """Whether one of the classes of an operator's arguments is DTensor."""
    kind = _kind()
    return kind is not None and any(issubclass(one, kind) for one in types)


def finds_shapes(types: Any) -> bool:
    """Whether these are tensors without numbers, on which DTensor tries what shape a product has."""
    return any(one.__name__ == "FakeTensor" for one in types)


def sizes(whole: Tuple[Any, Any]) -> Tuple[int, int]:
    """k and n."""
    b = whole[1]
    return (b.shape[0], 1) if b.dim() == 1 else (b.shape[-2], b.shape[-1])


def whole_operands(func: Any, args: Any, product: bool) -> Optional[Tuple[Any, Any]]:
    """A and B as all processes have them together, of the product that DTensor is about to split."""
    if not product or func is aten._scaled_mm.default:  # whose scales come with it
        return None
    at = _OPERANDS.get(func)
    if at is None:
        raise refused("emulate", f"{func} of a DTensor", listed(one.overloadpacket.__name__ for one in _OPERANDS))
    a, b = args[at[0]], args[at[1]]
    outside = any(isinstance(one, _kind()) and one.device_mesh.get_coordinate() is None for one in (a, b))
    return None if outside else (a, b)


def told(layers: Iterable[str]) -> str:
    """A warning."""
    return (f"tensor parallel: found k of {listed(repr(one) for one in sorted(layers))} split among processes, whose parts "
            "an all-reduce adds in an order of its own, allowed: any, and that order is not emulated")


def _largest(x: Any, finite: bool) -> Optional[Tensor]:
    """The largest magnitude among all processes, of a DTensor of which this one has a part; without NaN and, where asked,
    infinities."""
    kind = _kind()
    if not isinstance(x, kind) or all(one.is_replicate() for one in x.placements):
        return None
    if any(one.is_partial() for one in x.placements):  # their sum is what is multiplied
        replicate = sys.modules["torch.distributed.tensor"].Replicate()
        x = x.redistribute(placements=[replicate if one.is_partial() else one for one in x.placements])
    size = torch.nan_to_num(x._local_tensor.abs().to(torch.float32), nan=0.0, posinf=0.0 if finite else torch.inf)
    found = size.amax() if size.numel() else size.new_zeros(())
    for group, placement in zip(x.device_mesh.get_all_groups(), x.placements):
        if not placement.is_replicate():
            torch.distributed.all_reduce(found, torch.distributed.ReduceOp.MAX, group=group)
    return found


def largest(whole: Tuple[Any, Any], a: Tensor, b: Tensor, path: Path,
            finite: bool) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    """The largest magnitudes of A and B for a factor of the whole tensor; None where this process has all of it.

    a, b: this process's parts, (batch, rows, columns). Raises: ValueError where the parts have other scales than the
    whole: scales of rows under a split k, and blocks or tiles that a boundary cuts.
    """
    k, n = sizes(whole)
    block = path.scale_block or path.factor_block
    if a.shape[-1] != k and path.factor_per_lane and not block:
        raise refused("scaling", f"{path.scaling}, with k = {k} split among processes",
                      "column-parallel layers, or scales of tensors or blocks")
    tiles = path.factor_block if path.activations != path.scaling else 0
    for axis, part, size, step in (("k", a.shape[-1], k, block), ("n", b.shape[-1], n, tiles)):
        if step and part != size and part % step:
            raise refused("scaling", f"{path.scaling}, with {axis} = {size} split into parts of {part}",
                          f"parts that are multiples of {step}")
    if not path.factor_per_tensor:
        return None, None
    return _largest(whole[0], finite), _largest(whole[1], finite)
