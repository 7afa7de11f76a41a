"""From a plan under an estimated error of the output to one under the measured error."""
from os import PathLike
from typing import Any, Dict, List, NamedTuple, Union

from torch import Tensor, nn

from .. import _report
from .._refuse import refused
from ._compare import logits_of, measured_output, relative_error
from ._recipes import Choice, LayerRecipes, Plan, label


class Try(NamedTuple):
    """A plan that was measured."""

    estimated: float
    measured: float


class _Found(NamedTuple):
    plan: Plan  #: its error of the output, measured, is at most the limit
    limit: float
    tries: List[Try]  #: the last one is the plan's


class Tightened(_report.Drawn, _Found):
    """tighten() returns it; printed, a notebook and files show it as a report."""

    date = ""  #: when, in UTC

    def report(self) -> Dict[str, Any]:
        layers = sorted(self.plan.layers, key=lambda one: _report.natural(one[0]))
        kept = bool(layers) and all(recipe is None for _, recipe in layers)
        by_label: Dict[str, List[str]] = {}
        for name, recipe in layers:
            by_label.setdefault(label(recipe), []).append(name)
        lines = [f"{one}, {len(names)} of {len(layers)} layers: {', '.join(names)}"
                 for one, names in sorted(by_label.items(), key=lambda pair: pair[0] == label(None))]
        where = sorted({recipe.arch for _, recipe in layers if recipe is not None})
        measured = self.tries[-1].measured
        verdict = {"headline": f"Use this plan: measured, the output errs by {measured:.2e}, within the limit {self.limit:.2e}.",
                   "tone": "good"}
        if kept:
            verdict = {"headline": f"Nothing fits the limit {self.limit:.2e}: every layer is kept.", "tone": "note"}
        rows = [[name, _report.cell(label(recipe), "plain" if recipe is None else "good"),
                 "-" if recipe is None else recipe.arch] for name, recipe in layers]
        tries = [[f"{one.estimated:.2e}", f"{one.measured:.2e}",
                  _report.cell("within the limit", "good") if one.measured <= self.limit
                  else _report.cell("exceeds the limit", "bad")] for one in self.tries]
        return {
            "title": "A plan for the layers of a module", **verdict,
            "lead": [f"Bits of the GPU architecture{'' if len(where) == 1 else 's'} {', '.join(where)}."] if where else [],
            "sections": [
                {"title": "What each layer takes", "lines": lines, "shown": ["text", "markdown"]},
                {"title": "What each layer takes", "shown": ["page"],
                 "tables": [_report.table(["Layer", "Type", "GPU"], rows)]},
                {"title": "Plans that were measured", "remark": "Relative error of the output: as the audit estimates it "
                 "from the gains of the layers, and measured by running the batch.",
                 "tables": [_report.table(["Estimated", "Measured", "Verdict"], tries, ["Estimated", "Measured"])]}],
            "provenance": {"date": self.date, "command": ["mmaudit.torch.tighten"]}}


def tighten(module: nn.Module, batch: Any, plan: "Plan | Choice | PathLike[str]", *, limit: Union[float, None] = None,
            seed: int = 0) -> Tightened:
    """The first of a plan and the tighter ones in its file whose error of the output, measured, is within the limit.

    mmaudit audit --max-output-error estimates that error and writes the tighter plans. Each try runs the batch by
    emulate(). The next one's estimate is smaller than the last one's by as much as the measured error has to shrink.
    At the end everything is kept, which errs by nothing.

    Args:
        module, batch, seed: as in compare(). plan: a file of mmaudit audit --plan, or what it holds.
        limit: on the relative error of the output; None: the plan's own.
    Raises: ValueError for a plan without an estimate or a limit, and for a module that runs no matrix product.
    """
    first = LayerRecipes.of(plan, module)
    if first.estimate is None:
        raise refused("plan estimate", "none", "a plan of mmaudit audit --max-output-error")
    limit = first.limit if limit is None else limit
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit > 0:
        raise refused("limit", repr(limit), "a number above 0")
    kept = LayerRecipes(layers=[(key, None) for key, _ in first.layers], estimate=0.0, limit=first.limit)
    plans, tries = [first, *first.tighter, kept], []
    exact: Tensor = logits_of(measured_output(module, batch, LayerRecipes(), seed))
    at = 0
    while True:
        now = plans[at]
        error = relative_error(logits_of(measured_output(module, batch, now, seed)), exact)
        tries.append(Try(now.estimate or 0.0, error))
        if error <= limit or at + 1 == len(plans):
            found = LayerRecipes(now.default, now.layers, now.keep_first_last, now.falls_through, now.estimate, float(limit))
            done = Tightened(found, float(limit), tries)
            done.date = _report.now()
            return done
        wanted = (now.estimate or 0.0) * limit / error if error < float("inf") else 0.0
        at += 1
        while at + 1 < len(plans) and (plans[at].estimate or 0.0) > wanted:
            at += 1
