"""Convolutions as implicit GEMM: products of patches and kernels, with channels innermost along k."""
import math
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Sequence, Tuple

from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    from ._emulate import Emulation


class Once:
    """What an operator gives by itself, computed when it is asked for first."""

    def __init__(self, run: Callable[[], Any]) -> None:
        self._run, self.ran, self._found = run, False, None

    def __call__(self) -> Any:
        if not self.ran:
            self._found, self.ran = self._run(), True
        return self._found


def _spread(given: Sequence[int], count: int) -> List[int]:
    """One number per axis; torch takes one for all."""
    return list(given) * count if len(given) == 1 else list(given)


def _split(x: Tensor, axis: int, sizes: Sequence[int]) -> Tensor:
    found: Tensor = x.unflatten(axis, sizes)  # type: ignore[no-untyped-call, unused-ignore]
    return found


def _patches(x: Tensor, taps: Sequence[int], stride: Sequence[int], dilation: Sequence[int], groups: int) -> Tensor:
    """(groups, images and places, taps and channels) of images that are padded, (images, channels, places)."""
    depth, strides = x.shape[1] // groups, x.stride()
    places = [(size - step * (tap - 1) - 1) // by + 1 for size, tap, by, step in zip(x.shape[2:], taps, stride, dilation)]
    found = x.as_strided(
        [groups, x.shape[0], *places, *taps, depth],
        [strides[1] * depth, strides[0], *(by * one for by, one in zip(stride, strides[2:])),
         *(step * one for step, one in zip(dilation, strides[2:])), strides[1]])
    return found.reshape(groups, x.shape[0] * math.prod(places), math.prod(taps) * depth)


def _padded(x: Tensor, sides: Sequence[Tuple[int, int]]) -> Tensor:
    """Zeros before and after every axis of places; negative counts cut."""
    return F.pad(x, [count for pair in reversed(sides) for count in pair]).contiguous()


def _images(d: Tensor, images: int, places: Sequence[int]) -> Tensor:
    """(images, channels, places) of (groups, images and places, channels of a group)."""
    return _split(d, 1, (images, *places)).movedim(-1, 1).movedim(1, 2).movedim(0, 1).flatten(1, 2).contiguous()


def _as_product(image: Tensor, groups: int) -> Tensor:
    """A view of images as D of the product is: (groups, images, places, channels of a group)."""
    return _split(image, 1, (groups, -1)).movedim(1, 0).movedim(2, -1)


class _How:
    """The numbers of a convolution, one per axis of places."""

    def __init__(self, weight: Tensor, stride: Any, padding: Any, dilation: Any, groups: int) -> None:
        axes = weight.dim() - 2
        self.taps, self.groups = list(weight.shape[2:]), groups
        self.stride, self.padding, self.dilation = (_spread(one, axes) for one in (stride, padding, dilation))

    def direct(self, x: Tensor, weight: Tensor) -> Tuple[Tensor, Tensor]:
        """A and B of a convolution: k is taps, then channels of a group."""
        a = _patches(_padded(x, [(one, one) for one in self.padding]), self.taps, self.stride, self.dilation, self.groups)
        return a, _split(weight, 0, (self.groups, -1)).movedim(2, -1).flatten(2).mT

    def transposed(self, x: Tensor, weight: Tensor, places: Sequence[int]) -> Tuple[Tensor, Tensor]:
        """A and B of what a convolution is the transpose of, or of its gradient: k is taps, then filters of a group;
        between neighbours of x there are stride - 1 zeros."""
        wide = x.new_zeros([*x.shape[:2], *((size - 1) * by + 1 for size, by in zip(x.shape[2:], self.stride))])
        wide[tuple([..., *(slice(None, None, by) for by in self.stride)])] = x  # type: ignore[index, unused-ignore]
        before = [step * (tap - 1) - pad for tap, pad, step in zip(self.taps, self.padding, self.dilation)]
        sides = [(left, place + step * (tap - 1) - size - left) for left, place, size, tap, step in zip(
            before, places, wide.shape[2:], self.taps, self.dilation)]
        a = _patches(_padded(wide, sides), self.taps, [1] * len(sides), self.dilation, self.groups)
        turned = _split(weight.flip(list(range(2, weight.dim()))), 0, (self.groups, -1))
        return a, turned.movedim(1, -1).movedim(1, -1).flatten(1, -2)

    def of_weight(self, x: Tensor, d: Tensor) -> Tuple[Tensor, Tensor]:
        """A and B of the gradient of weights: k is images, then places."""
        b = _patches(_padded(x, [(one, one) for one in self.padding]), self.taps, self.stride, self.dilation, self.groups)
        return _as_product(d, self.groups).flatten(1, -2).mT, b


def convolution(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    """aten.convolution of any number of axes, strided, dilated, transposed, in groups."""
    x, weight, bias, stride, padding, dilation, is_transposed, more, groups = args
    how = _How(weight, stride, padding, dilation, groups)
    whole = Once(lambda: func(*args, **kwargs))
    if is_transposed:
        places = [(size - 1) * by - 2 * pad + step * (tap - 1) + extra + 1 for size, by, pad, step, tap, extra in zip(
            x.shape[2:], how.stride, how.padding, how.dilation, how.taps, _spread(more, len(how.taps)))]
        a, b = how.transposed(x, weight, places)
    else:
        places = [(size + 2 * pad - step * (tap - 1) - 1) // by + 1 for size, by, pad, step, tap in zip(
            x.shape[2:], how.stride, how.padding, how.dilation, how.taps)]
        a, b = how.direct(x, weight)
    count = x.shape[0] * math.prod(x.shape[2:] if is_transposed else places) * weight.numel()
    d = self.run(func, a, b, lambda: _as_product(whole(), groups), wide=True, of=(x, weight), count=count)
    if whole.ran:
        kept: Tensor = whole()
        return kept
    if bias is not None:
        d = d + bias.reshape(groups, 1, -1).to(d.dtype)
    return _images(d.to(x.dtype), x.shape[0], places)


def convolution_backward(self: "Emulation", func: Any, args: Any, kwargs: Dict[str, Any]
                         ) -> Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]]:
    """Gradients of the image, the weights and the bias, the first two as products of their own."""
    gradient, x, weight, _, stride, padding, dilation, is_transposed, _, groups, wanted = args
    how, images = _How(weight, stride, padding, dilation, groups), x.shape[0]
    whole = Once(lambda: func(*args, **kwargs))
    count = images * math.prod((x if is_transposed else gradient).shape[2:]) * weight.numel()
    of_x = of_weight = None
    if wanted[0]:
        a, b = how.direct(gradient, weight) if is_transposed else how.transposed(gradient, weight, x.shape[2:])
        d = self.run(func, a, b, lambda: _as_product(whole()[0], groups), of=(gradient, weight), count=count)
        of_x = None if whole.ran else _images(d, images, x.shape[2:])
    if wanted[1]:
        a, b = how.of_weight(gradient, x) if is_transposed else how.of_weight(x, gradient)
        d = self.run(func, a, b, lambda: _filters(whole()[1], groups), of=(gradient, x), count=count)
        if not whole.ran:
            of_weight = _split(d, 2, (*how.taps, -1)).flatten(0, 1).movedim(-1, 1).contiguous()
    if whole.ran:
        found: Tuple[Optional[Tensor], Optional[Tensor], Optional[Tensor]] = whole()
        return found
    return of_x, of_weight, gradient.transpose(0, 1).flatten(1).sum(1) if wanted[2] else None


def _filters(weight: Tensor, groups: int) -> Tensor:
    """A view of weights as D of the product is: (groups, filters, taps, channels of a group)."""
    return _split(weight, 0, (groups, -1)).movedim(2, -1)
