"""Modules under tensor parallelism (DTensor): each process computes its own part, as each GPU does."""
import sys
from typing import Any, Iterable, Optional, Tuple

import torch
from torch import Tensor

from .._refuse import listed, refused
from ._operator import Path

aten = torch.ops.aten
#: Where A is among the arguments of an operator; B comes next.
_OPERANDS = {**{getattr(aten, name).default: 0 for name in ("mm", "bmm", "mv")},
             **{getattr(aten, name).default: 1 for name in ("addmm", "baddbmm", "addmv")}}
Whole = Tuple[Any, Any]  #: A and B as all processes have them together


def _kind() -> Any:
    """The class DTensor; of no tensor while nobody has imported it."""
    return getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", ())


def local(x: Tensor) -> Tensor:
    """The part of a DTensor that this process has; another tensor itself."""
    return x._local_tensor if isinstance(x, _kind()) else x


def among(types: Any) -> bool:
    """Whether one of the classes of an operator's arguments is DTensor."""
    return any(issubclass(one, _kind()) for one in types)


def finds_shapes(types: Any) -> bool:
    """Whether these are tensors without numbers, on which DTensor tries what shape a product has."""
    return any(one.__name__ == "FakeTensor" for one in types)


def split_k(whole: Whole, a: Tensor) -> bool:
    return bool(whole[0].shape[-1] != a.shape[-1])


def whole_operands(func: Any, args: Any, product: bool) -> Optional[Whole]:
    """Those of the product that DTensor is about to split; None where it has no say in scales."""
    if not product or func is aten._scaled_mm.default:  # whose scales come with it
        return None
    if func not in _OPERANDS:
        raise refused("emulate", f"{func} of a DTensor", listed(one.overloadpacket.__name__ for one in _OPERANDS))
    a, b = args[_OPERANDS[func]:][:2]
    outside = any(isinstance(one, _kind()) and one.device_mesh.get_coordinate() is None for one in (a, b))
    return None if outside else (a, b)


def told(layers: Iterable[str]) -> str:
    """A warning."""
    return (f"tensor parallel: found k of {listed(repr(one) for one in sorted(layers))} split among processes, whose parts "
            "an all-reduce adds in an order of its own, allowed: any, and that order is not emulated")


def _largest(x: Any, finite: bool) -> Optional[Tensor]:
    """The largest magnitude of a DTensor among all processes, without NaN and, where asked, infinities."""
    if not isinstance(x, _kind()) or all(one.is_replicate() for one in x.placements):
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


def largest(whole: Whole, a: Tensor, b: Tensor, path: Path, finite: bool) -> Tuple[Optional[Tensor], Optional[Tensor]]:
    """The largest magnitudes of A and B for a factor of the whole tensor; None where this process has all of it.

    a, b: this process's parts, (batch, rows, columns). Raises: ValueError where the parts have other scales than the
    whole: scales of rows under a split k, and blocks or tiles that a boundary cuts.
    """
    k, n = whole[0].shape[-1], whole[1].shape[-1] if whole[1].dim() > 1 else 1
    block = path.scale_block or path.factor_block
    if split_k(whole, a) and path.factor_per_lane and not block:
        raise refused("scaling", f"{path.scaling}, with k = {k} split among processes",
                      "column-parallel layers, or scales of tensors or blocks")
    tiles = path.factor_block if path.activations != path.scaling else 0
    for axis, part, size, step in (("k", a.shape[-1], k, block), ("n", b.shape[-1], n, tiles)):
        if step and part != size and part % step:
            raise refused("scaling", f"{path.scaling}, with {axis} = {size} split into parts of {part}",
                          f"parts that are multiples of {step}")
    return (_largest(whole[0], finite), _largest(whole[1], finite)) if path.factor_per_tensor else (None, None)
