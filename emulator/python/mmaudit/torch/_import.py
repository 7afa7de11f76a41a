"""A framework's configuration as layer recipes, so that its choice can be measured."""
import fnmatch
import glob
import re
import warnings
from importlib import import_module
from os import PathLike
from typing import Any, Dict, List, NamedTuple, Optional, Union

from torch import nn

from .._refuse import listed, refused
from . import _checked
from ._export import FRAMEWORKS, ROWS, Row, linear_layers, read_as
from ._recipes import RECIPES, LayerRecipes, Plan, Recipe, json_of

#: Fields that change no byte, and other spellings.
_FREE = ("kernel_preference", "set_inductor_config", "use_triton_kernel", "alg_id", "effective_bits", "enable", "observer",
         "observer_kwargs", "scale_dtype", "zp_dtype")
_BITS: Dict[Any, Any] = {"e2m1": [2, 1], "e4m3": [4, 3], "e8m0": [8, 0]}


class Rule(NamedTuple):
    """Which layers take a row; None: none; a str: what no row has."""

    kind: str  #: of the pattern: name, glob, re (from the start of a name), class
    pattern: str
    choice: Union[Row, None, str]

    def matches(self, name: str, one: nn.Module) -> bool:
        if self.kind == "class":
            return any(base.__name__ == self.pattern for base in type(one).__mro__)
        if self.kind == "name":
            return name == self.pattern
        return bool(re.match(self.pattern, name)) if self.kind == "re" else fnmatch.fnmatchcase(name, self.pattern)


def _bytes_of(given: Any) -> Any:
    """Without what changes no byte, and what is usual."""
    if isinstance(given, dict):
        kept = {str(key): _bytes_of(value) for key, value in given.items() if key not in _FREE}
        if isinstance(given.get("_data"), dict):  # of torchao, which writes all fields: one that lacks is not usual
            return {**kept, "_data": {key: _bytes_of(value) for key, value in given["_data"].items() if key not in _FREE}}
        return {key: value for key, value in kept.items() if value not in (None, False) and (key, value) != ("symmetric", True)}
    return [_bytes_of(one) for one in given] if isinstance(given, (list, tuple)) else _BITS.get(given, given)


_ORDER = ("name", "re", "class")  #: which of several that match decides


def _listed(given: Any) -> List[Any]:
    """A list as it is: a str would be taken letter by letter."""
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"{given!r} for a list")
    return list(given)


def _row(framework: str, word: str, given: Dict[str, Any]) -> Union[Row, str]:
    """The row of a layer's configuration: all of `given`, or what the row says of its keys."""
    for row in ROWS:
        if row.framework == framework and _bytes_of({key: row.config.get(key) for key in given}) == _bytes_of(given):
            return row if read_as(row) else f"{row.name} of {framework}"
    return f"{word} of {framework}"


def _torchao(config: Dict[str, Any]) -> List[Rule]:
    def rule(kind: str, pattern: str, one: Any) -> Rule:
        return Rule(kind, pattern, one and _row("torchao", one["_type"], {key: one[key] for key in ("_type", "_data")}))
    if config["_type"] != "FqnToConfig":
        return [rule("class", "Linear", config)]
    layers = config["_data"].get("fqn_to_config") or config["_data"].get("module_fqn_to_config") or {}
    found = [rule("class", "Linear", one) if key == "_default" else rule("re", f"(?:{key[3:]})$", one) if key.startswith("re:")
             else rule("name", key[:-7] if key.endswith(".weight") else key, one) for key, one in layers.items()]
    return sorted(found, key=lambda one: _ORDER.index(one.kind))


def _compressed(config: Dict[str, Any]) -> List[Rule]:
    def rules(targets: Any, choice: Any) -> List[Rule]:
        return [Rule("re", target[3:], choice) if target.startswith("re:") else Rule(kind, target, choice)
                for target in _listed(targets) for kind in ("name", "class")]
    found = []
    for name, group in config["config_groups"].items():
        given = {key: group.get(key) for key in ("weights", "input_activations", "output_activations")}
        found += rules(group["targets"], _row("compressed-tensors", name, given))
    return rules(config.get("ignore") or [], None) + sorted(found, key=lambda one: _ORDER.index(one.kind))


def _hf_quant(config: Dict[str, Any]) -> List[Rule]:
    def rule(kind: str, pattern: str, one: Dict[str, Any]) -> Rule:
        given = {key: one.get(key) or 0 for key in ("quant_algo", "group_size")}
        return Rule(kind, pattern, _row("modelopt", str(given["quant_algo"]), given))
    kept = [Rule("glob", one, None) for one in _listed(config.get("exclude_modules") or [])]
    some = [rule("glob", name, one) for name, one in config.get("quantized_layers", {}).items()]
    return kept + (some if config["quant_algo"] == "MIXED_PRECISION" else [rule("class", "Linear", config)])


def _needed(model: Optional[nn.Module]) -> nn.Module:
    if model is None:
        raise refused("model", "None", "the module, for regular expressions and names of quantizers")
    return model


def _quant_cfg(entries: List[Dict[str, Any]], model: Optional[nn.Module]) -> List[Rule]:
    """Of the wildcards that match a quantizer, the last one decides."""
    rules = []
    for name, one in linear_layers(_needed(model)).items():
        both: Dict[str, Any] = {"weight": None, "input": None}
        for entry in entries:
            for what in both:
                if fnmatch.fnmatchcase(f"{name}.{what}_quantizer", entry["quantizer_name"]) and entry.get(
                        "parent_class", "nn.Linear") == f"nn.{type(one).__name__}":
                    both[what] = entry.get("cfg", both[what] or {}) if entry.get("enable", True) else None
        on = any(one is not None for one in both.values())
        rules.append(Rule("glob", name, _row("modelopt", repr(both), both) if on else None))
    return rules


def _rules(config: Any, model: Optional[nn.Module]) -> List[Rule]:
    if isinstance(config, (str, PathLike)):
        config = json_of(config)
    config = getattr(config, "quant_type", config)  # of transformers
    if type(config).__module__.startswith("torchao."):
        config = import_module("torchao.core.config").config_to_dict(config)
    if hasattr(config, "model_dump"):
        config = config.model_dump(mode="json")  # of compressed-tensors
    for key in ("quantization_config", "quantization"):
        config = config.get(key, config)
    for key in ("kv_cache_scheme", "kv_cache_quant_algo"):
        if config.get(key):
            raise refused("config", key, "a KV cache that is not quantized")
    if config.get("quant_method") == "torchao":
        config = config["quant_type"]["default"]
    if "_type" in config:
        return _torchao(config)
    if "quant_cfg" in config:
        return _quant_cfg(config["quant_cfg"], model)
    return _hf_quant(config) if "quant_algo" in config else _compressed(config)


def plan_from(config: Any, model: Optional[nn.Module] = None, *, partial: bool = False) -> Plan:
    """A framework's configuration as a plan, for emulate() and compare().

    Args:
        config: of torchao (an object, or its JSON), compressed-tensors (quantization_config), or ModelOpt
            (hf_quant_config.json, or what mtq.quantize() takes); a dictionary, a file of JSON, or a model's config.json.
        model: the module; needed for regular expressions and quant_cfg. With it, the plan names each nn.Linear.
        partial: keep what no recipe is known for, instead of refusing it.
    Returns: the plan; what the configuration does not name is kept.
    Warns: where the recipe is the nearest, not one with the framework's bytes. Raises: ValueError in one line.
    """
    if model is not None:
        _checked.module(model)
    try:
        rules = _rules(config, model)
        for rule in rules:
            re.compile(rule.pattern if rule.kind == "re" else "")
    except (KeyError, TypeError, AttributeError, RecursionError, re.error) as error:
        raise refused("config", f"{type(config).__name__} that lacks {error}" if isinstance(error, KeyError) else
                      f"{type(config).__name__} ({type(error).__name__} {error})",
                      f"a configuration of {listed(FRAMEWORKS[:3])}, or a file of it") from None
    chosen: List[Any] = [(glob.escape(rule.pattern) if rule.kind == "name" else rule.pattern, rule.choice) for rule in rules]
    if model is not None:
        chosen = [(name, next((rule.choice for rule in rules if rule.matches(name, one)), None))
                  for name, one in linear_layers(model).items()]
    elif any(rule.kind == "re" for rule in rules):
        _needed(model)
    layers: Dict[str, Optional[Recipe]] = {}
    near: List[str] = []
    for name, choice in chosen:
        if isinstance(choice, str) and not partial:
            raise refused(f"config {name!r}", choice,
                          listed(row.name for row in ROWS if choice.endswith(row.framework) and read_as(row)))
        found = read_as(choice) if isinstance(choice, Row) else None
        layers.setdefault(name, RECIPES[found[0]] if found else None)
        if isinstance(choice, Row) and found and not found[1]:
            near.append(f"{found[0]} is nearest to {choice.name} of {choice.framework}" + (choice.note and f" ({choice.note})"))
    if not any(layers.values()):
        raise refused("config", "no layer to quantize", "one that quantizes some")
    for line in dict.fromkeys(near):
        warnings.warn(f"plan_from: {near.count(line)} layers: {line}", stacklevel=2)
    return LayerRecipes(None, list(layers.items()))
