"""What a plan costs: a bound on its time by the GPU's peak table, and bytes of its weights."""
import json
from dataclasses import replace
from itertools import product
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch

from .. import _library, _tool
from .._audit import Names
from .._operations import architectures
from .._operations import list as list_of
from .._refuse import refused
from . import _attention
from ._mixed import bits_of, misfit, options_of, plain, words
from ._operator import Path, find_path
from ._recipes import RECIPES, Recipe, label, of_attention

#: What choose_plan() takes where no dtype is given, as far as the GPU has it.
USUAL = ("nvf4", "mxf8", "e4m3", "bf16", "f16")


class Cost(NamedTuple):
    """The one number that plans are ordered by, ties by bytes."""

    clocks: float  #: multiply-adds over the peak of what computes them, in clocks of one SM: no GPU takes less time
    bytes: float  #: of weights and their scales

    def __add__(self, other: "Cost") -> "Cost":  # type: ignore[override]
        return Cost(self.clocks + other.clocks, self.bytes + other.bytes)


class Candidate(NamedTuple):
    """A recipe that layers may take, or None: they stay as they are."""

    name: str
    recipe: Optional[Recipe]
    inst: str = ""
    evidence: str = ""  #: how the bits of the instruction are known
    source: str = ""
    fma: float = 0  #: dense multiply-adds per clock and SM
    published: bool = True  #: else fma is F16's
    bits: float = 0  #: of a weight and its share of the scales

    @property
    def plain(self) -> Optional[Recipe]:
        """The recipe without smooth, hadamard and static."""
        return None if self.recipe is None else plain(self.recipe)


class Layer(NamedTuple):
    """What a layer multiplies in all batches."""

    multiplications: float
    weights: Tuple[Tuple[int, int], ...]  #: numbers, and bytes of each, of every weight
    dtype: torch.dtype
    may_change: bool = True  #: not where its operands are FP8 already
    rows: Tuple[int, ...] = ()  #: k of products by weights
    #: Of a layer of nothing but scaled_dot_product_attention what runs all its calls; None: of another layer.
    attends: Optional[Tuple[str, ...]] = None
    refused: Tuple[str, ...] = ()  #: candidates that the framework of the plan has not for it


def names_of(field: str, given: Optional[Names]) -> List[str]:
    """Names in a list, or in one str with commas."""
    if given is None:
        return []
    if not isinstance(given, (str, list, tuple)) or not all(isinstance(one, str) for one in given):
        raise refused(field, repr(given), "a name, or a list of names")
    return [one.strip() for one in given.split(",")] if isinstance(given, str) else list(given)


def architectures_of(given: Names) -> List[str]:
    """Each architecture once, by its own name."""
    found: List[str] = []
    for one in names_of("arch", given):
        if one not in architectures():
            one = list_of(one)["architectures"][0]["name"]
        if one not in found:
            found.append(one)
    if not found:
        raise refused("arch", "none", "one name or several, such as b200")
    return found


class Peaks:
    """The table of `mmaudit list --cores`, for one architecture."""

    def __init__(self, arch: str, rows: Sequence[Dict[str, Any]]) -> None:
        self.arch, self.rows = arch, [one for one in rows if one["architecture"] == arch]

    def most(self, kind: str) -> float:
        """Of any of its instructions; 0 where no source gives it."""
        return max((float(one["fma_per_clock_per_sm"]) for one in self.rows if kind in one["types"].split(", ")), default=0.0)

    def of_path(self, path: Path) -> float:
        kinds = {"e4m3": "fp8", "e5m2": "fp8", "e2m3": "fp6", "e3m2": "fp6", "e2m1": "fp4", "s8": "int8", "u8": "int8"}
        kind, unit = kinds.get(path.a, path.a), path.inst.split(".")[0]
        scaled = f" scaled by {path.scale} per {path.scale_block}" if path.scale else ""
        fitting = [float(one["fma_per_clock_per_sm"]) for one in self.rows
                   if one["instruction"] == unit + scaled and kind in one["types"].split(", ")]
        return max(fitting) if fitting else self.most(kind)


def _read(architecture: str) -> List[Dict[str, Any]]:
    with _tool.scratch() as folder:
        done = _tool.run(["list", "--cores", f"--arch={architecture}", "--json"], folder)
    found: List[Dict[str, Any]] = json.loads(done.stdout)["rows"]
    return found


def _bits(path: Path) -> float:
    """Of one element of B and its share of the scales; one factor of a whole tensor or column is nothing beside it."""
    bits = float(_library.format_named(path.b).value_bits)
    if path.scale:
        bits += _library.format_named(path.scale).storage_bits / path.scale_block
    if path.factor_block:
        bits += 32 / path.factor_block / (path.factor_block if path.scaling == "128x128" else 1)
    return bits


def weight_bits(recipe: Recipe) -> float:
    """Of one weight and its share of the scales."""
    of = RECIPES.get(recipe.weights or "", recipe)
    return bits_of(recipe.weights) or _bits(find_path(of.arch, of.dtype, of.scaling, of.policy))


class Costs:
    """The candidates of one architecture, cheapest first and "kept" last, and what layers cost with them."""

    def __init__(self, arch: str, dtype: Optional[Names], scale: Optional[Names], policy: Optional[Names],
                 options: Sequence[str] = (), attention: Sequence[str] = ()) -> None:
        self.arch, self.peaks = arch, Peaks(arch, _read(arch))
        self.missing: List[str] = []
        found: List[Candidate] = []
        asked = names_of("dtype", dtype)
        why = ""
        for one in asked or USUAL:
            before, why = len(found), ""
            if one in RECIPES and not _known(one):
                found += self._of_name(one)
                continue
            scalings: List[Optional[str]] = [*names_of("scale", scale)] or [None]
            for scaling, how in product(scalings, names_of("policy", policy) or ["plain"]):
                try:
                    path = find_path(arch, one, scaling, how)
                except ValueError as error:
                    why = str(error)
                    if not _known(one):
                        raise refused("dtype", one, f"{why.rpartition('allowed: ')[2]}, a name in RECIPES") from error
                    continue
                found.append(self._candidate(Recipe(arch, one, scaling, how), path, scaling))
            if len(found) == before and asked:
                self.missing.append(f"{arch} lacks {one}, which is left out: {why.rpartition(': ')[2]}")
        if not asked and any(one.recipe is not None and one.recipe.dtype == "bf16" for one in found):
            found = [one for one in found if one.recipe is None or one.recipe.dtype != "f16"]
        if not asked and any(one.recipe is not None and one.recipe.dtype == "mxf8" for one in found):
            found = [one for one in found if one.recipe is None or one.recipe.dtype != "e4m3"]
        if not found:
            raise refused("dtype", ", ".join(asked) or "none", f"types that it has ({why.rpartition(': ')[2] or self.missing[0]})")
        found += [one for name in attention for one in self._of_attention(name)]
        found.sort(key=lambda one: (1 / one.fma, one.bits))  # which keeps the order of what costs the same
        some = [other for one in dict.fromkeys(found) for other in (one, *_with_options(one, options))]
        self.candidates = [*some, Candidate("kept", None)]

    def _of_name(self, name: str) -> List[Candidate]:
        """The candidate of a name in RECIPES, if this is its GPU."""
        recipe = RECIPES[name]
        if recipe.weights is not None:  # whose weights any GPU takes that has the product
            recipe = replace(recipe, arch=self.arch)
            try:
                recipe.checked()
            except ValueError as error:
                self.missing.append(f"{self.arch} lacks {name}, which is left out: {str(error).rpartition(': ')[2]}")
                return []
        if recipe.arch != self.arch:
            self.missing.append(f"{self.arch} lacks {name}, which is left out: it is {recipe.arch}'s")
            return []
        path = find_path(recipe.arch, recipe.dtype, recipe.scaling, recipe.policy)
        return [self._candidate(recipe, path, None)._replace(name=name, recipe=recipe)]

    def _of_attention(self, name: str) -> List[Candidate]:
        """A kernel or recipe of attention, if this is its GPU."""
        row = _attention.known().get(_attention.names_in("attention", name)[0], {"arch": "no GPU"})
        if row["arch"] != self.arch:
            self.missing.append(f"{self.arch} lacks {name}, which is left out: it is {row['arch']}'s")
            return []
        recipe = of_attention(name)
        fma = self.peaks.most("fp8" if recipe.dtype in ("e4m3", "e5m2") else recipe.dtype)
        return [Candidate(name, recipe, "attention", row["evidence"], row["source"], fma or self.half or 1.0, fma > 0)]

    def _candidate(self, recipe: Recipe, path: Path, scaling: Optional[str]) -> Candidate:
        known = _library.instruction(self.arch, path.inst)
        fma = self.peaks.of_path(path)
        name = label(recipe) + (f" {scaling}" if scaling else "")
        for one in RECIPES.values():  # which a plan's file then names
            if (one.arch, one.dtype, one.policy, one.history, one.weights) == (
                    recipe.arch, recipe.dtype, recipe.policy, 0, recipe.weights) and (
                    find_path(one.arch, one.dtype, one.scaling, one.policy).scaling == path.scaling):
                recipe = one
                break
        return Candidate(name, recipe, path.inst, known.evidence, known.source, fma or self.half or 1.0, fma > 0,
                         weight_bits(recipe))

    @property
    def half(self) -> float:
        """Of BF16, or of F16 where it has none."""
        return self.peaks.most("bf16") or self.peaks.most("f16")

    def of(self, layer: Layer, candidate: Candidate) -> Cost:
        if candidate.recipe is not None:
            return Cost(layer.multiplications / candidate.fma, sum(n for n, _ in layer.weights) * candidate.bits / 8)
        fma = self.half if layer.dtype.itemsize == 2 else self.peaks.most("tf32") or self.half
        return Cost(layer.multiplications / (fma or 1.0), float(sum(n * each for n, each in layer.weights)))

    def fits(self, layer: Layer, at: int) -> bool:
        """Whether a candidate and its options go with the layer and its weights."""
        if self.candidates[at].name in layer.refused:
            return False
        recipe = self.candidates[at].recipe
        if recipe is not None and (recipe.attention is not None or layer.attends is not None):
            return recipe.attention in (layer.attends or ())
        return recipe is None or not recipe.prepares or (bool(layer.rows) or recipe.weights is not None) and all(
            misfit(recipe, k) is None for k in layer.rows)

    def instead(self, at: int) -> int:
        """The same without options, where these don't fit; "kept" where that has a candidate's own weights."""
        return next((i for i, one in enumerate(self.candidates) if one.recipe == self.candidates[at].plain and i != at),
                    len(self.candidates) - 1)

    def of_half(self, layers: Sequence[Layer]) -> Cost:
        """Everything in BF16, or F16: what plans are compared with."""
        return Cost(sum(one.multiplications for one in layers) / (self.half or 1.0),
                    sum(2.0 * n for one in layers for n, _ in one.weights))


def _with_options(of: Candidate, options: Sequence[str]) -> List[Candidate]:
    """The candidate with each option that its arithmetic takes, after it: it costs the same."""
    found: List[Candidate] = []
    for text in options:
        fields = options_of(text)
        assert of.recipe is not None
        if of.recipe.attention is not None:
            continue
        path = find_path(of.recipe.arch, of.recipe.dtype, of.recipe.scaling, of.recipe.policy)
        if not (path.scale or path.factor_per_lane or path.factor_per_tensor or of.recipe.weights):
            continue  # no scale that it would help
        recipe = replace(of.recipe, **fields)  # type: ignore[arg-type, unused-ignore]
        try:
            recipe.checked()
        except ValueError:
            if "static" not in fields:
                raise
            continue  # without a factor per tensor
        found.append(of._replace(name=f"{of.name} {words(recipe)}", recipe=recipe))
    return found


def _known(dtype: str) -> bool:
    """Whether any architecture has it."""
    for arch in architectures():
        try:
            find_path(arch, dtype, None, "plain")
            return True
        except ValueError:
            continue
    return False
