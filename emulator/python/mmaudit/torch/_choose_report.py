"""What choose_plan() returns, and its page: which plan, what it saves and costs, how that is known."""
import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

import torch

from .. import _report
from ._calibrate import Calibration
from ._cost import Candidate, Cost
from ._coverage import Coverage
from ._limits import Limit
from ._recipes import Recipe
from ._search import Search, Try
from ._tighten import Tightened

SCHEMA = "mmaudit.choice/1"
_WEAK = ("literature", "hypothesis")


def _bytes(count: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            break
        count /= 1000
    return f"{count:.0f} {unit}" if count >= 100 or unit == "bytes" else f"{count:.1f} {unit}"


class Chosen(Tightened):
    """choose_plan() returns it; printed, a notebook and files show it as a report."""

    search: Search
    limits: Limit
    by_name: Mapping[str, Optional[Recipe]]  #: what each layer takes
    interrupted = False  #: by Ctrl-C: the cheapest plan so far
    others: "List[Chosen]" = []  #: of other architectures
    calibration: Optional[Calibration] = None  #: of these batches, for emulate() of a plan with options
    batches, runs = 1, 0
    coverage: Optional[Coverage] = None
    allow_missed = 0.01
    framework: Optional[str] = None  #: whose export() leaves out nothing of the plan

    @property
    def best(self) -> Try:
        assert self.search.best is not None
        return self.search.best

    @property
    def missed(self) -> float:
        """Share of multiply-adds that emulate() did not see."""
        return 0.0 if self.coverage is None else self.coverage.share_missed

    @property
    def kept(self) -> bool:
        return all(recipe is None for recipe in self.by_name.values())

    def _relative(self, cost: Cost) -> Tuple[float, float]:
        """Times as fast as BF16, at most, and share of its bytes of weights."""
        half = self.search.costs.of_half(self.search.layers)
        return half.clocks / max(cost.clocks, 1e-300), cost.bytes / half.bytes if half.bytes else 1.0

    def _taken(self) -> List[Tuple[Candidate, List[int]]]:
        found = [(one, [i for i, taken in enumerate(self.best.plan) if taken == at])
                 for at, one in enumerate(self.search.costs.candidates)]
        return [(one, layers) for one, layers in found if layers]

    def _share(self, layers: List[int]) -> float:
        count = [one.multiplications for one in self.search.layers]
        return sum(count[i] for i in layers) / max(sum(count), 1)

    def _limit(self) -> str:
        one = self.limits
        return f"{'at least' if one.least else 'at most'} {one.shown(one.bound)}"

    def _verdict(self) -> Dict[str, str]:
        arch, one, value = self.search.costs.arch, self.limits, self.best.found.value
        said = f"{one.title.lower() if one.title[1] != 'L' else one.title} {one.shown(value)}, allowed {self._limit()}"
        if self.missed > self.allow_missed:
            return {"headline": f"Not a word on the network as a whole: {self.missed:.1%} of its multiply-adds were not looked "
                    f"at. Of the others: {said} on {arch}.", "tone": "note"}
        if self.kept:
            why = "Interrupted before any other plan was" if self.interrupted else "Nothing is"
            return {"headline": f"{why} within the limit ({one.title.lower()} {self._limit()}): every layer is kept.",
                    "tone": "note"}
        if self.interrupted:
            return {"headline": f"Interrupted; the cheapest plan so far on {arch}: {said}.", "tone": "note"}
        return {"headline": f"Use this plan on {arch}: {said}.", "tone": "note" if self.search.costs.missing else "good"}

    def _lead(self) -> List[str]:
        fast, size = self._relative(self.best.cost)
        kinds = ", ".join(f"{one.name} in {len(layers)}" for one, layers in self._taken())
        lines = [f"Of {len(self.by_name)} layers: {kinds}. At most {fast:.2f} times as fast as all of it in BF16 by the GPU's "
                 f"peaks, a bound; weights {_bytes(self.best.cost.bytes)}, {size:.2f} of BF16's."]
        if self.search.done and self.search.may_be_cheaper(self.best.plan):
            tied = [unit for unit in self.search.units.values() if len(unit) > 1]
            lines.append(f"{len(self.search.tries)} plans were measured. No change of one layer{' or tied layers' if tied else ''} "
                         "to a type that costs less is within the limit, and no type in all layers that is within it costs less.")
            lines += [f"{sum(map(len, tied))} layers are tied in {len(tied)} groups, which are multiplied at once."] if tied else []
        costs = self.search.costs
        stay = [name for name, layer in zip(self.search.names, self.search.layers) if layer.refused and not any(
            costs.fits(layer, at) for at, one in enumerate(costs.candidates) if one.recipe is not None)]
        if stay:
            lines.append(f"{len(stay)} layers stay, such as {stay[0]}: {self.framework} has none of these types for them.")
        if self.batches > 1:
            two = ("the mean", "the worst of them") if self.limits.mean else ("the worst of them", "the mean")
            shown = self.limits.shown
            lines.append(f"{self.batches} batches: {two[0]} has {shown(self.best.found.value)}, {two[1]} "
                         f"{shown(self.best.found.other)}.")
        return lines

    def _warnings(self) -> List[str]:
        found = list(self.search.costs.missing)
        if self.coverage is not None and self.missed:
            found.append(self.coverage.line("were not looked at"))
        return found + [f"{one.name}: no peak is published for {self.search.costs.arch}, it counts as fast as 16 bits"
                        for one, _ in self._taken() if not one.published and one.recipe is not None]

    def _evidence(self) -> Dict[str, Any]:
        taken = [one for one, _ in self._taken() if one.recipe is not None]
        rows = [[one.name, _report.cell(one.evidence, "note" if one.evidence in _WEAK else "good", one.source), one.inst]
                for one in taken]
        weak = [one for one in taken if one.evidence in _WEAK]
        proofs = [(one.name, self._proof(one)) for one in weak if self._proof(one)]
        said = ((proofs, "no GPU was recorded. On such a GPU these commands prove the bits."),
                ([(one.name, "") for one in weak if not self._proof(one)], "a kernel's public source, compared with no GPU."))
        notes = [f"{', '.join(name for name, _ in some)}: {words}" for some, words in said if some]
        return {"title": "How the bits are known", "notes": notes,
                "block": "".join(proof + "\n" for _, proof in proofs),
                "tables": [_report.table(["Type", "Known from", "Instruction"], rows)]}

    @staticmethod
    def _proof(of: Candidate) -> str:
        return "" if of.recipe is not None and of.recipe.attention else f"mmaudit verify --live --inst {of.inst}"

    def _plans(self) -> Tuple[Dict[str, Any], List[Dict[str, Any]]]:
        one = self.limits
        mine = [*self.search.uniform, *([] if self.best in self.search.uniform else [self.best])]
        more = [] if one.field == "max_output_error" else ["Error of the output"]
        more += [("Worst batch" if one.mean else "Mean of batches")] if self.batches > 1 else []
        columns = ["Plan", one.title, *more, "Times as fast as BF16", "Weights", "Verdict"]
        rows = []
        for each in sorted(mine, key=lambda each: each.cost):
            fast, size = self._relative(each.cost)
            extra = [f"{each.found.error:.2e}"] if one.field != "max_output_error" else []
            extra += [one.shown(each.found.other)] if self.batches > 1 else []
            name = f"this plan: {each.name}" if each is self.best else each.name
            rows.append([name, one.shown(each.found.value), *extra, f"{fast:.2f}", f"{size:.2f}",
                         _report.cell("within the limit", "good") if each.found.within
                         else _report.cell("exceeds the limit", "bad")])
        notes = [why for _, why in self.search.dropped.values()]
        mixed = sorted((each for each in self.search.tries.values() if each not in mine), key=lambda each: each.cost)
        tables = [_report.table(columns, rows, columns[1:-1])]
        if mixed:
            some = [[each.name, one.shown(each.found.value), f"{self._relative(each.cost)[0]:.2f}",
                     _report.cell("within", "good") if each.found.within else _report.cell("exceeds", "bad")] for each in mixed]
            tables.append({**_report.table(["Layers", one.title, "Times as fast as BF16", "Verdict"], some,
                                           [one.title, "Times as fast as BF16"]),
                           "title": f"{len(mixed)} mixtures, cheapest first", "folded": True})
        return {"title": "Plans that were measured", "layout": "wide", "notes": notes, "tables": tables[:1],
                "remark": "Times as fast: all layers in BF16 over this plan, multiply-adds over the peaks of `mmaudit list "
                "--cores`. Weights: bytes over BF16's. Both are bounds, and leave out all that is no product."}, tables[1:]

    def _matrix(self) -> List[Dict[str, Any]]:
        search, shown = self.search, [name or "module" for name in self.by_name]
        candidates = [(at, one) for at, one in enumerate(search.costs.candidates[:len(search.uniform)]) if one.recipe is not None]
        if not candidates:
            return []
        headers, whole = [one.name for _, one in candidates], bool(search.alone) and all(search.alone)
        columns = [[search.own(i, at) for i in range(len(shown))] for at, _ in candidates]
        for number, at in enumerate(search.measured if whole else []):
            headers.append(f"Output, alone in {search.costs.candidates[at].name}")
            columns.append([one[number] for one in search.alone])
        lines = dict(zip(headers, columns))
        takes = [at for at, _ in candidates] + [-1] * len(search.measured)
        rows = [[name, search.costs.candidates[self.best.plan[i]].name, f"{self._share([i]):.1%}",
                 *(_report.cell(f"{column[i]:.2e}", "good" if self.best.plan[i] == at else "plain")
                   for column, at in zip(columns, takes))] for i, name in enumerate(shown)]
        return [{"title": "Each layer in each type", "layout": "wide", "shown": ["page", "markdown"],
                 "figures": [_report.curves("Relative error", "layers, in the module's order", shown, lines)],
                 "remark": "Relative errors of the layer's own products, with all layers in that type, and of the output where "
                 "one layer alone takes a type. They order the search; what decides is measured with all layers together.",
                 "tables": [_report.table(["Layer", "Takes", "Multiply-adds", *headers], rows, ["Multiply-adds", *headers])]}]

    def report(self) -> Dict[str, Any]:
        total = len(self.by_name)
        keys: Dict[Optional[Recipe], List[str]] = {}
        for key, recipe in self.plan.layers:
            keys.setdefault(recipe, []).append(key or "module")
        lines, rows = [], []
        for one, layers in self._taken():
            mine = keys.get(one.recipe, [])
            lines.append(f"{one.name}, {len(layers)} of {total} layers, {self._share(layers):.1%} of multiply-adds: "
                         f"{', '.join(mine)}")
            weights = sum(self.search.costs.of(self.search.layers[i], one).bytes for i in layers)
            rows.append([_report.cell(one.name, "plain" if one.recipe is None else "good"), str(len(layers)),
                         f"{self._share(layers):.1%}", _bytes(weights), ", ".join(mine)])
        plans, mixed = self._plans()
        sections: List[Dict[str, Any]] = [
            {"title": "What each layer takes", "lines": lines, "shown": ["text", "markdown"],
             "notes": ["* stands for any number, [0-9] for a digit; a layer that is named itself goes before."] if any(
                 "*" in key for key, _ in self.plan.layers) else []},
            {"title": "What each layer takes", "shown": ["page"], "layout": "wide", "tables": [_report.table(
                ["Type", "Layers", "Multiply-adds", "Weights", "Names"], rows, ["Layers", "Multiply-adds", "Weights"])]},
            plans, *([self._evidence()] if not self.kept else [])]
        if self.others:
            rows = [[one.search.costs.arch, one.best.name, one.limits.shown(one.best.found.value),
                     f"{one.best.cost.clocks:.4g}"] for one in (self, *self.others)]
            sections.append({"title": "One plan per GPU", "remark": "Clocks of one SM at its peak.", "tables": [_report.table(
                ["GPU", "Layers", self.limits.title, "Clocks"], rows, [self.limits.title, "Clocks"])]})
        sections += self._matrix()
        if mixed:
            sections.append({"title": "Mixtures that were measured", "shown": ["page"], "folded": True, "tables": mixed})
        fast, size = self._relative(self.best.cost)
        highlights = [{"value": self.limits.shown(self.best.found.value), "label": f"{self.limits.title}, {self._limit()}"},
                      {"value": f"{fast:.2f}x", "label": "as fast as BF16, at most"},
                      {"value": _bytes(self.best.cost.bytes), "label": f"of weights, {size:.2f} of BF16's"}]
        return {"title": "A plan for the layers of a module", **self._verdict(), "lead": self._lead(), "highlights": highlights,
                "warnings": self._warnings(), "sections": sections, "meta": [f"torch {torch.__version__}"],
                "provenance": {"date": self.date, "command": ["mmaudit.torch.choose_plan"]}}

    def json(self) -> str:
        """The schema mmaudit.choice/1."""
        search, limit = self.search, self.limits

        def of_try(one: Try) -> Dict[str, Any]:
            fast, size = self._relative(one.cost)
            return {"name": one.name, "value": one.found.value, "within": one.found.within, "output_error": one.found.error,
                    "clocks": one.cost.clocks, "bytes": one.cost.bytes, "times_bf16": fast, "bytes_over_bf16": size}

        layers = [{"name": name, "takes": search.costs.candidates[self.best.plan[i]].name,
                   "multiply_adds": search.layers[i].multiplications,
                   "own_error": {search.costs.candidates[at].name: search.own(i, at) for at in range(len(search.uniform))},
                   "output_error_alone": {search.costs.candidates[at].name: error for at, error in
                                          zip(search.measured, search.alone[i] if i < len(search.alone) else [])}}
                  for i, name in enumerate(self.by_name)]
        evidence = [{"type": one.name, "instruction": one.inst, "evidence": one.evidence, "source": one.source,
                     "command": self._proof(one)} for one, _ in self._taken() if one.recipe]
        found = {"schema": SCHEMA, "date": self.date, "arch": search.costs.arch, "interrupted": self.interrupted,
                 "limit": {"field": limit.field, "bound": limit.bound, "over": "mean" if limit.mean else "worst"},
                 "verdict": self._verdict()["headline"], "share_missed": self.missed, "batches": self.batches, "runs": self.runs,
                 "chosen": of_try(self.best), "tries": [of_try(one) for one in search.tries.values()], "layers": layers,
                 "evidence": evidence, "plan": json.loads(self.plan.to_json()),
                 "others": [json.loads(one.json()) for one in self.others]}
        return json.dumps(_report.finite(found), indent=1, allow_nan=False) + "\n"
