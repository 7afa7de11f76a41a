"""How Transformer Engine trains in NVFP4: gradients round stochastically, and products that make gradients of weights have
both operands under a Hadamard matrix with signs. Its kernels' own random numbers (Philox, per thread) and the bits of
them that cvt.rs reads (a figure of the PTX ISA) are not modelled: each element has 16 random bits of its own."""
from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from .._refuse import refused
from ._mixed import codes_as_numbers, rotated
from ._operator import Quantized, quantize

#: Rows of the matrix change their signs by these. Source: Transformer Engine 0163495, pytorch/tensor/nvfp4_tensor.py,
#: get_wgrad_sign_vector and get_rht_matrix: diag(signs) times Sylvester's matrix over 4, of 16 rows and columns.
SIGNS = (1, 1, 1, -1, 1, -1, -1, -1, -1, -1, -1, 1, -1, 1, -1, -1)
_BITS = 16
#: What the patterns of E2M1 say, and between which a number is a multiple of what.
_SIZES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def transformed(x: Tensor) -> Tensor:
    """The last axis in blocks of 16 times the matrix: computed in binary32, rounded to x's dtype."""
    y = x.to(torch.promote_types(x.dtype, torch.float32)).reshape(-1, len(SIGNS))
    return rotated(y * torch.tensor(SIGNS, dtype=y.dtype, device=y.device), len(SIGNS)).reshape(x.shape).to(x.dtype)


def stochastic(x: Tensor, nearest: Quantized, of_b: bool, draw: torch.Generator) -> Quantized:
    """The same scales and factor, and elements that are one of the two next to x over its scale, the upper one as often
    as x is near to it, to 2^-16. Source of the scale: Transformer Engine 0718c01, common/cast/nvfp4/core_nvfp4.cuh,
    compute_scaling_coefficient<float>: 1 over (scale times factor), at most binary32's largest, times x."""
    assert nearest.scales is not None and nearest.factors is not None and nearest.path.scale is not None
    axis = 1 if of_b else 2
    scale = codes_as_numbers(nearest.scales, nearest.path.scale) * nearest.factors
    over = (1 / scale).clamp(max=torch.finfo(torch.float32).max)
    y = x.to(torch.float32).reshape(nearest.elements.shape)
    y = y * over.repeat_interleave(nearest.path.scale_block, axis).narrow(axis, 0, y.shape[axis])
    size = y.abs()
    step = torch.where(size < 2, 0.5, torch.where(size < 4, 1.0, 2.0))
    below = (size / step).floor()
    rest = ((size / step - below) * 2**_BITS).floor()
    up = rest + torch.randint(0, 2**_BITS, y.shape, generator=draw).to(y.device) >= 2**_BITS
    found = torch.nan_to_num((below + up) * step, nan=6.0).clamp(max=6)  # satfinite
    codes = torch.bucketize(found.contiguous(), torch.tensor(_SIZES, device=y.device)) + 8 * (y.signbit() & ~y.isnan())
    return nearest._replace(elements=codes.to(nearest.elements.dtype))


class Backward:
    """In the place of quantize(), for a product of the backward pass. `gradient`: which operand is one."""

    def __init__(self, where: str, gradient: Optional[int], draw: Optional[torch.Generator], rht: bool) -> None:
        if draw is not None and gradient is None:
            raise refused(where, "a backward product without one gradient under stochastic rounding", "one gradient")
        self._where, self._gradient, self._draw, self._rht = where, gradient, draw, rht

    def __call__(self, x: Tensor, *how: Any, of_b: bool = False, **more: Any) -> Quantized:
        if self._rht:
            k = x.shape[-2 if of_b else -1]
            if k % len(SIGNS):
                raise refused(f"{self._where} rht", f"k = {k}", f"a multiple of {len(SIGNS)} tokens")
            x = transformed(x.mT).mT if of_b else transformed(x)
        found = quantize(x, *how, of_b=of_b, **more)
        return found if self._draw is None or of_b != bool(self._gradient) else stochastic(x, found, of_b, self._draw)


def check(dtype: str, seed: Any, rht: Any) -> None:
    """ValueError, in one line, for what no framework does."""
    fields: Tuple[Tuple[str, Any, bool, str], ...] = (
        ("stochastic", seed, seed is None or (type(seed) is int and 0 <= seed < 2**63), "None, a seed from 0"),
        ("rht", rht, type(rht) is bool, "True, False"))
    for field, value, good, allowed in fields:
        if not good:
            raise refused(field, repr(value), allowed)
        if value is not None and value is not False and dtype != "nvfp4-te":
            raise refused(field, f"{value!r} with dtype {dtype}", "with dtype nvfp4-te")
