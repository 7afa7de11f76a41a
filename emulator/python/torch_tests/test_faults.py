"""mmaudit.model(..., original=): planted faults are named as what they are, in one layer each, and no others."""
import json
import shutil

import checkpoints
import pytest
import torch

import mmaudit
import mmaudit.torch as mt

pytest.importorskip("modelopt")
save = pytest.importorskip("safetensors.torch")
LAYER = "model.layers.1.mlp.up_proj"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The original, its NVFP4 by ModelOpt with static scales that cover the activations, and a capture."""
    transformers = pytest.importorskip("transformers")
    folder, original = (tmp_path_factory.mktemp(name) for name in ("nvfp4", "original"))
    _, net = checkpoints.write(folder, "llama", "modelopt-nvfp4")
    net.save_pretrained(original)
    net = transformers.AutoModelForCausalLM.from_pretrained(original)
    largest = {}
    for name, one in net.named_modules():
        if isinstance(one, torch.nn.Linear):
            one.register_forward_hook(lambda _, x, __, name=name: largest.update({name: x[0].abs().max().float()}))
    mt.capture(net, checkpoints.TOKENS, original.parent / "capture.safetensors")
    tensors = save.load_file(folder / "model.safetensors")
    for name in list(tensors):
        if name.endswith(".input_scale"):
            tensors[name] = largest[name.rpartition(".")[0]] / (6 * 448)
    save.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return folder, original


def faults(folder, **how):
    """By the names of layers, those that have one."""
    found = mmaudit.model(folder, threads=1, **how)
    return {one["name"]: [fault.partition(":")[0] for fault in one["faults"]] for one in found["layers"] if one["faults"]}


def damaged(made, tmp_path, change):
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    tensors = save.load_file(tmp_path / "model.safetensors")
    own = {name[len(LAYER) + 1:]: x for name, x in tensors.items() if name.startswith(LAYER + ".")}
    tensors.update({f"{LAYER}.{end}": x.contiguous() for end, x in change(own, made[1]).items()})
    save.save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    return tmp_path


def twice(own, original):
    weight = save.load_file(original / "model.safetensors")[LAYER + ".weight"]
    codes, scales = checkpoints.powers(weight)
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    values = torch.cat([values, -values])[torch.stack([codes & 15, codes >> 4], -1).flatten(-2).long()]
    mxfp4 = (values * torch.exp2(scales.float() - 127)[..., None]).reshape(weight.shape).to(weight.dtype)
    return {**checkpoints.modelopt("NVFP4", mxfp4)[0], "input_scale": own["input_scale"]}


FAULTS = {
    "wrong nibble order": lambda own, _: {"weight": own["weight"] >> 4 | own["weight"] << 4},
    "reciprocal scale": lambda own, _: {"weight_scale_2": 1 / own["weight_scale_2"]},
    "transposed scale blocks": lambda own, _: {"weight_scale": own["weight_scale"].t().reshape(own["weight_scale"].shape)},
    "quantized twice": twice,
    "stale input_scale": lambda own, _: {"input_scale": own["input_scale"] / 20}}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_named_as_what_they_are(made, tmp_path, name):
    folder = damaged(made, tmp_path, FAULTS[name])
    how = {"original": made[1], "activations": str(made[1].parent / "capture.safetensors")}
    assert faults(folder, **how) == {LAYER: [name]}
    assert not mmaudit.model(folder, threads=1, layers=LAYER, **how).passes


@pytest.mark.parametrize("captured", [False, True])
def test_an_undamaged_checkpoint_has_none(made, captured):
    how = {"activations": str(made[1].parent / "capture.safetensors")} if captured else {}
    assert faults(made[0], original=made[1], **how) == {}


@pytest.mark.parametrize("by,found", [(1, False), (8, False), (30, True), (1 / 30, True)])
def test_an_input_scale_unlike_the_others_is_a_suspicion(tmp_path, monkeypatch, by, found):
    """Without a capture, beside the middle one of at least four of its kind: LAYER's of six. It fails under strict alone."""
    monkeypatch.setitem(checkpoints.SIZES, "num_hidden_layers", 6)
    checkpoints.write(tmp_path, "llama", "modelopt-fp8")
    tensors = save.load_file(tmp_path / "model.safetensors")
    for at, name in enumerate(sorted(one for one in tensors if one.endswith(".input_scale"))):
        tensors[name] = tensors[name] * 2.0 ** (at % 5 - 2)  # calibrated ones differ too
    tensors[LAYER + ".input_scale"] = torch.tensor(0.0171 * by)
    save.save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    seen = mmaudit.model(tmp_path, threads=1, layers="*up_proj")
    assert [one["name"] for one in seen["layers"] if one["suspicions"]] == ([LAYER] if found else [])
    assert seen.passes and faults(tmp_path, layers="*up_proj") == {} and ("perhaps stale" in " ".join(seen.text().split())) == found
    assert mmaudit.model(tmp_path, threads=1, layers="*up_proj", strict=True).passes != found


# ---- every convention ---------------------------------------------------------------------------------------------------

OTHER = "model.layers.0.mlp.up_proj"
_CODES = (".weight", ".weight_packed", ".qweight")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    done = {}

    def of(convention):
        if convention not in done:
            folder, original = tmp_path_factory.mktemp(convention), tmp_path_factory.mktemp("original")
            checkpoints.write(folder, "llama", convention)[1].save_pretrained(original)
            done[convention] = folder, original
        return done[convention]
    return of


def exchanged(x):
    for name in [one for one in x if one.startswith(LAYER + ".")]:
        other = OTHER + name[len(LAYER):]
        x[name], x[other] = x[other].clone(), x[name].clone()


def shuffled(x):
    name = next(LAYER + end for end in _CODES if LAYER + end in x)
    flat = x[name].view(torch.uint8 if x[name].element_size() == 1 else x[name].dtype).reshape(-1)
    order = torch.randperm(flat.numel(), generator=torch.Generator().manual_seed(1))
    x[name] = flat[order].view(x[name].dtype).reshape(x[name].shape)


def a_quarter_again(x):
    name = next(LAYER + end for end in _CODES if LAYER + end in x)
    found = x[name].view(torch.uint8 if x[name].element_size() == 1 else x[name].dtype).clone()
    quarter = len(found) // 4
    found[:quarter] = found[quarter:2 * quarter].clone()
    x[name] = found.view(x[name].dtype)


def of_no_number(x):
    name = next(LAYER + end for end in (".weight_scale", ".weight_scale_inv", ".scales") if LAYER + end in x)
    one = x[name].reshape(-1)
    if one.element_size() == 1:
        one.view(torch.uint8)[0] = 0xFF
    else:
        one[0] = float("nan")


@pytest.mark.parametrize("convention", checkpoints.CONVENTIONS)
@pytest.mark.parametrize("change,names", [
    (None, {}), (exchanged, {LAYER: ["other weights"], OTHER: ["other weights"]}), (shuffled, {LAYER: ["other weights"]}),
    (a_quarter_again, None), (of_no_number, {LAYER: ["impossible scales"]})])
def test_weights_that_are_not_the_original_s(written, tmp_path, convention, change, names):
    folder, original = written(convention)
    if change is not None:
        shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
        tensors, folder = save.load_file(tmp_path / "model.safetensors"), tmp_path
        change(tensors)
        save.save_file({name: x.contiguous() for name, x in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    seen = mmaudit.model(folder, original=original, threads=1, layers="*up_proj", sample=256)
    found = {one["name"]: [fault.partition(":")[0] for fault in one["faults"]] for one in seen["layers"] if one["faults"]}
    if names is None:
        assert list(found) == [LAYER] and found[LAYER][0].partition(" in ")[0] in ("other weights", "unlike the original")
    else:
        assert found == names
    assert seen.passes == (change is None) and seen["contradictions"] == []
    if change is exchanged:
        assert f"they are {OTHER} of the original" in next(one for one in seen["layers"] if one["name"] == LAYER)["faults"][0]


def of_weights(**settings):
    def change(config):
        for group in config["config_groups"].values():
            group["weights"].update(settings)
    return change


def of_input(**settings):
    def change(config):
        for group in config["config_groups"].values():
            group["input_activations"].update(settings)
    return change


@pytest.mark.parametrize("convention,change,line", [
    ("gptq", lambda x: x.update(group_size=128), "group_size: found 128 in the config, allowed: 64"),
    ("gptq", lambda x: x.update(group_size=-1), "group_size: found -1 in the config, allowed: 64"),
    ("gptq", lambda x: x.update(bits=8), "bits: found 8 in the config, allowed: 4"),
    ("awq", lambda x: x.update(group_size=32), "group_size: found 32 in the config, allowed: 64"),
    ("ct-w4a16", of_weights(group_size=32), "group_size: found 32 in the config, allowed: 128"),
    ("ct-w4a16", of_weights(num_bits=8), "bits: found 8 in the config, allowed: 4"),
    ("ct-w8a16", of_weights(num_bits=4), "bits: found 4 in the config, allowed: 8"),
    ("ct-fp8-dynamic", of_weights(strategy="tensor"), "strategy: found tensor in the config"),
    ("ct-fp8", of_weights(strategy="channel"), "strategy: found channel in the config, allowed: tensor"),
    ("ct-fp8", of_weights(type="int"), "type: found int in the config, allowed: float"),
    ("ct-nvfp4", of_weights(group_size=32), "group_size: found 32 in the config, allowed: 16"),
    ("ct-mxfp4", of_weights(group_size=16), "group_size: found 16 in the config, allowed: 32"),
    ("ct-fp8", of_input(dynamic=True), "activations: found dynamic in the config, allowed: static"),
    ("ct-w8a8", of_input(dynamic=False), "activations: found static in the config, allowed: dynamic"),
    ("deepseek-fp8", lambda x: x.update(weight_block_size=[64, 64]), "weight_block_size: found [64,64] in the config"),
    ("deepseek-fp8", lambda x: x.update(weight_block_size=[128]), "weight_block_size: found [128], allowed: two"),
    ("deepseek-fp8", lambda x: x.update(activation_scheme="static"), "activations: found static in the config"),
    ("modelopt-nvfp4", lambda x: x.update(group_size=32), "group_size: found 32 in the config, allowed: 16")])
def test_a_config_that_contradicts_the_tensors(written, tmp_path, convention, change, line):
    shutil.copytree(written(convention)[0], tmp_path, dirs_exist_ok=True)
    place = tmp_path / "config.json"
    config = json.loads(place.read_text())
    change(config["quantization_config"])
    place.write_text(json.dumps(config))
    seen = mmaudit.model(tmp_path, threads=1, layers="*0.mlp.up_proj", sample=16)
    assert [one.startswith(line) and one.endswith("(model.layers.0.self_attn.q_proj and 13 more)")
            for one in seen["contradictions"]] == [True], seen["contradictions"]
    assert not seen.passes


@pytest.mark.parametrize("convention,ends", [
    ("ct-fp8", "weight_scale"), ("ct-nvfp4", "weight_scale"), ("ct-nvfp4", "weight_global_scale"), ("gptq", "scales"),
    ("gptq", "qzeros"), ("awq", "scales"), ("ct-w4a16", "weight_scale"), ("ct-w4a16", "weight_shape"), ("ct-w8a8", "weight_scale"),
    ("modelopt-nvfp4", "weight_scale"), ("modelopt-nvfp4", "weight_scale_2"), ("deepseek-fp8", "weight_scale_inv")])
def test_a_missing_scale_is_named(written, tmp_path, convention, ends):
    shutil.copytree(written(convention)[0], tmp_path, dirs_exist_ok=True)
    tensors = save.load_file(tmp_path / "model.safetensors")
    del tensors[f"{LAYER}.{ends}"]
    save.save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    seen = mmaudit.model(tmp_path, threads=1, layers="*0.mlp.up_proj", sample=16)
    assert len(seen["unread"]) == 1 and f" of {LAYER} is missing: found none" in seen["unread"][0] and not seen.passes
    assert seen["unread"][0].partition(": ")[2].startswith(ends)


def test_the_sample_of_a_layer_does_not_depend_on_the_others(written):
    folder, original = written("modelopt-nvfp4")

    def errors(**how):
        seen = mmaudit.model(folder, original=original, threads=1, sample=16, **how)
        one = next(one for one in seen["layers"] if one["name"] == LAYER)["original"]["error"]
        return one, next(x["rows"][0]["total"] for x in seen["audit"]["products"] if x["layer"] == LAYER)
    assert errors() == errors(layers=LAYER) == errors(layers="*.1.*") != errors(seed=2)


@pytest.mark.parametrize("convention", ["modelopt-nvfp4", "modelopt-fp8", "ct-fp8", "ct-nvfp4"])
def test_drawn_activations_reach_what_a_static_scale_covers(written, tmp_path, convention):
    """A scale a thousandth or a thousand times as large changes no error: powers of two of it none at all."""
    shutil.copytree(written(convention)[0], tmp_path, dirs_exist_ok=True)
    tensors = save.load_file(tmp_path / "model.safetensors")
    found = []
    for by in (1.0, 1 / 1024, 1024.0):
        changed = {name: x * by if name.endswith((".input_scale", ".input_global_scale")) else x for name, x in tensors.items()}
        save.save_file(changed, tmp_path / "model.safetensors", {"format": "pt"})
        seen = mmaudit.model(tmp_path, threads=1, layers="*up_proj")
        found.append([x["rows"][0]["total"] for x in seen["audit"]["products"]])
        assert max(found[-1]) < 0.2  # saturation makes far more
        assert "they reach just what it covers" in seen.text().replace("\n", " ")
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("n", [64, 96])
def test_experts_of_gpt_oss_are_the_transpose_of_their_original(tmp_path, n):
    name, weight = "model.layers.0.mlp.experts.down_proj", torch.randn(3, n, 96).to(torch.bfloat16)
    quantized, original = tmp_path / "quantized", tmp_path / "original"
    for folder, tensors, config in ((quantized, {f"{name}_{end}": x for end, x in checkpoints.gpt_oss(weight)[0].items()},
                                     {"quantization_config": {"quant_method": "mxfp4"}}),
                                    (original, {name: weight.transpose(1, 2).contiguous()}, {})):
        folder.mkdir()
        save.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
        (folder / "config.json").write_text(json.dumps({"model_type": "gpt_oss", **config}))
    seen = mmaudit.model(quantized, original=original, threads=1)
    assert seen.passes and seen["layers"][0]["faults"] == [] and 0.05 < seen["layers"][0]["original"]["error"] < 0.15
