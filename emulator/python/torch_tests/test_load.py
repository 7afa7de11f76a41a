"""mt.load(): codes and scales as packages wrote them, the weights these make, and losses against products in binary64 of
the same codes."""
import copy
import json

import checkpoints
import pytest
import torch
from checkpoints import CONVENTIONS, TOKENS
from torch.nn import functional as F

import mmaudit.torch as mt
from common import same_bits
from mmaudit.torch._coded import CodedWeight
from mmaudit.torch._stored import Stored

pytest.importorskip("transformers")
VALUES = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)
FP8 = ("ct-fp8", "ct-fp8-dynamic", "ct-w8a8", "deepseek-fp8", "modelopt-fp8")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Folders by network and convention, each written once: the folder, the package's weights, the network."""
    done = {}

    def of(kind, convention):
        if (kind, convention) not in done:
            folder = tmp_path_factory.mktemp(f"{kind}-{convention}")
            done[kind, convention] = (folder, *checkpoints.write(folder, kind, convention))
        return done[kind, convention]
    return of


# ---- weights ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("convention", CONVENTIONS)
def test_weights_are_the_package_s_own(written, convention):
    folder, again, _ = written("llama", convention)
    with Stored(folder) as stored:
        layers = {one.name: index for index, one in enumerate(stored.layers) if one.quantized}
        assert {name + ".weight" for name in layers} == set(again)
        for name, index in layers.items():
            expected = again[name + ".weight"]
            to = {torch.bfloat16: "bf16", torch.float16: "f16", torch.float32: "f32"}[expected.dtype]
            found = stored.weights(index, to)[0]
            if convention in ("modelopt-nvfp4", "modelopt-w4a8"):  # ModelOpt's table has no -0
                found = torch.where(found == 0, found.abs(), found)
            assert same_bits(found, expected), name


def test_weights_of_gpt_oss(tmp_path):
    save_file = pytest.importorskip("safetensors.torch").save_file
    weight = torch.randn(3, 64, 96).to(torch.bfloat16)
    tensors, again = checkpoints.gpt_oss(weight)
    save_file({f"model.layers.0.mlp.experts.down_proj_{end}": x for end, x in tensors.items()}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt_oss", "quantization_config": {"quant_method": "mxfp4"}}))
    with Stored(tmp_path) as stored:
        assert [(one.name, one.experts, one.n, one.k) for one in stored.layers] == [
            ("model.layers.0.mlp.experts.down_proj", 3, 64, 96)]
        assert same_bits(stored.weights(0, "bf16"), again)


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q4_K", "Q6_K", "MXFP4", "NVFP4"])
def test_weights_of_gguf(tmp_path, kind):
    again = checkpoints.write_gguf(tmp_path / "model.gguf", [kind])
    with Stored(tmp_path / "model.gguf") as stored:
        assert len(stored.layers) == len(again) == 1
        found, expected = stored.weights(0, "f32")[0], torch.from_numpy(next(iter(again.values())).copy())
    assert bool(((found == expected) | (found.isnan() & expected.isnan())).all())


# ---- the same network in binary64 -------------------------------------------------------------------------------------

def nibbles(packed):
    packed = packed.view(torch.uint8)
    return VALUES[torch.stack([packed & 15, packed >> 4], -1).flatten(-2).long()]


def exact(convention, x, again):
    """The numbers that codes and scales are, in binary64; of weights alone, as the package makes them again."""
    if convention.endswith("nvfp4"):
        codes = nibbles(x["weight_packed"] if "weight_packed" in x else x["weight"])
        factor = x["weight_scale_2"].double() if "weight_scale_2" in x else 1 / x["weight_global_scale"].double()
        return codes * x["weight_scale"].double().repeat_interleave(16, 1) * factor
    if convention == "modelopt-w4a8":  # FP8 of code times scale
        of_block = nibbles(x["weight"]) * x["weight_scale"].double().repeat_interleave(32, 1)
        return of_block.float().to(torch.float8_e4m3fn).double() * x["weight_scale_2"].double()
    if convention == "ct-mxfp4":
        return nibbles(x["weight_packed"]) * torch.exp2(x["weight_scale"].double() - 127).repeat_interleave(32, 1)
    if convention.endswith("mxfp8"):
        return x["weight"].double() * torch.exp2(x["weight_scale"].double() - 127).repeat_interleave(32, 1)
    if convention == "deepseek-fp8":
        return x["weight"].double() * x["weight_scale_inv"].double().repeat_interleave(128, 0).repeat_interleave(128, 1)
    if convention in FP8:
        return x["weight"].double() * x["weight_scale"].double()
    return again.double()


def activations(convention, x, of):
    """Activations (m, k) as the convention quantizes them, in binary64."""
    if convention == "ct-w8a8":  # scales and codes of torchao's INT8: largest over 127.5, times the reciprocal
        scale = x.abs().amax(-1, keepdim=True) / 127.5
        return (x * (1 / scale)).round().clamp(-128, 127).double() * scale.double()
    if convention.startswith("ct-") and convention in (*FP8, "ct-nvfp4", "ct-mxfp4"):
        quantization = pytest.importorskip("compressed_tensors.quantization")
        utils = pytest.importorskip("compressed_tensors.quantization.utils")
        scheme = {"ct-fp8-dynamic": "FP8_DYNAMIC"}.get(convention, convention[3:].upper())
        args, factor = quantization.preset_name_to_scheme(scheme, ["Linear"]).input_activations, of.get("input_global_scale")
        if convention == "ct-fp8":
            scale, zero = of["input_scale"].float(), torch.zeros(1)
        else:
            scale, zero = utils.compute_dynamic_scales_and_zp(x[None], args, None, factor)  # per token of three axes
            scale, zero = scale[0], zero[0]
        return quantization.fake_quantize(x, scale, zero, args, global_scale=factor).double()
    if convention == "modelopt-nvfp4":
        tensors = pytest.importorskip("modelopt.torch.quantization.qtensor")
        found, scales, factor = tensors.NVFP4QTensor.quantize(x, 16, weights_scaling_factor_2=of["input_scale"])
        return nibbles(found._quantized_data) * scales.double().repeat_interleave(16, 1) * factor.double()
    if convention in ("modelopt-fp8", "modelopt-w4a8"):
        return (x / of["input_scale"]).clamp(-448, 448).to(torch.float8_e4m3fn).double() * of["input_scale"].double()
    if convention.endswith("mxfp8"):
        blocks = x.reshape(len(x), -1, 32)
        scale = torch.exp2(torch.ceil(torch.log2(blocks.abs().amax(-1, keepdim=True).double() / 448)))
        return ((blocks / scale).to(torch.float32).to(torch.float8_e4m3fn).double() * scale).reshape(x.shape)
    if convention == "deepseek-fp8":
        blocks = x.reshape(len(x), -1, 128)
        scale = 448 / blocks.abs().amax(-1, keepdim=True)
        return ((blocks * scale).to(torch.float8_e4m3fn).double() / scale.double()).reshape(x.shape)
    return x.to(torch.float16 if convention in ("gptq", "awq") else torch.bfloat16).double()


class Exact:
    """Products of a network whose quantized weights are the codes of a file, in binary64."""

    def __init__(self, folder, convention, again):
        from safetensors.torch import load_file
        self.files, self.convention, self.again = load_file(folder / "model.safetensors"), convention, again
        self.known, self.calls, self.worst = {}, 0, 0.0

    def of(self, layer):
        """The weight of a layer, and its tensors by the ends of their names."""
        if layer not in self.known:
            tensors = {name[len(layer) + 1:]: x for name, x in self.files.items() if name.startswith(layer + ".")}
            self.known[layer] = exact(self.convention, tensors, self.again[layer + ".weight"]), tensors
        return self.known[layer]

    def product(self, x, layers):
        """X times the weights of these layers, beside one another; and the same of magnitudes."""
        self.calls += 1
        rows, parts = x.reshape(-1, x.shape[-1]).float(), [self.of(one) for one in layers]
        pairs = [(activations(self.convention, rows, of), w.t()) for w, of in parts]
        return tuple(torch.cat([f(a) @ f(w) for a, w in pairs], -1) for f in (lambda y: y, torch.abs))

    def loss(self, net, monkeypatch):
        """The loss of the network as transformers has it, under these weights."""
        layers, plain = {}, F.linear
        parameters = dict(net.named_parameters())
        for name in self.again:
            owner, _, expert = name.replace("block_sparse_moe", "mlp").partition(".experts.")
            stack = owner + ".experts." + ("down_proj" if ".w2." in name else "gate_up_proj")
            like = parameters[stack][int(expert.split(".")[0])] if expert else parameters[name]
            layers.setdefault(like.data_ptr(), []).append(name[:-len(".weight")])

        def linear(x, weight, bias=None):
            if weight.data_ptr() not in layers:
                return plain(x, weight, bias)
            d = self.product(x, layers[weight.data_ptr()])[0]
            return d.to(x.dtype).reshape(*x.shape[:-1], -1)

        with torch.no_grad(), monkeypatch.context() as patch:
            patch.setattr(F, "linear", linear)
            return float(net(TOKENS, labels=TOKENS).loss)

    def beside(self, loaded, monkeypatch):
        """The loss of a loaded network; `worst` gets the largest error of a product over its sum of magnitudes."""
        times = CodedWeight.times

        def judged(weight, x, bias):
            d = times(weight, x, bias)
            expected, size = self.product(x, [one.layer.name for one in weight.parts])
            self.worst = max(self.worst, float(((d.reshape(size.shape).double() - expected).abs() / size).max()))
            return d

        with torch.no_grad(), monkeypatch.context() as patch:
            patch.setattr(CodedWeight, "times", judged)
            return float(loaded(TOKENS, labels=TOKENS).loss)


#: Network, convention, GPU; how near a product is, over its sum of magnitudes: Hopper keeps 14 bits of FP8 products; and
#: how near the loss. None: there each error turns codes of the next activations, INT8's largest are all ties.
LOSSES = [("llama", "ct-nvfp4", "b200", 1e-6, 1e-4), ("mixtral", "ct-nvfp4", "b200", 1e-6, 1e-4),
          ("llama", "ct-mxfp4", "b200", 1e-6, 1e-4), ("mixtral", "ct-mxfp4", "b200", 1e-6, 1e-4),
          ("llama", "deepseek-fp8", "b200", 1e-6, 1e-3), ("mixtral", "deepseek-fp8", "b200", 1e-6, 1e-4),
          ("llama", "deepseek-fp8", "hopper", 2e-2, None), ("llama", "ct-w4a16", "b200", 1e-6, 1e-4),
          ("mixtral", "ct-w4a16", "hopper", 1e-6, 1e-4), ("llama", "gptq", "hopper", 1e-6, 1e-4),
          ("mixtral", "awq", "ampere", 1e-6, 1e-4), ("llama", "modelopt-nvfp4", "b200", 1e-6, 1e-4),
          ("llama", "ct-fp8", "b200", 1e-6, 1e-4), ("llama", "modelopt-fp8", "blackwell_rtx", 1e-6, 1e-4),
          ("llama", "ct-fp8-dynamic", "b200", 1e-6, 1e-4), ("mixtral", "ct-w8a8", "ampere", 1e-6, None),
          ("llama", "modelopt-mxfp8", "b200", 1e-6, 1e-4), ("llama", "modelopt-w4a8", "b200", 1e-6, 1e-4),
          ("mixtral", "modelopt-w4a8", "blackwell_rtx", 1e-6, None)]


@pytest.mark.parametrize("kind,convention,arch,of_product,of_loss", LOSSES)
def test_products_and_loss_are_those_of_the_codes(written, monkeypatch, kind, convention, arch, of_product, of_loss):
    folder, again, net = written(kind, convention)
    reference = Exact(folder, convention, again)
    found = reference.beside(mt.load(folder, arch, dtype=torch.float32), monkeypatch)
    assert reference.calls >= 14 and reference.worst <= of_product
    if of_loss is not None:
        net = copy.deepcopy(net).float()  # what is not quantized, in binary32
        if kind == "mixtral":
            net.set_experts_implementation("eager")
        with torch.no_grad():
            original = float(net(TOKENS, labels=TOKENS).loss)
        expected = reference.loss(net, monkeypatch)
        assert abs(found - expected) <= of_loss < abs(expected - original) / 3
