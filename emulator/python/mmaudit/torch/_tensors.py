"""Tensors as the library takes them: the dtypes of every format, pointers, and the device that computes."""
from functools import cache
from typing import Optional

import torch
from torch import Tensor

from .. import _library
from .._dtypes import NAMES, Names
from .._refuse import refused

# Formats that torch's own floats are, where a tensor is to be converted.
NUMBERS = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}


formats_of = cache(_library.instruction)


@cache
def dtype_of(name: str) -> torch.dtype:
    """torch's dtype of a format, uint8 where it has none: one element per byte."""
    if name not in NAMES:
        _library.format_named(name)  # refuses an unknown one
    found: torch.dtype = getattr(torch, NAMES.get(name, Names()).torch or "uint8", torch.uint8)
    return found


def require_dtype(field: str, x: Tensor, name: str) -> None:
    """The format's own dtype, or raw bits as uint8 of the same width."""
    allowed = [dtype_of(name)]
    if allowed[0].itemsize == 1 and torch.uint8 not in allowed:
        allowed.append(torch.uint8)
    if name == "ue4m3":
        allowed.append(torch.float8_e4m3fn)
    if x.dtype not in allowed:
        names = ", ".join(str(one) for one in allowed)
        hint = "; quantize() converts" if x.dtype in NUMBERS else ""
        raise refused(f"{field} dtype", x.dtype, f"{names} (elements of {name}{hint})")


def require_place(**tensors: Optional[Tensor]) -> torch.device:
    """The device that all of them are on: CPU or CUDA, and strided."""
    place: Optional[torch.device] = None
    first = ""
    for field, x in tensors.items():
        if x is None:
            continue
        if x.layout != torch.strided:
            raise refused(f"{field} layout", x.layout, "torch.strided")
        if x.device.type not in ("cpu", "cuda", "meta"):
            raise refused(f"{field} device", x.device, "cpu, cuda")
        if place is not None and x.device != place:
            raise refused(f"{field} device", x.device, f"{place}, where {first} is")
        place, first = x.device, first or field
    assert place is not None
    return place


def taken(x: Optional[Tensor]) -> _library.In:
    """What the library reads: a contiguous tensor, of which the caller keeps a reference."""
    return _library.In() if x is None else _library.In(x.data_ptr(), x.numel() * x.element_size())


def written(x: Tensor) -> _library.Out:
    return _library.Out(x.data_ptr(), x.numel() * x.element_size())
