"""mt.load() of folders that are not what they should be, what loaded models are to emulate(), and models that transformers
loads quantized by itself."""
import copy
import json
import shutil
import warnings

import checkpoints
import pytest
import torch
from checkpoints import TOKENS

import mmaudit.torch as mt
from common import same_bits
from mmaudit.torch._coded import CodedStack, CodedWeight

transformers = pytest.importorskip("transformers")
save = pytest.importorskip("safetensors.torch")


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    folder = tmp_path_factory.mktemp("llama")
    checkpoints.write(folder, "llama", "ct-nvfp4")
    return folder


@pytest.fixture
def broken(llama, tmp_path):
    """A copy to break: the folder, and a function that changes tensors and config."""
    shutil.copytree(llama, tmp_path, dirs_exist_ok=True)

    def change(tensors=None, **config):
        file, place = tmp_path / "model.safetensors", tmp_path / "config.json"
        if tensors is not None:
            found = save.load_file(file)
            tensors(found)
            save.save_file(found, file, {"format": "pt"})
        place.write_text(json.dumps({**json.loads(place.read_text()), **config}))
        return tmp_path
    return change


def logits(net):
    with torch.no_grad():
        return net(TOKENS).logits


def test_a_foreign_tensor_changes_nothing(llama, broken):
    folder = broken(lambda x: x.update({"model.layers.0.self_attn.rotary_emb.foreign": torch.zeros(3, dtype=torch.int64)}))
    with pytest.warns(UserWarning, match="load: LlamaForCausalLM has no place for .*rotary_emb.foreign"):
        found = logits(mt.load(folder, "b200"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same_bits(found, logits(mt.load(llama, "b200")))


def refuses(start, *arguments, **how):
    with pytest.raises(ValueError) as error:
        mt.load(*arguments, **how)
    line = str(error.value)
    assert "\n" not in line and "allowed:" in line and len(line) < 600 and line.startswith(start), line


def test_paths_and_gpus(llama, tmp_path):
    refuses("path: found no config.json", tmp_path / "nowhere", "b200")
    refuses("path: found no config.json", llama / "model.safetensors", "b200")
    refuses("arch: found hopper, which has no instruction for nvfp4-compressed-tensors of model.layers.0", llama, "hopper")
    refuses("arch", llama, "h1000")
    refuses("arch: found a int", llama, 90)
    refuses("convention", llama, "b200", convention="nvfp5")


@pytest.mark.parametrize("config,start", [
    ({"model_type": "no such model"}, "config.json"), ({"model_type": None}, "config.json"), ({"hidden_size": -1}, "config.json"),
    ({"hidden_size": "wide"}, "config.json"), ({"num_hidden_layers": [2]}, "config.json"),
    ({"intermediate_size": 128}, "model.layers.0.mlp.gate_proj.weight: found the shape [256, 128]"),
    ({"num_hidden_layers": 3}, "path: found no tensors for model.layers.2"), ({"hidden_act": {"a": 1}}, "config.json")])
def test_hostile_configs(broken, config, start):
    refuses(start, broken(**config), "b200")


@pytest.mark.parametrize("given", [{"quant_algo": "W4A8_AWQ"}, {"quant_algo": "W4A8_mxfp4_fp8"}, {
    "quant_algo": "MIXED_PRECISION", "quantized_layers": {"*.1.mlp.up_*": {"quant_algo": "W4A8_AWQ"}}}])
@pytest.mark.parametrize("own", [False, True])
def test_algorithms_of_modelopt_that_are_not_run(broken, given, own):
    """Their codes were made for other activations."""
    folder = broken(quantization_config=None if own else {"quant_method": "modelopt", **given})
    if own:
        (folder / "hf_quant_config.json").write_text(json.dumps({"quantization": given}))
    where = "1.mlp.up_proj" if "quantized_layers" in given else "0.mlp.down_proj"
    if given["quant_algo"] == "W4A8_mxfp4_fp8":
        refuses("quant_algo of model.layers.0.self_attn.q_proj: found W4A8_MXFP4_FP8, MXFP4", folder, "b200")
    else:
        refuses(f"model.layers.{where}.weight_packed: quant_algo: found W4A8_AWQ, allowed: ", folder, "b200")


@pytest.mark.parametrize("given", [7, "W4A8_AWQ", {"quantized_layers": 3}, {"quant_algo": [1], "quantized_layers": {"a": 5}}])
def test_hostile_algorithms(broken, llama, given):
    config = json.loads((llama / "config.json").read_text())["quantization_config"]
    folder = broken(quantization_config={**config, **given} if isinstance(given, dict) else given)
    if isinstance(given, dict):
        assert same_bits(logits(mt.load(folder, "b200")), logits(mt.load(llama, "b200")))
    else:
        refuses("", folder, "b200")


def test_factors_of_activations(broken):
    folder = broken(lambda x: x.update({"model.layers.0.mlp.down_proj.pre_quant_scale": torch.ones(256)}))
    refuses("model.layers.0.mlp.down_proj.pre_quant_scale: found factors", folder, "b200")


@pytest.mark.parametrize("text", ["", "[]", "{", "7", '{"a":' * 5000, '{"model_type": "llama", "model_type": "llama"', "\xff"])
def test_config_that_is_no_json(broken, text):
    folder = broken()
    (folder / "config.json").write_text(text, encoding="latin-1")
    refuses("", folder, "b200")


def test_parameters_that_no_file_has(broken):
    refuses("path: found no tensors for model.norm.weight", broken(lambda x: x.pop("model.norm.weight")), "b200")


def test_tensors_of_other_shapes(broken):
    def change(x):
        x["model.norm.weight"] = torch.zeros(7, dtype=torch.bfloat16)
    refuses("model.norm.weight: found the shape [7]", broken(change), "b200")


def test_codes_stay_what_they_are(llama):
    net = mt.load(llama, "b200")
    expected, weight = logits(net), net.model.layers[0].mlp.up_proj.weight
    assert isinstance(weight, CodedWeight) and weight.shape == (256, 128) and weight.dtype == torch.bfloat16
    codes = weight.parts[0].elements.clone()
    assert same_bits(logits(copy.deepcopy(net)), expected)
    net.to(torch.float16)
    assert same_bits(weight.parts[0].elements, codes) and weight.parts[0].factor.dtype == torch.float32
    with pytest.raises(NotImplementedError, match="^weight: found relu of a weight with codes, allowed: functional.linear"):
        torch.relu(weight)


def test_emulate_counts_what_has_its_own_codes(llama):
    net = mt.load(llama, "b200")
    with torch.no_grad(), mt.emulate(net, "bf16") as emulation:
        net(TOKENS)
    rows = {one.layer: one.operator for one in emulation.coverage.rows}
    assert emulation.coverage.missed == emulation.coverage.kept == 0
    assert rows["model.layers.1.mlp.down_proj"] == "mmaudit.matmul" and rows["lm_head"] == "aten.mm"


def test_gpt_oss(tmp_path):
    """Experts that are multiplied from the right: products of the weights that transformers makes of blocks and scales."""
    torch.manual_seed(2)
    net = transformers.GptOssForCausalLM(transformers.GptOssConfig(
        hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, head_dim=16,
        vocab_size=96, num_local_experts=4, num_experts_per_tok=2, max_position_embeddings=64, dtype="bfloat16")).eval()
    for one in net.parameters():
        one.data = one.data.to(torch.bfloat16)
    net.set_experts_implementation("eager")
    net.save_pretrained(tmp_path)
    tensors, out = save.load_file(tmp_path / "model.safetensors"), {}
    for name, x in tensors.items():
        if name.endswith("experts.gate_up_proj") or name.endswith("experts.down_proj"):
            parts, again = checkpoints.gpt_oss(x.transpose(1, 2))
            out.update({f"{name}_{end}": part for end, part in parts.items()})
            net.get_parameter(name).data.copy_(again.transpose(1, 2))
        else:
            out[name] = x
    save.save_file(out, tmp_path / "model.safetensors", {"format": "pt"})
    place = tmp_path / "config.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), "quantization_config": {"quant_method": "mxfp4"}}))
    loaded = mt.load(tmp_path, "hopper")
    assert isinstance(loaded.model.layers[0].mlp.experts.down_proj, CodedStack)
    with mt.emulate(net, "bf16"):  # the same bits: BF16 products of the dequantized weights, in a Hopper's order
        expected = logits(net)
    with mt.emulate(loaded, "bf16"):
        assert same_bits(logits(loaded), expected)


# ---- models that transformers loads quantized by itself ---------------------------------------------------------------

def by_transformers(tmp_path, what):
    if callable(what):
        checkpoints.network("llama").save_pretrained(tmp_path)
        config = transformers.TorchAoConfig(what(pytest.importorskip("torchao.quantization")))
        return transformers.AutoModelForCausalLM.from_pretrained(tmp_path, quantization_config=config)
    checkpoints.write(tmp_path, "llama", what)
    return transformers.AutoModelForCausalLM.from_pretrained(tmp_path)


@pytest.mark.parametrize("what", [
    "ct-nvfp4", "ct-w8a8", "deepseek-fp8", lambda ao: ao.Int8WeightOnlyConfig(), lambda ao: ao.Float8WeightOnlyConfig(),
    lambda ao: ao.Int8DynamicActivationInt8WeightConfig()],
    ids=["compressed-tensors NVFP4", "compressed-tensors INT8", "fine-grained FP8", "torchao INT8 weights",
         "torchao FP8 weights", "torchao INT8"])
def test_all_of_a_model_quantized_by_transformers_is_seen(tmp_path, what):
    plain, net = checkpoints.network("llama"), by_transformers(tmp_path, what)
    counts = []
    for one in (plain, net):
        with torch.no_grad(), mt.emulate(one, "bf16") as emulation:
            one(TOKENS)
        counts.append(emulation.coverage)
    assert counts[0].emulated == counts[1].emulated > 0 and counts[1].missed == counts[1].kept == 0
