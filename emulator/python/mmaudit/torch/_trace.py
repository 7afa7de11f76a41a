"""Every operation that torch's dispatcher sees while a module runs, with a hash per row of what goes in and comes out."""
import fnmatch
import time
import weakref
from contextlib import ExitStack, nullcontext
from os import PathLike
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode_stack

from .._refuse import refused
from .._report import now
from . import _checked, _sharded
from ._checked import named_modules, output_file, unchanged
from ._compare import called
from ._dispatch import Mode as _EmulationMode
from ._emulate import Emulation
from ._operator import find_path
from ._seen import Seen
from ._tensors import NUMBERS
from ._trace_file import SCHEMA, TraceFile
from ._trace_gemm import format_name, gemm_of, sample
from ._trace_kernels import Kernels, machine
from ._trace_operators import Facts, facts_of, flags_now, plain, results, tensors_of
from ._trace_tensors import Tensors

_MOST_KEPT = 1 << 20  #: bytes of a tensor whose values are kept whole


_NOTHING = nullcontext()


def _nothing() -> Any:
    return _NOTHING


class _TraceMode(TorchDispatchMode):  # type: ignore[no-untyped-call, unused-ignore]
    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True  # a compiled region runs as it does without the trace

    def __init__(self, owner: "Trace") -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        self.owner = owner

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        if _sharded.among(types):
            return NotImplemented  # the part of this process comes here
        return self.owner.operation(func, args, kwargs or {})


class Trace(Tensors):
    """tracing() returns it; `seconds` and `bytes` are of the finished file, `operations` so many."""

    def __init__(self, module: nn.Module, path: "Union[str, PathLike[str]]", keep: Optional[str] = None,
                 kernels: bool = True) -> None:
        _checked.module(module)
        self.module, self.path = module, output_file("path", path)
        if keep is not None:
            _checked.of_kind("keep", keep, str, "a glob over names of modules, or of module:operator")
        self.keep = keep
        self.operations, self.bytes, self.seconds = 0, 0, 0.0
        self._kernels = Kernels(kernels and torch.cuda.is_available())
        self._exit: Optional[ExitStack] = None

    # ---- in and out --------------------------------------------------------------------------------------------------

    def __enter__(self) -> "Trace":
        if self._exit is not None:
            raise refused("trace", "one that is entered already", "another one", RuntimeError)
        self._file = TraceFile(self.path)
        self._begun = time.perf_counter()
        self._ops: List[Dict[str, Any]] = []
        self._texts: Dict[str, int] = {}
        self._flagsets: List[Dict[str, Any]] = []
        self._calls: List[Dict[str, int]] = []
        self._quiet: Callable[[], Any] = _disable_current_modes if _get_current_dispatch_mode_stack() else _nothing
        self._kept: List[Tuple[str, Tensor]] = []
        self._stack: List[Tuple[str, str]] = []
        self._plan: Optional[Dict[str, Any]] = None
        self._own = False  #: while the trace itself runs operators under its mode
        self._modules = {id(one): (name, type(one).__name__) for name, one in named_modules(self.module)}
        self._begin(self.module)
        self._mode = _TraceMode(self)
        with ExitStack() as stack:
            stack.callback(self._file.close)
            stack.callback(self.module.register_forward_pre_hook(self._called, with_kwargs=True, prepend=True).remove)
            stack.callback(register_module_forward_pre_hook(self._entering).remove)
            stack.callback(register_module_forward_hook(self._leaving, with_kwargs=True, always_call=True).remove)
            for one in _get_current_dispatch_mode_stack():
                if isinstance(one, _EmulationMode):
                    stack.enter_context(_Watched(one.owner, self._emulated))
            stack.enter_context(self._kernels)
            stack.enter_context(self._mode)
            self._exit = stack.pop_all()
        return self

    def __exit__(self, *what: Any) -> None:
        if self._exit is None:
            raise refused("trace", "one that is not entered", "to leave it once", RuntimeError)
        done, self._exit = self._exit, None
        with done:
            if what[0] is None:
                with _disable_current_modes():
                    self._finish()
        if what[0] is None:
            self.operations = len(self._ops)
            self.bytes = self._file.size
            self.seconds = time.perf_counter() - self._begun
        self._known.clear()
        self._of_storage.clear()

    def _finish(self) -> None:
        self._flush()
        self._drain()
        for name, x in self._kept:
            self._keep_now(name, x)
        for number, kernels in self._kernels.found().items():
            self._ops[number]["kernels"] = [{**one, "name": self._texts.setdefault(one["name"], len(self._texts))} for one in kernels]
        self._file.finish({
            "schema": SCHEMA, "made": now(), "machine": machine(), "flags": self._flagsets, "calls": self._calls,
            "texts": list(self._texts), "tensors": self._tensors, "operations": self._ops})

    def _keep_now(self, name: str, x: Tensor) -> None:
        kind = (format_name(x.dtype) or "").upper() or {1: "U8", 2: "U16", 4: "U32", 8: "U64"}[x.element_size()]
        kind = {"E4M3": "F8_E4M3", "E5M2": "F8_E5M2", "S8": "I8", "S32": "I32"}.get(kind, kind)
        raw = x.contiguous().view(torch.uint8 if x.dim() else x.dtype).cpu().numpy().tobytes()
        self._file.add(name, kind, list(x.shape), raw)

    # ---- where we are --------------------------------------------------------------------------------------------------

    def _called(self, module: nn.Module, args: Any, kwargs: Dict[str, Any]) -> None:
        """A call of the whole module: its entries of a batch, and tokens of each."""
        if torch.compiler.is_compiling() or self._mode not in _get_current_dispatch_mode_stack():
            return
        tensors = [one for one in tensors_of((args, kwargs), []) if one.dim()]
        chosen = next((one for one in tensors if not one.is_floating_point()), tensors[0] if tensors else None)
        shape = () if chosen is None else tuple(chosen.shape if not chosen.is_floating_point() else chosen.shape[:-1])
        self._past = self._past + self._tokens if self._calls else 0
        self._batch, self._tokens = (1, shape[0]) if len(shape) == 1 else shape[:2] if len(shape) > 1 else (1, 1)
        self._calls.append({"batch": self._batch, "tokens": self._tokens, "past": self._past})

    def _sees(self, module: nn.Module) -> bool:
        return id(module) in self._modules and not torch.compiler.is_compiling() and \
            self._mode in _get_current_dispatch_mode_stack()

    def _entering(self, module: nn.Module, args: Any) -> None:
        if self._sees(module):
            self._stack.append(self._modules[id(module)])

    def _leaving(self, module: nn.Module, args: Any, *others: Any) -> None:
        """What a module gives: of compiled regions and fused modules it is all that is seen."""
        if not self._stack or not self._sees(module):
            return
        kwargs, output = others if len(others) == 2 else ({}, None)  # the second where the module failed
        self._own = True
        try:
            op: Dict[str, Any] = self._operation("module", tensors_of((args, kwargs), []))
            op["out"] = [self._number(one) for one in tensors_of((output,), [])]
        finally:
            self._own = False
        if "_orig_mod" in module._modules or module.__dict__.get("_compiled_call_impl") is not None:
            op["compiled"] = True
        self._ops.append(op)
        self._stack.pop()

    # ---- operations ------------------------------------------------------------------------------------------------------

    def _emulated(self, seen: Seen) -> None:
        recipe = seen.recipe
        if recipe is None or recipe.attention is not None:  # whose name is an argument of the operator
            return
        path = find_path(recipe.arch, recipe.dtype, recipe.scaling, recipe.policy)
        plan: Dict[str, Any] = {"instruction": path.inst, "output": NUMBERS[seen.d.dtype]}
        if path.promote:
            plan["promote"] = path.promote
        if path.split_k != 1:
            plan["slices"] = path.split_k
        scaled = path.scale is not None or path.factor_per_tensor or path.factor_per_lane or path.factor_block
        self._plan = {"plan": plan, "arch": recipe.arch, "scaling": path.scaling if scaled else ""}

    def _operation(self, name: str, inputs: List[Tensor]) -> Dict[str, Any]:
        layer, kind = self._stack[-1] if self._stack else ("", type(self.module).__name__)
        texts = self._texts
        return {"module": texts.setdefault(layer, len(texts)), "kind": texts.setdefault(kind, len(texts)),
                "operator": texts.setdefault(name, len(texts)), "call": len(self._calls) - 1,
                "in": [self._number(one) for one in inputs]}

    def operation(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        if self._own:
            return func(*args, **kwargs)
        facts = facts_of(func)
        if facts.view:
            out = func(*args, **kwargs)
            base = self._of_storage.get(args[0].untyped_storage()._cdata) if args and isinstance(args[0], Tensor) else None
            if base is not None:
                base.alive.extend(weakref.ref(one) for one in tensors_of((out,), []))
            return out
        inputs = tensors_of(kwargs.values(), tensors_of(args, []))
        named = [*zip(facts.names, args), *kwargs.items()]
        written: List[Tensor] = []
        with self._quiet():
            read = inputs if not facts.unread else tensors_of((one for name, one in named if name not in facts.unread), [])
            op = self._operation(facts.name, read)
            if facts.written:
                written = [one for name, one in named if name in facts.written and isinstance(one, Tensor)]
                if any(one.untyped_storage()._cdata in self._waiting for one in written):
                    self._flush()
        self._plan = None
        with self._kernels.of(len(self._ops)):
            out = func(*args, **kwargs)
        with self._quiet():
            for one in written:
                storage = one.untyped_storage()._cdata
                self._epochs[storage] = self._epochs.get(storage, 0) + 1
            op["out"] = [self._made(one) for one in results(facts, out)]
            arguments = {name: value for name, one in named if one is not None and not isinstance(one, Tensor)
                         and (value := plain(one)) is not None and value != []}
            if arguments:
                op["arguments"] = arguments
            self._describe(op, facts, args, kwargs, inputs, out)
        self._ops.append(op)
        return out

    def _describe(self, op: Dict[str, Any], facts: Facts, args: Any, kwargs: Dict[str, Any], inputs: List[Tensor], out: Any) -> None:
        if facts.by_rows:
            op["by_rows"] = True
        if facts.gemm or facts.attention or not self._flagsets:
            flags = flags_now()
            if not self._flagsets or self._flagsets[-1] != flags:
                self._flagsets.append(flags)
        op["flags"] = len(self._flagsets) - 1
        gemm = gemm_of(facts.func, args, kwargs, out) if facts.gemm else None
        kept = self.keep is not None and self._matches(op)
        number = len(self._ops)
        if gemm is not None:
            scaled = {"scaling": "factors"} if "scaled_mm" in facts.name else {}  # which the problem does not say
            op["gemm"] = {"problem": gemm.problem, **scaled, **(self._plan or {})}
            if kept:
                found = sample(gemm, out, lambda name, x: self._kept.append((f"{number}.{name}", x.detach())))
                if found is not None:
                    op["gemm"].update(found)
        elif kept:
            for at, one in enumerate([*inputs, *results(facts, out)[:1]]):
                if one.numel() * one.element_size() <= _MOST_KEPT:
                    self._kept.append((f"{number}.{'out' if at == len(inputs) else at}", one.detach().clone()))
            op["kept"] = True

    def _matches(self, op: Dict[str, Any]) -> bool:
        texts = list(self._texts)
        layer, name = texts[op["module"]], texts[op["operator"]]
        return fnmatch.fnmatchcase(layer, self.keep or "") or fnmatch.fnmatchcase(f"{layer}:{name}", self.keep or "")


class _Watched:
    """What an emulation does is also told to a trace inside it."""

    def __init__(self, emulation: Emulation, tell: Callable[[Seen], None]) -> None:
        self.emulation, self.tell = emulation, tell

    def __enter__(self) -> None:
        before = self.before = self.emulation._watch

        def both(seen: Seen) -> None:
            self.tell(seen)
            if before is not None:
                before(seen)
        self.emulation._watch = both

    def __exit__(self, *what: Any) -> None:
        self.emulation._watch = self.before


def tracing(module: nn.Module, path: "Union[str, PathLike[str]]", *, keep: Optional[str] = None, kernels: bool = True) -> Trace:
    """A context in which every operation that torch's dispatcher sees goes to a file: docs/trace.md.

    Args:
        module: whose parts give operations their names; each of its calls is a call of the trace.
        path: the file, schema mmaudit.trace/1 in a safetensors file; it is there once the context is left.
        keep: a glob over names of modules, or of "module:operator", whose values are kept: of products some rows and
            columns with all of K, for proofs; of others tensors of up to 1 MiB.
        kernels: on a GPU names of kernels too, by torch's profiler, which must not run elsewhere.
    Raises: ValueError, in one line.
    """
    return Trace(module, path, keep, kernels)


def trace(module: nn.Module, batch: Any, path: "Union[str, PathLike[str]]", keep: Optional[str] = None, *,
          kernels: bool = True, seed: int = 0) -> Trace:
    """Runs a batch, as in compare(), and writes every operation to a file, as tracing() does. Returns: its Trace."""
    found = tracing(module, path, keep=keep, kernels=kernels)
    with unchanged(module, seed), torch.no_grad(), found:
        called(module, batch)
    return found
