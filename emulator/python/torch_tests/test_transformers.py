"""Networks of transformers: all multiply-adds are seen, by a count from shapes and configuration."""
import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
    MixtralConfig,
    MixtralForCausalLM,
    ViTConfig,
    ViTForImageClassification,
)

import mmaudit.torch as mt
from common import same_bits
from mmaudit.torch._cached import Blocks, Products

SIZES = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4, "attention_dropout": 0.0}
WORDS = {**SIZES, "num_key_value_heads": 2, "vocab_size": 101, "max_position_embeddings": 64}
TOKENS = torch.arange(18).reshape(2, 9)
IMAGES = torch.linspace(-1, 1, 2 * 3 * 16 * 16).reshape(2, 3, 16, 16)


def mixtral():
    torch.manual_seed(1)
    return MixtralForCausalLM(MixtralConfig(**WORDS, num_local_experts=4, num_experts_per_tok=2)).eval()


def counted(net, batch, length, more=0):
    """Linear layers and patches by the shapes they see, attention as two products of all heads and layers."""
    total = [more + 2 * 2 * 2 * length * length * 64]  # products, images, layers

    def count(one, given, out):
        kernel = one.weight[0].numel() if isinstance(one, nn.Conv2d) else one.in_features
        total[0] += out.numel() * kernel

    hooks = [one.register_forward_hook(count) for one in net.modules() if isinstance(one, (nn.Linear, nn.Conv2d))]
    with torch.no_grad():
        net(batch)
    for one in hooks:
        one.remove()
    return total[0]


def run(net, batch, plan):
    with torch.no_grad(), mt.emulate(net, plan) as emulation:
        out = net(batch)
    return out, emulation.coverage


@pytest.mark.parametrize("net,batch,length", [
    (lambda: LlamaForCausalLM(LlamaConfig(**WORDS)), TOKENS, 9),
    (lambda: BertModel(BertConfig(**{**SIZES, "vocab_size": 101})), TOKENS, 9),
    (lambda: ViTForImageClassification(ViTConfig(**SIZES, image_size=16, patch_size=4)), IMAGES, 17),
])
def test_all_of_a_network_is_counted(net, batch, length):
    net = net().eval()
    _, found = run(net, batch, "bf16")
    assert found.missed == 0 and abs(found.emulated - counted(net, batch, length)) <= 0.01 * found.emulated
    _, kept = run(net, batch, "keep")
    assert kept.missed == 0 and kept.kept == found.emulated


def test_experts_are_counted_and_have_one_result_however_they_are_run():
    net, outputs = mixtral(), []
    experts = 2 * 18 * 2 * 3 * 64 * 96 + 2 * 18 * 64 * 4  # layers, tokens, experts per token, three matrices; the router
    for how in ("eager", "batched_mm", "grouped_mm"):
        net.set_experts_implementation(how)
        y, found = run(net, TOKENS, "mxfp8-ceil")
        router = any("gate" in name for name, one in net.named_modules() if isinstance(one, nn.Linear))
        expected = counted(net, TOKENS, 9, experts - (2 * 18 * 64 * 4 if router else 0))
        assert found.missed == 0 and abs(found.emulated - expected) <= 0.01 * expected
        operators = {one.operator for one in found.rows if one.layer.endswith("experts")}
        assert operators == {{"eager": "aten.mm", "batched_mm": "aten.bmm", "grouped_mm": "aten._grouped_mm"}[how]}
        outputs.append(y.logits)
    for one in outputs[1:]:
        torch.testing.assert_close(one, outputs[0], rtol=0, atol=1e-5)


def test_transformers_own_fallback_is_grouped(monkeypatch):
    import transformers.integrations.moe as moe
    net = mixtral()
    net.set_experts_implementation("grouped_mm")
    expected, _ = run(net, TOKENS, "mxfp8-ceil")
    monkeypatch.setattr(moe, "_can_use_grouped_mm", lambda *_: False)
    y, found = run(net, TOKENS, "mxfp8-ceil")
    assert same_bits(y.logits, expected.logits) and "transformers.grouped_mm_fallback" in {one.operator for one in found.rows}
    with mt.emulate(net, "tf32") as emulation:
        net(TOKENS).logits.square().sum().backward()
    rows = [one for one in emulation.coverage.rows if one.operator == "transformers.grouped_mm_fallback_backward"]
    assert rows and emulation.coverage.multiply_adds("not emulated", backward=True) == 0
    assert sum(one.multiply_adds for one in rows) == 2 * 2 * 18 * 2 * 3 * 64 * 96


def test_runs_of_a_search_take_whole_layers_from_before():
    """Also where the configuration asks for a cache of keys and values."""
    net = LlamaForCausalLM(LlamaConfig(**WORDS)).eval()
    assert net.config.use_cache is True
    names = [name for name, one in net.named_modules() if isinstance(one, nn.Linear)]
    blocks = Blocks(net, dict.fromkeys(names), Products().digest)
    with torch.no_grad():
        expected = net(TOKENS).logits
        for _ in range(2):
            with blocks.on({}):
                assert same_bits(net(TOKENS).logits, expected)
    assert net.config.use_cache is True and {f"model.layers.{i}" for i in (0, 1)} <= {key[0][0] for key in blocks._kept._all}


def test_a_plan_by_a_checkpoints_names_fits_a_module_that_stacks_experts():
    net, gate = mixtral(), "model.layers.0.block_sparse_moe.gate"
    names = [f"model.layers.0.block_sparse_moe.experts.{i}.{part}" for i in range(4) for part in ("w1", "w2", "w3")]
    plan = {"default": "keep", "layers": {gate: "nvfp4", **{name: "nvfp4" for name in names}, names[4]: "mxfp8-ceil"}}
    with pytest.warns(UserWarning, match="mlp.experts runs all of its experts in one recipe: mxf8, the dearest of theirs"):
        out, found = run(net, TOKENS, plan)
    assert {one.layer for one in found.rows if one.state == "emulated"} == {"model.layers.0.mlp.experts", "model.layers.0.mlp.gate"}
    same, _ = run(net, TOKENS, {"default": "keep", "layers": {"*.0.mlp.experts": "mxfp8-ceil", "*.0.mlp.gate": "nvfp4"}})
    assert same_bits(out.logits, same.logits)
    with pytest.raises(ValueError, match="^plan layers: found 'model.layers.7.mlp.gate', which no module matches"):
        run(net, TOKENS, {"layers": {"model.layers.7.mlp.gate": "nvfp4"}})


@pytest.mark.parametrize("framework", ["torchao", "compressed-tensors", "modelopt", "transformer-engine"])
def test_a_plan_for_a_framework_is_exported_whole(framework):
    net = mixtral().bfloat16()
    found = mt.choose_plan(net, TOKENS, max_output_error=0.2, dtype="nvf4,mxf8", framework=framework)
    exported = found.plan.export(framework, net)
    assert exported.layers and not exported.left_out
    stay = 7 if framework == "transformer-engine" else 6  # attention, routers, experts; 101 words are no multiple of 16
    assert f"{stay} layers stay, such as model.layers.0.self_attn: {framework} has none" in " ".join(str(found).split())
    attention = found.search.layers[found.search.names.index("model.layers.0.self_attn")]
    assert attention.dtype == torch.bfloat16  # though torch multiplies its operands in FP32 on a CPU
    tied = [{found.by_name[f"model.layers.{i}.self_attn.{one}_proj"] for one in "qkv"} for i in range(2)]
    assert framework in ("torchao", "transformer-engine") or all(len(one) == 1 for one in tied)


def test_an_export_says_what_shares_its_weight_with_an_embedding():
    net = LlamaForCausalLM(LlamaConfig(**WORDS, tie_word_embeddings=True))
    plan = mt.Plan.of({"default": "keep", "layers": {"lm_head": "mxfp8-floor", "*.q_proj": "mxfp8-floor"}})
    exported = plan.export("torchao", net, partial=True)
    shared = [one for one in exported.notes if "lm_head has the weight of model.embed_tokens" in one]
    assert len(shared) == ("lm_head" in exported.layers) == 1
