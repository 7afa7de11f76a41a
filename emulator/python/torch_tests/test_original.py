"""mmaudit.model(..., original=): what packages do to a healthy checkpoint is named, and only what is wrong is a fault."""
import json
import re

import checkpoints
import pytest
import torch

import mmaudit
import mmaudit.torch as mt

save = pytest.importorskip("safetensors.torch")
pytest.importorskip("compressed_tensors")
UP, DOWN = "model.layers.1.mlp.up_proj", "model.layers.1.mlp.down_proj"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("original")
    checkpoints.network("llama").save_pretrained(folder)
    return folder, save.load_file(folder / "model.safetensors")


def write(folder, original, weights, convention, **config):
    """These weights as the package's own quantizer has them."""
    one, settings = checkpoints.CONVENTIONS[convention]
    tensors = {}
    for name, x in weights.items():
        x = x.to(torch.bfloat16)
        parts = one(x)[0] if checkpoints.is_quantized(name, x) else {"weight": x}
        tensors.update({f"{name[:-len('weight')]}{end}": part.contiguous() for end, part in parts.items()})
    folder.mkdir(exist_ok=True)
    save.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    plain = json.loads((original[0] / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**plain, "quantization_config": {**settings(), **config}}))
    return folder


def changed(folder, change):
    """The tensors and the config that `change` gets."""
    tensors, place = save.load_file(folder / "model.safetensors"), folder / "config.json"
    config = json.loads(place.read_text())
    change(tensors, config["quantization_config"])
    save.save_file({name: x.contiguous() for name, x in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    place.write_text(json.dumps(config))
    return folder


def of(seen, what):
    return {one["name"]: [line.partition(":")[0] for line in one[what]]
            for one in (*seen["layers"], *seen["tensors"]) if one[what]}


def smoothed(weights, spread, pairs):
    """Columns of layers times factors whose inverse the norm before has, or rows of the layer before."""
    draw, out = torch.Generator().manual_seed(1), {name: x.float() for name, x in weights.items()}
    for layer in range(2):
        front = f"model.layers.{layer}."
        for before, behind in pairs:
            factors = 4 * torch.exp(spread * torch.randn(out[f"{front}{behind[0]}.weight"].shape[1], generator=draw))
            inverse = out[f"{front}{before}.weight"]
            out[f"{front}{before}.weight"] = inverse / (factors if inverse.dim() == 1 else factors[:, None])
            for name in behind:
                out[f"{front}{name}.weight"] = out[f"{front}{name}.weight"] * factors
    return out


NORMS = [("input_layernorm", [f"self_attn.{one}_proj" for one in "qkv"]),
         ("post_attention_layernorm", ["mlp.gate_proj", "mlp.up_proj"])]
ROWS = [("self_attn.v_proj", ["self_attn.o_proj"]), ("mlp.up_proj", ["mlp.down_proj"])]


@pytest.mark.parametrize("convention,spread,pairs", [
    ("ct-w8a8", 0.6, NORMS), ("ct-w4a16", 0.4, NORMS), ("ct-w4a16", 0.4, ROWS), ("ct-fp8-dynamic", 0.5, NORMS + ROWS)])
def test_smoothing_is_named_and_is_no_fault(original, tmp_path, convention, spread, pairs):
    folder = write(tmp_path / "new", original, smoothed(original[1], spread, pairs), convention)
    seen = mmaudit.model(folder, original=original[0], threads=1)
    assert seen.passes and of(seen, "faults") == {} and of(seen, "suspicions") == {}, seen.text()
    layers = {f"model.layers.{layer}.{name}" for layer in range(2) for before, behind in pairs for name in behind}
    notes = {one["name"]: one["notes"] for one in seen["layers"] if one["notes"]}
    assert layers <= set(notes)
    for name in layers:
        assert re.match(r"columns scaled by a smoothing factor, \S+ to \S+", notes[name][0]), notes[name]
    # Without the factors the error is the format's own, as of the original's weights.
    assert max(one["original"]["error"] for one in seen["layers"]) < {"ct-w8a8": 0.02}.get(convention, 0.2)
    healthy = tmp_path / "new" / "model.safetensors"
    tensors = save.load_file(healthy)
    if pairs == NORMS:  # a fault besides is still found
        end = "weight_packed" if convention == "ct-w4a16" else "weight"
        tensors[f"{UP}.{end}"] = tensors[f"{UP}.{end}"][torch.randperm(256, generator=torch.Generator().manual_seed(2))]
        save.save_file(tensors, healthy, {"format": "pt"})
        assert UP in of(mmaudit.model(folder, original=original[0], threads=1), "faults")


def test_a_norm_that_was_not_smoothed_is_no_explanation(original, tmp_path):
    weights = smoothed(original[1], 0.6, NORMS)
    weights["model.layers.1.post_attention_layernorm.weight"] = original[1]["model.layers.1.post_attention_layernorm.weight"]
    seen = mmaudit.model(write(tmp_path / "new", original, weights, "ct-w8a8"), original=original[0], threads=1)
    assert set(of(seen, "suspicions")) == {UP, "model.layers.1.mlp.gate_proj"}


def test_rotated_layers_are_named_and_their_rows_have_norms(original, tmp_path):
    turn = torch.linalg.qr(torch.randn(128, 128, generator=torch.Generator().manual_seed(3)))[0]
    weights = {}
    for name, x in original[1].items():
        x, front = x.float(), ".".join(name.split(".")[:3])
        if "norm" in name:
            x = torch.ones_like(x)
        elif re.search("[qkv]_proj", name):
            x = x * original[1][front + ".input_layernorm.weight"].float() @ turn
        elif re.search("gate_proj|up_proj", name):
            x = x * original[1][front + ".post_attention_layernorm.weight"].float() @ turn
        elif "lm_head" in name:
            x = x * original[1]["model.norm.weight"].float() @ turn
        else:
            x = x @ turn if "embed" in name else turn.T @ x
        weights[name] = x
    applied = [{"targets": ["re:.*(q|k|v|gate|up)_proj$", "lm_head"], "location": "weight_input", "inverse": True},
               {"targets": ["re:.*(o|down)_proj$", "re:.*embed_tokens$"], "location": "weight_output"}]
    folder = write(tmp_path / "new", original, weights, "ct-w4a16",
                   transform_config={"config_groups": {"r1": {"type": "hadamard", "apply": applied}}})
    mt.load(folder, "b200")  # the network is the same one
    turned = write(tmp_path / "turned", original, weights, "ct-w4a16", transform_config={"config_groups": {"r4": {
        "type": "hadamard", "apply": [*applied, {"targets": ["re:.*down_proj$"], "location": "input"}]}}})
    with pytest.raises(ValueError, match="^transform_config: location: found input, which no product here does"):
        mt.load(turned, "b200")
    seen = mmaudit.model(folder, original=original[0], threads=1)
    assert seen.passes and of(seen, "faults") == {} and of(seen, "suspicions") == {}, seen.text()
    notes = of(seen, "notes")
    assert notes[UP] == ["rotated (transform_config"] and notes[DOWN] == ["not compared"] and "lm_head" in notes
    changed(folder, lambda x, _: x.update({UP + ".weight_scale": x[UP + ".weight_scale"] * 3}))
    assert set(of(mmaudit.model(folder, original=original[0], threads=1), "faults")) == {UP}


def of_codes(change):
    def apply(x, _):
        name = next(UP + end for end in (".weight_packed", ".qweight", ".weight") if UP + end in x)
        x[name] = change(x[name].contiguous().view(torch.uint8)).view(x[name].dtype)
    return apply


@pytest.mark.parametrize("convention,change,name", [
    ("ct-w4a16", of_codes(lambda x: x >> 4 | x << 4), "wrong nibble order"),
    ("gptq", of_codes(lambda x: x >> 4 | x << 4), "wrong nibble order"),
    ("ct-w4a16", of_codes(lambda x: x ^ 0x88), "signed codes, kept as unsigned ones are"),
    ("ct-w8a8", of_codes(lambda x: x ^ 0x80), "signed codes, kept as unsigned ones are"),
    ("gptq", of_codes(lambda x: x ^ 0x88), "unsigned codes, kept as signed ones are"),
    ("gptq", lambda x, _: x.update({UP + ".qzeros": x[UP + ".qzeros"] + 0x11111111}), "zeros are off by one"),
    ("ct-fp8", lambda x, _: x.update({UP + ".weight_scale": x[UP + ".weight_scale"] * 4}), "quantized twice, the first scale lost")])
def test_faults_of_codes_and_zeros(original, tmp_path, convention, change, name):
    folder = changed(write(tmp_path / "new", original, original[1], convention), change)
    seen = mmaudit.model(folder, original=original[0], threads=1)
    assert of(seen, "faults") == {UP: [name]} and not seen.passes


def half_of_the_scales_gone(x, _):
    scale = x[UP + ".weight_scale"]
    scale.view(torch.uint8)[len(scale) // 2:] = 0


def words_at_random(x, _):
    codes = x[UP + ".weight"]
    codes[:, ::50] = torch.randint(-128, 128, codes[:, ::50].shape, generator=torch.Generator().manual_seed(1), dtype=torch.int8)


def scaled(by):
    return lambda x, _: x.update({UP + ".weight_scale": (x[UP + ".weight_scale"].float() * by).to(x[UP + ".weight_scale"].dtype)})


@pytest.mark.parametrize("convention,change,name", [
    *((one, half_of_the_scales_gone, "lost") for one in ("ct-fp8-dynamic", "ct-nvfp4", "ct-mxfp4", "ct-w4a16", "ct-w8a8")),
    *((one, scaled(by), "quantized twice, the first scale lost") for one in ("ct-w4a16", "ct-nvfp4") for by in (0.5, 1.25)),
    ("ct-w8a8", words_at_random, "unlike the original"),
    ("ct-mxfp4", lambda x, _: x.pop(UP + ".weight_packed"), "missing")])
def test_damage_is_no_smoothing(original, tmp_path, convention, change, name):
    folder = changed(write(tmp_path / "new", original, original[1], convention), change)
    seen = mmaudit.model(folder, original=original[0], threads=1)
    assert of(seen, "faults") == {UP: [name]} and not seen.passes, seen.text()


def test_norms_beside_layers_that_can_t_be_read(original, tmp_path):
    """AWQ of ModelOpt leaves the inverse of its factors in norms; its INT4 isn't read."""
    folder = write(tmp_path / "new", original, smoothed(original[1], 0.5, NORMS), "modelopt-nvfp4", quant_algo="W4A16_AWQ")
    seen = mmaudit.model(folder, original=original[0], threads=1)
    assert not seen.passes and of(seen, "faults") == {} and len(of(seen, "suspicions")) == 4, seen.text()


@pytest.mark.parametrize("scheme,activations", [("W4AFP8", "e4m3"), ("W4A8", "s8"), ("W4A4", "s4")])
def test_four_bits_that_lie_in_bytes(original, tmp_path, monkeypatch, scheme, activations):
    """compressed-tensors keeps integers of fewer than eight bits in bytes where activations are quantized."""
    monkeypatch.setitem(checkpoints.CONVENTIONS, scheme, checkpoints._schemes(scheme, scheme)[1])
    seen = mmaudit.model(write(tmp_path / "new", original, original[1], scheme), original=original[0], threads=1)
    layer = next(one for one in seen["checkpoint"]["layers"] if one["name"] == UP)
    assert seen.passes and seen["contradictions"] == [] and layer["activation_format"] == activations, seen.text()


def test_tiles_of_modelopt(original, tmp_path):
    """FP8_PB_WO of ModelOpt has scales of four dimensions, two of them 1 (torch/export/quant_utils.py)."""
    folder = write(tmp_path / "new", original, original[1], "deepseek-fp8")

    def named(x, config):
        for name in [one for one in x if one.endswith("_scale_inv")]:
            x[name[:-4]] = x.pop(name)[:, None, :, None]
        config.clear(), config.update(quant_method="modelopt", quant_algo="fp8_pb_wo")
    seen = mmaudit.model(changed(folder, named), original=original[0], threads=1)
    assert seen.passes and of(seen, "faults") == {} and of(seen, "suspicions") == {}, seen.text()


def test_zeros_of_the_other_gptq_format(original, tmp_path):
    folder = write(tmp_path / "new", original, original[1], "gptq", checkpoint_format="gptq_v2")
    seen = mmaudit.model(folder, original=original[0], threads=1)
    assert not seen.passes and set(map(tuple, of(seen, "faults").values())) == {("zeros are off by one",)}


@pytest.mark.parametrize("convention,change,line", [
    ("modelopt-nvfp4", lambda _, c: c.update(quant_algo="FP8"), "quant_algo: found FP8 in the config"),
    ("modelopt-fp8", lambda _, c: c.update(quant_algo="NVFP4"), "quant_algo: found NVFP4 in the config"),
    ("modelopt-fp8", lambda x, _: x.pop(UP + ".input_scale"), "activations: found static in the config"),
    ("ct-nvfp4", lambda x, _: x.pop(UP + ".input_global_scale"), "activations: found static in the config"),
    ("ct-fp8", lambda _, c: c.update(format="pack-quantized"), 'format: found "pack-quantized" in the config'),
    ("ct-fp8", lambda _, c: c.update(ignore=["lm_head", UP]), f'ignore: found "{UP}" in the config'),
    ("ct-fp8", lambda _, c: c.update(ignore=["re:.*down_proj"]), 'ignore: found "re:.*down_proj" in the config'),
    ("ct-fp8", lambda _, c: c.update(ignore=["head"]), "ignore: found none for a layer without scales")])
def test_a_config_that_contradicts_the_tensors(original, tmp_path, convention, change, line):
    folder = write(tmp_path / "new", original, original[1], convention)
    assert mmaudit.model(folder, audit=False).passes
    found = mmaudit.model(changed(folder, change), audit=False)
    assert any(one.startswith(line) for one in found["contradictions"]) and not found.passes, found["contradictions"]


def test_one_expert_of_many(tmp_path):
    name, weight = "model.layers.0.mlp.experts.down_proj", torch.randn(8, 64, 96).to(torch.bfloat16)
    parts = checkpoints.gpt_oss(weight)[0]
    parts["blocks"][5] = parts["blocks"][5] >> 4 | parts["blocks"][5] << 4
    for folder, tensors in ((tmp_path / "new", {f"{name}_{end}": x for end, x in parts.items()}),
                            (tmp_path / "old", {name: weight.transpose(1, 2).contiguous()})):
        folder.mkdir()
        save.save_file(tensors, folder / "model.safetensors", {"format": "pt"})
        (folder / "config.json").write_text(json.dumps({"quantization_config": {"quant_method": "mxfp4"}} if tensors else {}))
    (tmp_path / "old" / "config.json").write_text("{}")
    fault = mmaudit.model(tmp_path / "new", original=tmp_path / "old", threads=1)["layers"][0]["faults"]
    assert len(fault) == 1 and fault[0].startswith("wrong nibble order") and fault[0].endswith("(expert 5, 1 of 8 have faults)")


def test_what_torchao_writes_is_refused_by_name(original, tmp_path):
    torchao = pytest.importorskip("torchao.quantization")
    support = pytest.importorskip("torchao.prototype.safetensors.safetensors_support")
    net = checkpoints.network("llama")
    torchao.quantize_(net, torchao.Int8WeightOnlyConfig(version=2))
    tensors, metadata = support.flatten_tensor_state_dict(net.state_dict())
    save.save_file({name: x.contiguous() for name, x in tensors.items()}, tmp_path / "model.safetensors", metadata)
    plain = json.loads((original[0] / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**plain, "quantization_config": {"quant_method": "torchao"}}))
    with pytest.raises(ValueError, match='^quant_method: found "torchao", which is not read here'):
        mt.load(tmp_path, "b200")
    for how in ({"audit": False}, {}, {"original": original[0]}):
        found = mmaudit.model(tmp_path, **how)
        assert not found.passes and 'quant_method: found "torchao", which is not read here' in " ".join(found.text().split())


def test_only_what_a_product_reads_is_offered(tmp_path):
    shapes = {"conv1": (64, 80, 3), "patch": (64, 3, 4, 4), "a.relative_attention_bias": (32, 8), "token_types": (2, 64),
              "embeddings.position_embeddings": (64, 64), "a.fc": (64, 64), "mlp.experts.up_proj": (4, 64, 64)}
    save.save_file({f"{name}.weight": torch.ones(shape) for name, shape in shapes.items()}, tmp_path / "model.safetensors")
    found = mmaudit.model(tmp_path / "model.safetensors", audit=False)
    assert {one["name"] for one in found.layers if one["product"]} == {"a.fc", "mlp.experts.up_proj"}
    assert not any("conv" in one["name"] or "patch" in one["name"] for one in found.layers)
