"""Every operation that torch's dispatcher sees while a module runs, with a hash per row of what goes in and comes out."""
import fnmatch
import time
import weakref
from contextlib import ExitStack, nullcontext
from os import PathLike
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_leaves

import torch
from torch import Tensor, nn

from .._refuse import refused
from .._report import now
from . import _checked, _sharded
from ._checked import named_modules, output_file, unchanged
from ._compare import called
from ._emulate import Emulation
from ._emulate import _Mode as _EmulationMode
from ._operator import find_path
from ._seen import Seen
from ._tensors import NUMBERS
from ._trace_file import SCHEMA, TraceFile
from ._trace_gemm import format_name, gemm_of, sample
from ._trace_hash import Pending, Rows, cut, hashed, joined
from ._trace_kernels import Kernels, machine
from ._trace_operators import by_rows, flags_now, is_view, name_of, names_of, plain, results, unread, written_by

_MOST_PENDING, _MOST_BYTES = 2048, 2 << 30  #: tensors, and bytes of them, that wait for their hashes
_MOST_ROWS = 1 << 22  #: numbers of rows that wait on a GPU for the disk
_MOST_KEPT = 1 << 20  #: bytes of a tensor whose values are kept whole


class _Known(NamedTuple):
    alive: "weakref.ReferenceType[Tensor]"
    version: int
    epoch: int
    tensor: int  #: its number in the file


class _Storage(NamedTuple):
    """The result of who wrote it last, and what shares it."""

    tensor: int
    alive: List["weakref.ReferenceType[Tensor]"]
    layout: Tuple[Any, ...]  #: of the result, where a reshaped one has the same rows


def _layout(x: Tensor, rows: Optional[Rows]) -> Tuple[Any, ...]:
    """Equal for contiguous tensors of one storage whose rows have the same elements."""
    if rows is None or rows.context or rows.axes not in ((0,), (0, 1)) or not x.is_contiguous():
        return ()
    return x.dtype, x.storage_offset(), x.numel(), rows.batch, rows.tokens


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


class Trace:
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
        self._tensors: List[Dict[str, Any]] = []
        self._texts: Dict[str, int] = {}
        self._flagsets: List[Dict[str, Any]] = []
        self._calls: List[Dict[str, int]] = []
        self._known: Dict[int, _Known] = {}
        self._epochs: Dict[int, int] = {}
        self._of_storage: Dict[int, _Storage] = {}
        self._pending: List[Pending] = []
        self._waiting: Dict[int, int] = {}  #: storages of pending tensors
        self._bytes_pending = self._rows = self._parts = 0
        self._quiet = _disable_current_modes if _get_current_dispatch_mode_stack() else nullcontext
        self._results: List[Tuple[List[Pending], Tensor]] = []
        self._kept: List[Tuple[str, Tensor]] = []
        self._stack: List[Tuple[str, str]] = []
        self._batch, self._tokens, self._past = 1, 0, 0
        self._plan: Optional[Dict[str, Any]] = None
        self._modules = {id(one): (name, type(one).__name__) for name, one in named_modules(self.module)}
        weights = (*self.module.named_parameters(), *self.module.named_buffers())
        self._weights = {one.untyped_storage()._cdata: name for name, one in weights if one.numel()}
        self._weights_seen: Dict[Any, int] = {}
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
            self._ops[number]["kernels"] = [{**one, "name": self._text(one["name"])} for one in kernels]
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
        tensors = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor) and one.dim()]
        chosen = next((one for one in tensors if not one.is_floating_point()), tensors[0] if tensors else None)
        shape = () if chosen is None else tuple(chosen.shape if not chosen.is_floating_point() else chosen.shape[:-1])
        self._past = self._past + self._tokens if self._calls else 0
        self._batch, self._tokens = (1, shape[0]) if len(shape) == 1 else shape[:2] if len(shape) > 1 else (1, 1)
        self._calls.append({"batch": self._batch, "tokens": self._tokens, "past": self._past})

    def _sees(self, module: nn.Module) -> bool:
        return not torch.compiler.is_compiling() and id(module) in self._modules and \
            self._mode in _get_current_dispatch_mode_stack()

    def _entering(self, module: nn.Module, args: Any) -> None:
        if self._sees(module):
            self._stack.append(self._modules[id(module)])

    def _leaving(self, module: nn.Module, args: Any, *others: Any) -> None:
        """What a module gives: of compiled regions and fused modules it is all that is seen."""
        if not self._stack or not self._sees(module):
            return
        kwargs, output = others if len(others) == 2 else ({}, None)  # the second where the module failed
        inputs = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
        outputs = [one for one in tree_leaves(output) if isinstance(one, Tensor)]
        with _disable_current_modes():
            op: Dict[str, Any] = self._operation("module", inputs)
            op["out"] = [self._number(one) for one in outputs]
            if hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None:
                op["compiled"] = True
        self._ops.append(op)
        self._stack.pop()

    def _text(self, text: str) -> int:
        return self._texts.setdefault(text, len(self._texts))

    # ---- operations ------------------------------------------------------------------------------------------------------

    def _emulated(self, seen: Seen) -> None:
        recipe = seen.recipe
        if recipe is None:
            return
        path = find_path(recipe.arch, recipe.dtype, recipe.scaling, recipe.policy)
        plan: Dict[str, Any] = {"instruction": path.inst, "output": NUMBERS[seen.d.dtype]}
        if path.promote:
            plan["promote"] = path.promote
        if path.split_k != 1:
            plan["slices"] = path.split_k
        scaled = path.scale is not None or path.factor_per_tensor or path.factor_per_lane or path.factor_block
        self._plan = {"plan": plan, "arch": recipe.arch, "scaling": path.scaling if scaled else ""}

    def _operation(self, name: str, inputs: List[Tensor], names: Tuple[str, ...] = ()) -> Dict[str, Any]:
        layer, kind = self._stack[-1] if self._stack else ("", type(self.module).__name__)
        return {"module": self._text(layer), "kind": self._text(kind), "operator": self._text(name),
                "call": len(self._calls) - 1, "in": [self._number(one) for one in inputs]}

    def operation(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        inputs = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
        view = is_view(func)
        if view or any(one.is_meta or one.is_sparse or one.is_nested for one in inputs):
            out = func(*args, **kwargs)
            base = self._of_storage.get(inputs[0].untyped_storage()._cdata) if view and inputs else None
            if base is not None:
                base.alive.extend(weakref.ref(one) for one in tree_leaves(out) if isinstance(one, Tensor))
            return out
        with self._quiet():
            named = [*zip(names_of(func), args), *kwargs.items()] if names_of(func) else [("", (args, kwargs))]
            read = tree_leaves([one for name, one in named if name not in unread(func)])
            op = self._operation(name_of(func), [one for one in read if isinstance(one, Tensor)])
            written = [one for name, one in named if name in written_by(func) and isinstance(one, Tensor)]
            for one in written:
                if one.untyped_storage()._cdata in self._waiting:
                    self._flush()
        self._plan = None
        with self._kernels.of(len(self._ops)):
            out = func(*args, **kwargs)
        with self._quiet():
            for one in written:
                storage = one.untyped_storage()._cdata
                self._epochs[storage] = self._epochs.get(storage, 0) + 1
            op["out"] = [self._number(one, made=len(self._ops)) for one in results(func, out)]
            self._describe(op, func, args, kwargs, out)
        self._ops.append(op)
        return out

    def _describe(self, op: Dict[str, Any], func: Any, args: Any, kwargs: Dict[str, Any], out: Any) -> None:
        arguments = {name: plain(one) for name, one in (*zip(names_of(func), args), *kwargs.items()) if not isinstance(one, Tensor)}
        arguments = {name: one for name, one in arguments.items() if one is not None and one != []}
        if arguments:
            op["arguments"] = arguments
        if by_rows(func):
            op["by_rows"] = True
        gemm = gemm_of(func, args, kwargs, out)
        flags = flags_now() if gemm is not None or not self._flagsets or "attention" in name_of(func) else self._flagsets[-1]
        if not self._flagsets or self._flagsets[-1] != flags:
            self._flagsets.append(flags)
        op["flags"] = len(self._flagsets) - 1
        kept = self.keep is not None and self._matches(op)
        number = len(self._ops)
        if gemm is not None:
            scaled = {"scaling": "factors"} if "scaled_mm" in name_of(func) else {}  # which the problem does not say
            op["gemm"] = {"problem": gemm.problem, **scaled, **(self._plan or {})}
            if kept:
                found = sample(gemm, out, lambda name, x: self._kept.append((f"{number}.{name}", x.detach())))
                if found is not None:
                    op["gemm"].update(found)
        elif kept:
            for at, one in enumerate([*(x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)), out]):
                if isinstance(one, Tensor) and one.numel() * one.element_size() <= _MOST_KEPT:
                    self._kept.append((f"{number}.{'out' if one is out else at}", one.detach().clone()))
            op["kept"] = True

    def _matches(self, op: Dict[str, Any]) -> bool:
        texts = list(self._texts)
        layer, name = texts[op["module"]], texts[op["operator"]]
        return fnmatch.fnmatchcase(layer, self.keep or "") or fnmatch.fnmatchcase(f"{layer}:{name}", self.keep or "")

    # ---- tensors ---------------------------------------------------------------------------------------------------------

    def _number(self, x: Tensor, made: Optional[int] = None) -> int:
        """The number of a tensor in the file, which is hashed where it has not been."""
        storage = x.untyped_storage()._cdata
        version, epoch = 0 if x.is_inference() else x._version, self._epochs.get(storage, 0)
        known = self._known.get(id(x))
        if made is None and known is not None and known.alive() is x and (known.version, known.epoch) == (version, epoch):
            return known.tensor
        of_weight = self._weights.get(storage) if made is None else None
        key = None if of_weight is None else (storage, x.storage_offset(), x.shape, x.stride(), version, epoch)
        if key in self._weights_seen:
            return self._weights_seen[key]
        hashes, rows = cut(x.detach(), *((self._batch, self._tokens, self._past + self._tokens) if of_weight is None else (0, 0, 0)))
        base = self._of_storage.get(storage)
        based = base is not None and any(ref() is not None for ref in base.alive)
        if made is None and base is not None and based and base.layout and base.layout == _layout(x, rows):
            self._known[id(x)] = _Known(weakref.ref(x), version, epoch, base.tensor)
            return base.tensor
        number = len(self._tensors)
        one: Dict[str, Any] = {"shape": list(x.shape), "dtype": str(x.dtype)[6:]}
        if not x.is_contiguous():
            one["stride"] = list(x.stride())
        if made is not None:
            one["made"] = made
        elif of_weight is not None:
            one["name"] = of_weight
            self._weights_seen[key] = number
        elif base is not None and based:
            one["of"] = base.tensor
        if x.numel():
            pending = Pending(hashes, rows, number)
            if rows is not None:
                one["batch"], one["tokens"] = rows.batch, rows.tokens
                if rows.context:
                    one["context"] = True
            self._pending.append(pending)
            self._waiting[storage] = self._waiting.get(storage, 0) + 1
            self._bytes_pending += 0 if of_weight is not None else x.numel() * x.element_size()
        self._tensors.append(one)
        self._known[id(x)] = _Known(weakref.ref(x), version, epoch, number)
        if made is not None or not based:
            self._of_storage[storage] = _Storage(number, [weakref.ref(x)], _layout(x, rows))
        if len(self._pending) >= _MOST_PENDING or self._bytes_pending >= _MOST_BYTES:
            self._flush()
        return number

    def _flush(self) -> None:
        if self._pending:
            self._results.extend(hashed(self._pending))
        self._pending, self._bytes_pending = [], 0
        self._waiting.clear()
        if sum(rows.numel() for _, rows in self._results) > _MOST_ROWS:
            self._drain()

    def _drain(self) -> None:
        """Rows go to the file; a tensor without rows of tokens has one hash."""
        for pending, rows in self._results:
            raw, at, kept = rows.cpu().numpy(), 0, []
            for one in pending:
                of, count = raw[at:at + one.length], one.length
                at += count
                record = self._tensors[one.tensor]
                if one.rows is None:
                    record["hash"] = joined(of[:, 0], one.turned)
                else:
                    record["at"] = self._rows
                    self._rows += count
                    kept.append(of)
            if kept:
                part = np.ascontiguousarray(np.concatenate(kept))
                self._file.add(f"rows.{self._parts}", "I64", list(part.shape), part.tobytes())
                self._parts += 1
        self._results = []


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
