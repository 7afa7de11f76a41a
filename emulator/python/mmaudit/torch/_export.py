"""A plan as the configuration of a framework."""
import json
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from torch import nn

from .._refuse import listed, refused
from . import _checked
from ._checked import named_modules
from ._frameworks import FRAMEWORKS, ROWS, Row, names_of, path_of, row_for, unscaled
from ._recipes import LayerRecipes, Recipe, label
from ._tensors import formats_of

TE_FILE = '''import transformer_engine.pytorch as te
from transformer_engine.common import recipe

RECIPES = {{{rows}
}}


def autocast(name):
    """For the te.Linear of this name: with autocast(name): y = module(x)"""
    return te.autocast(enabled=name in RECIPES, recipe=RECIPES.get(name))
'''


class LeftOut(NamedTuple):
    """What the framework can't express."""

    layer: str
    recipe: str
    why: str


@dataclass
class Export:
    """plan.export() returns it; printed, a report."""

    framework: str
    config: Any  #: what the framework takes: an object of torchao, else a dictionary; for Transformer Engine, Python
    data: Dict[str, Any]  #: the same as JSON, which `path` gets
    layers: Dict[str, Tuple[str, str, bool]]  #: by name: recipe, the framework's word for it, whether it has its bytes
    kept: List[str]  #: nn.Linear that the framework leaves as they are
    left_out: List[LeftOut]
    notes: List[str] = field(default_factory=list)
    hf_quant_config: Optional[Dict[str, Any]] = None  #: of ModelOpt: hf_quant_config.json

    def __str__(self) -> str:
        rows: Dict[Tuple[str, str, bool], List[str]] = {}
        for name, one in self.layers.items():
            rows.setdefault(one, []).append(name)
        lines = [f"{self.framework}: {len(self.layers)} layers quantized, {len(self.kept)} kept, {len(self.left_out)} left out"]
        lines += [f"  - {word}, {len(names)} layers, {'the bytes of' if exact else 'nearest to'} {recipe}: {', '.join(names)}"
                  for (recipe, word, exact), names in rows.items()]
        lines += [f"  - left out, {one.recipe}: {one.layer} ({one.why})" for one in self.left_out]
        return "\n".join([*lines, *self.notes])


def _name(recipe: Recipe) -> str:
    return (names_of(recipe) or [label(recipe)])[0]


def linear_layers(model: nn.Module) -> Dict[str, nn.Linear]:
    """What frameworks quantize by default. The projection inside nn.MultiheadAttention is run by that module."""
    return {name: one for name, one in named_modules(model)
            if isinstance(one, nn.Linear) and type(one).__name__ != "NonDynamicallyQuantizableLinear"}


def _choices(plan: LayerRecipes, model: Optional[nn.Module]) -> Tuple[Dict[str, Optional[Recipe]], List[LeftOut]]:
    """What each nn.Linear takes, and what the plan says of other modules."""
    if model is None:
        if plan.default is not None or plan.keep_first_last or any(set(key) & set("*?[") for key, _ in plan.layers):
            raise refused("model", "None", "the module, for a plan with globs, keep_first_last or a default")
        return dict(plan.layers), []
    _checked.module(model)
    plan.require_matches(model)
    layers = linear_layers(model)
    ends = {id(one) for one in list(layers.values())[:1] + list(layers.values())[-1:]} if plan.keep_first_last else set()
    chosen: Dict[str, Optional[Recipe]] = {}
    for name, one in layers.items():
        chosen[name] = None if id(one) in ends else plan.choice(name, type(one).__name__)[1]
    of_linear = {plan.choice_by(name, type(one).__name__)[2] for name, one in layers.items()}
    others = [LeftOut(key, _name(recipe), "products outside nn.Linear") for key, recipe in plan.layers
              if recipe is not None and not unscaled(recipe) and key not in of_linear]
    return chosen, others


def _evidence(recipes: List[Recipe]) -> List[str]:
    """How the bits of each GPU are known, and how its owner proves them."""
    lines: Dict[str, List[str]] = {}
    for one in recipes:
        inst = path_of(one).inst
        how = f"bits of {one.arch}: {formats_of(one.arch, inst).evidence}"
        lines.setdefault(how, []).append(next((part for part in inst.split(".") if part.startswith("kind_")), inst))
    return [how if how.endswith("recorded") else f"{how}; on that GPU, mmaudit verify --live --inst "
            f"{','.join(dict.fromkeys(names))} proves them" for how, names in sorted(lines.items())]


def _torchao(rows: Dict[str, Row], kept: List[str]) -> Tuple[Any, Dict[str, Any]]:
    layers: Dict[str, Any] = {name: row.config for name, row in rows.items()}
    config: Any = {"_type": "FqnToConfig", "_version": 1, "_data": {"fqn_to_config": {**layers, **dict.fromkeys(kept)}}}
    data = {"quant_method": "torchao", "quant_type": {"default": config}, "modules_to_not_convert": []}
    try:
        import torchao.prototype.mx_formats  # noqa: F401  # its classes are found by name once it is there
        from torchao.core.config import config_from_dict
    except ImportError:
        return config, data
    return config_from_dict(config), data


def _by_row(rows: Dict[str, Row]) -> List[Tuple[Row, List[str]]]:
    return [(row, [name for name, one in rows.items() if one is row]) for row in ROWS if any(one is row for one in rows.values())]


def _compressed(rows: Dict[str, Row], kept: List[str]) -> Tuple[Any, Dict[str, Any]]:
    groups = {f"group_{at}": {"targets": names, **row.config} for at, (row, names) in enumerate(_by_row(rows))}
    formats = {row.config["format"] for row in rows.values()}
    data = {"quant_method": "compressed-tensors", "format": formats.pop() if len(formats) == 1 else "mixed-precision",
            "quantization_status": "initialized", "config_groups": groups, "ignore": kept}
    return data, data


def _whole_numbers(given: Any) -> Any:
    """Keys that JSON has as "-1" as ModelOpt wants them."""
    if isinstance(given, list):
        return [_whole_numbers(one) for one in given]
    return {-1 if key == "-1" else key: _whole_numbers(one) for key, one in given.items()} if isinstance(given, dict) else given


def _modelopt(rows: Dict[str, Row], kept: List[str]) -> Tuple[Any, Dict[str, Any]]:
    entries: List[Dict[str, Any]] = [{"quantizer_name": "*", "enable": False}]
    for name, row in rows.items():
        entries += [{"quantizer_name": f"{name}.{what}_quantizer", "cfg": row.config[what]} for what in ("weight", "input")]
    # "max" finds the factor per tensor of activations on a batch; MX needs none.
    data = {"quant_cfg": entries, "algorithm": None if all(row.name.startswith("MX") for row in rows.values()) else "max"}
    return _whole_numbers(data), data


def _hf_quant_config(rows: Dict[str, Row], kept: List[str]) -> Dict[str, Any]:
    def of(row: Row) -> Dict[str, Any]:
        size = row.config["group_size"]
        return {"quant_algo": row.config["algo"], **({"group_size": size} if size else {})}
    if len(_by_row(rows)) == 1:
        found: Dict[str, Any] = {**of(_by_row(rows)[0][0]), "kv_cache_quant_algo": None, "exclude_modules": kept}
    else:
        found = {"quant_algo": "MIXED_PRECISION", "kv_cache_quant_algo": None,
                 "quantized_layers": {name: of(row) for name, row in rows.items()}}
    return {"producer": {"name": "modelopt"}, "quantization": found}


def _engine(rows: Dict[str, Row], kept: List[str]) -> Tuple[Any, Dict[str, Any]]:
    def call(row: Row) -> str:
        return f"recipe.{row.config['recipe']}({', '.join(f'{key}={value}' for key, value in row.config['arguments'].items())})"
    text = TE_FILE.format(rows="".join(f"\n    {name!r}: {call(row)}," for name, row in rows.items()))
    return text, {"framework": "transformer-engine", "loaded": "not loaded here", "off": kept,
                  "autocast": [{**row.config, "modules": names} for row, names in _by_row(rows)], "python": text}


_MAKERS = {"torchao": _torchao, "modelopt": _modelopt, "compressed-tensors": _compressed, "transformer-engine": _engine}


def export(plan: LayerRecipes, framework: str, model: Optional[nn.Module] = None,
           path: "str | PathLike[str] | None" = None, *, partial: bool = False) -> Export:
    """Plan.export()."""
    if framework not in FRAMEWORKS:
        raise refused("framework", repr(framework), listed(FRAMEWORKS))
    file = None if path is None else _checked.output_file("path", path)
    chosen, left_out = _choices(plan, model)
    linear = {} if model is None else linear_layers(model)
    rows: Dict[str, Row] = {}
    layers: Dict[str, Tuple[str, str, bool]] = {}
    for name, recipe in chosen.items():
        if recipe is None or unscaled(recipe):
            continue
        found, why = row_for(framework, recipe), f"no configuration of {framework}"
        if found is not None and name in linear:
            n, k = linear[name].weight.shape
            if n % found[0].multiple[0] or k % found[0].multiple[1]:
                why = f"{found[0].name} takes multiples of {found[0].multiple[0]} x {found[0].multiple[1]}, not {n} x {k}"
                found = None
        if found is None:
            left_out.append(LeftOut(name, _name(recipe), why))
        else:
            rows[name], layers[name] = found[0], (_name(recipe), found[0].name, found[1])
    if left_out and not partial:
        one, more = left_out[0], f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        raise refused(f"export {one.layer!r}", f"{one.recipe}, {one.why}{more}",
                      "layers of nn.Linear in " + listed(dict.fromkeys(name for row in ROWS if row.framework == framework
                                                                       for name in (*row.exact, *row.nearest)))
                      + "; partial=True leaves others out")
    if not rows:
        raise refused("export", f"no layer to quantize of {len(chosen)}", "a plan with one that the framework can express")
    kept = [name for name in chosen if name not in rows]
    config, data = _MAKERS[framework](rows, kept)
    used = [recipe for name, recipe in chosen.items() if name in rows and recipe is not None]
    notes = [*_evidence(used), "products outside nn.Linear, such as attention's, stay as the framework has them"]
    for row, _ in _by_row(rows):
        notes += [f"{row.name}: {row.note}"] if row.note else []
    notes += [f"read from {source}" for source in dict.fromkeys(row.source for row in rows.values())]
    if framework == "transformer-engine":
        notes.append("not loaded here: the recipe's classes need a GPU")
    floats = sorted({_name(one) for one in chosen.values() if one is not None and unscaled(one)})
    if floats:
        notes.append(f"layers in {listed(floats)} are kept: load the module in that type")
    done = Export(framework, config, data, layers, kept, left_out, notes,
                  _hf_quant_config(rows, kept) if framework == "modelopt" else None)
    if file is not None:
        with _checked.written(file) as temporary:
            whole = data if done.hf_quant_config is None else {**data, "hf_quant_config": done.hf_quant_config}
            Path(temporary).write_text(json.dumps(whole, indent=2) + "\n", encoding="utf-8")
    return done
