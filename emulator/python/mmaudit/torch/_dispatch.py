"""What reaches torch's dispatcher inside emulate(): products go to the rule of their operator, the rest runs as it is."""
from contextlib import nullcontext
from functools import cache
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch.utils._python_dispatch import TorchDispatchMode

from .._refuse import refused
from . import _settings, _sharded
from ._rules import flex_attention, rule_of

if TYPE_CHECKING:
    from ._emulate import Emulation

aten = torch.ops.aten


class Mode(TorchDispatchMode):  # type: ignore[no-untyped-call, unused-ignore]
    """Hands the products that reach the dispatcher to an Emulation."""

    supports_higher_order_operators = True  # refused below, in one line

    def __init__(self, owner: "Emulation") -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.owner = owner

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        try:
            return self._run(func, types, args, kwargs or {})
        finally:
            if self.owner.cache is not None:
                for at, name in _written(func):
                    given = args[at] if at < len(args) else (kwargs or {}).get(name)
                    for one in given if isinstance(given, (list, tuple)) else [given]:
                        if isinstance(one, Tensor) and one.layout == torch.strided:
                            self.owner.cache.written(one)

    def _run(self, func: Any, types: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        if _sharded.among(types) and not _composite(func):  # DTensor splits it, and the part of this process comes here
            self.owner.whole = _sharded.whole_operands(func, args, rule_of(func) is not None)
            return NotImplemented
        if self.owner.whole is not None and _sharded.finds_shapes(types):
            return func(*args, **kwargs)
        if isinstance(func, HigherOrderOperator):
            name = func.name()  # type: ignore[no-untyped-call, unused-ignore]
            if name == "flex_attention":
                self.owner.require_products(name)
                with self:
                    return flex_attention(*args, **kwargs)
            raise refused(
                "emulate", f"{name}, which has products of its own",
                "what the dispatcher takes apart, such as scaled_dot_product_attention", NotImplementedError)
        rule = rule_of(func)
        if rule is not None and all(one.layout == torch.strided for one in args if isinstance(one, Tensor)):
            try:
                return rule(self.owner, func, args, kwargs)
            finally:
                self.owner.whole = None
        if _composite(func):
            with self, _settings.recurrent_apart() if func in (aten.lstm.input, aten.lstm.data) else nullcontext():
                found = func.decompose(*args, **kwargs)
            if found is not NotImplemented:
                return found
        found = func(*args, **kwargs)
        if func is aten._to_copy.default:
            self.owner.converted(args[0], found)
        else:
            self.owner.missed(func, args, kwargs, found)
        return found


@cache
def _written(func: Any) -> List[Tuple[int, str]]:
    """Places and names of the arguments that an operator writes to."""
    schema = getattr(func, "_schema", None)
    return [] if schema is None else [
        (at, one.name) for at, one in enumerate(schema.arguments) if one.alias_info is not None and one.alias_info.is_write]


@cache
def _composite(func: Any) -> bool:
    """Whether an operator is made of others: it reaches a mode where autograd does not take it apart
    (torch.inference_mode)."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd"))
