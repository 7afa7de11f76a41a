"""A module whose products have the bits of a plan, forward and backward."""
import warnings
from collections import deque
from contextlib import ExitStack
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Set, Tuple

import torch
from torch import Tensor, nn
from torch._ops import HigherOrderOperator
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
)

from .._refuse import refused
from . import _checked, _settings
from ._cached import Products
from ._checked import named_modules
from ._operator import find_path, largest_finite, matmul, product
from ._recipes import Choice, LayerRecipes, Plan, Recipe
from ._storages import Storages
from ._tensors import NUMBERS

aten = torch.ops.aten


class Site(NamedTuple):
    """Where a product is: the module, its class, and whether it is a product of the backward pass."""

    layer: str
    kind: str
    backward: bool


class Seen(NamedTuple):
    """A product as watchers see it: A and B with a batch axis, before they are quantized, and D."""

    site: Site
    op: str
    a: Tensor
    b: Tensor
    d: Tensor
    recipe: Optional[Recipe]
    factor: float = 1.0  #: D has A B so many times: the alpha of a kept addmm or baddbmm


class _Forward(NamedTuple):
    """What the backward products of a forward product need to know."""

    site: Site
    kept: bool


class _Entered(NamedTuple):
    """A module whose forward runs, and the backward node that runs it again (torch.utils.checkpoint), if any."""

    layer: str
    kind: str
    node: Optional[int]


def _node() -> Optional[int]:
    """The number of the backward node that runs now, which is that of its forward operation."""
    node = torch._C._current_autograd_node()
    number: Optional[int] = None if node is None else node._sequence_nr()
    return number


class _Mode(TorchDispatchMode):  # type: ignore[no-untyped-call, unused-ignore]
    """Hands the products that reach the dispatcher to an Emulation."""

    supports_higher_order_operators = True  # refused below, in one line

    def __init__(self, owner: "Emulation") -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.owner = owner

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, HigherOrderOperator):
            name = func.name()  # type: ignore[no-untyped-call, unused-ignore]
            raise refused(
                "emulate", f"{name}, which has products of its own",
                "what the dispatcher takes apart, such as scaled_dot_product_attention", NotImplementedError)
        rule = _PRODUCTS.get(func)
        if rule is not None and all(one.layout == torch.strided for one in args if isinstance(one, Tensor)):
            return rule(self.owner, func, args, kwargs)
        if func in _COMPOSITE:
            with self:
                found = func.decompose(*args, **kwargs)
            if found is not NotImplemented:
                return found
        found = func(*args, **kwargs)
        if func is aten._to_copy.default:
            self.owner.converted(args[0], found)
        return found


class Emulation:
    """emulate() returns it. `products` counts what was emulated and what the plan kept."""

    def __init__(self, module: nn.Module, plan: LayerRecipes, watch: Optional[Callable[[Seen], None]] = None,
                 tell: bool = True) -> None:
        if any(is_lazy(one) for one in module.parameters()):
            raise refused("module", "lazy parameters without a shape", "a module that was called once")
        self.plan, self.module, self._watch = plan, module, watch
        self._names: Dict[int, Tuple[nn.Module, str, str]] = {}  #: by the id of a module, which must not be freed
        self._mode = _Mode(self)
        self.products: Dict[str, int] = {"emulated": 0, "kept": 0}
        self._stack: List[_Entered] = []
        self._parameters, self._kept = Storages(), Storages()  #: of the weights as they are while it is on
        self._operands = Storages()  #: of forward products
        self._forward: Dict[int, _Forward] = {}  #: by the numbers of nodes, of all steps of a training
        self._forwards: Dict[_Forward, _Forward] = {}  #: one of each
        self._history: Dict[Tuple[Site, str], Deque[Tensor]] = {}
        self._exit: Optional[ExitStack] = None
        self._tell, self._ran = tell, False
        self._keys: Set[str] = set()
        self.cache: Optional[Products] = None  #: of the search for a plan

    def __reduce__(self) -> Any:
        """A copy is a new one, of a copy of the module: storages are those of this module."""
        return Emulation, (self.module, self.plan, self._watch, self._tell)

    # ---- where we are ----------------------------------------------------------------------------------------------

    def __enter__(self) -> "Emulation":
        if self._exit is not None:
            raise refused(
                "emulate", "an Emulation that is entered already",
                "to enter it again once it is left, or another emulate() inside", RuntimeError)
        with ExitStack() as stack:
            linear = [one for one in self.module.modules() if isinstance(one, nn.Linear)] if self.plan.keep_first_last else []
            self._kept = Storages(one.weight for one in linear[:1] + linear[-1:])
            self._parameters = Storages(self.module.parameters())
            # Not a module's own hooks: these would go along where it is copied or pickled inside.
            self._names = {id(one): (one, name, type(one).__name__) for name, one in named_modules(self.module)}
            stack.callback(register_module_forward_pre_hook(self._entering).remove)
            stack.callback(register_module_forward_hook(self._leaving, always_call=True).remove)
            stack.enter_context(_settings.attention_apart())
            stack.enter_context(self._mode)
            self._exit = stack.pop_all()
        return self

    @property
    def unmatched(self) -> List[str]:
        """Keys of the plan's layers that have decided on no product so far."""
        return [key for key, _ in self.plan.layers if key not in self._keys]

    def __exit__(self, *what: Any) -> None:
        if self._exit is None:
            raise refused("emulate", "an Emulation that is not entered", "to leave it once", RuntimeError)
        if _get_current_dispatch_mode() is not self._mode:
            raise refused(
                "emulate", "another mode that was entered later and is not left", "to leave that first", RuntimeError)
        if self._tell and self._ran and what[0] is None and self.unmatched:
            names = ", ".join(repr(key) for key in self.unmatched)
            warnings.warn(f"plan layers: found {names}, which decided on no product", stacklevel=2)
        done, self._exit = self._exit, None
        try:
            done.close()
        finally:
            self._stack.clear()
            self._forward.clear()
            self._operands = Storages()
            self._names = {}

    def _chosen(self, site: Site) -> Tuple[bool, Optional[Recipe]]:
        decides, recipe, key = self.plan.choice_by(site.layer, site.kind)
        self._ran = True
        if key is not None:
            self._keys.add(key)
        return decides, recipe

    def _sees(self, module: nn.Module) -> bool:
        """Hooks of modules are called on all threads, the mode is on where emulate() is."""
        return id(module) in self._names and self._mode in _get_current_dispatch_mode_stack()

    def _entering(self, module: nn.Module, *_: Any) -> None:
        if self._sees(module):
            self._stack.append(_Entered(*self._names[id(module)][1:], _node()))

    def _leaving(self, module: nn.Module, *_: Any) -> None:
        if self._stack and self._sees(module):
            self._stack.pop()

    def converted(self, x: Tensor, copy: Tensor) -> None:
        """A weight in another dtype (torch.autocast) is still that weight."""
        for storages in (self._parameters, self._kept):
            if x in storages:
                storages.add(copy)

    def _where(self, operands: Tuple[Tensor, Tensor]) -> Tuple[Site, bool, Optional[int]]:
        """The site of a product, whether its layer is the first or the last and kept, and in the backward pass which
        operand, if any, is the gradient."""
        node, top = _node(), self._stack[-1] if self._stack else None
        if node is None or (top is not None and top.node == node):  # else the backward pass
            site = Site("", type(self.module).__name__, False) if top is None else Site(top.layer, top.kind, False)
            kept = any(one in self._kept for one in operands)
            if torch.is_grad_enabled():
                number = torch.autograd._get_sequence_nr()  # type: ignore[attr-defined, unused-ignore]
                known = _Forward(site, kept)
                self._forward[number - 1] = self._forwards.setdefault(known, known)
                for one in operands:
                    self._operands.add(one)
            return site, kept, None
        found = self._forward.get(node)
        if found is None:
            return Site("", type(self.module).__name__, True), False, None
        seen = [one in self._operands for one in operands]
        gradient = seen.index(False) if seen.count(False) == 1 else None
        return found.site._replace(backward=True), found.kept, gradient

    # ---- products --------------------------------------------------------------------------------------------------

    def run(self, func: Any, a: Tensor, b: Tensor, native: Callable[[], Tensor], wide: bool = False,
            factor: float = 1.0) -> Tensor:
        """A * B, both (batch, rows, columns), in the operands' type or (wide) at least float32; `native` where the plan
        keeps it, which has `factor` times A * B in it."""
        if a.dtype not in NUMBERS or b.dtype not in NUMBERS:
            return native()  # integers, complex numbers: no recipe converts them
        site, kept, gradient = self._where((a, b))
        decides, recipe = self._chosen(site)
        if not decides and not kept:
            return native()
        if kept:
            recipe = None
        if recipe is None:
            with _disable_current_modes():  # kept: a plan around this one has no say either
                d = native()
        else:
            out = torch.promote_types(a.dtype, b.dtype)
            d = self._product(site, gradient, recipe, a, b, torch.promote_types(out, torch.float32) if wide else out)
        self.products["kept" if recipe is None else "emulated"] += 1
        if self._watch is not None:
            self._watch(Seen(site, str(func), a, b, d, recipe, factor if recipe is None else 1.0))
        return d

    def _product(self, site: Site, gradient: Optional[int], recipe: Recipe, a: Tensor, b: Tensor,
                 out: torch.dtype) -> Tensor:
        dtype = recipe.dtype
        if gradient is not None and recipe.gradient is not None:
            pair = (recipe.gradient, dtype) if gradient == 0 else (dtype, recipe.gradient)
            dtype = "-".join(pair)
        path = find_path(recipe.arch, dtype, recipe.scaling, recipe.policy)
        is_weight = b in self._parameters
        scaling_b = path.scaling if is_weight else path.activations
        largest_a = largest_b = None
        if recipe.history:
            role = "none" if gradient is None else str(gradient)
            largest_a = self._delayed(site, "a" + role, recipe.history, a)
            largest_b = self._delayed(site, "b" + role, recipe.history, b)
        if self.cache is not None and not recipe.history and a.device.type == b.device.type == "cpu":
            return self.cache.product(a, b, out, is_weight, arch=recipe.arch, dtype=dtype, scaling_a=path.scaling,
                                      scaling_b=scaling_b, policy=recipe.policy)
        return product(a, b, out, arch=recipe.arch, dtype=dtype, scaling_a=path.scaling,
                       scaling_b=scaling_b, policy=recipe.policy, largest_a=largest_a, largest_b=largest_b)

    def _saw_scaled(self, site: Site, func: Any, given: Dict[str, Any], d: Tensor, recipe: Optional[Recipe]) -> None:
        """Counts a product of elements that come with their scales, and shows the numbers that these are."""
        self.products["kept" if recipe is None else "emulated"] += 1
        scales = given["scale_a"], given["scale_b"]
        if self._watch is None or any(one.dtype != torch.float32 for one in scales):
            return
        with _disable_current_modes():
            a, b = (x.to(torch.float32) * scale for x, scale in zip((given["self"], given["mat2"]), scales))
        self._watch(Seen(site, str(func), a.unsqueeze(0), b.unsqueeze(0), d.unsqueeze(0), recipe))

    def _delayed(self, site: Site, role: str, length: int, x: Tensor) -> Tensor:
        """The largest of the tensors before, of this one where there is none yet; this one joins them."""
        size = largest_finite(x)
        now = (size.amax() if size.numel() else x.new_zeros(())).to(torch.float32)
        kept = self._history.setdefault((site, role), deque(maxlen=length))
        largest = torch.stack(list(kept)).amax() if kept else now
        kept.append(now)
        return largest


def _plus(self: Emulation, func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    """addmm, baddbmm and addmv: beta * C + alpha * (A B), the sum in binary32 or the tensors' own wider type."""
    c, a, b = args[0], args[1], args[2]
    beta, alpha = kwargs.get("beta", 1), kwargs.get("alpha", 1)

    def finish(d: Tensor) -> Tensor:
        wide = torch.promote_types(d.dtype, torch.float32)
        total = d.to(wide) * alpha if alpha != 1 else d.to(wide)
        if beta != 0:
            total = total + (c.to(wide) * beta if beta != 1 else c.to(wide))
        return total.to(c.dtype)

    def native() -> Tensor:
        result: Tensor = func(*args, **kwargs)
        return result

    marker: List[bool] = []

    def remembered() -> Tensor:
        marker.append(True)
        return native()

    shape = [*a.shape[:-1], *b.shape[b.dim() - 1:]] if b.dim() > 1 else [a.shape[0]]
    x = a if a.dim() == 3 else a.unsqueeze(0)
    y = b if b.dim() == 3 else b.reshape(1, -1, 1) if b.dim() == 1 else b.unsqueeze(0)
    d = self.run(func, x, y, remembered, wide=True, factor=float(alpha))
    return d if marker else finish(d.reshape(shape))


def _mm(self: Emulation, func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    a, b = args[0], args[1]
    return self.run(func, a.unsqueeze(0), b.unsqueeze(0), lambda: func(*args, **kwargs).unsqueeze(0)).squeeze(0)


def _bmm(self: Emulation, func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    return self.run(func, args[0], args[1], lambda: func(*args, **kwargs))


def _mv(self: Emulation, func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    a, v = args[0], args[1]
    d = self.run(func, a.unsqueeze(0), v.reshape(1, -1, 1), lambda: func(*args, **kwargs).reshape(1, -1, 1))
    return d.reshape(-1)


def _scaled_mm(self: Emulation, func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
    """torch._scaled_mm: its operands are elements already; the recipe says only which GPU adds them, and how."""
    names = ("self", "mat2", "scale_a", "scale_b", "bias", "scale_result", "out_dtype", "use_fast_accum")
    given = {**dict(zip(names, args)), **kwargs}
    a, b, of_a, of_b = (given[name] for name in names[:4])
    site, kept, _ = self._where((a, b))
    decides, recipe = self._chosen(site)
    if not decides or recipe is None or kept:
        result: Tensor = func(*args, **kwargs)
        if decides or kept:
            self._saw_scaled(site, func, given, result, None)
        return result
    formats = {torch.float8_e4m3fn: "e4m3", torch.float8_e5m2: "e5m2"}
    if a.dtype not in formats or b.dtype not in formats or of_a.dtype != torch.float32 or of_b.dtype != torch.float32:
        raise refused(
            "torch._scaled_mm", f"{a.dtype} with {of_a.dtype} scales",
            "in emulate(): float8_e4m3fn and float8_e5m2 with binary32 scales of a tensor, or of rows and columns")
    pair = [formats[a.dtype], formats[b.dtype]]
    dtype = pair[0] if pair[0] == pair[1] else "-".join(pair)
    row = of_a.numel() != 1 or of_b.numel() != 1
    path = find_path(recipe.arch, dtype, "row" if row else "tensor", recipe.policy)
    out = given.get("out_dtype") or a.dtype
    if out not in NUMBERS or out == torch.float64:
        raise refused("torch._scaled_mm", f"D in {out}", "in emulate(): out_dtype of float32, bfloat16, float16")
    d = matmul(a, b, inst=path.inst, arch=recipe.arch, promote=path.promote, split_k=path.split_k,
               d_format=NUMBERS[out] if given.get("bias") is None else "f32", factor_a=of_a.reshape(-1),
               factor_b=of_b.reshape(-1), factor_order=path.factor_order)
    if given.get("bias") is not None:
        d = (d + given["bias"].to(torch.float32)).to(out)
    self._saw_scaled(site, func, given, d, recipe)
    return d


def _into(rule: Callable[..., Tensor], plain: Any) -> Callable[..., Tensor]:
    """The rule of an operator that writes to `out`, or to its first operand."""
    def written(self: Emulation, func: Any, args: Any, kwargs: Dict[str, Any]) -> Tensor:
        given = dict(kwargs)
        out: Tensor = given.pop("out", args[0])
        found = rule(self, plain, args, given)
        if "out" in kwargs and out.shape != found.shape:
            out.resize_(found.shape)
        return out.copy_(found)
    return written


_PRODUCTS: Dict[Any, Callable[..., Tensor]] = {
    aten.mm.default: _mm,
    aten.bmm.default: _bmm,
    aten.mv.default: _mv,
    aten.addmm.default: _plus,
    aten.baddbmm.default: _plus,
    aten.addmv.default: _plus,
    aten._scaled_mm.default: _scaled_mm,
}
_PRODUCTS.update({
    **{getattr(aten, name).out: _into(_PRODUCTS[getattr(aten, name).default], getattr(aten, name).default)
       for name in ("mm", "bmm", "mv", "addmm", "baddbmm", "addmv")},
    **{getattr(aten, name + "_").default: _into(_plus, getattr(aten, name).default)
       for name in ("addmm", "baddbmm", "addmv")},
})
# What reaches a dispatch mode whole where autograd does not take it apart (torch.inference_mode).
_COMPOSITE = {aten.linear.default, aten.matmul.default, aten.einsum.default, aten.scaled_dot_product_attention.default,
              aten._scaled_dot_product_attention_math.default}


def emulate(module: nn.Module, plan: "Plan | Choice", *, watch: Optional[Callable[[Seen], None]] = None) -> Emulation:
    """A context in which every matrix product of `module` has the bits of `plan`; everything else stays as it is.

    Products come from nn.Linear, torch.matmul, mm, bmm, addmm, baddbmm, mv, einsum, torch._scaled_mm and attention
    (computed as two products and a softmax). Gradients pass the rounding straight through, and backward products run
    inside the context are emulated like forward ones, with the recipe of their layer.

    Args:
        plan: the name of a recipe (RECIPES), a Recipe, a Plan, or the JSON of a plan (docs/torch.md) as an object or
            the name of a file. Plans nest: what the inner one does not name is left to the outer one.
        watch: called with every product.
    Warns: on leaving, of keys of the plan's layers that decided on no product; `unmatched` has them.
    Raises: ValueError, in one line, for a plan that names a layer which is not there or an arithmetic that no GPU has.
    """
    _checked.module(module)
    if watch is not None and not callable(watch):
        raise refused("watch", f"a {type(watch).__name__}", "a function")
    return Emulation(module, LayerRecipes.of(plan, module), watch)
