"""Products that were computed before: plans that share layers share these."""
import hashlib
from collections import OrderedDict
from typing import Any, Dict, Hashable, List, Optional, Tuple

import torch
from torch import Tensor, nn

from ._operator import Quantized, Quantizer, product, quantize

MOST_BYTES = 1 << 30


def _digest(x: Tensor) -> bytes:
    """Of the numbers of a tensor, row by row, and of its shape."""
    kind = hashlib.blake2b(f"{x.dtype}{tuple(x.shape)}".encode(), digest_size=16)
    kind.update(x.detach().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return kind.digest()


class Products:
    """D and quantized operands by what they are computed from, the least recently used of which go where there are more
    than MOST_BYTES. Equal keys are equal numbers, so nothing depends on which layers ran before."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._kept: OrderedDict[Hashable, Tuple[Any, int]] = OrderedDict()
        self._of_weights: Dict[Hashable, Tuple[Tensor, bytes]] = {}
        self._versions: Tuple[Any, ...] = ()
        self._most, self._bytes = most, 0
        self.found, self.computed = 0, 0

    def of(self, module: nn.Module) -> "Products":
        """Itself, for a run of the module. What is known of weights is forgotten where one was written to."""
        now = tuple((one.data_ptr(), 0 if one.is_inference() else one._version) for one in module.parameters())
        if now != self._versions:
            self._of_weights.clear()
            self._versions = now
        return self

    def _digest_of(self, x: Tensor, is_weight: bool) -> bytes:
        if not is_weight:
            return _digest(x)
        key = (x.data_ptr(), tuple(x.shape), x.stride(), x.dtype)
        if key not in self._of_weights:
            self._of_weights[key] = (x, _digest(x))  # which is kept: another tensor can't take its address
        return self._of_weights[key][1]

    def _take(self, key: Hashable, compute: Any) -> Any:
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][0]
        found = compute()
        parts: List[Any] = [found] if isinstance(found, Tensor) else list(found)
        size = sum(one.numel() * one.element_size() for one in parts if isinstance(one, Tensor))
        self._kept[key] = (found, size)
        self._bytes += size
        while self._bytes > self._most and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1][1]
        return found

    def product(self, a: Tensor, b: Tensor, out: torch.dtype, b_is_weight: bool, quantizer: Optional[Quantizer],
                **how: Any) -> Tensor:
        """As product(), whose arguments these are; both operands on the CPU."""
        of_a, of_b = self._digest_of(a, False), self._digest_of(b, b_is_weight)

        def quantized(x: Tensor, dtype: str, scaling: Any, *, of_b_: bool = False, **more: Any) -> Quantized:
            key = (of_b if of_b_ else of_a, of_b_, dtype, scaling, more["arch"], more["policy"], quantizer)
            done: Quantized = self._take(key, lambda: (quantizer or quantize)(x, dtype, scaling, of_b=of_b_, **more))
            return done

        def compute() -> Tensor:
            self.computed += 1
            return product(a, b, out, **how, quantizer=lambda x, *given, of_b=False, **more: quantized(
                x, *given, of_b_=of_b, **more))

        before = self.computed
        d: Tensor = self._take((of_a, of_b, out, quantizer, *how.items()), compute)
        self.found += before == self.computed
        return d.clone()  # the module may write to its own
