"""Weights in another format than the product, and what is done to both operands before they are quantized: options of a
recipe. Weights: numbers that a recipe or a row of INTEGERS makes of them; the product then takes these numbers."""
import json
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np
import torch
from torch import Tensor

from .. import _library
from .._operations import convert
from .._refuse import listed, refused, with_nearest
from . import _checked
from ._operator import Quantized, find_path, quantize

if TYPE_CHECKING:
    from ._recipes import Recipe


class Integers(NamedTuple):
    """Symmetric integers: the largest magnitude of `group` of k, 0: of all k, over 2^bits - 1 halves is the scale, in the
    weight's own dtype; then x / scale, cut to the range and rounded to nearest even."""

    bits: int
    group: int
    source: str


_SOURCE = "compressed-tensors 0.20.0, quantization/utils/helpers.py:52 (calculate_qparams), lifecycle/forward_helpers.py:169"
INTEGERS: Dict[str, Integers] = {"int4-g128": Integers(4, 128, _SOURCE), "int8-channel": Integers(8, 0, _SOURCE)}
#: Recipes with weights in another format, with the fields of Recipe.
MIXED: Dict[str, Dict[str, Any]] = json.loads(Path(__file__).with_name("mixed.json").read_text(encoding="utf-8"))


def _formats() -> List[str]:
    from ._recipes import RECIPES
    return [*INTEGERS, *(name for name, one in RECIPES.items() if one.weights is None and not one.history and not one.trains and (
        lambda path: path.scale or path.factor_per_lane or path.factor_per_tensor)(_path(one)))]


def _path(of: "Recipe") -> Any:
    return find_path(of.arch, of.dtype, of.scaling, of.policy)


def _block(given: Any) -> bool:
    return given == "whole" or (isinstance(given, int) and not isinstance(given, bool) and given >= 0 and given & (given - 1) == 0)


def _static(given: Any) -> str:
    """max, mse or percentile."""
    name, _, share = str(given).partition(":")
    try:
        good = (name in ("max", "mse") and not share) or (name == "percentile" and 0 < float(share) <= 100)
    except ValueError:
        good = False
    if not good:
        raise refused("static", repr(given), "max, mse, percentile:SHARE with SHARE above 0, at most 100")
    return name


def check(recipe: "Recipe") -> None:
    """ValueError, in one line, for options that are none or that the recipe's arithmetic can't have."""
    if recipe.weights is not None and recipe.weights not in _formats():
        raise refused("weights", with_nearest(recipe.weights, _formats()), listed(_formats()))
    if recipe.smooth is not None and not 0 <= _checked.number("smooth", recipe.smooth) <= 1:
        raise refused("smooth", repr(recipe.smooth), "a number from 0 to 1, such as 0.5")
    if not _block(recipe.hadamard) or recipe.hadamard == 1:
        raise refused("hadamard", repr(recipe.hadamard), "0, a power of two such as 16, 'whole'")
    if recipe.static is None:
        return
    path, name = _path(recipe), _static(recipe.static)
    if not path.factor_per_tensor or recipe.history:
        raise refused("static", f"{recipe.static} with scaling {path.scaling}" + (f", history {recipe.history}" if recipe.history
                      else ""), "with a factor per tensor and no history")
    if path.scale and name == "mse":
        raise refused("static", f"mse with scales per {path.scale_block} of k", "max, percentile:SHARE")
    if recipe.smooth is not None or recipe.hadamard:
        raise refused("static", f"{recipe.static} with {'smooth' if recipe.hadamard == 0 else 'hadamard'}", "alone")


def misfit(recipe: "Recipe", k: int) -> Optional[Tuple[str, str, str]]:
    """Why weights with so many rows can't have the options: field, found, allowed."""
    row = INTEGERS.get(recipe.weights or "")
    group = 0 if row is None else row.group
    if group and k % group:
        return "weights", f"{recipe.weights} with k = {k}", f"k a multiple of {group}"
    if recipe.hadamard == "whole" and k & (k - 1):
        return "hadamard", f"whole with k = {k}", "k a power of two; a block that divides it"
    if recipe.hadamard and recipe.hadamard != "whole" and k % int(recipe.hadamard):
        return "hadamard", f"{recipe.hadamard} with k = {k}", f"a power of two that divides k: up to {k & -k}"
    return None


def bits_of(weights: Optional[str]) -> float:
    """Of one weight of INTEGERS and its share of a scale of 16 bits; 0 for others."""
    row = INTEGERS.get(weights or "")
    return 0.0 if row is None else row.bits + (16 / row.group if row.group else 0)


# ---- numbers -----------------------------------------------------------------------------------------------------------

@cache
def _values(name: str) -> Tensor:
    """Of every pattern of a format without a dtype in torch."""
    codes = np.arange(1 << _library.format_named(name).value_bits, dtype=np.uint8)
    return torch.from_numpy(convert(codes, "f32", name))


def codes_as_numbers(codes: Tensor, name: str) -> Tensor:
    """Of a format, in binary32."""
    if codes.dtype != torch.uint8:
        return codes.to(torch.float32)
    values = _values(name).to(codes.device)
    return values[codes.int() & (len(values) - 1)]


def numbers_of(x: Quantized, of_b: bool) -> Tensor:
    """What elements, scales and factors say, in binary32: (batch, rows, columns)."""
    path, block = x.path, x.path.scale_block or x.path.factor_block
    axis, k = (1, x.elements.shape[1]) if of_b else (2, x.elements.shape[2])
    found = codes_as_numbers(x.elements, path.b if of_b else path.a)
    if x.scales is not None and path.scale is not None:
        found = found * codes_as_numbers(x.scales, path.scale).repeat_interleave(block, axis).narrow(axis, 0, k)
    if x.factors is not None and path.factor_per_lane:  # (batch, lanes, blocks)
        wide = x.factors.repeat_interleave(path.factor_block or k, 2)[..., :k]
        found = found * (wide.mT if of_b else wide)
    elif x.factors is not None:
        found = found * x.factors
    return found


def dequantized(w: Tensor, weights: str) -> Tensor:
    """(batch, k, n) as the format has it, in w's own dtype by one rounding. An infinity or a NaN makes NaN of its group of
    integers; of a recipe's blocks it makes what the recipe says."""
    if weights not in INTEGERS:
        from ._recipes import RECIPES
        one = RECIPES[weights]
        return numbers_of(quantize(w, one.dtype, one.scaling, of_b=True, arch=one.arch, policy=one.policy), True).to(w.dtype)
    row = INTEGERS[weights]
    batch, k, n = w.shape
    parts = w.reshape(batch, k // row.group if row.group else 1, row.group or k, n)
    scale = parts.abs().amax(2, keepdim=True) / ((2**row.bits - 1) / 2)
    scale = torch.where(scale == 0, torch.full_like(scale, torch.finfo(w.dtype).eps), scale)
    most = 2 ** (row.bits - 1)
    return ((parts / scale).clamp(-most, most - 1).round() * scale).reshape(w.shape)


def rotated(x: Tensor, block: int) -> Tensor:
    """The last axis in blocks times Sylvester's Hadamard matrix over the root of the block: an orthogonal, symmetric one."""
    shape, step = x.shape, 1
    x = x.reshape(-1, block)
    while step < block:
        pairs = x.reshape(-1, block // (2 * step), 2, step)
        x = torch.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], 2).reshape(-1, block)
        step *= 2
    return (x / math.sqrt(block)).reshape(shape)


class Prepared(NamedTuple):
    """What happens to operands before they are quantized, in binary32 or wider; equal ones do the same."""

    weights: Optional[str] = None
    smooth: bytes = b""  #: binary32 per k: A over it, B times it
    hadamard: int = 0
    largest: Optional[float] = None  #: static: in place of the largest magnitude of A

    def __call__(self, x: Tensor, dtype: str, scaling: Optional[str], *, of_b: bool = False, **how: Any) -> Quantized:
        """In the place of quantize()."""
        if self.largest is not None and not of_b:
            how["tensor_largest"] = torch.tensor([self.largest], dtype=torch.float32, device=x.device)
        return quantize(self.of(x, of_b), dtype, scaling, of_b=of_b, **how)

    def of(self, x: Tensor, of_b: bool) -> Tensor:
        """(batch, rows, columns) in x's own dtype."""
        if self.smooth or self.hadamard:
            y = (x.mT if of_b else x).to(torch.promote_types(x.dtype, torch.float32))
            if self.smooth:
                s = torch.frombuffer(bytearray(self.smooth), dtype=torch.float32).to(x.device)
                y = y * s if of_b else y / s
            y = rotated(y, self.hadamard) if self.hadamard else y
            x = (y.mT if of_b else y).to(x.dtype)
        return dequantized(x, self.weights) if of_b and self.weights else x


# ---- choosing ----------------------------------------------------------------------------------------------------------

def options_of(text: str) -> Dict[str, Union[float, int, str]]:
    """Fields of Recipe by a text such as smooth:0.5, hadamard:16, static:mse, or several with a + between."""
    found: Dict[str, Union[float, int, str]] = {}
    for one in text.split("+"):
        name, _, value = one.partition(":")
        try:
            if name == "static":
                found[name] = value
                _static(value)
            elif name == "smooth":
                found[name] = float(value)
            elif name == "hadamard":
                found[name] = value if value == "whole" else int(value)
            else:
                raise ValueError
        except (ValueError, TypeError):
            raise refused("options", repr(text), "smooth:ALPHA, hadamard:BLOCK, static:max, static:mse, "
                          "static:percentile:SHARE, or some with + between") from None
    if "static" in found and len(found) > 1:
        raise refused("options", repr(text), "static alone")
    return found


def plain(recipe: "Recipe") -> "Recipe":
    """Without the options that no type shows: the same elements and instruction."""
    return replace(recipe, smooth=None, hadamard=0, static=None)


def words(recipe: "Recipe") -> str:
    """The options, as choose_plan() takes them."""
    some = {"smooth": recipe.smooth, "hadamard": recipe.hadamard or None, "static": recipe.static}
    return "+".join(f"{name}:{value:g}" if isinstance(value, float) else f"{name}:{value}"
                    for name, value in some.items() if value is not None)
