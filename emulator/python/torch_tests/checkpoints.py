"""Small checkpoints as packages write them, with the weights that the same packages make of them again."""
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

SIZES = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 4, "head_dim": 64, "vocab_size": 96, "max_position_embeddings": 64}
TOKENS = torch.arange(48).reshape(2, 24) * 7 % 96


def network(kind):
    """A tiny Llama or Mixtral in bfloat16, with channels of activations that stand out."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(3)
    if kind == "llama":
        net = transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, dtype="bfloat16"))
    else:
        net = transformers.MixtralForCausalLM(transformers.MixtralConfig(
            **SIZES, num_local_experts=4, num_experts_per_tok=2, dtype="bfloat16"))
    with torch.no_grad():
        for name, one in net.named_parameters():
            if "norm" in name:
                one.copy_(1 + 0.5 * torch.randn_like(one))
            elif one.dim() > 1:
                one.mul_(3)
            one.data = one.data.to(torch.bfloat16)
    return net.eval()


# ---- a weight as each package writes it: tensors by their ends, and what it makes of them again ------------------------

def compressed_tensors(scheme, weight):
    """compressed-tensors' own compressor, under scales by its own rules."""
    quantization = pytest.importorskip("compressed_tensors.quantization")
    utils = pytest.importorskip("compressed_tensors.quantization.utils")
    base = pytest.importorskip("compressed_tensors.compressors.base")
    holder = nn.Module()
    holder.layer = one = nn.Linear(*weight.shape[::-1], bias=False).to(weight.dtype)
    one.weight.data.copy_(weight)
    given = quantization.preset_name_to_scheme(scheme, ["Linear"])
    quantization.apply_quantization_config(holder, quantization.QuantizationConfig(config_groups={"group_0": given}))
    args, factor = given.weights, None
    rows, columns = one.weight_scale.shape if one.weight_scale.dim() == 2 else (1, 1)
    x = weight.reshape(rows, weight.shape[0] // rows, columns, weight.shape[1] // columns)
    low, high = x.amin((1, 3)), x.amax((1, 3))
    if hasattr(one, "weight_global_scale"):
        factor = utils.generate_gparam(weight.min(), weight.max())
        one.weight_global_scale.data.copy_(factor)
    scale, zero = utils.calculate_qparams(low, high, args, factor)
    one.weight_scale.data = scale.reshape(one.weight_scale.shape).to(one.weight_scale.dtype)
    one.weight_zero_point.data = zero.reshape(one.weight_scale.shape).to(one.weight_zero_point.dtype)
    if hasattr(one, "input_global_scale"):
        one.input_global_scale.data.copy_(utils.generate_gparam(torch.tensor(-7.3), torch.tensor(7.1)))
    if hasattr(one, "input_scale"):
        one.input_scale.data.fill_(0.0171)
    base.compress_module(one)
    tensors = {name: x.detach().clone() for name, x in one.state_dict().items()}
    base.decompress_module(one)
    return tensors, one.weight.detach()


def compressed_config(scheme):
    quantization = pytest.importorskip("compressed_tensors.quantization")
    format_of = pytest.importorskip("compressed_tensors.compressors.format")
    holder = nn.Module()
    holder.layer = nn.Linear(128, 128, bias=False)
    given = quantization.preset_name_to_scheme(scheme, ["Linear"])
    config = quantization.QuantizationConfig(config_groups={"group_0": given}, ignore=["lm_head"],
                                             quantization_status="compressed")
    quantization.apply_quantization_config(holder, config.model_copy(deep=True))
    config.format = getattr(format_of.infer_model_format(holder), "value", None)
    return {**config.model_dump(mode="json"), "quant_method": "compressed-tensors"}


def modelopt(kind, weight):
    """ModelOpt's own quantizers of weights, under the names of its export."""
    tensors = pytest.importorskip("modelopt.torch.quantization.qtensor")
    if "NVFP4" in kind:
        eight = kind == "W4A8_NVFP4_FP8"  # export/quant_utils.py; configs/numerics/nvfp4_bs32
        factor, block = (weight.float().abs().amax() / 448, 32) if eight else (None, 16)
        found, scales, factor = tensors.NVFP4QTensor.quantize(weight, block, weights_scaling_factor_2=factor)
        again = found.dequantize(torch.bfloat16, scale=scales, double_scale=factor, block_sizes={-1: block})
        return {"weight": found._quantized_data, "weight_scale": scales, "weight_scale_2": factor.float().reshape(()),
                "input_scale": torch.tensor(7.3 / (6 * 448) if kind == "NVFP4" else 0.0171)}, again
    if kind == "MXFP8":
        found, scales = tensors.MXFP8QTensor.quantize(weight)
        return {"weight": found._quantized_data, "weight_scale": scales}, found.dequantize(torch.bfloat16, scale=scales)
    if kind == "W8A8_SQ_PER_CHANNEL":
        found, scales = tensors.INT8QTensor.quantize(weight, scales=weight.float().abs().amax(1, keepdim=True) / 127)
        again = found.dequantize(torch.bfloat16, scale=scales)
        return {"weight": found._quantized_data, "weight_scale": scales.reshape(-1), "input_scale": torch.tensor(0.0171)}, again
    scale = weight.float().abs().amax() / 448
    found, scale = tensors.FP8QTensor.quantize(weight, scale)
    again = found.dequantize(torch.bfloat16, scale=scale)
    return {"weight": found._quantized_data, "weight_scale": scale.float().reshape(()), "input_scale": torch.tensor(0.0171)}, again


def fine_grained(weight):
    """transformers' own operations, which need no GPU."""
    fine = pytest.importorskip("transformers.integrations.finegrained_fp8")
    quantizer = SimpleNamespace(quantization_config=SimpleNamespace(weight_block_size=(128, 128), scale_fmt="float"))
    found = fine.Fp8Quantize(quantizer)._quantize_one("layer.weight", weight)
    found = {name.rpartition(".")[2]: x for name, x in found.items()}
    again = fine.Fp8Dequantize(quantizer)._dequantize_one(found["weight"], found["weight_scale_inv"], torch.bfloat16)
    return found, again


def powers(weight, block=32):
    """MXFP4: E2M1 elements (packed, low half first) and the bytes of powers of two, of gpt-oss: two of k per byte."""
    x = weight.float().reshape(*weight.shape[:-1], -1, block)
    exponent = torch.floor(torch.log2(x.abs().amax(-1).clamp_min(2.0**-100))) - 2
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    scaled = x / torch.exp2(exponent)[..., None]
    codes = (scaled.abs()[..., None] - values).abs().argmin(-1) + 8 * (scaled < 0)
    return (codes[..., 0::2] + 16 * codes[..., 1::2]).to(torch.uint8), (exponent + 127).to(torch.uint8)


def gpt_oss(weight):
    """(experts, n, k) as blocks and scales; back by transformers' own convert_moe_packed_tensors: (experts, k, n)."""
    mxfp4 = pytest.importorskip("transformers.integrations.mxfp4")
    blocks, scales = powers(weight)
    return {"blocks": blocks, "scales": scales}, mxfp4.convert_moe_packed_tensors(blocks, scales).transpose(1, 2)


def _words(codes):
    """Eight 4-bit codes per 32-bit word along the last axis, the first one lowest."""
    parts = codes.reshape(*codes.shape[:-1], -1, 8).to(torch.int64) << (4 * torch.arange(8))
    return (parts.sum(-1) & 0xFFFFFFFF).to(torch.int64).sub(2**31).bitwise_xor(-2**31).to(torch.int32)


def _rounded(weight, group):
    """Codes (n, k), zeros and float16 scales (n, groups) of 4 bits without sign."""
    x = weight.float().reshape(weight.shape[0], -1, group)
    low, high = x.amin(-1).clamp_max(0), x.amax(-1).clamp_min(0)
    scale = ((high - low) / 15).clamp_min(1e-6).to(torch.float16)
    zero = (-low / scale.float()).round().clamp(1, 15)
    codes = ((x / scale.float()[..., None]).round() + zero[..., None]).clamp(0, 15)
    return codes.reshape(weight.shape).to(torch.int32), zero.to(torch.int32), scale


def gptq(weight, group=64):
    """AutoGPTQ's layout, order of activations off: qweight (k / 8, n), qzeros (groups, n / 8) less one, scales (groups,
    n) of float16, g_idx. Source: AutoGPTQ, nn_modules/qlinear/qlinear_cuda_old.py (pack, forward): weights
    scales * (code - (zero + 1)) in float16."""
    codes, zero, scale = _rounded(weight, group)
    again = scale.repeat_interleave(group, 1) * (codes - zero.repeat_interleave(group, 1)).to(torch.float16)
    return {"qweight": _words(codes).reshape(weight.shape[0], -1).t().contiguous(), "qzeros": _words(zero.t() - 1),
            "scales": scale.t().contiguous(), "g_idx": torch.arange(weight.shape[1], dtype=torch.int32) // group}, again


AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]  #: AutoAWQ, awq/utils/packing_utils.py; modules/linear/gemm.py (order_map)


def awq(weight, group=64):
    """AutoAWQ's GEMM layout: qweight (k, n / 8) and qzeros (groups, n / 8) with columns in AWQ_ORDER, scales (groups, n).
    Source: AutoAWQ, awq/modules/linear/gemm.py (from_linear), awq/utils/packing_utils.py (dequantize_gemm)."""
    codes, zero, scale = _rounded(weight, group)
    order = torch.arange(weight.shape[0]).reshape(-1, 8)[:, AWQ_ORDER].reshape(-1)
    again = (codes - zero.repeat_interleave(group, 1)).to(torch.float16) * scale.repeat_interleave(group, 1)
    return {"qweight": _words(codes.t()[:, order]), "qzeros": _words(zero.t()[:, order]), "scales": scale.t().contiguous()}, again


# ---- conventions ------------------------------------------------------------------------------------------------------

def _schemes(name, scheme):
    return name, (lambda weight: compressed_tensors(scheme, weight), lambda: compressed_config(scheme))


def _modelopt(name, kind):
    quantization = {"quant_algo": kind, "exclude_modules": ["lm_head"]}
    if "NVFP4" in kind:
        quantization["group_size"] = 32 if kind.endswith("FP8") else 16
    return name, (lambda weight: modelopt(kind, weight), lambda: {"quant_method": "modelopt", **quantization})


_INT4 = {"bits": 4, "group_size": 64, "desc_act": False, "sym": False}
#: By name: what writes a weight, and quantization_config.
CONVENTIONS = dict([
    _schemes("ct-fp8", "FP8"), _schemes("ct-fp8-dynamic", "FP8_DYNAMIC"), _schemes("ct-fp8-block", "FP8_BLOCK"),
    _schemes("ct-nvfp4", "NVFP4"), _schemes("ct-nvfp4a16", "NVFP4A16"), _schemes("ct-mxfp4", "MXFP4"),
    _schemes("ct-mxfp4a16", "MXFP4A16"), _schemes("ct-mxfp8", "MXFP8"), _schemes("ct-w8a8", "W8A8"),
    _schemes("ct-w4a16", "W4A16"), _schemes("ct-w4a16-asym", "W4A16_ASYM"), _schemes("ct-w8a16", "W8A16"),
    _modelopt("modelopt-nvfp4", "NVFP4"), _modelopt("modelopt-fp8", "FP8"), _modelopt("modelopt-mxfp8", "MXFP8"),
    _modelopt("modelopt-w4a8", "W4A8_NVFP4_FP8"), _modelopt("modelopt-int8", "W8A8_SQ_PER_CHANNEL"),
    ("deepseek-fp8", (fine_grained, lambda: {"quant_method": "fp8", "weight_block_size": [128, 128], "fmt": "e4m3",
                                             "activation_scheme": "dynamic"})),
    ("gptq", (gptq, lambda: {"quant_method": "gptq", **_INT4})),
    ("awq", (awq, lambda: {"quant_method": "awq", "version": "gemm", "zero_point": True, "bits": 4, "group_size": 64})),
])


def is_quantized(name, x):
    return name.endswith(".weight") and x.dim() == 2 and not any(
        one in name for one in ("embed", "norm", "lm_head", ".gate.weight"))


def write(folder, kind, convention):
    """Writes the checkpoint of a network; the package's weights by the names of tensors in files, and the network."""
    from safetensors.torch import load_file, save_file
    net = network(kind)
    net.save_pretrained(folder)
    one, config = CONVENTIONS[convention]
    file = Path(folder) / "model.safetensors"
    out, again = {}, {}
    for name, x in load_file(file).items():
        if not is_quantized(name, x):
            out[name] = x
            continue
        tensors, again[name] = one(x)
        out.update({f"{name[:-len('weight')]}{end}": part.contiguous() for end, part in tensors.items()})
    save_file(out, file, {"format": "pt"})
    place = Path(folder) / "config.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), "quantization_config": config()}))
    return again, net


def gguf_blocks(kind, x, draw):
    """Blocks of a matrix (n, k): by gguf's quantizer where it has one, else drawn bytes, scaled to numbers like 0.05."""
    gguf = pytest.importorskip("gguf")
    what = gguf.GGMLQuantizationType[kind]
    try:
        return gguf.quants.quantize(x, what)
    except NotImplementedError:
        size, bytes_ = gguf.GGML_QUANT_SIZES[what]
        data = draw.integers(0, 256, (*x.shape[:-1], x.shape[-1] // size, bytes_), dtype=np.uint8)
        halves = {"Q4_K": (0, (2e-4, 1.5e-3)), "Q6_K": (208, (6.2e-5,)), "NVFP4": (0, ())}[kind]  # gguf/quants.py
        if kind == "NVFP4":
            data[..., :4] = data[..., :4] % 8 + 8  # near 2^-6
        for i, one in enumerate(halves[1]):
            data[..., halves[0] + 2 * i:halves[0] + 2 * i + 2] = np.frombuffer(np.float16(one).tobytes(), np.uint8)
        return data.reshape(*x.shape[:-1], -1)


def write_gguf_network(path, kind, architecture="llama", tied=False, change=None):
    """A tiny network of 2-d tensors of this type; gguf's own weights by transformers' names and rows, the network.
    `change` gets the writer before it writes."""
    gguf, transformers = pytest.importorskip("gguf"), pytest.importorskip("transformers")
    torch.manual_seed(3)
    name = {"llama": "Llama", "qwen2": "Qwen2", "qwen3": "Qwen3"}[architecture]
    head = 128 if architecture == "qwen3" else 64  # transformers does not read Qwen3's out of the file
    config = getattr(transformers, f"{name}Config")(**{
        **SIZES, "hidden_size": 256, "head_dim": head, "num_key_value_heads": 2, "rms_norm_eps": 1e-5}, tie_word_embeddings=tied)
    net, draw, again = getattr(transformers, f"{name}ForCausalLM")(config).eval(), np.random.default_rng(7), {}
    writer, table = gguf.GGUFWriter(path, architecture), gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, 2)
    writer.add_block_count(2)
    writer.add_context_length(64)
    writer.add_embedding_length(256)
    writer.add_feed_forward_length(256)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_key_length(head)
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(96)
    for target, one in net.named_parameters():
        base, _, end = target.rpartition(".")
        x = one.detach().mul(3 if one.dim() == 2 else 1).add(0.5 * torch.randn(one.shape) if one.dim() == 1 else 0).numpy()
        order, place = np.arange(len(x)), gguf.TensorNameMap.get_name(table, base) or f"blk.{base.split('.')[2]}.{base[-6:]}"
        if architecture == "llama" and (".q_proj" in base or ".k_proj" in base):  # llama.cpp conversion/llama.py, permute
            order = order.reshape(len(x) // 64, 2, 32).swapaxes(1, 2).reshape(-1)
        place = place.replace("q_norm", "attn_q_norm").replace("k_norm", "attn_k_norm")
        if one.dim() == 1:
            writer.add_tensor(f"{place}.{end}", x[order])
        else:
            data = gguf_blocks(kind, x[order], draw)
            writer.add_tensor(f"{place}.{end}", data, raw_dtype=gguf.GGMLQuantizationType[kind])
            found = gguf.quants.dequantize(data, gguf.GGMLQuantizationType[kind])
            x = np.empty_like(x)
            x[order] = found
            again[target] = torch.from_numpy(x.copy())
        one.data = torch.from_numpy(x.copy())
    if change is not None:
        change(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return again, net


def write_gguf(path, kinds, n=64, k=512):
    """Tensors of gguf's types: by its quantizer where it has one, else blocks of drawn bytes; and gguf's own weights."""
    gguf = pytest.importorskip("gguf")
    draw, again = np.random.default_rng(5), {}
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    for at, kind in enumerate(kinds):
        what, name = gguf.GGMLQuantizationType[kind], f"blk.{at}.attn_q.weight"
        try:
            data = gguf.quants.quantize(draw.standard_normal((n, k)).astype(np.float32), what)
        except NotImplementedError:
            size, bytes_ = gguf.GGML_QUANT_SIZES[what]
            data = draw.integers(0, 256, (n, k // size * bytes_), dtype=np.uint8)
            if kind == "NVFP4":  # its scales have no sign
                data.reshape(n, -1, bytes_)[..., :4] &= 0x7F
        again[name] = gguf.quants.dequantize(data, what)
        writer.add_tensor(name, data, raw_dtype=what)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return again
