"""Plans as configurations of frameworks, and back: against the packages themselves, which .ci/torch.sh installs."""
import importlib.util
import json
import os
import re
import subprocess
import sys
import warnings
from collections import OrderedDict
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from torch import nn

import mmaudit.torch as mt
from mmaudit.torch._export import FRAMEWORKS, ROWS, read_as, unscaled
from mmaudit.torch._import import _bytes_of

#: Packages that the tests are against. A machine without one is not the one that .ci/torch.sh makes: that is told.
LACKING = [name for name in ("torchao", "compressed_tensors") if importlib.util.find_spec(name) is None]
needs_packages = pytest.mark.skipif(bool(LACKING) and "MMAUDIT_TESTS_PACKAGES" not in os.environ,
                                    reason=f"no {' and '.join(LACKING)} here (pip install, .ci/torch.sh)")
has_modelopt = importlib.util.find_spec("modelopt") is not None
WRITTEN = [row for row in ROWS if row.written and read_as(row)]


def network(dtype=torch.bfloat16):
    torch.manual_seed(2)
    model = nn.Module()
    model.embed, model.head = nn.Embedding(16, 128), nn.Linear(128, 48, bias=False)
    model.blocks = nn.ModuleList(nn.ModuleDict({
        "norm": nn.LayerNorm(128), "up": nn.Linear(128, 256), "down": nn.Linear(256, 128)}) for _ in range(3))
    return model.to(dtype)


NAMES = ["head", "blocks.0.up", "blocks.0.down", "blocks.1.up", "blocks.1.down", "blocks.2.up", "blocks.2.down"]


def choices(plan, model):
    return {name: plan.choice(name, type(model.get_submodule(name)).__name__)[1] for name in NAMES}


def mixed(framework):
    """A plan of every recipe that the framework's rows are read as, some layers kept."""
    names = list(dict.fromkeys(read_as(row)[0] for row in WRITTEN if row.framework == framework))
    return [{name: names[(at + turn) % len(names)] if name != "blocks.1.down" else "keep"
             for at, name in enumerate(NAMES[1:])} for turn in range(0, len(names), 5)]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("framework", [name for name in FRAMEWORKS if name != "transformer-engine"])
def test_round_trip(framework, tmp_path):
    model = network()
    for layers in mixed(framework):
        plan = mt.Plan.of({"layers": layers})
        done = plan.export(framework, model, tmp_path / "f.json")
        ways = [(done.config, model), (done.data, model), (tmp_path / "f.json", model),
                (json.loads((tmp_path / "f.json").read_text()), model)]
        ways += [(done.data, None), ({"architectures": ["X"], "quantization_config": done.data}, None)]
        for given, of in ways:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                back = mt.plan_from(given, of)
            assert choices(back, model) == choices(plan, model), (layers, given)
        assert set(done.layers) == {name for name, one in layers.items() if one != "keep"} and not done.left_out
        assert sorted([*done.layers, *done.kept]) == sorted(NAMES)


@needs_packages
def test_rows_of_torchao_are_what_torchao_writes():
    import torchao.prototype.mx_formats  # noqa: F401
    from torchao.core.config import config_from_dict, config_to_dict
    for row in ROWS:
        if row.framework == "torchao":
            assert config_to_dict(config_from_dict(row.config)) == row.config, row.name
    from torchao.prototype.mx_formats import NVFP4DynamicActivationNVFP4WeightConfig as Nv
    from torchao.quantization import FqnToConfig
    model = network()
    some = FqnToConfig(OrderedDict([("head", None), (r"re:blocks\.[01]\.up", Nv(use_triton_kernel=True)), ("blocks.2.down", Nv())]))
    named = choices(mt.plan_from(some, model), model)
    assert [name for name in NAMES if named[name]] == ["blocks.0.up", "blocks.1.up", "blocks.2.down"]
    whole = choices(mt.plan_from(Nv(), model), model)
    assert set(whole.values()) == {mt.RECIPES["nvfp4-torchao"]}
    with pytest.raises(ValueError, match="^model: found None, allowed: the module, for regular expressions and names of quantizers$"):
        mt.plan_from(some)
    assert mt.plan_from(Nv()).choice("anything", "Linear")[1] == mt.RECIPES["nvfp4-torchao"]


@needs_packages
def test_torchao_quantizes_what_the_plan_says(monkeypatch, tmp_path):
    import torchao.prototype.mx_formats.inference_workflow as workflow
    import torchao.quantization.quant_api as api
    from torchao.utils import TorchAOBaseTensor
    monkeypatch.setattr(workflow, "is_sm_at_least_100", lambda: True)  # the products need that GPU, the weights don't
    monkeypatch.setattr(api, "_check_hardware_support", lambda granularity: None)
    for layers in mixed("torchao"):
        plan, model = mt.Plan.of({"layers": layers}), network()
        done = plan.export("torchao", model)
        api.quantize_(model, done.config, filter_fn=None)
        found = {name for name, one in model.named_modules() if any(
            isinstance(x, TorchAOBaseTensor) for x in one.parameters(recurse=False))}
        assert found == {name for name, one in choices(plan, model).items() if one is not None}


@needs_packages
def test_torchao_runs_what_the_plan_says():
    """INT8 runs on a CPU: the module that torchao made gives the numbers of emulate()."""
    from torchao.quantization import quantize_
    model, x = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 8)), torch.randn(5, 64)
    plan = mt.Plan.of({"layers": {"0": "int8-w8a8"}})
    with mt.emulate(model, plan), torch.no_grad():
        expected = model(x)
    plain = model(x)
    quantize_(model, plan.export("torchao", model).config, filter_fn=None)
    found = model(x)
    assert (found - expected).norm() < 1e-5 * (plain - expected).norm() or torch.equal(found, expected)


@needs_packages
def test_transformers_takes_the_file(tmp_path):
    from torchao.quantization import FqnToConfig
    transformers = pytest.importorskip("transformers")
    done = mt.Plan.of({"layers": {"head": "nvfp4", "blocks.0.up": "keep"}}).export("torchao", network(), tmp_path / "ao.json")
    taken = transformers.TorchAoConfig.from_dict(json.loads((tmp_path / "ao.json").read_text()))
    assert isinstance(taken.quant_type, FqnToConfig) and dict(taken.quant_type.fqn_to_config) == dict(done.config.fqn_to_config)
    assert choices(mt.plan_from(taken, network()), network())["head"] == mt.RECIPES["nvfp4-torchao"]


@needs_packages
def test_compressed_tensors_quantizes_what_the_plan_says(tmp_path):
    from compressed_tensors.quantization import QuantizationConfig, apply_quantization_config
    from compressed_tensors.quantization.quant_scheme import PRESET_SCHEMES
    for layers in mixed("compressed-tensors"):
        plan, model = mt.Plan.of({"layers": layers}), network()
        config = QuantizationConfig.model_validate(plan.export("compressed-tensors", model).data)
        apply_quantization_config(model, config, show_progress=False)
        scheme = {name: one.quantization_scheme for name, one in model.named_modules() if hasattr(one, "quantization_scheme")}
        assert set(scheme) == {name for name, one in choices(plan, model).items() if one is not None}
        for name, one in choices(plan, model).items():
            if one is not None:
                kind = one.dtype if one.weights is None else one.weights
                assert scheme[name].weights.num_bits == (4 if "f4" in kind or "fp4" in kind or "int4" in kind else 8)
                assert (scheme[name].input_activations is None) == (one.dtype == "bf16")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert choices(mt.plan_from(config, model), model) == choices(plan, model)  # as the package has filled it
    for row in ROWS:  # the package's own presets
        if row.framework == "compressed-tensors" and row.name in PRESET_SCHEMES and read_as(row):
            given = {"config_groups": {"group_0": {"targets": ["Linear"], **json.loads(json.dumps(
                {key: value.model_dump(mode="json") for key, value in PRESET_SCHEMES[row.name].items()}))}},
                     "ignore": ["head", "re:blocks.2.u"]}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = choices(mt.plan_from(given, network()), network())
            assert {name for name, one in found.items() if one} == set(NAMES) - {"head", "blocks.2.up"}, row.name
            assert set(found.values()) - {None} == {mt.RECIPES[read_as(row)[0]]}


@pytest.mark.skipif(not has_modelopt, reason="no modelopt here (it takes 100 MB with what it needs)")
def test_modelopt_quantizes_what_the_plan_says():
    import modelopt.torch.quantization as mtq
    for layers in mixed("modelopt"):
        plan, model = mt.Plan.of({"layers": layers}), network(torch.float32)
        quantized = mtq.quantize(deepcopy(model), plan.export("modelopt", model).config, None)
        found = {name for name, one in quantized.named_modules()
                 if hasattr(one, "weight_quantizer") and one.weight_quantizer.is_enabled and one.input_quantizer.is_enabled}
        assert found == {name for name, one in choices(plan, model).items() if one is not None}
    for row in ROWS:
        preset = getattr(mtq, f"{row.name}_DEFAULT_CFG", getattr(mtq, f"{row.name}_CFG", None))
        if row.framework == "modelopt" and read_as(row):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = choices(mt.plan_from(preset, network()), network())
            assert set(found.values()) == {mt.RECIPES[read_as(row)[0]]}, row.name


def test_transformer_engine_is_python_that_is_not_loaded_here():
    model = network()
    done = mt.Plan.of({"default": "fp8-tensor", "layers": {"head": "keep", "blocks.0.up": "nvfp4"}}).export(
        "transformer-engine", model)
    compile(done.config, "te", "exec")
    assert done.data["loaded"] == "not loaded here" and "not loaded here" in str(done) and done.data["off"] == ["head"]
    assert [(one["recipe"], len(one["modules"])) for one in done.data["autocast"]] == [
        ("NVFP4BlockScaling", 1), ("Float8CurrentScaling", 5)]
    assert "'blocks.0.up': recipe.NVFP4BlockScaling(disable_rht=True" in done.config


def test_what_is_said_of_bytes_and_evidence():
    text = str(mt.Plan.of({"layers": {"head": "nvfp4", "blocks.0.up": "nvfp4-torchao", "blocks.0.down": "bf16"}}).export(
        "torchao", network()))
    assert "NVFP4, 1 layers, nearest to nvfp4: head" in text and "NVFP4, 1 layers, the bytes of nvfp4-torchao: blocks.0.up" in text
    assert "bits of blackwell: literature; on that GPU, mmaudit verify --live --inst kind_mxf4nvf4 proves them" in text
    assert "read from torchao 0.18.0" in text and "layers in bf16 are kept" in text
    with pytest.warns(UserWarning, match=r"^plan_from: 1 layers: fp8-tensor is nearest to FP8 of modelopt \(scales of activations"):
        mt.plan_from({"quantization": {"quant_algo": "FP8", "exclude_modules": []}})


def test_globs_classes_defaults_and_ends():
    model = network()
    plan = mt.Plan.of({"default": "nvfp4-torchao", "layers": {"blocks.1.*": "keep", "LayerNorm": "keep"}, "keep_first_last": True})
    done = plan.export("torchao", model)
    assert set(done.layers) == {"blocks.0.up", "blocks.0.down", "blocks.2.up"} and "head" in done.kept
    with pytest.raises(ValueError, match="^model: found None, allowed: the module, for a plan with globs, "):
        plan.export("torchao")
    assert set(mt.Plan.of({"layers": {"head": "nvfp4"}}).export("torchao").layers) == {"head"}


class Attending(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.out = nn.MultiheadAttention(64, 2, batch_first=True), nn.Linear(64, 24)

    def forward(self, x):
        return self.out(self.attention(x, x, x)[0])


@pytest.mark.parametrize("framework,layers,line", [
    ("torchao", {"attention": "nvfp4", "out": "int8-w8a8"},
     "^export 'attention': found nvfp4, products outside nn.Linear, allowed: products of nn.Linear; partial=True "),
    ("modelopt", {"out": "int8-w8a8"}, "^export 'out': found int8-w8a8, no configuration of modelopt, allowed: "),
    ("torchao", {"out": {"arch": "hopper", "dtype": "e4m3", "scaling": "row", "policy": "promote:64"}},
     "^export 'out': found e4m3 promote:64, no configuration of torchao, allowed: "),
    ("torchao", {"out": "nvfp4"}, "^export 'out': found nvfp4, NVFP4 takes multiples of 16 x 16, not 24 x 64, allowed: "),
    ("tensorrt", {"out": "nvfp4"}, "^framework: found 'tensorrt', allowed: torchao, compressed-tensors, modelopt, transformer-engine$"),
    ("torchao", {"out": "bf16"}, "^export: found no layer to quantize of 1, allowed: "),
])
def test_what_can_not_be_expressed_is_refused_by_name(framework, layers, line):
    with pytest.raises(ValueError, match=line) as found:
        mt.Plan.of({"layers": layers}).export(framework, Attending())
    assert "\n" not in str(found.value)


def test_what_is_left_out_is_taken_from_the_saving():
    net = nn.Sequential(nn.Linear(64, 64), nn.Linear(64, 24), nn.Linear(64, 32)).float()
    other = mt.Plan.of({"layers": {"0": "nvfp4-torchao", "1": "bf16", "2": "fp8-1x128"}}).export("torchao", net, partial=True)
    assert [name for name, _, _ in other.left_out] == ["2"]
    # 4.5 bits of nvfp4, 16 of bf16, by the plan 8 and 32 / 128^2 of fp8-1x128, else 32
    by_plan, left = (4096 * 4.5 / 8 + 1536 * 2 + 2048 * one for one in (1 + 4 / 128**2, 4))
    said = re.search(r"left out are 1 nn.Linear with (\S+) of their weights: these take (\S+) MB, and (\S+) MB by the plan", str(other))
    assert said[1] == f"{2048 / 7680:.1%}" and [float(one) * 1e6 for one in said.groups()[1:]] == pytest.approx([left, by_plan], rel=1e-3)


def test_partial_lists_what_is_left_out():
    done = mt.Plan.of({"layers": {"attention": "nvfp4", "out": "int8-w8a8"}}).export("torchao", Attending(), partial=True)
    assert [one[:2] for one in done.left_out] == [("attention", "nvfp4")] and set(done.layers) == {"out"}
    assert "stay as the framework has them; the plan's error and speed-up count these in 1 of its keys" in str(done)
    assert "left out, nvfp4: attention (products outside nn.Linear)" in str(done)


W2A16 = {"quant_method": "compressed-tensors", "config_groups": {
    "group_0": {"targets": ["Linear"], "weights": {"num_bits": 2, "type": "int", "strategy": "group", "group_size": 128},
                "input_activations": None}, "group_1": {"targets": ["head"], **next(
        row.config for row in ROWS if row.name == "INT8")}}}


@pytest.mark.parametrize("given,line", [
    (W2A16, "^config 'blocks.0.up': found group_0 of compressed-tensors, allowed: NVFP4, MXFP8, "),
    ({"quantization": {"quant_algo": "NVFP4_AWQ", "group_size": 16}}, "^config 'head': found NVFP4_AWQ of modelopt, allowed: "),
    ({"quantization": {"quant_algo": "NVFP4", "group_size": 16, "kv_cache_quant_algo": "FP8"}},
     "^config: found kv_cache_quant_algo, allowed: a KV cache that is not quantized$"),
    ({"_type": "Int8WeightOnlyConfig", "_version": 2, "_data": {}}, "^config 'head': found Int8WeightOnlyConfig of torchao, "),
    ({"_type": "NVFP4DynamicActivationNVFP4WeightConfig", "_data": {}}, "^config 'head': found NVFP4Dynamic.* of torchao, "),
    ({"quant_cfg": [{"quantizer_name": "*", "enable": True}]}, "^config 'head': found .* of modelopt, allowed: "),
    ({"quant_cfg": {"*weight_quantizer": {"num_bits": 8}}}, "^config: found dict .*, allowed: a configuration of "),
    ({"quant_method": "gptq", "bits": 4}, "^config: found .*, allowed: a configuration of torchao, compressed-tensors, modelopt"),
    ({"quantization": {"quant_algo": "NVFP4", "group_size": 16, "exclude_modules": "head"}}, "^config: found dict .*'head' for a list"),
    ({"_type": "FqnToConfig", "_data": {"fqn_to_config": {"re:[": None}}}, "^config: found dict .*unterminated"),
    (7, r"^config: found int \(.*\), allowed: a configuration of "),
    ({"_type": "FqnToConfig"}, r"^config: found dict that lacks '_data', allowed: "),
])
def test_configurations_without_a_recipe_are_refused_by_name(given, line):
    with pytest.raises(ValueError, match=line) as found:
        mt.plan_from(given, network())
    assert "\n" not in str(found.value)


def test_partial_keeps_what_no_recipe_is_known_for():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = choices(mt.plan_from(W2A16, network(), partial=True), network())
    assert {name for name, one in found.items() if one} == {"head"}


def test_a_changed_field_is_no_longer_the_row():
    """Every field that changes bytes decides."""
    for row in ROWS:
        if row.framework == "torchao" and read_as(row):
            config = deepcopy(row.config)
            key = next(key for key in ("activation_value_ub", "block_size", "use_dynamic_per_tensor_scale", "reduce_range",
                                    "granularity")
                       if key in config["_data"])
            config["_data"][key] = {"activation_value_ub": 3.0, "block_size": 64, "reduce_range": True}.get(key, "changed")
            with pytest.raises(ValueError, match="^config 'Linear': found "):
                mt.plan_from(config)


@needs_packages
def test_compare_measures_a_framework_against_a_plan():
    model, x = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16)), torch.randn(8, 64)
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig
    found = mt.compare(model, x, {"torchao's INT8": mt.plan_from(Int8DynamicActivationInt8WeightConfig(), model), "ours": "int8-w8a8"})
    assert found["plans"]["torchao's INT8"]["relative_error"] == found["plans"]["ours"]["relative_error"] > 0


def test_a_file_is_whole_or_as_it_was(tmp_path):
    (tmp_path / "f.json").write_text("before")
    with pytest.raises(ValueError, match="^export: "):
        mt.Plan.of({"layers": {"out": "keep", "attention": "bf16"}}).export("torchao", Attending(), tmp_path / "f.json")
    assert (tmp_path / "f.json").read_text() == "before"


def test_without_torchao_the_json_is_the_same():
    code = ("import sys; sys.modules['torchao'] = None; import json, mmaudit.torch as mt; "
            "e = mt.Plan.of({'layers': {'head': 'nvfp4-torchao'}}).export('torchao'); "
            "assert isinstance(e.config, dict); assert mt.plan_from(e.data).layers[0][1] == mt.RECIPES['nvfp4-torchao']; "
            "print(json.dumps(e.data))")
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert json.loads(out) == mt.Plan.of({"layers": {"head": "nvfp4-torchao"}}).export("torchao").data


@needs_packages
def test_the_block_of_the_docs_runs_as_it_is_pasted(capsys):
    page = (Path(__file__).resolve().parents[3] / "docs/torch.md").read_text(encoding="utf-8")
    [block] = [one for one in re.findall(r"```python\n(.*?)```", page, re.S) if "plan_from" in one]
    model, tokens = nn.Sequential(nn.Embedding(16, 64), nn.Linear(64, 64)), torch.arange(8)
    model.add_module("head", nn.Linear(64, 16))
    exec(compile(block, "docs/torch.md", "exec"), {"model": model, "tokens": tokens})
    printed = capsys.readouterr().out
    assert "torchao: 1 layers quantized, 1 kept, 0 left out" in printed and "relative error" in printed.lower()


def test_every_row_says_where_it_was_read_and_has_a_reading():
    names = {name for row in ROWS for name in (*row.exact, *row.nearest)}
    assert len({(row.framework, row.name) for row in ROWS}) == len(ROWS) and all(re.search(r"[0-9]", row.source) for row in ROWS)
    assert len({json.dumps([row.framework, _bytes_of(row.config)], sort_keys=True) for row in ROWS}) == len(ROWS)
    assert {name for name, one in mt.RECIPES.items() if not unscaled(one)} <= names


def test_the_most_precise_key_of_torchao_decides():
    """torchao 0.18, quantization/quant_api.py: the whole name, then regular expressions, then _default, in any order."""
    data = mt.Plan.of({"layers": {"blocks.0.up": "nvfp4"}}).export("torchao", network()).data
    nvfp4 = data["quant_type"]["default"]["_data"]["fqn_to_config"]["blocks.0.up"]
    for order in (["_default", "re:head", "head"], ["head", "_default", "re:head"]):
        layers = {"_default": nvfp4, "re:head": nvfp4, "head": None}
        plan = mt.plan_from({"_type": "FqnToConfig", "_version": 1, "_data": {"fqn_to_config": {key: layers[key] for key in order}}},
                            network())
        chosen = dict(plan.layers)
        assert chosen["head"] is None and all(recipe is not None for name, recipe in chosen.items() if name != "head")


def test_what_vllm_multiplies_at_once_and_differs_is_said():
    net = nn.ModuleDict({name: nn.Linear(64, 64) for name in ("q_proj", "k_proj", "v_proj")})
    same, other = ({"layers": {"q_proj": "nvfp4", "k_proj": "nvfp4", "v_proj": of}} for of in ("nvfp4", "mxfp8-floor"))
    assert "vLLM" not in str(mt.Plan.of(same).export("compressed-tensors", net))
    with pytest.warns(UserWarning, match="^export: vLLM multiplies q_proj, k_proj, v_proj of the module at once"):
        assert "wants one scheme: found NVFP4, NVFP4, MXFP8" in str(mt.Plan.of(other).export("compressed-tensors", net))
