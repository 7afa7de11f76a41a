"""mt.load() of a .gguf: losses against products in binary64 of gguf's own dequantized weights, and what it refuses."""
import warnings

import checkpoints
import numpy as np
import pytest
import torch
from checkpoints import TOKENS
from torch.nn import functional as F

import mmaudit
import mmaudit.torch as mt
from mmaudit.torch._coded import CodedWeight

transformers = pytest.importorskip("transformers")
gguf = pytest.importorskip("gguf")


def loss(net):
    with torch.no_grad():
        return float(net(TOKENS, labels=TOKENS).loss)


def exact_loss(net, again, monkeypatch):
    """Products of BF16 numbers in binary64, under weights that are looked up as they are."""
    linear, weights = F.linear, {net.get_parameter(name).data_ptr() for name in again}
    if net.config.tie_word_embeddings:
        assert net.lm_head.weight.data_ptr() in weights
    calls = []

    def exact(x, weight, bias=None):
        if weight.data_ptr() not in weights:
            return linear(x, weight, bias)
        calls.append(1)
        d = x.bfloat16().double() @ weight.bfloat16().double().t()
        return (d if bias is None else d + bias.double()).to(x.dtype)

    with monkeypatch.context() as patch:
        patch.setattr(F, "linear", exact)
        found = loss(net)
    assert len(calls) == 15
    return found


@pytest.mark.parametrize("kind,architecture,tied", [
    ("Q8_0", "llama", False), ("Q4_0", "llama", True), ("Q4_K", "llama", False), ("Q6_K", "llama", False),
    ("MXFP4", "llama", False), ("NVFP4", "llama", False), ("Q8_0", "qwen2", True), ("Q4_0", "qwen3", False)])
def test_loss_is_the_one_of_gguf_s_weights(tmp_path, monkeypatch, kind, architecture, tied):
    again, net = checkpoints.write_gguf_network(tmp_path / "x.gguf", kind, architecture, tied)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = mt.load(tmp_path / "x.gguf", "hopper", dtype=torch.float32)
    loaded.tie_weights()  # as lm-eval does
    assert type(loaded) is type(net) and isinstance(loaded.lm_head.weight, CodedWeight)
    assert torch.equal(loaded.model.embed_tokens.weight, again["model.embed_tokens.weight"])
    expected, times, worst = exact_loss(net, again, monkeypatch), CodedWeight.times, []

    def judged(weight, x, bias):
        d, w = times(weight, x, bias), again[weight.parts[0].layer.name + ".weight"].bfloat16().double().t()
        a = x.bfloat16().double()
        worst.append(float(((d.double() - a @ w - (0 if bias is None else bias.double())).abs() / (a.abs() @ w.abs())).max()))
        return d

    with monkeypatch.context() as patch:
        patch.setattr(CodedWeight, "times", judged)
        assert abs(loss(loaded) - expected) <= 1e-3
    assert len(worst) == 15 and max(worst) <= 1e-6


def test_codes_of_a_layer_are_the_file_s(tmp_path):
    again, _ = checkpoints.write_gguf_network(tmp_path / "x.gguf", "Q8_0")
    loaded = mt.load(tmp_path / "x.gguf", "b200")
    for name, expected in again.items():
        weight = loaded.get_submodule(name.rpartition(".")[0]).weight
        found = weight.parts[0].elements.t() if isinstance(weight, CodedWeight) else weight
        assert torch.equal(found, expected.bfloat16()), name


def test_frequencies_of_llama_3_1(tmp_path):
    """llama.cpp writes the factors of transformers' rope_type llama3: conversion/llama.py, generate_extra_tensors."""
    scaling = {"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 32}
    plain, slower = (transformers.models.llama.modeling_llama.LlamaRotaryEmbedding(transformers.LlamaConfig(
        **{**checkpoints.SIZES, "rope_parameters": one})).inv_freq for one in (
            {"rope_type": "default", "rope_theta": 10000.0}, scaling))
    factors = (plain / slower).numpy()
    assert factors.max() > 7 > 2 > factors.min()
    checkpoints.write_gguf_network(tmp_path / "x.gguf", "Q8_0", change=lambda x: x.add_tensor("rope_freqs.weight", factors))
    found = mt.load(tmp_path / "x.gguf", "b200").model.rotary_emb.inv_freq
    torch.testing.assert_close(found, slower, rtol=1e-6, atol=0)


@pytest.mark.parametrize("change,start", [
    (lambda x: x.add_expert_count(8), "llama.expert_count: found 8, allowed: 0"),
    (lambda x: x.add_rope_scaling_type(gguf.RopeScalingType.YARN), "llama.rope.scaling.type: found 'yarn', allowed: none"),
    (lambda x: x.add_uint16("split.count", 3), "split.count: found 3, allowed: 1"),
    (lambda x: x.add_tensor("rope_freqs.weight", np.ones(7, np.float32)), "rope_freqs.weight: found [7], allowed: [32] numbers"),
    (lambda x: setattr(x.tensors[0]["blk.1.ffn_gate.weight"], "dtype", gguf.GGMLQuantizationType.Q5_K),
     "blk.1.ffn_gate.weight: type: found 13, allowed: F32")])
def test_what_can_t_be_mapped_is_refused(tmp_path, change, start):
    checkpoints.write_gguf_network(tmp_path / "x.gguf", "Q8_0", change=change)
    with pytest.raises(ValueError) as error:
        mt.load(tmp_path / "x.gguf", "b200")
    assert str(error.value).startswith(start) and "\n" not in str(error.value)


def test_a_foreign_tensor_is_named(tmp_path):
    checkpoints.write_gguf_network(
        tmp_path / "x.gguf", "Q8_0", change=lambda x: x.add_tensor("blk.0.foreign.weight", np.ones(3, np.float32)))
    with pytest.warns(UserWarning, match="load: LlamaForCausalLM has no place for blk.0.foreign.weight"):
        mt.load(tmp_path / "x.gguf", "b200")


def test_other_architectures_and_files(tmp_path):
    checkpoints.write_gguf(tmp_path / "x.gguf", ["Q8_0"])
    with pytest.raises(ValueError, match="found the shape .* allowed: .* as x.gguf says"):  # no sizes in its metadata
        mt.load(tmp_path / "x.gguf", "b200")
    for name, content in {"empty": b"", "noise": b"GGUF" + bytes(range(200)), "cut": (tmp_path / "x.gguf").read_bytes()[:90]}.items():
        (tmp_path / f"{name}.gguf").write_bytes(content)
        with pytest.raises(ValueError) as error:
            mt.load(tmp_path / f"{name}.gguf", "b200")
        assert "\n" not in str(error.value)
    writer = gguf.GGUFWriter(tmp_path / "other.gguf", "gemma2")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ValueError, match="^general.architecture: found 'gemma2', allowed: llama, qwen2, qwen3"):
        mt.load(tmp_path / "other.gguf", "b200")


def test_codes_at_the_end_are_a_share_of_all(tmp_path):
    """The largest of each 32 numbers has the code 127 or -127 in Q8_0, as few others do."""
    _, net = checkpoints.write_gguf_network(tmp_path / "x.gguf", "Q8_0")
    net.save_pretrained(tmp_path / "original")
    found = mmaudit.model(tmp_path / "x.gguf", original=tmp_path / "original", threads=1)
    shares = [one["original"]["saturated"] for one in found["layers"] if one["original"]]
    assert shares and all(1 / 32 <= share < 1 / 20 for share in shares)
