"""Element functions of a Llama's block, in the order of roundings of eager torch."""
import numpy as np

from . import _arrays
from ._functions import function
from ._operations import Values, convert
from ._refuse import refused


class _Rounded:
    """Operands in binary32, and what rounds to their type: to nearest even, a NaN with the bits of the GPU."""

    def __init__(self, **given: Values) -> None:
        arrays = {name: _arrays.array_of(name, one) for name, one in given.items()}
        first, kinds = next(iter(arrays)), [_arrays.format_of(one.dtype) for one in arrays.values()]
        if kinds[0] not in ("f32", "bf16", "f16"):
            raise refused(f"{first} dtype", arrays[first].dtype, "f32, bf16, f16")
        for name, kind in zip(arrays, kinds):
            if kind != kinds[0]:
                raise refused(f"{name} dtype", arrays[name].dtype, f"{kinds[0]}, the type of {first}")
        self._kind, self._dtype = kinds[0], _arrays.value_dtype(kinds[0], _arrays.is_ml(arrays[first]))
        self.operands = [convert(one, "f32", self._kind) for one in arrays.values()]

    def stored(self, x: np.ndarray) -> np.ndarray:
        bits = convert(x, self._kind).view(_arrays.raw_dtype(self._kind))
        nan = bits.dtype.type(0x7FFFFFFF if self._kind == "f32" else 0x7FFF)
        return np.where(np.isnan(x), nan, bits).view(self._dtype)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return convert(self.stored(x), "f32", self._kind)


def swiglu(gate: Values, up: Values) -> np.ndarray:
    """silu(gate) * up as transformers' LlamaMLP writes it and eager torch computes it on a GPU.

    Args: gate, up: f32, bf16 or f16, of one type and shape.
    Returns: an array of their shape and type. silu is x / (1 + expf(-x)) in binary32, rounded to the type; so is the
        product. Source: docs/functions.md, Eager torch. Raises: ValueError, in one line "field: found X, allowed: Y".
    """
    rounded = _Rounded(gate=gate, up=up)
    x, other = rounded.operands
    _arrays.require_shape("up", other, x.shape, "gate's")
    with np.errstate(all="ignore"):
        silu = function("divide", x, np.float32(1) + function("expf", -x))
        return rounded.stored(rounded(silu) * other)


def rope(x: Values, cos: Values, sin: Values) -> np.ndarray:
    """x * cos + rotate_half(x) * sin as transformers' apply_rotary_pos_emb writes it: three operations, each rounded.

    Args: x: (..., d) of f32, bf16 or f16, d even. cos, sin: of its type, of shapes that broadcast to x's.
    Returns: an array of x's shape and type; rotate_half is (-x[d/2:], x[:d/2]). The tables are operands: torch makes
        them with cosf and sinf, which have no rows here. Raises: ValueError, in one line "field: found X, allowed: Y".
    """
    rounded = _Rounded(x=x, cos=cos, sin=sin)
    wide, even, odd = rounded.operands
    if wide.ndim == 0 or wide.shape[-1] % 2 != 0:
        raise refused("x shape", [*wide.shape], "an even last axis")
    for name, one in (("cos", even), ("sin", odd)):
        if one.ndim > wide.ndim or any(n not in (1, m) for n, m in zip(one.shape[::-1], wide.shape[::-1])):
            raise refused(f"{name} shape", [*one.shape], f"one that broadcasts to {[*wide.shape]}")
    half = wide.shape[-1] // 2
    turned = np.concatenate((-wide[..., half:], wide[..., :half]), -1)
    with np.errstate(all="ignore"):
        return rounded.stored(rounded(wide * even) + rounded(turned * odd))
