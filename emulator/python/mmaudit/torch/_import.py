"""A framework's configuration as layer recipes, so that its choice can be measured."""
import fnmatch
import json
import re
import warnings
from os import PathLike
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from torch import nn

from .._refuse import listed, refused
from . import _checked
from ._export import linear_layers
from ._frameworks import FRAMEWORKS, ROWS, Row, plain, read_as
from ._recipes import RECIPES, LayerRecipes, Plan, json_of

#: Fields that change no byte.
_FREE = ("kernel_preference", "set_inductor_config", "use_triton_kernel", "alg_id", "effective_bits", "enable", "observer",
         "observer_kwargs", "scale_dtype", "zp_dtype", "format", "targets")
_BITS = {"e2m1": [2, 1], "e4m3": [4, 3], "e8m0": [8, 0]}
Choice = Union[Row, None, str]  #: None: kept; str: what no row has


class Rule(NamedTuple):
    """Layers, by `kind`: name, re (from the start), glob, class; and what they take."""

    kind: str
    pattern: str
    choice: Choice

    def matches(self, name: str, one: nn.Module) -> bool:
        if self.kind == "class":
            return any(base.__name__ == self.pattern for base in type(one).__mro__)
        if self.kind == "re":
            return re.match(self.pattern, name) is not None
        return fnmatch.fnmatchcase(name, self.pattern) if self.kind == "glob" else name == self.pattern


def _stripped(given: Any) -> Any:
    """Without what changes no byte or says what is usual."""
    if isinstance(given, dict):
        kept = {key: _stripped(value) for key, value in given.items() if key not in _FREE}
        if "num_bits" in kept and "strategy" not in kept and "block_sizes" not in kept and "type" in kept:
            kept["strategy"] = "tensor" if kept.get("group_size") is None else "group"  # as compressed-tensors has it
        return {key: value for key, value in kept.items() if value not in (None, False) and (key, value) != ("symmetric", True)}
    return [_stripped(one) for one in given] if isinstance(given, list) else _BITS.get(given, given) if isinstance(
        given, str) else given


def _row(framework: str, given: Any, word: str, keys: Tuple[str, ...] = ()) -> Choice:
    """The row of a layer's configuration."""
    for row in ROWS:
        mine = {key: row.config.get(key) for key in keys} if keys else row.config
        if row.framework == framework and _stripped(plain(mine)) == _stripped(plain(given)):
            return row if read_as(row) else f"{row.name} of {framework}"
    return f"{word} of {framework}"


def _torchao(config: Dict[str, Any]) -> List[Rule]:
    def choice(one: Any) -> Choice:
        return None if one is None else _row("torchao", one, one["_type"])
    if config["_type"] != "FqnToConfig":
        return [Rule("class", "Linear", choice(config))]
    layers = config["_data"].get("fqn_to_config") or config["_data"].get("module_fqn_to_config") or {}
    rules = [Rule("class", "Linear", choice(one)) if key == "_default" else
             Rule("re", f"(?:{key[3:]})$", choice(one)) if key.startswith("re:") else
             Rule("name", key[:-len(".weight")] if key.endswith(".weight") else key, choice(one)) for key, one in layers.items()]
    return sorted(rules, key=lambda one: ("name", "re", "class").index(one.kind))


def _compressed(config: Dict[str, Any]) -> List[Rule]:
    def rule(target: str, choice: Choice) -> List[Rule]:
        if target.startswith("re:"):
            return [Rule("re", target[3:], choice)]
        return [Rule("name", target, choice), Rule("class", target, choice)]
    kept = [one for target in config.get("ignore") or [] for one in rule(target, None)]
    rules: List[Rule] = []
    for key, group in config.get("config_groups", {}).items():
        word = str(group.get("format") or config.get("format") or key) if isinstance(group, dict) else key
        one = f"{word} of compressed-tensors"
        given = group if isinstance(group, dict) else {"targets": group}
        if isinstance(group, dict) and group.get("weights"):
            found = _row("compressed-tensors", {name: group.get(name) for name in
                         ("weights", "input_activations", "output_activations")}, word, ("weights", "input_activations"))
        else:
            found = next((row for row in ROWS if row.framework == "compressed-tensors" and row.name == key), one)
        rules += [each for target in given["targets"] for each in rule(target, found)]
    if config.get("kv_cache_scheme"):
        rules.append(Rule("name", "kv_cache_scheme", "a KV cache of compressed-tensors"))
    return kept + sorted(rules, key=lambda each: ("name", "re", "class").index(each.kind))


def _hf_quant(config: Dict[str, Any]) -> List[Rule]:
    def choice(one: Dict[str, Any]) -> Choice:
        algo, size = one.get("quant_algo"), one.get("group_size") or 0
        return None if algo is None else next((row for row in ROWS if row.framework == "modelopt" and read_as(row)
                                               and (row.config["algo"], row.config["group_size"]) == (algo, size)),
                                              f"{algo} of modelopt")
    rules = [Rule("glob", one, None) for one in config.get("exclude_modules") or config.get("ignore") or []]
    rules += [Rule("name", name, choice(one)) for name, one in (config.get("quantized_layers") or {}).items()]
    if config.get("kv_cache_quant_algo"):
        rules.append(Rule("name", "kv_cache_quant_algo", f"a KV cache in {config['kv_cache_quant_algo']} of modelopt"))
    return rules if config.get("quant_algo") == "MIXED_PRECISION" else [*rules, Rule("class", "Linear", choice(config))]


def _quant_cfg(config: Dict[str, Any], model: Optional[nn.Module]) -> List[Rule]:
    """Quantizers by wildcards, of which the last one decides."""
    if model is None:
        raise refused("model", "None", "the module, whose quantizers quant_cfg names by wildcards")
    entries = config["quant_cfg"]
    if isinstance(entries, dict):  # as ModelOpt had it before 0.45
        entries = [{"quantizer_name": key, **({"enable": one["enable"]} if set(one) == {"enable"} else {"cfg": one})}
                   for key, one in entries.items() if key != "default" and isinstance(one, dict)]

    def state(name: str, one: nn.Module) -> Any:
        cfg, on = None, True
        for entry in entries:
            parent = entry.get("parent_class", "nn.Linear")
            if fnmatch.fnmatchcase(name, entry["quantizer_name"]) and parent == f"nn.{type(one).__name__}":
                cfg, on = entry.get("cfg") or cfg, entry.get("enable", True)
        return cfg if on else None

    rules = []
    for name, one in linear_layers(model).items():
        both = {what: state(f"{name}.{what}_quantizer", one) for what in ("weight", "input")}
        choice = None if both == {"weight": None, "input": None} else _row("modelopt", both, f"{both}", ("weight", "input"))
        rules.append(Rule("name", name, choice))
    return rules


def _rules(config: Any, model: Optional[nn.Module]) -> List[Rule]:
    if isinstance(config, PathLike) or (isinstance(config, str) and config.endswith(".json")):
        config = json_of(config)
    if not isinstance(config, (dict, str)) and hasattr(config, "quant_type"):
        config = config.quant_type  # of transformers
    if type(config).__module__.startswith("torchao."):
        from torchao.core.config import config_to_dict
        config = config_to_dict(config)
    if hasattr(config, "model_dump"):
        config = config.model_dump(mode="json")  # of compressed-tensors
    if isinstance(config, dict):
        for key in ("quantization_config", "quantization"):
            config = config.get(key, config) if isinstance(config.get(key), dict) else config
        if config.get("quant_method") == "torchao":
            config = config["quant_type"]["default"]
        if "_type" in config:
            return _torchao(config)
        if "quant_cfg" in config:
            return _quant_cfg(config, model)
        if "quant_algo" in config:
            return _hf_quant(config)
        if "config_groups" in config:
            return _compressed(config)
    raise refused("config", type(config).__name__, "a configuration of " + listed(FRAMEWORKS[:3]) + ", or a file of it")


def _resolved(rules: List[Rule], model: Optional[nn.Module]) -> Iterator[Tuple[str, Choice]]:
    """What each nn.Linear takes; without a module, the rules' own patterns."""
    if model is None:
        for one in rules:
            if one.kind == "re":
                raise refused("model", "None", f"the module, for the pattern {one.pattern!r}")
            yield one.pattern, one.choice
        return
    for name, layer in linear_layers(model).items():
        yield name, next((one.choice for one in rules if one.matches(name, layer)), None)


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
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
        raise refused("config", f"{type(error).__name__} {error}", "a configuration of " + listed(FRAMEWORKS[:3])) from None
    layers: Dict[str, Any] = {}
    near: Dict[str, int] = {}
    for name, choice in [*_resolved(rules, model), *((one.pattern, one.choice) for one in rules if "kv_cache" in one.pattern)]:
        if isinstance(choice, str) and not partial:
            raise refused(f"config {name!r}", choice, listed(
                f"{row.name} of {row.framework}" for row in ROWS if row.framework in FRAMEWORKS[:3] and read_as(row)))
        found = read_as(choice) if isinstance(choice, Row) else None
        if "kv_cache" not in name:
            layers.setdefault(name, RECIPES[found[0]] if found else None)
        if isinstance(choice, Row) and found and not found[1]:
            line = f"{found[0]} is nearest to {choice.name} of {choice.framework}" + (choice.note and f" ({choice.note})")
            near[line] = near.get(line, 0) + 1
    if not any(layers.values()):
        raise refused("config", "no layer to quantize", "one that quantizes some")
    for line, count in near.items():
        warnings.warn(f"plan_from: {count} layers: {line}", stacklevel=2)
    return LayerRecipes(None, list(layers.items()))
