"""A plan as the configuration of a framework: frameworks.json has a row per framework and way of scaling."""
import json
import warnings
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from os import PathLike
from pathlib import Path as File
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from torch import nn

from .._refuse import listed, refused
from . import _checked
from ._checked import named_modules
from ._cost import Costs, Layer, weight_bits
from ._mixed import words
from ._operator import Path, find_path
from ._recipes import RECIPES, LayerRecipes, Recipe, label
from ._tensors import formats_of


class Row(NamedTuple):
    """A layer's configuration in a framework."""

    framework: str
    name: str  #: the framework's own word
    config: Dict[str, Any]  #: all fields, as the framework writes them
    exact: Sequence[str]  #: recipes with the bytes of the framework
    nearest: Sequence[str]  #: recipes that it comes next to; the first one that RECIPES has is what it is read as
    source: str  #: the version that it was read from
    multiple: Sequence[int] = (1, 1)  #: n and k of a weight that the framework quantizes are multiples of these
    written: bool = True  #: else only read
    note: str = ""


ROWS: List[Row] = [Row(**one) for one in json.loads(File(__file__).with_name("frameworks.json").read_text(encoding="utf-8"))]
FRAMEWORKS = tuple(dict.fromkeys(row.framework for row in ROWS))


def path_of(recipe: Recipe) -> Path:
    return find_path(recipe.arch, recipe.dtype, recipe.scaling, recipe.policy)


def unscaled(recipe: Recipe) -> bool:
    """Whether its elements are the numbers themselves, in a narrower type (bf16): nothing that frameworks quantize."""
    path = path_of(recipe)
    return recipe.weights is None and not (path.scale or path.factor_per_lane or path.factor_per_tensor)


def names_of(recipe: Recipe) -> List[str]:
    """Names in RECIPES under which a layer gets the same elements, scales and order of sums, that recipe's GPU first."""
    def arithmetic(one: Recipe) -> Tuple[Any, ...]:
        return one.dtype, path_of(one).scaling, one.policy, one.history, one.weights, one.stochastic is not None, one.rht
    same = [name for name, one in RECIPES.items() if arithmetic(one) == arithmetic(recipe)]
    return sorted(same, key=lambda name: RECIPES[name].arch != recipe.arch)


def row_for(framework: str, recipe: Recipe) -> Optional[Tuple[Row, bool]]:
    """The row of a recipe, and whether it has the recipe's bytes."""
    names, rows = names_of(recipe), [row for row in ROWS if row.framework == framework and row.written]
    return next(((row, exact) for exact in (True, False) for row in rows
                 if any(name in (row.exact if exact else row.nearest) for name in names)), None)


def read_as(row: Row) -> Optional[Tuple[str, bool]]:
    """The recipe that a row is read as, and whether it has the row's bytes; None while RECIPES has none."""
    return next(((name, name in row.exact) for name in (*row.exact, *row.nearest) if name in RECIPES), None)


OUTSIDE = "products outside nn.Linear"
#: What vLLM multiplies at once, so that one scheme has to serve: packed_modules_mapping of its Llama and its like.
FUSED = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"))
READ_BY_VLLM = ("compressed-tensors", "modelopt")
Groups = List[Tuple[Row, List[str]]]  #: rows, and the layers of each


@dataclass
class Export:
    """plan.export() returns it; printed, a report."""

    framework: str
    config: Any  #: what the framework takes: an object of torchao, else a dictionary; for Transformer Engine, Python
    data: Dict[str, Any]  #: the same as JSON, which `path` gets
    layers: Dict[str, Tuple[str, str, bool]]  #: by name: recipe, the framework's word for it, whether it has its bytes
    kept: List[str]  #: nn.Linear that the framework leaves as they are
    left_out: List[Tuple[str, str, str]]  #: what the framework can't express: layer, recipe, why
    notes: List[str]

    def __str__(self) -> str:
        rows: Dict[Tuple[str, str, bool], List[str]] = {}
        for name, one in self.layers.items():
            rows.setdefault(one, []).append(name)
        lines = [f"{self.framework}: {len(self.layers)} layers quantized, {len(self.kept)} kept, {len(self.left_out)} left out"]
        lines += [f"  - {word}, {len(names)} layers, {'the bytes of' if exact else 'nearest to'} {recipe}: {', '.join(names)}"
                  for (recipe, word, exact), names in rows.items()]
        lines += [f"  - left out, {recipe}: {layer} ({why})" for layer, recipe, why in self.left_out]
        return "\n".join([*lines, *self.notes])


def linear_layers(model: nn.Module) -> Dict[str, nn.Linear]:
    """What frameworks quantize by default. The projection inside nn.MultiheadAttention is run by that module."""
    return {name: one for name, one in named_modules(model)
            if isinstance(one, nn.Linear) and type(one).__name__ != "NonDynamicallyQuantizableLinear"}


def types_of(framework: Optional[str], arch: str) -> Optional[List[str]]:
    """For choose_plan() without a dtype: recipes of the framework's rows on this GPU, its own bytes first; None: the usual ones."""
    found = dict.fromkeys(one[0] for one in (read_as(row) for row in ROWS if row.framework == framework and row.written) if one)
    mine = [name for name, one in ((name, RECIPES[name]) for name in found)
            if (one.arch, one.weights, one.stochastic, one.history) == (arch, None, None, 0)]
    return [*mine, "bf16"] if mine else None


def offered(framework: Optional[str], module: nn.Module, layers: Mapping[str, Layer], costs: Costs) -> List[Layer]:
    """For choose_plan(): layers with the candidates that export() leaves out there; what it leaves out everywhere goes."""
    if framework is None:
        return list(layers.values())

    def lacks(recipe: Optional[Recipe], shape: Sequence[int]) -> bool:
        if recipe is None or (recipe.attention is None and unscaled(recipe)):
            return False
        found = row_for(framework, recipe) if shape and recipe.attention is None else None
        return found is None or any(size % step for size, step in zip(shape, found[0].multiple))

    shapes = {name: one.weight.shape for name, one in linear_layers(module).items()}
    left = {name: [one.name for one in costs.candidates if lacks(one.recipe, shapes.get(name, ()))] for name in layers}
    none = [one.name for one in costs.candidates if all(one.name in some for some in left.values())]
    costs.missing += [f"{framework} has {one} for no layer here, it is left out" for one in none]
    costs.candidates = [one for one in costs.candidates if one.name not in none]
    if len(costs.candidates) == 1:
        raise refused("framework", f"{framework}, which has none of these types for these layers", "types of its own (docs/torch.md)")
    return [one._replace(refused=tuple(left[name])) for name, one in layers.items()]


def _name(recipe: Recipe) -> str:
    return (names_of(recipe) or [label(recipe)])[0]


def _choices(plan: LayerRecipes, model: Optional[nn.Module]) -> Tuple[Dict[str, Optional[Recipe]], List[Tuple[str, str, str]]]:
    """What each nn.Linear takes, and what the plan says of other modules."""
    if model is None:
        if plan.default is not None or plan.keep_first_last or any(set(key) & set("*?[") for key, _ in plan.layers):
            raise refused("model", "None", "the module, for a plan with globs, keep_first_last or a default")
        return dict(plan.layers), []
    _checked.module(model)
    plan.require_matches(model)
    found = {name: plan.choice_by(name, type(one).__name__) for name, one in linear_layers(model).items()}
    ends = [*list(found)[:1], *list(found)[-1:]] if plan.keep_first_last else []
    keys = [key for _, _, key in found.values()]
    others = [(key, _name(recipe), OUTSIDE) for key, recipe in plan.layers
              if recipe is not None and not unscaled(recipe) and key not in keys]
    return {name: None if name in ends else recipe for name, (_, recipe, _) in found.items()}, others


def _evidence(recipes: List[Recipe]) -> List[str]:
    """How the bits of each GPU are known, and how its owner proves them."""
    lines: Dict[str, List[str]] = {}
    for one in recipes:
        inst = path_of(one).inst
        lines.setdefault(f"bits of {one.arch}: {formats_of(one.arch, inst).evidence}", []).append(
            next((part for part in inst.split(".") if part.startswith("kind_")), inst))
    return [how if how.endswith("recorded") else f"{how}; on that GPU, mmaudit verify --live --inst "
            f"{','.join(dict.fromkeys(names))} proves them" for how, names in sorted(lines.items())]


def _torchao(groups: Groups, kept: List[str]) -> Tuple[Any, Dict[str, Any]]:
    layers = {name: row.config for row, names in groups for name in names}
    config: Any = {"_type": "FqnToConfig", "_version": 1, "_data": {"fqn_to_config": {**layers, **dict.fromkeys(kept)}}}
    data = {"quant_method": "torchao", "quant_type": {"default": config}, "modules_to_not_convert": []}
    try:
        import_module("torchao.prototype.mx_formats")  # its classes are found by name once it is there
        return import_module("torchao.core.config").config_from_dict(config), data
    except ImportError:
        return config, data


def _compressed(groups: Groups, kept: List[str]) -> Tuple[Any, Dict[str, Any]]:
    formats = list(dict.fromkeys(row.config["format"] for row, _ in groups))
    data = {"quant_method": "compressed-tensors", "format": formats[0] if len(formats) == 1 else "mixed-precision", "ignore": kept,
            "config_groups": {f"group_{at}": {"targets": names, **row.config} for at, (row, names) in enumerate(groups)}}
    return data, data


def _modelopt(groups: Groups, kept: List[str]) -> Tuple[Any, Dict[str, Any]]:
    def of(row: Row) -> Dict[str, Any]:
        return {key: row.config[key] for key in ("quant_algo", "group_size") if row.config[key]}

    def whole(cfg: Dict[str, Any]) -> Dict[str, Any]:  # JSON has "-1"
        blocks = {-1 if key == "-1" else key: value for key, value in cfg.get("block_sizes", {}).items()}
        return {**cfg, **({"block_sizes": blocks} if blocks else {})}
    # "max" finds the factor per tensor of activations on a batch; MX needs none.
    config = {"algorithm": None if all(row.name.startswith("MX") for row, _ in groups) else "max", "quant_cfg": [
        {"quantizer_name": "*", "enable": False}, *({"quantizer_name": f"{name}.{what}_quantizer", "cfg": whole(row.config[what])}
                                                    for row, names in groups for name in names for what in ("weight", "input"))]}
    found: Dict[str, Any] = {"kv_cache_quant_algo": None}  # hf_quant_config.json
    if len(groups) == 1:
        found.update(of(groups[0][0]), exclude_modules=kept)
    else:
        found.update(quant_algo="MIXED_PRECISION", quantized_layers={name: of(row) for row, names in groups for name in names})
    return config, {"producer": {"name": "modelopt"}, "quantization": found}


def _engine(groups: Groups, kept: List[str]) -> Tuple[Any, Dict[str, Any]]:
    calls = "".join(f"    {name!r}: recipe.{row.config['recipe']}({', '.join(f'{k}={v}' for k, v in row.config['arguments'].items())}),\n"
                    for row, names in groups for name in names)
    text = ("import transformer_engine.pytorch as te\nfrom transformer_engine.common import recipe\n\n"
            f"RECIPES = {{\n{calls}}}\n\n\ndef autocast(name):\n    \"\"\"With autocast(name): a te.Linear of this name.\"\"\"\n"
            "    return te.autocast(enabled=name in RECIPES, recipe=RECIPES.get(name))\n")
    return text, {"framework": "transformer-engine", "loaded": "not loaded here", "off": kept, "python": text,
                  "autocast": [{**row.config, "modules": names} for row, names in groups]}


_MAKERS = {"torchao": _torchao, "modelopt": _modelopt, "compressed-tensors": _compressed, "transformer-engine": _engine}


def fused_groups(given: "Union[str, Sequence[Sequence[str]], None]", framework: Optional[str]) -> Sequence[Sequence[str]]:
    """What choose_plan(fused=, framework=) names, as groups of last parts of names."""
    if framework is not None and framework not in FRAMEWORKS:
        raise refused("framework", repr(framework), listed(FRAMEWORKS))
    if given is None:
        return FUSED if framework in READ_BY_VLLM else ()
    if isinstance(given, str) and given in READ_BY_VLLM:
        return FUSED
    if isinstance(given, str) or not isinstance(given, (list, tuple)) or not all(
            isinstance(one, (list, tuple)) and all(isinstance(part, str) and "." not in part for part in one) for one in given) or (
                len({part for one in given for part in one}) != sum(map(len, given))):
        raise refused("fused", repr(given), f"{' or '.join(READ_BY_VLLM)}, groups of last parts of names, each once, such as "
                      "[('q_proj', 'k_proj')]")
    return given


def fused_of(names: Iterable[str], groups: Sequence[Sequence[str]] = FUSED) -> Dict[Tuple[str, Tuple[str, ...]], List[str]]:
    """Layers that are multiplied at once, by the module that they are in and the group."""
    found: Dict[Tuple[str, Tuple[str, ...]], List[str]] = {}
    for name in names:
        parent, _, last = name.rpartition(".")
        for group in groups:
            if last in group:
                found.setdefault((parent, tuple(group)), []).append(name)
    return {key: some for key, some in found.items() if len(some) > 1}


def _apart(layers: Dict[str, Tuple[str, str, bool]], names: Sequence[str]) -> List[str]:
    """Layers that vLLM multiplies at once and that don't take the same, a line each."""
    lines: List[str] = []
    for (parent, group), some in fused_of(names).items():
        words = [layers[one][1] if one in layers else "kept" for one in some]
        if len(set(words)) > 1:
            lines.append(f"vLLM multiplies {', '.join(group)} of {parent or 'the module'} at once and wants one scheme: "
                         f"found {', '.join(words)}")
    return lines


def export(plan: LayerRecipes, framework: str, model: Optional[nn.Module], path: "str | PathLike[str] | None",
           partial: bool) -> Export:
    """Plan.export()."""
    if framework not in FRAMEWORKS:
        raise refused("framework", repr(framework), listed(FRAMEWORKS))
    file = None if path is None else _checked.output_file("path", path)
    chosen, left_out = _choices(plan, model)
    linear = {} if model is None else linear_layers(model)
    layers: Dict[str, Tuple[str, str, bool]] = {}
    groups: Dict[str, Tuple[Row, List[str]]] = {}
    recipes: List[Recipe] = []
    for name, recipe in chosen.items():
        if recipe is None or unscaled(recipe):
            continue
        found, shape = row_for(framework, recipe), linear[name].weight.shape if name in linear else (0, 0)
        if found is None:
            left_out.append((name, _name(recipe), f"no configuration of {framework}"))
        elif any(size % step for size, step in zip(shape, found[0].multiple)):
            sizes = [" x ".join(map(str, one)) for one in (found[0].multiple, shape)]
            left_out.append((name, _name(recipe), f"{found[0].name} takes multiples of {sizes[0]}, not {sizes[1]}"))
        else:
            layers[name] = _name(recipe), found[0].name, found[1]
            groups.setdefault(found[0].name, (found[0], []))[1].append(name)
            recipes.append(recipe)
    if left_out and not partial:
        (layer, of, why), more = left_out[0], f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        known = dict.fromkeys(name for row in ROWS if row.framework == framework for name in (*row.exact, *row.nearest))
        raise refused(f"export {layer!r}", f"{of}, {why}{more}", "products of nn.Linear; partial=True leaves others out"
                      if why == OUTSIDE else f"nn.Linear in {listed(known)}; partial=True leaves others out")
    if not groups:
        raise refused("export", f"no layer to quantize of {len(chosen)}", "a plan with one that the framework can express")
    rows, kept = [row for row, _ in groups.values()], [name for name in chosen if name not in layers]
    outside = [name for name, _ in named_modules(model) if name and name not in chosen and any(
        fnmatchcase(name, key) for key, _, _ in left_out)] if model is not None and framework == "compressed-tensors" else []
    config, data = _MAKERS[framework](list(groups.values()), kept + outside)
    counted = sum(why == OUTSIDE for _, _, why in left_out)
    notes = [*_evidence(recipes), "products outside nn.Linear, such as attention's, stay as the framework has them"
             + (f"; the plan's error and speed-up count these in {counted} of its keys, plan_from() has what is left" if counted else ""),
             *(f"{row.name}: {row.note}" for row in rows if row.note), f"read from {listed(dict.fromkeys(row.source for row in rows))}"]
    lacking = {name: words(one) for name, one in chosen.items() if name in layers and one is not None and words(one)}
    if lacking:
        some = listed(dict.fromkeys(lacking.values()))
        notes.append(f"this configuration does not carry {some} of {', '.join(lacking)}: apply it to the module before")
        warnings.warn(f"export: {notes[-1]}", stacklevel=3)
    lost = [name for name, _, _ in left_out if name in linear]
    if lost:
        def bytes_of(name: str, quantized: bool) -> float:
            w, recipe = linear[name].weight, chosen[name]
            return w.numel() * (weight_bits(recipe) / 8 if quantized and recipe is not None else w.element_size())
        by_plan, left = (sum(bytes_of(name, name not in out) for name in linear) for out in ([], lost))
        share = sum(linear[name].weight.numel() for name in lost) / sum(linear[name].weight.numel() for name in linear)
        notes.append(f"left out are {len(lost)} nn.Linear with {share:.1%} of their weights: these take {left / 1e6:.4g} MB, and "
                     f"{by_plan / 1e6:.4g} MB by the plan, whose speed-up does not hold; plan_from() has what is left")
    floats = sorted({_name(one) for one in chosen.values() if one is not None and unscaled(one)})
    notes += [f"layers in {listed(floats)} are kept: load the module in that type"] if floats else []
    apart = _apart(layers, list(chosen)) if framework in READ_BY_VLLM else []
    for line in apart:
        warnings.warn(f"export: {line}", stacklevel=3)
    notes += apart
    if model is not None:
        own = {id(one.weight): name for name, one in named_modules(model) if isinstance(one, nn.Embedding)}
        notes += [f"{name} has the weight of {own[id(linear[name].weight)]}, which stays: untie them before, or keep {name}"
                  for name in layers if name in linear and id(linear[name].weight) in own]
    notes += ["not loaded here: its classes need a GPU"] if framework == "transformer-engine" else []
    if file is not None:
        with _checked.written(file) as temporary:
            File(temporary).write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    return Export(framework, config, data, layers, kept, left_out, notes)
