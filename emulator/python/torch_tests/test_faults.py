"""mmaudit.model(..., original=): planted faults are named as what they are, in one layer each, and no others."""
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
    """Without a capture, beside the middle one of at least four of its kind: LAYER's of six."""
    monkeypatch.setitem(checkpoints.SIZES, "num_hidden_layers", 6)
    checkpoints.write(tmp_path, "llama", "modelopt-fp8")
    tensors = save.load_file(tmp_path / "model.safetensors")
    for at, name in enumerate(sorted(one for one in tensors if one.endswith(".input_scale"))):
        tensors[name] = tensors[name] * 2.0 ** (at % 5 - 2)  # calibrated ones differ too
    tensors[LAYER + ".input_scale"] = torch.tensor(0.0171 * by)
    save.save_file(tensors, tmp_path / "model.safetensors", {"format": "pt"})
    named = faults(tmp_path, layers="*up_proj")
    assert list(named) == ([LAYER] if found else [])
    assert not found or "perhaps stale" in mmaudit.model(tmp_path, layers=LAYER, threads=1).text()
