"""Weights with the codes and scales of a checkpoint, in the place of a parameter of nn.Linear or of experts."""
import math
from contextlib import suppress
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from .._library import lib
from .._refuse import listed, refused
from ._coverage import EMULATED
from ._dispatch import Mode
from ._operator import Path, find_path, matmul, quantize
from ._recipes import RECIPES
from ._stored import Layer
from ._tensors import NUMBERS

_LINEAR = (nn.functional.linear,)
_MATMUL = (torch.matmul, Tensor.matmul, Tensor.__matmul__)
#: Largest numbers of the formats that activations of a static scale take.
_MOST = {"e4m3": 448.0, "e2m1": 6.0, "s8": 127.0}
_MOST_SCALE = 448.0  #: of ue4m3


def told(operator: str, a: Tensor, b: Tensor, multiply_adds: int) -> None:
    """Counts a product that has the bits of a GPU by itself: a weight with the codes of a checkpoint. No plan decides."""
    modes = [one for one in _get_current_dispatch_mode_stack() if isinstance(one, Mode)]
    if modes:
        owner = modes[-1].owner
        owner.counted(operator, owner._where((a, b))[0], EMULATED, multiply_adds, decides=False)


def path_of(layer: Layer, arch: str, plain: str) -> Tuple[str, Optional[str], str, Path]:
    """dtype, scaling and policy of the recipe that a layer means, and the GPU's path for it; `plain`: the dtype of
    products of dequantized weights. ValueError, in one line, where the GPU has no instruction for it."""
    recipe = None if layer.recipe is None else RECIPES[layer.recipe]
    how = (plain, None, "plain") if recipe is None else (recipe.dtype, recipe.scaling, recipe.policy)
    try:
        return (*how, find_path(arch, *how))
    except ValueError as error:
        if "can't be computed" not in str(error):
            raise
    some = []
    for index in range(lib.mmaudit_architecture_count()):
        with suppress(ValueError):
            find_path(lib.mmaudit_architecture_name(index).decode(), *how)
            some.append(lib.mmaudit_architecture_name(index).decode())
    raise refused("arch", f"{arch}, which has no instruction for {how[0]} of {layer.name}", listed(some))


class Coded(nn.Module):
    """One matrix (n, k): X, quantized as the checkpoint says, times its transpose, in the bits of a GPU."""

    def __init__(self, layer: Layer, arch: str, how: Tuple[str, Optional[str], str, Path], elements: Tensor,
                 scales: Optional[Tensor] = None, factor: Optional[Tensor] = None) -> None:
        """elements: (n, k), one each; scales: (rows, columns) as the layer says, factor: of the tensor."""
        super().__init__()
        self.layer, self.arch, (self.dtype, self.scaling, self.policy, self.path) = layer, arch, how
        path, of_b = self.path, None
        if layer.recipe is not None:
            self._require(scales)
            assert scales is not None
            of_b = scales.repeat_interleave(layer.block_n, 0)[:layer.n] if layer.block_n > 1 else scales
        self.register_buffer("elements", elements.t().contiguous())
        self.register_buffer("scales", of_b.t().contiguous().unsqueeze(0) if of_b is not None and path.scale else None)
        if of_b is not None and not path.scale:
            factor = of_b.to(torch.float32)
            factor = factor.reshape(-1)[:1] if path.factor_per_tensor else factor.expand(layer.n, -1).unsqueeze(0)
        self.register_buffer("factor", None if factor is None else factor.to(torch.float32).contiguous())
        static = None if math.isnan(layer.input_scale) else torch.tensor([layer.input_scale], dtype=torch.float32)
        self.register_buffer("input_scale", None if layer.recipe is None else static)

    elements: Tensor
    scales: Optional[Tensor]
    factor: Optional[Tensor]
    input_scale: Optional[Tensor]

    def _require(self, scales: Optional[Tensor]) -> None:
        """ValueError where codes and scales are none that the recipe's instruction takes."""
        layer, path = self.layer, self.path
        where = f"{layer.name} of {layer.convention}"
        if layer.format != path.b or scales is None or layer.has_zeros or layer.has_offsets or layer.has_groups:
            extra = [name for name in ("zeros", "offsets", "groups") if getattr(layer, f"has_{name}")]
            raise refused(where, f"{layer.format} with {listed(extra) or 'its scales'}",
                          f"{path.b} with scales alone, as {layer.recipe} has it")
        block = path.scale_block or path.factor_block or layer.k
        per_tensor = path.factor_per_tensor and not path.scale
        if layer.block_k != block and not (block == layer.k and layer.scale_columns == 1) or (
                per_tensor and layer.scale_rows * layer.scale_columns != 1):
            raise refused(where, f"scales of {layer.block_n} x {layer.block_k}",
                          "one of the tensor" if per_tensor else f"scales of {block} of k, as {layer.recipe} has them")

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Coded":
        """Codes and scales go to other devices and stay what they are: .to(torch.float16) is for numbers."""
        place = fn(torch.empty(0, device=self.elements.device)).device
        for name, one in self._buffers.items():
            self._buffers[name] = None if one is None else one.to(place)
        return self

    def _operand(self, x: Tensor) -> Tuple[Tensor, Optional[Tensor], Optional[Tensor]]:
        """Elements, scales and factors of activations (m, k)."""
        path, static, largest = self.path, self.input_scale, None
        if static is not None:  # over the scale of the tensor, in binary32; what is left has the factor 1
            x = x.to(torch.float32) / static
            if not path.scale:
                most = _MOST[path.a]
                x = x.clamp(-most - (path.a == "s8"), most)
                elements = x.round().to(torch.int8) if path.a == "s8" else x.to(torch.float8_e4m3fn)
                return elements, None, static.expand(1, x.shape[0]) if path.factor_per_lane else static
            if path.factor_per_tensor:
                largest = static.new_tensor(_MOST[path.a] * _MOST_SCALE)
        found = quantize(x, self.dtype, path.scaling, arch=self.arch, policy=self.policy, tensor_largest=largest)
        return found.elements, found.scales, found.factors if largest is None else static

    def product(self, x: Tensor, out: torch.dtype) -> Tensor:
        """(m, k) to (m, n) in `out`, by one rounding."""
        path = self.path
        if x.shape[0] == 0:
            return x.new_zeros((0, self.layer.n), dtype=out)
        if self.layer.recipe is None:
            x = x.to(self.elements.dtype)
        a, of_a, factor_a = self._operand(x)
        told("mmaudit.matmul", a, self.elements, a.shape[0] * a.shape[1] * self.layer.n)
        name = NUMBERS[out] if out != torch.float64 else "f32"
        plain = factor_a is None and self.factor is None and name == path.d
        return matmul(
            a, self.elements, inst=path.inst, arch=self.arch, promote=path.promote, split_k=path.split_k,
            d_format=None if plain else name, scale_a=of_a, scale_b=self.scales, factor_a=factor_a, factor_b=self.factor,
            factor_block=path.factor_block, factor_order=path.factor_order).to(out)


class CodedWeight(nn.Module):
    """In the place of a weight (n, k), or (k, n) where `transposed`: matrices under one another along n, which
    functional.linear and matmul multiply by. Inference only."""

    def __init__(self, parts: Sequence[Coded], dtype: torch.dtype, transposed: bool = False) -> None:
        super().__init__()
        self.parts, self.dtype, self.transposed = nn.ModuleList(parts), dtype, transposed

    @property
    def shape(self) -> torch.Size:
        n, k = sum(one.layer.n for one in self._coded()), self._coded()[0].layer.k
        return torch.Size([k, n] if self.transposed else [n, k])

    def _coded(self) -> List[Coded]:
        return [one for one in self.parts if isinstance(one, Coded)]

    def times(self, x: Tensor, bias: Optional[Tensor]) -> Tensor:
        """X times it, and the bias added in binary32 before the one rounding to X's type."""
        rows = x.reshape(-1, x.shape[-1])
        wide = x.dtype if bias is None else torch.promote_types(x.dtype, torch.float32)
        d = torch.cat([one.product(rows, wide) for one in self._coded()], -1)
        if bias is not None:
            d = (d + bias.to(wide)).to(x.dtype)
        return d.reshape(*x.shape[:-1], d.shape[-1])

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        given = dict(zip(("input", "weight", "bias"), args), **(kwargs or {}))
        x, weight = given.get("input"), given.get("weight", given.get("other"))
        if isinstance(weight, cls) and isinstance(x, Tensor) and (
                func in _MATMUL if weight.transposed else func in _LINEAR):
            return weight.times(x, given.get("bias"))
        raise refused("weight", f"{getattr(func, '__name__', func)} of a weight with codes",
                      "functional.linear, or matmul where experts have it transposed", NotImplementedError)


class CodedStack(nn.ModuleList):
    """In the place of the weights of all experts: [i] is one of them."""

    @property
    def dtype(self) -> torch.dtype:
        found: torch.dtype = self[0].dtype  # type: ignore[assignment, unused-ignore]
        return found

    @property
    def shape(self) -> torch.Size:
        return torch.Size([len(self), *self[0].shape])  # type: ignore[misc, unused-ignore]
