"""A module whose products have the bits of a plan, forward and backward."""
import warnings
from collections import deque
from contextlib import ExitStack
from typing import Any, Callable, Deque, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.nn.parameter import is_lazy
from torch.utils._python_dispatch import _disable_current_modes, _get_current_dispatch_mode, _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_leaves
from torch.utils.checkpoint import set_checkpoint_early_stop

from .._refuse import listed, refused
from . import _attention, _checked, _settings, _sharded
from ._cached import Products, Weights
from ._calibrate import Calibration, prepared
from ._checked import named_modules
from ._coverage import EMULATED, KEPT, MISSED, Coverage, operator_name, unlisted
from ._dispatch import Mode
from ._hardware import SWITCHES, Hardware
from ._operator import find_path, largest_finite, product
from ._recipes import Choice, LayerRecipes, Plan, Recipe, of_attention
from ._seen import Seen as Seen
from ._seen import Site
from ._storages import Storages
from ._tensors import NUMBERS
from ._training import Backward


class _Forward(NamedTuple):
    """What the backward products of a forward product need to know."""

    site: Site
    kept: bool
    by_weight: bool


class _Entered(NamedTuple):
    """A module whose forward runs, and the backward node that runs it again (torch.utils.checkpoint), if any."""

    layer: str
    kind: str
    node: Optional[int]
    settings: ExitStack  #: of torch, for this forward alone


def _node() -> Optional[int]:
    """The number of the backward node that runs now, which is that of its forward operation."""
    node = torch._C._current_autograd_node()
    number: Optional[int] = None if node is None else node._sequence_nr()
    return number


class Emulation:
    """emulate() returns it. `products` counts what was emulated and what the plan kept, `coverage` has the multiply-adds
    of these, and of what there is no rule for."""

    def __init__(self, module: nn.Module, plan: LayerRecipes, watch: Optional[Callable[[Seen], None]] = None,
                 tell: bool = True, hardware: str = "auto", check: float = 0.01,
                 calibration: Optional[Calibration] = None, attention: Optional[str] = None) -> None:
        if any(is_lazy(one) for one in module.parameters()):
            raise refused("module", "lazy parameters without a shape", "a module that was called once")
        self.plan, self.module, self._watch, self.hardware = plan, module, watch, Hardware(hardware, check)
        self.calibration, self.attention = calibration, attention
        self._names: Dict[int, Tuple[nn.Module, str, str]] = {}  #: by the id of a module, which must not be freed
        self.mode = Mode(self)
        self.products: Dict[str, int] = {"emulated": 0, "kept": 0}
        self.coverage = Coverage()
        self._survey = plan.default is None and not plan.layers and not plan.falls_through  #: keeps all, to see it
        self._stack: List[_Entered] = []
        self._parameters, self._kept = Storages(), Storages()  #: of the weights as they are while it is on
        self._operands = Storages()  #: of forward products
        self._forward: Dict[int, _Forward] = {}  #: by the numbers of nodes, of all steps of a training
        self._forwards: Dict[_Forward, _Forward] = {}  #: one of each
        self._history: Dict[Tuple[Site, str], Deque[Tensor]] = {}
        self._ends: List[nn.Linear] = []
        self._exit: Optional[ExitStack] = None
        self._tell, self._ran = tell, False
        self.whole: Optional[Tuple[Any, Any]] = None  #: A and B of all processes, while one computes its part
        self.split: Set[str] = set()  #: layers of which each process adds a part of k, and an all-reduce the parts
        self._keys: Set[str] = set()
        self._draws: Dict[int, torch.Generator] = {}  #: of stochastic rounding, by seeds
        self.cache: Optional[Products] = None  #: of the search for a plan
        self.weights = Weights()

    def __reduce__(self) -> Any:
        """A copy is a new one, of a copy of the module: storages are those of this module."""
        return Emulation, (self.module, self.plan, self._watch, self._tell, self.hardware.switch, self.hardware.share,
                           self.calibration, self.attention)

    # ---- where we are ----------------------------------------------------------------------------------------------

    def __enter__(self) -> "Emulation":
        if self._exit is not None:
            raise refused(
                "emulate", "an Emulation that is entered already",
                "to enter it again once it is left, or another emulate() inside", RuntimeError)
        with ExitStack() as stack:
            linear = [one for one in self.module.modules() if isinstance(one, nn.Linear)] if self.plan.keep_first_last else []
            self._ends = linear[:1] + linear[-1:]
            self._kept = Storages(one.weight for one in self._ends if isinstance(one.weight, Tensor))
            self._parameters = Storages(self.module.parameters())
            # Not a module's own hooks: these would go along where it is copied or pickled inside.
            self._names = {id(one): (one, name, type(one).__name__) for name, one in named_modules(self.module)}
            stack.callback(register_module_forward_pre_hook(self._entering).remove)
            stack.callback(register_module_forward_hook(self._leaving, always_call=True).remove)
            stack.enter_context(_settings.attention_apart())
            stack.enter_context(set_checkpoint_early_stop(False))  # else the last operands of what runs again are not seen
            stack.enter_context(self.mode)
            if self.attention or self.plan.attends:
                stack.enter_context(_attention.Calls(self.attend))
            self._exit = stack.pop_all()
        return self

    @property
    def unmatched(self) -> List[str]:
        """Keys of the plan's layers that have decided on no product so far."""
        return [key for key, _ in self.plan.layers if key not in self._keys]

    def __exit__(self, *what: Any) -> None:
        if self._exit is None:
            raise refused("emulate", "an Emulation that is not entered", "to leave it once", RuntimeError)
        if _get_current_dispatch_mode() is not self.mode:
            raise refused(
                "emulate", "another mode that was entered later and is not left", "to leave that first", RuntimeError)
        if self._tell and self._ran and what[0] is None and self.unmatched:
            names = ", ".join(repr(key) for key in self.unmatched)
            warnings.warn(f"plan layers: found {names}, which decided on no product", stacklevel=2)
        if self._tell and self.split and what[0] is None:
            warnings.warn(_sharded.told(self.split), stacklevel=2)
        if self._tell and not self._survey and what[0] is None and self.coverage.line():
            warnings.warn(f"emulate: {self.coverage.line()}", stacklevel=2)
        done, self._exit = self._exit, None
        try:
            done.close()
            self.hardware.check(compare=what[0] is None)
        finally:
            for one in self._stack:
                one.settings.close()
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
        return id(module) in self._names and self.mode in _get_current_dispatch_mode_stack()

    def _entering(self, module: nn.Module, *_: Any) -> None:
        if self._sees(module):
            settings = ExitStack()
            if isinstance(module, nn.RNNBase):
                settings.enter_context(_settings.recurrent_apart())
            self._stack.append(_Entered(*self._names[id(module)][1:], _node(), settings))

    def _leaving(self, module: nn.Module, *_: Any) -> None:
        if self._stack and self._sees(module):
            self._stack.pop().settings.close()

    def _put(self, x: Tensor, modules: Sequence[nn.Module], layer: str) -> bool:
        """Whether it is a parameter that one of these, of this name, has got since (accelerate's offloading)."""
        return any(x in Storages(one.parameters(recurse=False)) for one in modules if self._names[id(one)][1] == layer)

    def converted(self, x: Tensor, copy: Tensor) -> None:
        """A weight in another dtype (torch.autocast) is still that weight."""
        for storages in (self._parameters, self._kept):
            if x in storages:
                storages.add(copy)

    def here(self) -> Site:
        """Where a forward operation is now."""
        top = self._stack[-1] if self._stack else None
        return Site("", type(self.module).__name__, False) if top is None else Site(top.layer, top.kind, False)

    def _where(self, operands: Tuple[Tensor, Tensor]) -> Tuple[Site, bool, Optional[int]]:
        """The site of a product, whether its layer is the first or the last and kept, and in the backward pass which
        operand, if any, is the gradient."""
        node, top = _node(), self._stack[-1] if self._stack else None
        if node is None or (top is not None and top.node == node):  # else the backward pass
            site = self.here()
            kept = any(one in self._kept or self._put(one, self._ends, site.layer) for one in operands)
            if torch.is_grad_enabled():
                number = torch.autograd._get_sequence_nr()  # type: ignore[attr-defined, unused-ignore]
                known = _Forward(site, kept, any(one in self._parameters for one in operands))
                self._forward[number - 1] = self._forwards.setdefault(known, known)
                for one in operands:
                    self._operands.add(one)
            return site, kept, None
        found = self._forward.get(node)
        if found is None:
            return Site("", type(self.module).__name__, True), False, None
        seen = [one in self._operands for one in operands]
        gradient = seen.index(False) if seen.count(False) == 1 else None
        return found.site._replace(backward=True, by_weight=found.by_weight), found.kept, gradient

    # ---- products --------------------------------------------------------------------------------------------------

    def counted(self, func: Any, site: Site, state: str, multiply_adds: int, decides: bool = True) -> None:
        """Adds a product to what was seen; `products` has those alone that the plan decides on."""
        by, checked = self.hardware.taken() if state == EMULATED else ("", 0)
        self.coverage.add(operator_name(func), site.layer, state, multiply_adds, site.backward, by=by, checked=checked)
        if decides and state in self.products:
            self.products[state] += 1

    def missed(self, func: Any, args: Any, kwargs: Dict[str, Any], out: Any, count: Optional[int] = None) -> None:
        """Names an operator without a rule, if it computes a product: of so many multiply-adds, or about so many."""
        found = unlisted(func, args, kwargs, out) if count is None else count
        if found is None:
            return
        operands = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
        site, kept, _ = self._where((operands[0], operands[-1]))
        decides, recipe, _ = self.plan.choice_by(site.layer, site.kind)
        on_purpose = not self._survey and (kept or (decides and recipe is None))
        self.coverage.add(operator_name(func), site.layer, KEPT if on_purpose else MISSED, found, site.backward, count is None)

    def run(self, func: Any, a: Tensor, b: Tensor, native: Callable[[], Tensor], wide: bool = False,
            factor: float = 1.0, of: Optional[Tuple[Tensor, Tensor]] = None, count: Optional[int] = None) -> Tensor:
        """A * B, both (batch, rows, columns), in the operands' type or (wide) at least float32; `native` where the plan
        keeps it, which has `factor` times A * B in it. A and B are made of the tensors `of`, where these are others, by
        `count` multiply-adds, where A and B have zeros that nobody multiplies."""
        of = of or (a, b)
        count = a.shape[0] * a.shape[1] * a.shape[2] * b.shape[2] if count is None else count
        if a.dtype not in NUMBERS or b.dtype not in NUMBERS:
            d = native()  # integers, complex numbers: no recipe converts them
            if d.is_complex():
                self.missed(func, of, {}, d, count)
            return d
        site, kept, gradient = self._where(of)
        decides, recipe = self._chosen(site)
        if not decides and not kept:
            self.counted(func, site, KEPT, count, decides=False)
            return native()
        if kept:
            recipe = None
        weight = (recipe is not None or self._watch is not None) and (
            of[1] in self._parameters or self._put(of[1], [one for one, *_ in self._names.values()], site.layer))
        if recipe is None:
            with _disable_current_modes():  # kept: a plan around this one has no say either
                d = native()
        else:
            out = torch.promote_types(a.dtype, b.dtype)
            with self.hardware.computing(site.layer):
                d = self._product(site, gradient, recipe, a, b, torch.promote_types(out, torch.float32) if wide else out, weight)
        self.counted(func, site, KEPT if recipe is None else EMULATED, count)
        if self._watch is not None:
            self._watch(Seen(site, str(func), a, b, d, recipe, factor if recipe is None else 1.0, weight))
        return d

    def _attention_of(self, site: Site) -> Tuple[Optional[str], Optional[str]]:
        """Names of kernels or recipes of a layer's attention, None for two products, and the plan's key that decides."""
        _, recipe, key = self.plan.choice_by(site.layer, site.kind)
        found = (recipe and recipe.attention) or (None if key is not None and recipe is None else self.attention)
        return found, key

    def require_products(self, what: str) -> None:
        """Refuses an attention without a plan in a layer whose attention has to be one."""
        site = self.here()
        names, _ = self._attention_of(site)
        if not _attention.may_be_products(names):
            raise refused(f"attention in layer {site.layer!r}", f"{what} with {names}",
                          f"scaled_dot_product_attention, or with {_attention.PRODUCTS} as its last name")

    def attended(self, like: str, site: Site, key: Optional[str], multiply_adds: int) -> None:
        """Counts an attention that the model has computed."""
        self._ran = True
        self._keys.update([] if key is None else [key])
        self.counted(f"attention {like}", site, EMULATED, multiply_adds)

    def attend(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        """scaled_dot_product_attention by the plan of the layer's attention, else as the two products that it is."""
        site = self.here()
        names, key = self._attention_of(site)
        if func is not _attention.SDPA:
            return func(*args, **kwargs) if names is None else _attention.packed(self, site, names, key, func, args, kwargs)
        call = None if names is None else _attention.call_of(site.layer, args, kwargs, _attention.may_be_products(names))
        like = None if call is None or names is None else _attention.chosen(site.layer, names, call)
        if call is None or like is None:
            return func(*args, **kwargs)
        if self.hardware.switch == "always":
            raise refused("hardware", f"always with attention {like}", "auto, never: the model runs it")
        with self.hardware.computing(site.layer):
            o = _attention.attended(call, like)
        self.attended(like, site, key, call.multiply_adds)
        if self._watch is not None:
            with _disable_current_modes(), torch.no_grad():  # O is P V, of the exact P
                p, v = call.weights()
            self._watch(Seen(site, f"attention {like}", p, v, o.detach().flatten(0, 1), of_attention(like)))
        return o

    def run_elements(self, func: Any, a: Tensor, b: Tensor, scales: Tuple[Tensor, Tensor], native: Callable[[], Tensor],
                     emulated: Callable[[Recipe], Tensor]) -> Tensor:
        """A * B of elements that come with their scales: the recipe says only which GPU adds them, and how."""
        site, kept, _ = self._where((a, b))
        decides, recipe = self._chosen(site)
        recipe = None if kept else recipe
        with self.hardware.computing(site.layer):
            d = native() if recipe is None else emulated(recipe)
        self.counted(func, site, KEPT if recipe is None else EMULATED, a.shape[0] * a.shape[1] * b.shape[1], decides or kept)
        if self._watch is None or not (decides or kept) or any(one.dtype != torch.float32 for one in scales):
            return d
        with _disable_current_modes():  # the numbers that the elements are
            x, y = (one.to(torch.float32) * scale for one, scale in zip((a, b), scales))
        self._watch(Seen(site, str(func), x.unsqueeze(0), y.unsqueeze(0), d.unsqueeze(0), recipe))
        return d

    def run_exact(self, func: Any, a: Tensor, b: Tensor, native: Callable[[], Tensor]) -> Tensor:
        """A * B of integers, whose sums are exact on every GPU: torch's own."""
        site, kept, _ = self._where((a, b))
        decides, recipe = self._chosen(site)
        self.counted(func, site, KEPT if kept or recipe is None else EMULATED, a.shape[0] * a.shape[1] * b.shape[1], decides or kept)
        return native()

    def _product(self, site: Site, gradient: Optional[int], recipe: Recipe, a: Tensor, b: Tensor,
                 out: torch.dtype, weight: bool) -> Tensor:
        dtype = recipe.dtype
        if gradient is not None and recipe.gradient is not None:
            dtype = "-".join((recipe.gradient, dtype) if gradient == 0 else (dtype, recipe.gradient))
        path = find_path(recipe.arch, dtype, recipe.scaling, recipe.policy)
        scaling_b = path.scaling if weight else path.activations
        largest_a = largest_b = None
        if self.whole is not None:
            largest_a, largest_b = _sharded.largest(self.whole, a, b, path, finite=recipe.history > 0)
            if _sharded.split_k(self.whole, a):
                self.split.add(site.layer)
        if recipe.history:
            role = "none" if gradient is None else str(gradient)
            largest_a = self._delayed(site, "a" + role, recipe.history, a, largest_a)
            largest_b = self._delayed(site, "b" + role, recipe.history, b, largest_b)
        apart = self.whole is None and not recipe.history  # nothing but a and b decides on D
        kept = apart and self.cache is None and b in self._parameters and not torch.is_grad_enabled()
        by: Any = self.weights if kept else None  # in the place of quantize()
        if recipe.prepares and (weight or site.backward):
            by = prepared(self.calibration, site, recipe, a.shape[-1], whole=self.whole is None)
        if site.backward and recipe.trains:
            seed, of_weight = recipe.stochastic, site.by_weight and a not in self._parameters and b not in self._parameters
            draw = None if seed is None else self._draws.setdefault(seed, torch.Generator().manual_seed(seed))
            by = Backward(f"layer {site.layer!r}", gradient, draw, recipe.rht and of_weight)
        how: Dict[str, Any] = {"arch": recipe.arch, "dtype": dtype, "scaling_a": path.scaling, "scaling_b": scaling_b,
                               "policy": recipe.policy}
        if self.cache is not None and apart and a.device.type == b.device.type == "cpu":
            return self.cache.product(a, b, out, b in self._parameters, by, **how)
        return product(a, b, out, largest_a=largest_a, largest_b=largest_b, quantizer=by, **how)

    def _delayed(self, site: Site, role: str, length: int, x: Tensor, of_whole: Optional[Tensor]) -> Tensor:
        """The largest of the tensors before, of this one where there is none yet; this one joins them."""
        size = largest_finite(x)
        now = (size.amax() if size.numel() else x.new_zeros(())).to(torch.float32) if of_whole is None else of_whole
        kept = self._history.setdefault((site, role), deque(maxlen=length))
        largest = torch.stack(list(kept)).amax() if kept else now
        kept.append(now)
        return largest


def emulate(module: nn.Module, plan: "Plan | Choice", *, watch: Optional[Callable[[Seen], None]] = None,
            hardware: str = "auto", check: float = 0.01, calibration: Optional[Calibration] = None,
            attention: Optional[str] = None) -> Emulation:
    """A context in which every matrix product of `module` has the bits of `plan`; everything else stays as it is.

    Products come from nn.Linear, torch.matmul and its kin, convolutions (implicit GEMM), recurrent layers (step by
    step), grouped and scaled products, and attention (two products and a softmax): docs/torch.md. Gradients pass the
    rounding straight through, and backward products run inside the context are emulated like forward ones, with the
    recipe of their layer.

    Args:
        plan: the name of a recipe (RECIPES), a Recipe, a Plan, or the JSON of a plan (docs/torch.md) as an object or
            the name of a file. Plans nest: what the inner one does not name is left to the outer one.
        watch: called with every product.
        hardware: "auto": products in the arithmetic of the GPU that the tensors are on are computed by its own instructions
            in the order of the plan, others by the model; "always" refuses others, "never" takes the model.
        check: the share of D's tiles by the hardware that the model checks, 0 to 1; at least one per product, unless 0.
        calibration: of calibrate(), where a recipe has static scales or SmoothQuant.
        attention: whose bits scaled_dot_product_attention has: "torch-flash", "torch-efficient", "torch-cudnn", "fa3", "fa4", or
            a recipe of `mmaudit attention families` ("fa3-head"); several with a comma, the first with a plan for a call
            runs it; "products" (None): two products and a softmax. A layer's own `attention` in the plan goes before it, and
            layers that a key keeps are kept. Forward only. docs/attention.md.
    Warns: on leaving, of keys of the plan's layers that decided on no product (`unmatched` has them), and of operators
        that compute products and are not emulated (`coverage` has them).
    Raises: ValueError, in one line, for a plan that names a layer which is not there or an arithmetic that no GPU has;
        RuntimeError, at the latest on leaving, where hardware and model differ: the tile, the element and both bits.
    """
    _checked.module(module)
    if watch is not None and not callable(watch):
        raise refused("watch", f"a {type(watch).__name__}", "a function")
    if attention is not None:
        _checked.of_kind("attention", attention, str, "a str")
        _attention.names_in("attention", attention)
    _checked.of_kind("hardware", hardware, str, listed(SWITCHES))
    if calibration is not None:
        _checked.of_kind("calibration", calibration, Calibration, "what calibrate() returns")
    return Emulation(module, LayerRecipes.of(plan, module), watch, hardware=hardware, check=check, calibration=calibration,
                     attention=attention)
