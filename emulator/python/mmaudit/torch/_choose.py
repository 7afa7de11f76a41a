"""From a module and batches to the cheapest plan that a measurement admits."""
import sys
import time
from contextlib import contextmanager, nullcontext
from fnmatch import fnmatchcase
from glob import escape
from math import isclose
from os import PathLike
from pathlib import Path
from re import compile
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

import torch
from torch import Tensor, nn

from .. import _report, _tool
from .._audit import Names
from .._refuse import refused
from . import _attention, _checked
from ._cached import Blocks, Products
from ._calibrate import Calibration
from ._capture import capture, product_layer
from ._checked import named_modules, unchanged
from ._choose_report import Chosen
from ._compare import NO_PRODUCTS, logits_of
from ._cost import Candidate, Costs, Layer, architectures_of, names_of
from ._coverage import KEPT, Coverage
from ._emulate import Emulation, Seen
from ._export import fused_groups, fused_of, offered, types_of
from ._limits import Batch, Limit, Loss, Metric, batches_of, first_call, limit_of
from ._recipes import LayerRecipes, Plan, Recipe
from ._search import Measured, Search
from ._tighten import Try


class _ByName(LayerRecipes):
    """Recipes by exact names of layers; the others are kept."""

    def __init__(self, by_name: Mapping[str, Candidate]) -> None:
        super().__init__()
        self.by_name = {name: one.recipe for name, one in by_name.items()}

    @property
    def attends(self) -> bool:
        return any(one is not None and one.attention for one in self.by_name.values())

    def choice_by(self, name: str, kind: str) -> Tuple[bool, Optional[Recipe], Optional[str]]:
        return True, self.by_name.get(name), None


class _Progress:
    """One line on standard error; where that is no terminal, only if asked, a line every few seconds."""

    def __init__(self, given: Optional[bool]) -> None:
        self._terminal = sys.stderr.isatty()
        self._on, self._start = self._terminal if given is None else given, time.monotonic()
        self._last = 0.0 if self._terminal else self._start  # a terminal shows the first run at once

    def __call__(self, text: str) -> None:
        now = time.monotonic()
        if self._on and now - self._last > (0.1 if self._terminal else 5):
            self._last = now
            line = f"choose_plan: {text}, {now - self._start:.0f} s"
            sys.stderr.write(f"\r{line[:118]}\x1b[K" if self._terminal else line + "\n")
            sys.stderr.flush()

    def close(self) -> None:
        if self._on and self._terminal:
            sys.stderr.write("\r\x1b[K")


class Runner:
    """The batches through the module: as it is, which says what its layers multiply, and under plans."""

    def __init__(self, module: nn.Module, batches: Sequence[Batch], limit: Limit, seed: int, calibrates: bool = False,
                 attention: Sequence[str] = ()) -> None:
        self.module, self.batches, self.limit, self.seed = module, batches, limit, seed
        self.layers: Dict[str, Layer] = {}
        self.kinds: Dict[str, str] = {}
        self.coverage: Optional[Coverage] = None  #: of the batch of which most is missed
        self.runs, self.remembers = 0, True  #: whether anything is taken from runs before
        self.products = Products()
        self.blocks: Optional[Blocks] = None
        self.calibration = Calibration()
        self.noted: Set[str] = set()  #: candidates whose own errors this search knows
        self._calibrates, self._attention = calibrates, attention
        self.not_taken: Dict[Tuple[str, str], str] = {}  #: by layer and kernel of attention: why
        self._exact = [self._as_it_is(number, batch) for number, batch in enumerate(batches)]
        if not self.layers:
            raise ValueError(NO_PRODUCTS)
        order = {name: at for at, (name, _) in enumerate(named_modules(module))}
        self.layers = dict(sorted(self.layers.items(), key=lambda pair: order.get(pair[0], 0)))
        self._norms: List[Tuple[float, Tensor]] = []  #: of the outputs: Frobenius, and the mean square of a row
        for number, one in enumerate(self._exact):
            y = _rows(one)
            norm = float(y.norm()) if y.numel() else 0.0
            if not 0 < norm < float("inf"):
                raise refused(f"batch {number}", f"an output of norm {norm}", "one of finite numbers, not all 0")
            self._norms.append((norm, y.square().sum(1).mean()))
        self.blocks = Blocks(module, self.layers, self.products.digest) if limit.metric is None else None  # which may copy it
        self.metric = self._metric(LayerRecipes()) if limit.metric is not None else None
        if self.metric is not None and self.metric != self.metric:
            raise refused("metric", "NaN of the module as it is", "a number")
        if self.metric is not None and limit.least and not limit.within(self.metric):
            raise refused(limit.field, f"{limit.bound:g} where the module as it is has {self.metric:g}", f"up to {self.metric:g}")

    @contextmanager
    def _under(self, plan: LayerRecipes, watch: Any = None) -> Iterator[Emulation]:
        known = self.blocks if self.remembers and watch is None else None
        again = known.on(plan.by_name) if known is not None and isinstance(plan, _ByName) else None
        with unchanged(self.module, self.seed), torch.no_grad(), Emulation(
                self.module, plan, watch, tell=False, calibration=self.calibration) as emulation, again or nullcontext():
            emulation.cache = self.products.of(self.module) if self.remembers else None
            yield emulation

    def _as_it_is(self, number: int, batch: Batch) -> Any:
        weights: Dict[str, Dict[Tuple[int, int], int]] = {}

        def note(seen: Seen) -> None:
            name, b = seen.site.layer, seen.b
            if seen.a.is_meta or b.is_meta:
                raise refused("module", "operands on the device meta", "operands with numbers")
            weights.setdefault(name, {})
            for one in (seen.a, b):
                if one in emulation._parameters:
                    weights[name][one.data_ptr(), one.numel()] = one.element_size()
            self.kinds.setdefault(name, seen.site.kind)
            whole = "_scaled" not in seen.op and self.layers.get(name, _NONE).may_change
            rows = {*self.layers.get(name, _NONE).rows, *([b.shape[-2]] if seen.weight else [])}
            self.layers[name] = Layer(0, (), seen.a.dtype, whole, tuple(sorted(rows)))
            if self._calibrates:
                self.calibration.see(seen)

        def attended(name: str, call: Optional[_attention.Call], why: str) -> None:
            attentions[name] = attentions.get(name, 0) + (0 if call is None else call.multiply_adds)
            types[name] = torch.float32 if call is None else call.q.dtype
            for kernel in self._attention:
                try:
                    if call is None:
                        raise ValueError(why)
                    _attention.chosen(name, kernel, call)
                except ValueError as error:
                    self.not_taken.setdefault((name, kernel), str(error))

        attentions: Dict[str, int] = {}
        types: Dict[str, torch.dtype] = {}
        before = dict(self.layers)
        with self._under(LayerRecipes(), note) as emulation, _attention.recorder(lambda: emulation.here().layer, attended):
            found = first_call(self.module, batch, number)
        own = dict(named_modules(self.module))
        for name, mine in weights.items():
            if not mine:  # of convolutions, whose operands are made of them
                mine.update({(one.data_ptr(), one.numel()): one.element_size() for one in own[name].parameters(recurse=False)
                             if one.dim() > 1})
            count = sum(one.multiply_adds for one in emulation.coverage.rows if one.layer == name and one.state == KEPT)
            alone = attentions.get(name) == count
            attends = tuple(one for one in self._attention if (name, one) not in self.not_taken) if (
                self._attention and alone and (name not in before or before[name].attends is not None)) else None
            known, sizes = before.get(name, _NONE), tuple((size, each) for (_, size), each in mine.items())
            self.layers[name] = self.layers[name]._replace(
                multiplications=known.multiplications + count, weights=max(known.weights, sizes, key=len), attends=attends,
                dtype=types[name] if alone else self.layers[name].dtype)  # torch's two products of a BF16 attention are of FP32
        if self.coverage is None or emulation.coverage.share_missed > self.coverage.share_missed:
            self.coverage = emulation.coverage
        return found

    def _metric(self, plan: LayerRecipes) -> float:
        assert self.limit.metric is not None
        with self._under(plan):
            return _checked.number("metric", self.limit.metric(self.module))

    def alone(self, by_name: Mapping[str, Candidate]) -> float:
        """Relative error of the first batch's output."""
        with self._under(_ByName(by_name)):
            found = self.module(*self.batches[0].arguments, **self.batches[0].keywords)
        self.runs += 1
        return float((_rows(found) - _rows(self._exact[0])).norm()) / self._norms[0][0]

    def repeats(self, by_name: Mapping[str, Candidate], found: Measured, last: Mapping[str, Candidate]) -> bool:
        """Whether the plan, and one that changes the `last` layer alone and takes what it can from memory, come out the same
        where nothing is taken from runs before. If not, nothing is from here on: a part has effects beyond its result."""
        if not self.remembers:
            return True
        alone = self.alone(last)
        self.remembers = False
        self.remembers = isclose(self.measure(by_name).value, found.value, rel_tol=1e-6) and (
            isclose(self.alone(last), alone, rel_tol=1e-6))
        return self.remembers

    def measure(self, by_name: Mapping[str, Candidate]) -> Measured:
        plan, kept = _ByName(by_name), all(one.recipe is None for one in by_name.values())
        new = {one.name for one in by_name.values() if one.recipe is not None} - self.noted
        alike = bool(new) and len({one.plain for one in by_name.values()} - {None}) == 1  # one type, and what can't take it
        self.noted |= new if alike else set()
        values: List[float] = []
        errors: List[float] = []
        rows: List[Tensor] = []
        own: Dict[str, List[float]] = {}

        def note(seen: Seen) -> None:
            if seen.recipe is not None:
                exact = torch.matmul(seen.a.double(), seen.b.double())
                pair = own.setdefault(seen.site.layer, [0.0, 0.0])
                pair[0] += float((seen.d.double() - exact).square().sum())
                pair[1] += float(exact.square().sum())

        for number, (batch, exact, (norm, square)) in enumerate(zip(self.batches, self._exact, self._norms)):
            with self._under(plan, note if number == 0 and alike else None):
                output = self.module(*batch.arguments, **batch.keywords)
                if self.limit.metric is None and self.limit.field != "max_output_error":
                    values.append(self.limit.value(output, exact, batch.whole))
            self.runs += 1
            difference = _rows(output) - _rows(exact)
            errors.append(float(difference.norm()) / norm)
            rows.append(difference.square().sum(1) / square)
        if self.limit.field == "max_output_error":
            values = errors
        if self.metric is not None:
            found = self._metric(plan)
            values = [found if self.limit.least else self.metric - found]
        worst, mean = self.limit.worst(values), sum(values) / len(values)
        value, other = (mean, worst) if self.limit.mean else (worst, mean)
        error = next((one for one in errors if one != one), max(errors))
        within = self.limit.within(value) and error == error  # a metric may not see NaN
        if kept and not within:
            raise refused("module", f"{self.limit.title.lower()} of {self.limit.shown(value)} between two runs of it as it is",
                          "one that repeats itself, with numbers that are finite")
        return Measured(value, other, within, error, torch.cat(rows),
                        {name: (error / norm)**0.5 if norm else 0.0 for name, (error, norm) in own.items()})


def _rows(output: Any) -> Tensor:
    """The numbers of an output in binary64, two axes."""
    found = logits_of(output).double()
    return found.reshape(-1, found.shape[-1]) if found.dim() > 1 else found.reshape(-1, 1)


_NONE = Layer(0, (), torch.float32)
_NUMBER = compile(r"(?<![^.])\d+(?![^.])")  # a whole part of a name


def folded(module: nn.Module, by_name: Mapping[str, Optional[Recipe]]) -> List[Tuple[str, Optional[Recipe]]]:
    """Keys of a plan: layers that take the same and whose names differ by numbers alone are a glob. A glob that would
    also match a module beyond these is not used, so every key means what it says, whatever comes before it."""
    kinds = {type(one).__name__ for one in module.modules()}
    every = [name for name, _ in named_modules(module)]
    groups: Dict[str, List[str]] = {}
    for name in by_name:
        groups.setdefault(_NUMBER.sub("*", escape(name)), []).append(name)
    found: List[Tuple[str, Optional[Recipe]]] = []
    while groups:
        glob = next(iter(groups))
        names = groups.pop(glob)
        folds = len(names) > 1 and all(by_name[one] == by_name[names[0]] for one in names) and (
            {one for one in every if fnmatchcase(one, glob)} <= set(names))
        if not folds and len(names) > 1 and "*" in glob:  # which stands for dots too
            digits: Dict[str, List[str]] = {}
            for name in names:
                digits.setdefault(_NUMBER.sub(lambda number: "[0-9]" * len(number[0]), escape(name)), []).append(name)
            groups = {**digits, **groups}
            continue
        found += [(glob, by_name[names[0]])] if folds else [
            (product_layer(name, kinds) if name else "", by_name[name]) for name in names]
    return found


def choose_plan(
    module: nn.Module, batch: Any, *, max_output_error: Optional[float] = None, max_kl: Optional[float] = None,
    max_loss_increase: Optional[float] = None, min_top1: Optional[float] = None, min_metric: Optional[float] = None,
    max_drop: Optional[float] = None, metric: Optional[Metric] = None, loss: Optional[Loss] = None, over: str = "worst",
    batches: Optional[int] = None, arch: Names = "b200", dtype: Optional[Names] = None, scale: Optional[Names] = None,
    policy: Optional[Names] = None, options: Optional[Names] = None, attention: Optional[Names] = None,
    html: "Union[str, PathLike[str], None]" = None, fused: "Union[str, Sequence[Sequence[str]], None]" = None,
    framework: Optional[str] = None, allow_missed: float = 0.01, progress: Optional[bool] = None, seed: int = 0,
) -> Chosen:
    """The cheapest recipe for each layer under which one limit holds, measured by emulate().

    Measured are every recipe in all layers, then mixtures: in the order of the errors that layers cause alone, by changes
    of one layer and by exchanges. At the end no change of one layer to a recipe that costs less there is within the
    limit, and no recipe in all layers that is within it costs less. Cost is multiply-adds over the GPU's peak for
    what computes them (`mmaudit list --cores`), a bound on time, and then bytes of weights.

    Args:
        module: as it is to be measured, in eval().
        batch: a tensor, a tuple of arguments, a mapping of keywords; a list or a DataLoader of these, of which the first
            `batches` are taken. Where forward takes fewer than a tuple holds, the rest (labels) goes to `loss` alone.
        max_output_error: the largest relative error of the output, such as 0.12. Or one of these: max_kl: KL divergence
            per position, in nats; max_loss_increase: of the loss that the module returns, or loss(output, batch) gives
            (perplexity grows by its exponential); min_top1: share of positions with the same largest logit; min_metric,
            max_drop: of metric(module), such as accuracy.
        over: "worst": each batch is within the limit; "mean": their mean is.
        arch: GPUs; of several each gets a plan, and the one with the lowest cost is returned, the rest in `others`.
        dtype, scale, policy: one name or several, as ``mmaudit audit --help`` lists them; None: nvf4, mxf8, bf16, and
            on GPUs without these e4m3, f16, or the types of the framework; the usual scale; plain.
        options: what each type is tried with too, where a layer is multiplied by a weight: "smooth:0.5" (SmoothQuant),
            "hadamard:16" or "hadamard:whole", "static:max", "static:mse", "static:percentile:99.9", several with + between.
            They cost nothing in this account, and are calibrated on these batches (`.calibration`).
        attention: what layers of nothing but scaled_dot_product_attention are tried with, recipes of `mmaudit attention
            families` such as "fa3-head,fa3"; their products take no other type then. None: two products and a softmax.
        framework: a name of export(), which leaves out nothing then: what is no nn.Linear stays, and vLLM's are tied (fused).
        fused: layers that are multiplied at once and so take the same: "compressed-tensors" or "modelopt", of which vLLM
            has q_proj, k_proj, v_proj and gate_proj, up_proj; or such groups of the last parts of names.
        html: the audit's page, every layer in every dtype; a file.
        allow_missed: share of multiply-adds that emulate() may not see for the network to count as within the limit.
        progress: a line on standard error; None: where that is a terminal. seed: of torch, before every run.
    Returns: `.plan` for emulate(), compare() and .plan.write("plan.json"); .write("net.html"). After Ctrl-C, once any
        plan is within the limit, the cheapest so far, with `interrupted`.
    Raises: ValueError in one line; RuntimeError where the program mmaudit is not found.
    """
    _checked.module(module)
    limit = limit_of({"max_output_error": max_output_error, "max_kl": max_kl, "max_loss_increase": max_loss_increase,
                      "min_top1": min_top1, "min_metric": min_metric, "max_drop": max_drop}, over, loss, metric)
    seed = _checked.seed_of(seed)
    if not 0 <= _checked.number("allow_missed", allow_missed) <= 1:
        raise refused("allow_missed", repr(allow_missed), "a share from 0 to 1")
    if progress is not None:
        _checked.of_kind("progress", progress, bool, "True, False, None")
    groups = fused_groups(fused, framework)
    page = None if html is None else Path(_checked.output_file("html", html)).resolve()
    _tool.program()  # before there is work to lose
    asked = names_of("options", options)
    kernels = names_of("attention", attention)
    costs = [Costs(one, dtype or types_of(framework, one), scale, policy, asked, kernels) for one in architectures_of(arch)]
    given = batches_of(module, batch, batches)
    if page is not None:
        _audited(module, given[0], page, costs, min(limit.bound, 0.99) if max_output_error else 0.12, seed)
    tell = _Progress(progress)
    try:
        runner = Runner(module, given, limit, seed, bool(asked), kernels)
        found: List[Chosen] = []
        for one in costs:
            try:
                found.append(_searched(module, runner, one, tell, allow_missed, groups, framework))
            except KeyboardInterrupt:
                if not found:
                    raise
                found[-1].interrupted = True
            if found[-1].interrupted:
                break
    finally:
        tell.close()
    found.sort(key=lambda one: one.best.cost)
    found[0].others = found[1:]
    return found[0]


def _searched(module: nn.Module, runner: Runner, costs: Costs, tell: _Progress, allow_missed: float,
              groups: Sequence[Sequence[str]], framework: Optional[str]) -> Chosen:
    names, layers = list(runner.layers), offered(framework, module, runner.layers, costs)
    tied = [[names.index(one) for one in some] for some in fused_of(names, groups).values()]

    def told(now: str) -> None:
        best = search.best
        share = "" if best is None else f", best {best.cost.clocks / costs.of_half(layers).clocks:.3f} of BF16's time"
        tell(f"{costs.arch}, run {runner.runs}, {now}{share}")

    costs.missing += [f"{name} is kept from {kernel}: {why}" for (name, kernel), why in runner.not_taken.items()
                      if any(one.name == kernel for one in costs.candidates)]
    interrupted = False
    while True:
        search, before = Search(costs, names, layers, runner.measure, runner.alone, told, tied), runner.remembers
        runner.noted.clear()
        try:
            best = search.run()
            last = search.last(runner.blocks.layers if runner.blocks is not None else ())
            if runner.repeats({name: costs.candidates[one] for name, one in zip(names, best.plan)}, best.found, last):
                break
        except KeyboardInterrupt:
            if search.best is None:
                raise
            best, interrupted = search.best, True
            break
        except Exception:
            if not before:
                raise
            runner.remembers = False
    by_name = {name: costs.candidates[one].recipe for name, one in zip(names, best.plan)}
    limit = runner.limit
    output_error = limit.field == "max_output_error"
    plan = Plan(layers=folded(module, by_name), falls_through=True, estimate=best.found.value if output_error else None,
                limit=limit.bound if output_error else None, bound=None if output_error else (limit.field, limit.bound))
    tries = [Try(one.found.error, one.found.value) for one in search.tries.values() if one is not best]
    chosen = Chosen(plan, limit.bound, [*tries, Try(best.found.error, best.found.value)])
    chosen.search, chosen.limits, chosen.interrupted, chosen.date = search, limit, interrupted, _report.now()
    chosen.batches, chosen.runs, chosen.coverage = len(runner.batches), runner.runs, runner.coverage
    chosen.framework, chosen.allow_missed, chosen.by_name, chosen.calibration = framework, allow_missed, by_name, runner.calibration
    return chosen


def _audited(module: nn.Module, batch: Batch, page: Path, costs: Sequence[Costs], most: float, seed: int) -> None:
    """The page of `mmaudit audit --capture` for the first batch."""
    recipes = [one.recipe for each in costs for one in each.candidates
               if one.recipe is not None and one.recipe.attention is None]
    options = _tool.options_of(html=page, arch=[one.arch for one in costs], dtype=list(dict.fromkeys(r.dtype for r in recipes)),
                               scale=list(dict.fromkeys(r.scaling for r in recipes if r.scaling)) or None,
                               policy=list(dict.fromkeys(r.policy for r in recipes)))
    with _tool.scratch() as folder:
        whole: Any = batch.keywords or batch.arguments
        capture(module, whole, Path(folder) / "c.safetensors", gains=True, seed=seed)
        _tool.run(["audit", "--capture=c.safetensors", "--allow-missing", f"--max-output-error={most!r}", *options], folder)
