"""Every operation that torch's dispatcher sees while a module runs, with a hash per row of what goes in and comes out."""
import fnmatch
import gc
import time
import warnings
from contextlib import ExitStack, nullcontext
from os import PathLike
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor, nn
from torch._C._dynamo import eval_frame as _eval_frame
from torch.nn.modules import module as _hooks
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
from ._trace_diff import TraceDiff
from ._trace_file import SCHEMA, TraceFile, as_json
from ._trace_gemm import format_name, gemm_of, problem_of, row_sample, sample
from ._trace_kernels import Kernels, machine
from ._trace_operators import FACTS, PLAIN, Facts, facts_of, flags_now, flags_said, plain, results, tensors_of
from ._trace_tensors import Tensors

#: Bytes of a tensor whose values are kept whole: by a glob, and of operations that a diff has chosen.
_MOST_KEPT, _MOST_CHOSEN = 1 << 20, 1 << 26
_MOST_RAN = 64  #: operations that wait to be recorded
_MOST_OBJECTS = 100_000  #: that Python makes between two searches for cycles: what a trace records stays, and has none
Keep = Union[str, Sequence[str], TraceDiff]
_depth, _mode_at = torch._C._len_torch_dispatch_stack, torch._C._get_dispatch_stack_at
#: What compiles frames in this thread; one that is set must not see the trace's own.
_compiler: Any = getattr(_eval_frame, "get_eval_frame_callback", lambda: True)


class _TraceMode(TorchDispatchMode):  # type: ignore[no-untyped-call, unused-ignore]
    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        return True  # a compiled region runs as it does without the trace

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # below it is, but only where a compiler is at work: torch's way takes time in each call

    def __init__(self, owner: "Trace") -> None:
        super().__init__()  # type: ignore[no-untyped-call, unused-ignore]
        from torch import _dynamo  # which takes a second
        _dynamo.decorators.skip(_TraceMode.__torch_dispatch__)
        self.operation = owner.operation
        self.apart = _dynamo.disable(owner.operation)  # type: ignore[no-untyped-call, unused-ignore]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        if types and _sharded.among(types):
            return NotImplemented  # the part of this process comes here
        return (self.operation if _compiler() is None else self.apart)(func, args, kwargs or {})


class Trace(Tensors):
    """tracing() returns it; `seconds` and `bytes` are of the finished file, `operations` so many."""

    def __init__(self, module: nn.Module, path: "Union[str, PathLike[str]]", keep: Optional[Keep] = None,
                 kernels: bool = True) -> None:
        _checked.module(module)
        if isinstance(module, torch.jit._script.RecursiveScriptModule):
            raise refused("module", "one of torch.jit.script()", "one that takes hooks")
        self.module, self.path = module, output_file("path", path)
        globs: Any = keep.keep if isinstance(keep, TraceDiff) else () if keep is None else keep
        globs = globs if isinstance(globs, (list, tuple)) else [globs]
        for one in globs:
            _checked.of_kind("keep", one, str, "a glob over names of modules, or of module:operator")
        self.keep: List[str] = list(globs)
        self._chosen = keep._tokens if isinstance(keep, TraceDiff) else {}
        self._unmatched = dict.fromkeys(self.keep if not isinstance(keep, TraceDiff) else ())  # which names both sides
        self._most_kept = _MOST_KEPT if isinstance(keep, str) else _MOST_CHOSEN
        self.operations, self.bytes, self.seconds = 0, 0, 0.0
        self._kernels = Kernels(kernels and torch.cuda.is_available())
        self._exit: Optional[ExitStack] = None

    # ---- in and out --------------------------------------------------------------------------------------------------

    def __enter__(self) -> "Trace":
        if self._exit is not None:
            raise refused("trace", "one that is entered already", "another one", RuntimeError)
        self._file = TraceFile(self.path)
        self._begun = time.perf_counter()
        self._ops: List[Tuple[Any, ...]] = []  #: as _json() takes them
        self._more: Dict[int, Dict[str, Any]] = {}  #: what few operations have, by number
        self._texts: Dict[str, int] = {}
        self._flagsets: List[Tuple[Any, ...]] = []
        self._calls: List[Dict[str, int]] = []
        self._last: Optional[Tensor] = None  #: tokens of the last call
        self._others = bool(_get_current_dispatch_mode_stack())  #: modes that must not see what the trace computes
        self._kept: List[Tuple[str, Tensor]] = []
        self._matched: Dict[Tuple[int, int], bool] = {}
        self._gemms: Dict[Any, Optional[Dict[str, Any]]] = {}
        self._outside = self._place("", type(self.module).__name__)
        self._stack: List[Tuple[str, int, int]] = []
        self._plan: Optional[Dict[str, Any]] = None
        self._ran: List[Tuple[Any, ...]] = []  #: as _catch_up() takes them
        self._asked: Dict[bool, List[Any]] = {}  #: what products' and attention's flags were
        self._module = self._texts.setdefault("module", len(self._texts))
        every = list(named_modules(self.module))
        self._modules = {id(one): self._place(name, type(one).__name__) for name, one in every}
        # A module that compile() compiled in place has no hooks: the one around it is judged.
        regions = [name for name, one in every if one.__dict__.get("_compiled_call_impl") is not None]
        self._compiled = {id(one) for name, one in every if "_orig_mod" in one._modules or any(
            each == name or each.startswith(f"{name}." if name else "") for each in regions)}
        self._begin(self.module)
        self._mode = _TraceMode(self)
        with ExitStack() as stack:
            stack.callback(self._file.close)
            stack.callback(gc.set_threshold, *gc.get_threshold())
            if gc.get_threshold()[0]:
                gc.set_threshold(_MOST_OBJECTS, *gc.get_threshold()[1:])
            stack.callback(self.module.register_forward_pre_hook(self._called, with_kwargs=True, prepend=True).remove)
            stack.callback(register_module_forward_pre_hook(self._entering).remove)
            leaving = register_module_forward_hook(self._leaving, with_kwargs=True, always_call=True)
            stack.callback(_hooks._global_forward_hooks_with_kwargs.pop, leaving.id, None)  # which remove() forgets
            stack.callback(leaving.remove)
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
            if not self.operations or not self._calls:
                what_lacks = "call of the module" if self.operations else "operation"
                warnings.warn(f"trace: found no {what_lacks} for {self.path}: the thread that enters has to run them, and a whole module "
                              "that compile() compiled in place shows no call", stacklevel=2)
            for one in self._unmatched:
                warnings.warn(f"keep: found {one}, which no module and no module:operator of the run matches", stacklevel=2)
        for held in (self._ran, self._pending, self._held, self._storages):
            held.clear()

    def _place(self, name: str, kind: str) -> Tuple[str, int, int]:
        texts = self._texts
        return name, texts.setdefault(name, len(texts)), texts.setdefault(kind, len(texts))

    def _finish(self) -> None:
        self._catch_up()
        self._flush()
        on_gpu = any(rows.is_cuda for _, rows in self._results)
        self._drain()
        for name, x in self._kept:
            self._keep_now(name, x)
        for number, kernels in self._kernels.found(on_gpu).items():
            self._more.setdefault(number, {})["kernels"] = [
                {**one, "name": self._texts.setdefault(one["name"], len(self._texts))} for one in kernels]
        said: Dict[str, str] = {}
        self._file.finish({
            "schema": SCHEMA, "made": now(), "machine": machine(), "flags": [flags_said(one) for one in self._flagsets],
            "calls": self._calls, "texts": list(self._texts)},
            {"tensors": self._described(), "operations": [self._json(said, number, *one) for number, one in enumerate(self._ops)]})

    def _json(self, said: Dict[str, str], number: int, place: Tuple[str, int, int], name: int, call: int, read: List[int],
              made: List[int], arguments: List[Tuple[str, Any]], by_rows: bool, flags: int) -> str:
        """`said`: arguments that had their text before; most operations run in every layer."""
        out = f'{{"module":{place[1]},"kind":{place[2]},"operator":{name},"call":{call},"in":{read},"out":{made}'
        if arguments:
            key = repr(arguments)
            text = said.get(key)
            if text is None:
                found = {name: value for name, one in arguments if (value := plain(one)) is not None and value != []}
                text = said[key] = f',"arguments":{as_json(found)}' if found else ""
            out += text
        if by_rows:
            out += ',"by_rows":true'
        if flags >= 0:
            out += f',"flags":{flags}'
        more = self._more.get(number)
        return out + ("}" if more is None else f",{as_json(more)[1:]}")

    def _keep_now(self, name: str, x: Tensor) -> None:
        kind = (format_name(x.dtype) or "").upper() or {1: "U8", 2: "U16", 4: "U32", 8: "U64"}[x.element_size()]
        kind = {"E4M3": "F8_E4M3", "E5M2": "F8_E5M2", "S8": "I8", "S32": "I32"}.get(kind, kind)
        raw = x.contiguous().reshape(-1).view(torch.uint8).cpu().numpy()
        self._file.add(name, kind, list(x.shape), raw)

    # ---- where we are --------------------------------------------------------------------------------------------------

    def _called(self, module: nn.Module, args: Any, kwargs: Dict[str, Any]) -> None:
        """A call of the whole module: its entries of a batch, and tokens of each."""
        if torch.compiler.is_compiling() or self._mode not in _get_current_dispatch_mode_stack():
            return
        with _disable_current_modes():
            self._catch_up()
        self._asked.clear()
        tensors = [one for one in tensors_of((args, kwargs), []) if not one.is_nested and one.dim()]
        chosen = next((one for one in tensors if not one.is_floating_point()), tensors[0] if tensors else None)
        shape = () if chosen is None else tuple(chosen.shape if not chosen.is_floating_point() else chosen.shape[:-1])
        again = chosen is not None and not chosen.is_floating_point() and self._again(chosen, shape)
        self._past = self._past + self._tokens if self._calls and not again else 0
        self._batch, self._tokens = (1, shape[0]) if len(shape) == 1 else shape[:2] if len(shape) > 1 else (1, 1)
        self._calls.append({"batch": self._batch, "tokens": self._tokens, "past": self._past})

    def _again(self, tokens: Tensor, shape: Tuple[int, ...]) -> bool:
        """Whether a call has all tokens of the one before and more, as generate() without a cache. Tokens are an input of
        the module, whatever made them outside."""
        with _disable_current_modes():
            before, self._last = self._last, tokens.detach().clone()
            self._forget(tokens)
            return before is not None and not self._past and before.device == tokens.device and before.dim() == tokens.dim() and \
                before.shape[:-1] == shape[:-1] and before.shape[-1] < shape[-1] and \
                torch.equal(before, tokens[..., :before.shape[-1]])

    def _sees(self) -> bool:
        """Whether this thread is traced now."""
        top = _depth()
        return top > 0 and (_mode_at(top - 1) is self._mode or self._mode in _get_current_dispatch_mode_stack())

    def _entering(self, module: nn.Module, args: Any) -> None:
        place = self._modules.get(id(module))
        if place is not None and not torch.compiler.is_compiling() and self._sees():
            self._stack.append(place)

    def _leaving(self, module: nn.Module, args: Any, *others: Any) -> None:
        """What a module gives: of compiled regions and fused modules it is all that is seen."""
        if not self._stack or id(module) not in self._modules or torch.compiler.is_compiling() or not self._sees():
            return
        kwargs, output = others if len(others) == 2 else ({}, None)  # the second where the module failed
        self._ran.append((None, tensors_of((args, kwargs), []), None, tensors_of((output,), []), self._stack.pop(), -1, None,
                          id(module) in self._compiled))

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

    def operation(self, func: Any, args: Any, kwargs: Dict[str, Any]) -> Any:
        facts = FACTS.get(id(func)) or facts_of(func)
        if facts.apart is not None and not any(one.is_nested for one in tensors_of((args, kwargs), [])):
            with self._mode:  # its operators come here, as they do without inference_mode()
                return facts.apart(*args, **kwargs)
        if facts.view:
            return facts.run(*args, **kwargs)
        if facts.flags or not self._flagsets:
            asked = [one() for one in facts.flags]
            if asked != self._asked.get(facts.attention):
                self._asked[facts.attention] = asked
                flags = flags_now()
                if not self._flagsets or self._flagsets[-1] != flags:
                    self._flagsets.append(flags)
        before = None
        if facts.written:
            self._catch_up()
            with _disable_current_modes() if self._others else nullcontext():
                before = self._before(facts, args, kwargs)
        self._plan, begin = None, time.perf_counter_ns()
        out = facts.run(*args, **kwargs)
        ran = self._ran
        if self._kernels.on:
            self._kernels.ran.append((begin, time.perf_counter_ns(), len(self._ops) + len(ran)))
        place = self._stack[-1] if self._stack else self._outside
        ran.append((facts, args, kwargs, out, place, len(self._flagsets) - 1, before, self._plan))
        if before is not None or len(ran) >= _MOST_RAN:
            self._catch_up()
        return out

    def _catch_up(self) -> None:
        """Records what ran. Many operations at once take less time each: the code stays in the caches."""
        ran, self._ran = self._ran, []
        with _disable_current_modes() if self._others else nullcontext():
            for facts, args, kwargs, out, place, flags, before, more in ran:
                if facts is not None:
                    read, arguments = before or self._before(facts, args, kwargs)
                    self._after(facts, args, kwargs, out, read, arguments, place, flags, more)
                    continue
                if more:
                    self._more[len(self._ops)] = {"compiled": True}
                read, made = [self._number(one) for one in args], [self._number(one) for one in out]
                self._ops.append((place, self._module, len(self._calls) - 1, read, made, (), False, flags))

    def _before(self, facts: Facts, args: Any, kwargs: Dict[str, Any]) -> Tuple[List[int], List[Tuple[str, Any]]]:
        """Numbers of the tensors that an operation reads, and its other arguments."""
        read: List[int] = []
        arguments: List[Tuple[str, Any]] = []
        unread, held = facts.unread, self._held
        named = zip(facts.names, args) if not kwargs else (*zip(facts.names, args), *kwargs.items())
        for name, one in named:
            if type(one) is Tensor and not unread:
                seen = held.get(id(one))
                read.append(self._number(one) if seen is None or seen[1] != (0 if one.is_inference() else one._version) else seen[2])
            elif type(one) in PLAIN:
                arguments.append((name, one))
            elif isinstance(one, Tensor):
                if name not in unread:
                    read.append(self._number(one))
            elif isinstance(one, (list, tuple, dict)):
                tensors = tensors_of((one,), [])
                read += [self._number(each) for each in tensors] if name not in unread else []
                if not tensors:
                    arguments.append((name, one))
            elif isinstance(one, torch.ScriptObject):  # packed weights
                read.append(self._unhashed("opaque"))
            elif one is not None:
                arguments.append((name, one))
        if facts.written:
            for name, one in (*zip(facts.names, args), *kwargs.items()):
                if name in facts.written:
                    for each in tensors_of((one,), []):
                        self._writes(each)
        return read, arguments

    def _after(self, facts: Facts, args: Any, kwargs: Dict[str, Any], out: Any, read: List[int], arguments: List[Tuple[str, Any]],
               place: Tuple[str, int, int], flags: int, plan: Optional[Dict[str, Any]]) -> None:
        number, texts = len(self._ops), self._texts
        made = [self._made(out, number)] if type(out) is Tensor and not facts.empty else [
            self._made(one, number) for one in results(facts, out)]
        name = texts.setdefault(facts.name, len(texts))
        if facts.gemm:
            problem = problem_of(self._gemms, facts.func, args, kwargs, out, flags)
            if problem is not None:
                scaled = {"scaling": "factors"} if "scaled_mm" in facts.name else {}  # which the problem does not say
                self._more[number] = {"gemm": {"problem": problem, **scaled, **(plan or {})}}
        if self.keep and self._matches(place, name, facts.name):
            self._keep(number, facts, args, kwargs, out, place[0])
        self._ops.append((place, name, len(self._calls) - 1, read, made, arguments, facts.by_rows, flags))

    def _keep(self, number: int, facts: Facts, args: Any, kwargs: Dict[str, Any], out: Any, layer: str) -> None:
        def keep(name: str, x: Tensor) -> None:
            if x.numel():
                self._kept.append((f"{number}.{name}", x.detach()))
        gemm = gemm_of(facts.func, args, kwargs, out) if facts.gemm else None
        if gemm is not None:
            rows: List[int] = []
            if gemm.problem["m"] == self._batch * self._tokens and gemm.b.dim() == 2:  # else rows are not tokens
                rows = sorted({entry * self._tokens + position - self._past
                               for entry, position in self._chosen.get(f"{layer}:{facts.name}", ())
                               if entry < self._batch and 0 <= position - self._past < self._tokens})
            self._more[number]["gemm"].update(sample(gemm, out, keep, rows))
            if gemm.b.dim() == 2 and gemm.b.shape[0] == gemm.b.shape[1] and gemm.b.untyped_storage()._cdata in self._storages:
                self._turn(gemm.b)
            return
        inputs, first = tensors_of(kwargs.values(), tensors_of(args, [])), results(facts, out)[:1]
        if not (facts.reduction and first and row_sample(inputs, first[0], keep)):
            for at, one in enumerate([*inputs, *first]):
                dense = one.layout == torch.strided and not (one.is_meta or one.is_quantized or one.is_nested or one.is_complex())
                if dense and one.numel() * one.element_size() <= self._most_kept:
                    keep("out" if at == len(inputs) else str(at), one.clone())
        self._more.setdefault(number, {})["kept"] = True

    def _matches(self, place: Tuple[str, int, int], number: int, name: str) -> bool:
        key = place[1], number
        found = self._matched.get(key)
        if found is None:
            layer = place[0]
            hits = [one for one in self.keep if fnmatch.fnmatchcase(layer, one) or fnmatch.fnmatchcase(f"{layer}:{name}", one)]
            found = self._matched[key] = bool(hits)
            for one in hits:
                self._unmatched.pop(one, None)
        return found


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


def tracing(module: nn.Module, path: "Union[str, PathLike[str]]", *, keep: Optional[Keep] = None, kernels: bool = True) -> Trace:
    """A context in which every operation that torch's dispatcher sees goes to a file: docs/trace.md.

    Args:
        module: whose parts give operations their names; each of its calls is a call of the trace.
        path: the file, schema mmaudit.trace/1 in a safetensors file; it is there once the context is left.
        keep: a glob over names of modules, or of "module:operator", whose values are kept, for proofs: of products some
            rows and columns with all of K, of reductions some rows, of others tensors of up to 1 MiB. Or several globs,
            or the TraceDiff of two traces before, whose first operation of each cause is then kept, up to 64 MiB per
            tensor.
        kernels: on a GPU names of kernels too, by torch's profiler, which must not run elsewhere.
    Raises: ValueError, in one line.
    """
    return Trace(module, path, keep, kernels)


def trace(module: nn.Module, batch: Any, path: "Union[str, PathLike[str]]", keep: Optional[Keep] = None, *,
          kernels: bool = True, seed: int = 0) -> Trace:
    """Runs a batch, as in compare(), and writes every operation to a file, as tracing() does. Returns: its Trace."""
    found = tracing(module, path, keep=keep, kernels=kernels)
    with unchanged(module, seed), torch.no_grad(), found:
        called(module, batch)
    return found
