"""The cheapest assignment of candidates to layers that a measurement admits."""
import math
from functools import reduce
from typing import Any, Callable, Collection, Dict, List, NamedTuple, Optional, Sequence, Tuple

from torch import Tensor

from ._cost import Candidate, Cost, Costs, Layer

_IN_A_ROW = 6  #: moves that fail before the next kind of move is tried
Assignment = Tuple[int, ...]  #: an index of a candidate per layer


class Measured(NamedTuple):
    """A plan that was measured."""

    value: float  #: of what is limited: the worst batch's, or the mean
    other: float  #: the mean, or the worst batch's
    within: bool
    error: float  #: relative error of the output, the worst batch's
    rows: Tensor  #: squared errors of the rows of the outputs, over the mean square of a row
    own: Dict[str, float]  #: of a plan with one candidate: relative errors of the products of layers, before a bias


class Try(NamedTuple):
    """What a plan is called, what it costs, and what came out."""

    name: str
    plan: Assignment
    cost: Cost
    found: Measured


def significant(x: Tensor, y: Tensor) -> bool:
    """Whether the rows of two plans err differently: the mean of the paired differences is beyond twice its standard
    error. Fewer than 8 rows show nothing. Rows of one sequence are not independent, so this errs to the side of "yes"."""
    difference = x - y
    count = difference.numel()
    if count < 8 or count != y.numel() or not bool(difference.isfinite().all()):
        return False
    return abs(float(difference.mean())) > 2 * float(difference.std()) / math.sqrt(count)


class Search:
    """Uniform plans, then the cheapest prefix of estimated moves, then single moves and exchanges, all measured."""

    def __init__(self, costs: Costs, names: Sequence[str], layers: Sequence[Layer],
                 measure: Callable[[Dict[str, Candidate]], Measured], alone: Callable[[Dict[str, Candidate]], float],
                 tell: Callable[[str], None], tied: Sequence[Sequence[int]] = ()) -> None:
        self.costs, self.names, self.layers, self._measure, self._tell = costs, names, layers, measure, tell
        self._alone = alone
        self.tries: Dict[Assignment, Try] = {}
        self.best: Optional[Try] = None
        self.uniform: List[Try] = []
        self.measured: List[int] = []  #: candidates that layers took alone
        self.alone: List[List[float]] = []  #: relative error of the output by layer and these
        self.dropped: Dict[int, Tuple[int, str]] = {}  #: candidates, for which another of the same speed stands, and why
        self.done = False
        #: by its first layer: layers that take the same candidate, mostly one
        self.units: Dict[int, Tuple[int, ...]] = {i: (i,) for i in range(len(layers)) if not any(i in one[1:] for one in tied)}
        self.units.update({one[0]: tuple(one) for one in tied})
        self._price = [[costs.of(layer, one) for one in costs.candidates] for layer in layers]
        self._of_unit = {i: [reduce(Cost.__add__, (self._price[j][one] for j in unit)) for one in range(len(costs.candidates))]
                         for i, unit in self.units.items()}
        self._kept = len(costs.candidates) - 1

    def last(self, of: Collection[str]) -> Dict[str, Candidate]:
        """The last of these layers that can take something, and what is tied to it, with the cheapest; or any other layer."""
        order = sorted(self.units, key=lambda i: (self.names[i] in of, i), reverse=True)
        i = next((i for i in order if self._open(i)[0] != self._kept), order[0])
        return {self.names[j]: self.costs.candidates[self._open(i)[0]] for j in self.units[i]}

    def cost(self, plan: Assignment) -> Cost:
        return Cost(math.fsum(self._price[i][one].clocks for i, one in enumerate(plan)),
                    math.fsum(self._price[i][one].bytes for i, one in enumerate(plan)))

    def try_(self, plan: Assignment, name: str) -> Try:
        """Measures a plan once, and remembers the cheapest within the limit."""
        if plan not in self.tries:
            found = self._measure({self.names[i]: self.costs.candidates[one] for i, one in enumerate(plan)})
            self.tries[plan] = Try(name, plan, self.cost(plan), found)
        done = self.tries[plan]
        if done.found.within and (self.best is None or done.cost < self.best.cost):
            self.best = done
        self._tell(name)
        return done

    def uniform_of(self, one: int) -> Assignment:
        def of(layer: Layer, one: int) -> int:
            if not layer.may_change or one == self._kept or self.costs.fits(layer, one):
                return one if layer.may_change else self._kept
            return of(layer, self.costs.instead(one))
        found = tuple(of(layer, one) for layer in self.layers)
        for i, unit in self.units.items():
            if len({found[j] for j in unit}) > 1:
                found = self._with(found, i, self._kept)
        return found

    def _with(self, plan: Assignment, i: int, one: int) -> Assignment:
        """The plan in which layer i, and what is tied to it, takes a candidate."""
        return tuple(one if j in self.units[i] else now for j, now in enumerate(plan))

    def _attends(self, one: int) -> bool:
        """Whether a candidate is one of layers of attention."""
        recipe = self.costs.candidates[one].recipe
        return recipe is not None and recipe.attention is not None

    def _base(self, one: int) -> int:
        """The candidate of which this one is with options."""
        of = self.costs.candidates[one].plain
        return next((i for i, other in enumerate(self.costs.candidates) if other.recipe == of), one)

    def run(self) -> Try:
        """Afterwards no change of one layer to a candidate that costs less there is within the limit."""
        for one, candidate in enumerate(self.costs.candidates):
            self.uniform.append(self.try_(self.uniform_of(one), f"all {candidate.name}"))
        self._drop()
        if self.may_be_cheaper(self._now.plan):
            self._estimate()
            self._along_the_estimate()
            self._single_moves(_IN_A_ROW)
            while self._exchange():
                self._single_moves(_IN_A_ROW)
            self._single_moves()
        self.done = True
        return self._now

    @property
    def _now(self) -> Try:
        assert self.best is not None  # all kept is always within
        return self.best

    def _drop(self) -> None:
        """Of candidates of the same speed that the same layers can take one stays: one that is within the limit everywhere
        before one that is not, then the one that errs less, where that is significant, then the one of fewer bytes."""
        def speed(one: int) -> Tuple[Any, ...]:  # weights in another format are a choice of bytes
            of = self.costs.candidates[one]
            return (of.fma, None if of.recipe is None else of.recipe.weights, self._attends(one),
                    tuple(of.name in layer.refused for layer in self.layers))

        plain = [one for one in range(self._kept) if self._base(one) == one]
        for kind in dict.fromkeys(speed(one) for one in plain):
            group = [one for one in plain if speed(one) == kind]
            within = [i for i in group if self.uniform[i].found.within] or group
            stays = within[0]
            for i in within[1:]:
                mine, other = self.uniform[i].found, self.uniform[stays].found
                if mine.error < other.error and significant(mine.rows, other.rows):
                    stays = i
            for i in group:
                if i != stays:
                    mine, other = self.uniform[i].found, self.uniform[stays].found
                    shown = "differs" if significant(mine.rows, other.rows) else "does not differ significantly"
                    self.dropped[i] = stays, (
                        f"{self.costs.candidates[i].name} is as fast as {self.costs.candidates[stays].name}; its error, "
                        f"{mine.error:.2e} against {other.error:.2e}, {shown}")
        for one in range(self._kept):
            if self._base(one) in self.dropped and one not in self.dropped:
                self.dropped[one] = self.dropped[self._base(one)][0], f"{self.costs.candidates[one].name}: as without options"

    def _open(self, i: int) -> List[int]:
        """Candidates of a layer and what is tied to it."""
        some = [self.layers[j] for j in self.units[i]]
        if not all(layer.may_change for layer in some):
            return [self._kept]
        return [one for one in range(self._kept + 1) if one not in self.dropped and all(self.costs.fits(of, one) for of in some)]

    def may_be_cheaper(self, plan: Assignment) -> bool:
        """Whether a layer can take something that costs less there."""
        return any(price[one] < price[plan[i]] for i, price in self._of_unit.items() for one in self._open(i))

    def _estimate(self) -> None:
        """What the output errs by where one layer alone takes one of the two cheapest candidates. In others it errs as much
        less as the layer's own products do."""
        plain = [at for at in range(self._kept) if at not in self.dropped and self._base(at) == at]
        self.measured = [at for at in plain if self._attends(at)] + [at for at in plain if not self._attends(at)][:2]
        self.alone = [[] for _ in self.layers]
        for i, unit in self.units.items():
            found = [self._alone({self.names[j]: self.costs.candidates[at] for j in unit}) if at in self._open(i) else 0.0
                     for at in self.measured]
            for j in unit:
                self.alone[j] = [one if math.isfinite(one) else 1e30 for one in found]
            self._tell(f"layer {i + 1} of {len(self.layers)} alone")

    def own(self, i: int, one: int) -> float:
        """Relative error of a layer's own products in a candidate, measured with all layers in it; 0 for kept."""
        found = self.uniform[one].found.own.get(self.names[i], 0.0)
        return found if math.isfinite(found) else 1e30

    def _squared(self, i: int, one: int) -> float:
        if one == self._kept:
            return 0.0
        same = self.dropped[one][0] if one in self.dropped else one
        if same in self.measured:
            return self.alone[i][self.measured.index(same)] ** 2
        near = self.measured.index(self._base(same)) if self._base(same) in self.measured else -1
        mine, theirs = (math.hypot(*(self.own(j, at) for j in self.units[i])) for at in (same, self.measured[near]))
        return (self.alone[i][near] * mine / theirs if theirs > 0 else mine) ** 2

    def _steps(self) -> List[Tuple[float, int, int]]:
        """Moves from the cheapest plan to the kept one along the lower hull of every layer, most error saved per clock
        first."""
        found = []
        for i in self.units:
            one = self._open(i)[0]
            while one != self._kept:
                def gain(to: int, i: int = i, one: int = one) -> float:
                    more = self._of_unit[i][to].clocks - self._of_unit[i][one].clocks
                    return (self._squared(i, one) - self._squared(i, to)) / max(more, 1e-300)
                to = max((to for to in self._open(i) if to > one), key=gain)
                found.append((gain(to), i, to))
                one = to
        return sorted(found, key=lambda step: -step[0])

    def _along_the_estimate(self) -> None:
        """The shortest part of these moves that is within the limit, by halving."""
        steps = self._steps()

        def plan(count: int) -> Assignment:
            out = {i: self._open(i)[0] for i in self.units}
            for _, i, to in steps[:count]:
                out[i] = max(out[i], to)
            by_layer = {j: out[i] for i, unit in self.units.items() for j in unit}
            return tuple(by_layer[j] for j in range(len(self.layers)))

        low, high = 0, len(steps)
        while high - low > 1:
            middle = (low + high) // 2
            cheaper = self.best is None or self.cost(plan(middle)) < self.best.cost
            if cheaper and not self.try_(plan(middle), self.called(plan(middle))).found.within:
                low = middle
            else:
                high = middle

    def called(self, plan: Assignment) -> str:
        counts = [(one.name, plan.count(i)) for i, one in enumerate(self.costs.candidates)]
        return ", ".join(f"{count} {name}" for name, count in counts if count)

    def moves(self, plan: Assignment) -> List[Tuple[int, int]]:
        """Changes of one layer to a candidate that costs less there: most clocks saved per error added first, then most bytes."""
        found = []
        for i, price in self._of_unit.items():
            now = plan[i]
            for one in self._open(i):
                if price[one] < price[now]:
                    more = max(self._squared(i, one) - self._squared(i, now), 1e-300)
                    saved = [(a - b) / more for a, b in zip(price[now], price[one])]
                    found.append((saved, i, one))
        return [(i, one) for _, i, one in sorted(found, key=lambda move: move[0], reverse=True)]

    def _single_moves(self, failures: Optional[int] = None) -> None:
        """Takes what is within the limit, until a whole pass takes nothing, or after so many failures in a row."""
        took = True
        while took:
            took, failed = False, 0
            for i, one in self.moves(self._now.plan):
                plan = self._now.plan
                if self._of_unit[i][one] < self._of_unit[i][plan[i]]:
                    plan = self._with(plan, i, one)
                    within = self.try_(plan, self.called(plan)).found.within
                    took, failed = took or within, 0 if within else failed + 1
                if failed == failures:
                    return

    def _exchange(self) -> bool:
        """One layer takes a dearer candidate so that one or two others can take cheaper ones, at 1% less cost or more."""
        now = self._now
        room = sum(self._squared(i, now.plan[i]) for i in self.units) * 0.1
        some = [(i, to, self._squared(i, to) - self._squared(i, now.plan[i])) for i in self.units for to in self._open(i)]
        ups, downs = [one for one in some if one[1] > now.plan[one[0]]], [one for one in some if one[1] < now.plan[one[0]]]
        downs.sort(key=lambda move: move[2])
        found = []
        for i, up, less in ups:
            spent = self._of_unit[i][up].clocks - self._of_unit[i][now.plan[i]].clocks
            plan, more, saved = self._with(now.plan, i, up), 0.0, 0.0
            for j, down, added in downs:
                if j == i or plan[j] != now.plan[j] or more + added + less > room:
                    continue
                plan, more = self._with(plan, j, down), more + added
                saved += self._of_unit[j][now.plan[j]].clocks - self._of_unit[j][down].clocks
            if saved - spent > now.cost.clocks / 100:
                found.append((saved - spent, plan))
        found.sort(key=lambda pair: -pair[0])
        return any(self.try_(plan, self.called(plan)).found.within for _, plan in found[:_IN_A_ROW])
