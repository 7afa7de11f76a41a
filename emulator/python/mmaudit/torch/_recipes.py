"""Which products of a module are computed in which arithmetic: recipes as rows, those of layers as JSON."""
import json
import reprlib
import sys
import warnings
from dataclasses import asdict, dataclass, field, fields, replace
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple, Union

from torch import nn

from .. import _library
from .._refuse import listed, refused, with_nearest
from . import _attention, _checked, _mixed, _training
from ._checked import named_modules
from ._operator import find_path

if TYPE_CHECKING:
    from ._export import Export

SCHEMA = "mmaudit.plan/1"


@dataclass(frozen=True)
class Recipe:
    """The arithmetic of one product: how operands are scaled and rounded, and which GPU multiplies them."""

    arch: str
    dtype: str  #: as --dtype of mmaudit audit
    scaling: Optional[str] = None  #: as --scale; None: the usual one of the dtype
    policy: str = "plain"  #: as --policy
    gradient: Optional[str] = None  #: dtype of gradients in the backward products; None: as the other operands
    history: int = 0  #: delayed scaling: the factor of a tensor is that of the largest of the last `history` ones
    source: str = ""  #: who runs it so
    weights: Optional[str] = None  #: what weights are rounded to first: int4-g128, int8-channel, or a recipe with scales
    smooth: Optional[float] = None  #: SmoothQuant's alpha: what share of the outliers of activations goes to the weights
    hadamard: Union[int, str] = 0  #: both operands in blocks of so many k times a Hadamard matrix; "whole": all of k
    static: Optional[str] = None  #: the factor of activations by a calibration: max, mse, percentile:SHARE
    attention: Optional[str] = None  #: scaled_dot_product_attention of the layer: as emulate() has it
    stochastic: Optional[int] = None  #: a seed: gradients are rounded stochastically in backward products
    rht: bool = False  #: products that make gradients of weights: both operands by a Hadamard matrix with signs

    def checked(self) -> "Recipe":
        """Itself; ValueError, in one line, where the architecture can't do it."""
        for name, value in asdict(self).items():
            if name == "history":
                if isinstance(value, bool) or not isinstance(value, int):
                    raise refused("history", reprlib.repr(value), "a whole number from 0")
            elif name not in ("smooth", "hadamard", "stochastic", "rht") and not isinstance(value, str) and (
                    value is not None or name not in ("scaling", "gradient", "weights", "static", "attention")):
                raise refused(name, reprlib.repr(value), "a str")
        path = find_path(self.arch, self.dtype, self.scaling, self.policy)
        if self.history < 0 or (self.history and not path.factor_per_tensor):
            raise refused("history", f"{self.history} with scaling {path.scaling}", "from 0, with a factor per tensor")
        if self.gradient is not None:
            find_path(self.arch, f"{self.gradient}-{self.dtype}", self.scaling, self.policy)
        _mixed.check(self)
        if self.attention is not None:
            _attention.names_in("attention", self.attention)
        _training.check(self.dtype, self.stochastic, self.rht)
        return self

    @property
    def prepares(self) -> bool:
        """Whether operands of a product by a weight change before they are quantized."""
        return bool(self.weights or self.smooth is not None or self.hadamard or self.static)

    @property
    def trains(self) -> bool:
        """Whether the backward pass has options."""
        return self.stochastic is not None or self.rht


#: Fields that a file of a plan has where they say something.
_NEW = ("weights", "smooth", "hadamard", "static", "attention", "stochastic", "rht")


def _known() -> Dict[str, Recipe]:
    """The library's own recipes, in its order, and then those with weights in another format."""
    names = [one.name for one in fields(Recipe) if one.name not in _NEW]
    out: Dict[str, Recipe] = {}
    for row in json.loads(_library.text_from(_library.lib.mmaudit_recipes))["recipes"]:
        out[row["name"]] = Recipe(**{name: row[name] for name in names})
    return {**out, **{name: Recipe(**row) for name, row in _mixed.MIXED.items()}}


#: Recipes as people run them, by name. Which arithmetic a GPU has for them is the model's to say.
RECIPES: Dict[str, Recipe] = _known()


def of_attention(name: str) -> Recipe:
    """The recipe of a layer that runs nothing but this attention."""
    arch, dtype = _attention.base_of(name)
    return Recipe(arch, dtype, attention=name)


Choice = Union[str, Recipe, Mapping[str, Any], None]
KEEP = "keep"


def label(recipe: Optional[Recipe]) -> str:
    """What a table says of it: dtype, the policy unless that is plain, and options."""
    if recipe is None:
        return "kept"
    found = [recipe.dtype, "" if recipe.policy == "plain" else recipe.policy, recipe.weights and f"of {recipe.weights}",
             _mixed.words(recipe), recipe.attention and f"attention {recipe.attention}",
             "" if recipe.stochastic is None else f"stochastic:{recipe.stochastic}", "rht" if recipe.rht else ""]
    return " ".join(one for one in found if one)


def recipe_of(where: str, choice: Choice) -> Optional[Recipe]:
    """A recipe, by name or fields; None: the product stays as it is."""
    if choice is None or choice == KEEP:
        return None
    if isinstance(choice, Recipe):
        return choice.checked()
    if isinstance(choice, str):
        if choice not in RECIPES:
            raise refused(where, with_nearest(choice, RECIPES), f"{', '.join([KEEP, *RECIPES])}, or the fields of a recipe")
        return RECIPES[choice].checked()
    if not isinstance(choice, Mapping):
        raise refused(where, type(choice).__name__, "a name or the fields of a recipe")
    given = dict(choice)
    base = given.pop("recipe", None)
    names = [one.name for one in fields(Recipe)]
    for name in given:
        if name not in names:
            raise refused(where, f"the field {name!r}", f"recipe, {', '.join(names)}")
    if base is not None:
        if not isinstance(base, (str, Recipe)):
            raise refused(f"{where} recipe", type(base).__name__, "the name of a recipe")
        found = recipe_of(where, base)
        if found is None:
            raise refused(where, f"{KEEP!r} with other fields", "alone")
        return replace(found, **given).checked()
    if isinstance(given.get("attention"), str):
        given = {**dict(zip(("arch", "dtype"), _attention.base_of(given["attention"]))), **given}
    if "arch" not in given or "dtype" not in given:
        lacking = "dtype" if "arch" in given else "arch"
        raise refused(where, f"no {lacking}", "arch and dtype, or recipe")
    return Recipe(**given).checked()


def _layers_of(where: str, given: Any) -> Dict[str, Optional[Recipe]]:
    if not isinstance(given, Mapping):
        raise refused(where, type(given).__name__, "an object")
    for key in given:
        if not isinstance(key, str):
            raise refused(where, f"the key {reprlib.repr(key)}", "a str")
    return {key: recipe_of(f"{where} {key!r}", value) for key, value in given.items()}


def _estimate_of(where: str, given: Any) -> Tuple[Optional[float], Optional[float]]:
    """The estimated error of the output, and the limit that it was chosen under."""
    if given is None:
        return None, None

    def number(value: Any) -> bool:
        return not isinstance(value, bool) and isinstance(value, (int, float)) and (
            0 <= value <= sys.float_info.max)

    error, limit = (given.get("output_error"), given.get("limit")) if isinstance(given, Mapping) else (None, None)
    if not number(error) or not (limit is None or number(limit)):
        raise refused(
            where, reprlib.repr(given), "an object with output_error, a number from 0, and perhaps limit, another")
    assert error is not None
    return float(error), None if limit is None else float(limit)


#: Limits of choose_plan() that are not on the error of the output.
BOUNDS = ("max_kl", "max_loss_increase", "min_top1", "min_metric", "max_drop")


def _bound_of(given: Any) -> Optional[Tuple[str, float]]:
    if given is None:
        return None
    if not isinstance(given, Mapping) or len(given) != 1 or next(iter(given)) not in BOUNDS:
        raise refused("plan bound", reprlib.repr(given), f"an object with one of {listed(BOUNDS)}")
    return next(iter(given)), _checked.number("plan bound", next(iter(given.values())))


def _tighter_of(first: "LayerRecipes", given: Any) -> "List[LayerRecipes]":
    """Those after the first: each says which layers change."""
    if not isinstance(given, (list, tuple)):
        raise refused("plan tighter", type(given).__name__, "a list")
    out: List[LayerRecipes] = []
    layers = dict(first.layers)
    for number, one in enumerate(given):
        where = f"plan tighter {number}"
        error, _ = _estimate_of(where, {} if one is None else one)
        assert isinstance(one, Mapping)
        changed = _layers_of(f"{where} layers", one.get("layers"))
        for key in changed:
            if key not in layers:
                raise refused(f"{where} layers", repr(key), "keys of the plan's layers")
        layers.update(changed)
        out.append(replace(first, layers=list(layers.items()), estimate=error, tighter=[]))
    return out


def json_of(path: "str | PathLike[str]") -> Any:
    """What a file of JSON holds; of keys that come twice, one would be lost."""
    def once(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
        out: Dict[str, Any] = {}
        for key, value in pairs:
            if key in out:
                raise refused("plan", f"the key {key!r} twice", "once")
            out[key] = value
        return out

    try:
        text = Path(path).read_text(encoding="utf-8")
        return json.loads(text, object_pairs_hook=once)
    except OSError as error:
        raise refused("plan", f"{str(path)!r} ({error.strerror})", "a recipe or a file of a plan", type(error)) from None
    except RecursionError:
        raise refused("plan", f"JSON nested too deeply in {str(path)!r}", "a plan") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise refused("plan", f"no JSON in {str(path)!r} ({error})", "a plan") from None


@dataclass
class LayerRecipes:
    """Recipes by layer: the first of `layers` that matches decides, else `default`.

    A key of `layers` is a glob over names of modules ("blocks.*.mlp.*"; "" is the module itself) or the name of a class
    ("Linear"). A product belongs to the innermost module whose forward runs it.
    """

    default: Optional[Recipe] = None
    layers: List[Tuple[str, Optional[Recipe]]] = field(default_factory=list)
    keep_first_last: bool = False  #: the first and the last nn.Linear stay as they are
    falls_through: bool = False  #: what no layer matches is left to those around these
    estimate: Optional[float] = None  #: relative error of the output, as mmaudit audit --max-output-error estimated it
    limit: Optional[float] = None  #: on that error, as --max-output-error gave it; compare() measures whether it holds
    tighter: List["LayerRecipes"] = field(default_factory=list)  #: those with smaller estimates, for tighten()
    bound: Optional[Tuple[str, float]] = None  #: another limit of choose_plan(), such as max_kl; compare() measures it

    @property
    def attends(self) -> bool:
        """Whether a layer has an attention of its own."""
        return any(one is not None and one.attention for one in (self.default, *(recipe for _, recipe in self.layers)))

    def choice(self, name: str, kind: str) -> Tuple[bool, Optional[Recipe]]:
        """Whether they decide on this layer, and how; None: it stays as it is."""
        decides, recipe, _ = self.choice_by(name, kind)
        return decides, recipe

    def choice_by(self, name: str, kind: str) -> Tuple[bool, Optional[Recipe], Optional[str]]:
        """As choice(), and the key of `layers` that decides, where one does."""
        for key, recipe in self.layers:
            if key == kind or fnmatchcase(name, key):
                return True, recipe, key
        return not self.falls_through, self.default, None

    @classmethod
    def of(cls, given: "LayerRecipes | Choice | PathLike[str]", module: Optional[nn.Module] = None) -> "LayerRecipes":
        """From a recipe's name, a recipe, a JSON file or what it holds."""
        if isinstance(given, LayerRecipes):
            return given
        if isinstance(given, PathLike) or (isinstance(given, str) and given.endswith(".json")):
            given = json_of(given)
        if isinstance(given, (str, Recipe)):
            return cls(recipe_of("plan", given))
        if not isinstance(given, Mapping):
            kind = "nothing" if given is None else type(given).__name__
            raise refused("plan", kind, f"a recipe, its name, an object or a file of JSON; {KEEP!r} keeps everything")
        allowed = ("schema", "default", "layers", "keep_first_last", "estimate", "tighter", "bound")
        if "recipe" in given or any(one.name in given for one in fields(Recipe)):
            return cls(recipe_of("plan", given))
        for name in given:
            if name not in allowed:
                raise refused("plan", f"the field {name!r}", listed(allowed))
        if given.get("schema", SCHEMA) != SCHEMA:
            raise refused("plan schema", repr(given['schema']), SCHEMA)
        layers = _layers_of("plan layers", given.get("layers", {}))
        if not layers and given.get("default") is None:
            raise refused("plan", "no default and no layers", f"one of them; {KEEP!r} keeps everything")
        keeps = given.get("keep_first_last", False)
        if not isinstance(keeps, bool):
            raise refused("plan keep_first_last", reprlib.repr(keeps), "true, false")
        found = cls(recipe_of("plan default", given.get("default")), list(layers.items()), keeps, "default" not in given,
                    *_estimate_of("plan estimate", given.get("estimate")))
        found.bound = _bound_of(given.get("bound"))
        found.tighter = _tighter_of(found, given.get("tighter", []))
        if module is not None:
            found._take_names_of(module)
            found.require_matches(module)
        return found

    def _take_names_of(self, module: nn.Module) -> None:
        """Names of a checkpoint, as `mmaudit model --plan` has them, become the module's by transformers' own tables. Experts
        that are one parameter there take the dearest of their recipes."""
        own = {name for name, _ in named_modules(module)}
        strange = {key for key, _ in self.layers if key not in own and not set(key) & set("*?[")}
        if not strange or not hasattr(module, "base_model_prefix"):
            return
        from ._cost import weight_bits
        from ._load import Names
        names = Names(module)
        found: Dict[str, List[Optional[Recipe]]] = {}
        for key, recipe in self.layers:
            place = names.place(key + ".weight") if key in strange else None
            found.setdefault(key if place is None else place.target.rpartition(".")[0], []).append(recipe)
        for key, some in found.items():
            if any(one != some[0] for one in some):
                dearest = None if None in some else max((one for one in some if one is not None), key=weight_bits)
                warnings.warn(f"plan: {key} runs all of its experts in one recipe: {label(dearest)}, the dearest of theirs", stacklevel=4)
                found[key] = [dearest]
        self.layers = [(key, some[0]) for key, some in found.items()]

    def require_matches(self, module: nn.Module) -> None:
        """ValueError for a key that no module of `module` has."""
        for key, _ in self.layers:
            if not any(key == type(one).__name__ or fnmatchcase(name, key) for name, one in named_modules(module)):
                names = ", ".join(repr(name) for name in list(dict.fromkeys(name for name, _ in named_modules(module)))[1:4])
                raise refused("plan layers", f"{key!r}, which no module matches", f"globs over names such as {names}")

    def to_json(self) -> str:
        """As of() reads it."""
        def plain(recipe: Optional[Recipe]) -> Any:
            if recipe is None:
                return KEEP
            for name, one in RECIPES.items():
                if one == recipe:
                    return name
            if recipe.attention is not None and recipe == of_attention(recipe.attention):
                return {"attention": recipe.attention}
            return {name: one for name, one in asdict(recipe).items()
                    if one or name not in _NEW or name in ("smooth", "stochastic") and one == 0}

        out: Dict[str, Any] = {"schema": SCHEMA}
        if not self.falls_through:
            out["default"] = plain(self.default)
        out["layers"] = {key: plain(recipe) for key, recipe in self.layers}
        out["keep_first_last"] = self.keep_first_last
        if self.estimate is not None:
            out["estimate"] = {"output_error": self.estimate}
            if self.limit is not None:
                out["estimate"]["limit"] = self.limit
        if self.bound is not None:
            out["bound"] = {self.bound[0]: self.bound[1]}
        before = dict(self.layers)
        if self.tighter:
            out["tighter"] = []
        for one in self.tighter:
            changed = {key: plain(recipe) for key, recipe in one.layers if recipe != before[key]}
            out["tighter"].append({"output_error": one.estimate, "layers": changed})
            before = dict(one.layers)
        return json.dumps(out, indent=2)

    def write(self, path: "str | PathLike[str]") -> None:
        """to_json() as a file, that of() and emulate() take by its name."""
        with _checked.written(_checked.output_file("path", path)) as file:
            Path(file).write_text(self.to_json() + "\n", encoding="utf-8")

    def export(self, framework: str, model: Optional[nn.Module] = None, path: "str | PathLike[str] | None" = None, *,
               partial: bool = False) -> "Export":
        """The configuration that a framework takes for this plan, as an Export.

        framework: "torchao", "modelopt", "compressed-tensors" (which vLLM reads) or "transformer-engine". model: the
        module, needed where the plan has globs or a default. path: a file that gets the JSON. partial: list what the
        framework can't express in `.left_out`. Raises: else ValueError in one line, which names layer and recipe.
        """
        from ._export import export
        return export(self, framework, model, path, partial)


#: The public name, which messages, repr() and the schema say too.
Plan = LayerRecipes
LayerRecipes.__name__ = LayerRecipes.__qualname__ = "Plan"
