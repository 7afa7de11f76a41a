#include "conventions.hpp"

namespace mmaudit::corpus {
namespace {

constexpr std::string_view kFp8 = "F8_E4M3 F8_E5M2", kFloats = "F32 BF16 F16", kExponents = "U8 F8_E8M0";

// Formats: compressed-tensors config/base.py, CompressionFormat; what each compressor of compressors/
// registers. Versions: compressed-tensors 0.20.0, nvidia-modelopt 0.47.0, transformers 5.24.0,
// gptqmodel 5.0.0, AutoAWQ 0.2.9, AutoGPTQ 0.7.1, AutoFP8 505a7ed (main of 2025-05-05; quantize.py of
// 2024-07-23).
// clang-format off
constexpr Convention kConventions[] = {
    {.name = "fp8-deepseek", .title = "FP8 in blocks of DeepSeek-V3 and of transformers", .methods = "fp8",
     .codes = ".weight", .code_types = kFp8, .scales = ".weight_scale_inv", .scale_types = "F32 BF16 F8_E8M0",
     .inputs = ".activation_scale", .block_n = 0, .dequantization = Dequantization::to_model,
     .recipe = "fp8-1x128-transformers", .tensor_recipe = "fp8-tensor", .row_recipe = "fp8-row-torchao",
     .source = "transformers integrations/finegrained_fp8.py, Fp8Dequantize._dequantize_one; "
               "deepseek-ai/DeepSeek-V3 inference/kernel.py, weight_dequant"},
    {.name = "fp8-compressed-tensors", .title = "FP8 of compressed-tensors",
     .methods = "compressed-tensors fbgemm_fp8", .codes = ".weight", .code_types = kFp8,
     .scales = ".weight_scale", .scale_types = kFloats, .inputs = ".input_scale", .block_n = 0,
     .dequantization = Dequantization::to_scale, .recipe = "fp8-1x128-transformers",
     .tensor_recipe = "fp8-tensor", .row_recipe = "fp8-row-torchao",
     .formats = "float-quantized naive-quantized",
     .source = "compressed_tensors quantization/lifecycle/forward_helpers.py, _dequantize"},
    {.name = "fp8-autofp8", .title = "FP8 of AutoFP8", .methods = "fp8", .codes = ".weight", .code_types = kFp8,
     .scales = ".weight_scale", .scale_types = kFloats, .inputs = ".input_scale .act_scale", .block_n = 0,
     .dequantization = Dequantization::scale_to_model, .recipe = "fp8-1x128-transformers",
     .tensor_recipe = "fp8-tensor", .row_recipe = "fp8-row-torchao",
     .source = "neuralmagic/AutoFP8 auto_fp8/quantize.py, fp8_gemm: codes and scale to out_dtype, then their "
               "product; FP8StaticLinear: input_scale, act_scale before 12d2882 (2024-06-07)"},
    {.name = "fp8-modelopt", .title = "FP8 of ModelOpt", .methods = "modelopt", .codes = ".weight",
     .code_types = kFp8, .scales = ".weight_scale", .scale_types = kFloats, .inputs = ".input_scale",
     .block_n = 0, .dequantization = Dequantization::scale_to_model, .recipe = "fp8-1x128-transformers",
     .tensor_recipe = "fp8-tensor", .row_recipe = "fp8-row-torchao",
     .source = "modelopt torch/quantization/qtensor/fp8_tensor.py, FP8QTensor.dequantize"},
    {.name = "mxfp8", .title = "MXFP8 of compressed-tensors and ModelOpt",
     .methods = "compressed-tensors modelopt fp8", .codes = ".weight", .code_types = kFp8,
     .scales = ".weight_scale", .scale_types = kExponents, .block_k = 32,
     .dequantization = Dequantization::to_model, .recipe = "mxfp8-modelopt",
     .formats = "mxfp8-quantized",
     .source = "compressed_tensors compressors/mxfp8/base.py and compressors/mx_utils.py, decompress_mx_scale; "
               "modelopt torch/quantization/qtensor/mxfp8_tensor.py, MXFP8QTensor.dequantize"},
    {.name = "nvfp4-modelopt", .title = "NVFP4 of ModelOpt", .methods = "modelopt", .codes = ".weight",
     .code_types = "U8", .scales = ".weight_scale", .scale_types = "F8_E4M3", .factor = ".weight_scale_2",
     .inputs = ".input_scale", .order = CodeOrder::nibbles, .element = Format::e2m1, .block_k = 16,
     .dequantization = Dequantization::to_model, .recipe = "nvfp4-modelopt",
     .source = "modelopt torch/quantization/qtensor/nvfp4_tensor.py, NVFP4QTensor.dequantize"},
    {.name = "nvfp4-fp8-modelopt", .title = "NVFP4 of ModelOpt by activations of FP8", .methods = "modelopt",
     .codes = ".weight", .code_types = "U8", .scales = ".weight_scale", .scale_types = "F8_E4M3",
     .factor = ".weight_scale_2", .inputs = ".input_scale", .order = CodeOrder::nibbles,
     .element = Format::e2m1, .dequantization = Dequantization::to_model, .algorithms = "W4A8_NVFP4_FP8",
     .activation = Format::e4m3,
     .source = "modelopt torch/export/quant_utils.py, process_layer_quant_config and get_weight_scaling_factor_2 "
               "(largest / 448); torch/export/convert_hf_config.py, _quant_algo_to_group_config: "
               "input_activations; configs/numerics/nvfp4_bs32: blocks of 32, which group_size says"},
    {.name = "nvfp4-compressed-tensors", .title = "NVFP4 of compressed-tensors", .methods = "compressed-tensors",
     .codes = ".weight_packed", .code_types = "U8", .scales = ".weight_scale", .scale_types = "F8_E4M3",
     .factor = ".weight_global_scale", .inputs = ".input_global_scale", .order = CodeOrder::nibbles,
     .element = Format::e2m1, .block_k = 16, .divides = true, .dequantization = Dequantization::to_model,
     .recipe = "nvfp4-compressed-tensors",
     .formats = "nvfp4-pack-quantized",
     .source = "compressed_tensors compressors/nvfp4/base.py, NVFP4PackedCompressor.decompress; "
               "quantization/lifecycle/forward_helpers.py, _dequantize: scale / global_scale"},
    {.name = "mxfp4-compressed-tensors", .title = "MXFP4 of compressed-tensors", .methods = "compressed-tensors",
     .codes = ".weight_packed", .code_types = "U8", .scales = ".weight_scale", .scale_types = kExponents,
     .order = CodeOrder::nibbles, .element = Format::e2m1, .block_k = 32,
     .dequantization = Dequantization::to_model, .recipe = "mxfp4-compressed-tensors",
     .formats = "mxfp4-pack-quantized",
     .source = "compressed_tensors compressors/mxfp4/base.py, MXFP4PackedCompressor"},
    {.name = "mxfp4-modelopt", .title = "MXFP4 of ModelOpt", .methods = "modelopt", .codes = ".weight",
     .code_types = "U8", .scales = ".weight_scale", .scale_types = kExponents, .order = CodeOrder::nibbles,
     .element = Format::e2m1, .block_k = 32, .dequantization = Dequantization::to_model, .recipe = "mxfp4",
     .source = "modelopt torch/quantization/qtensor/mxfp4_tensor.py, MXFP4QTensor.dequantize: low nibbles first"},
    {.name = "mxfp4-fp8-modelopt", .title = "MXFP4 of ModelOpt by activations of FP8", .methods = "modelopt",
     .codes = ".weight", .code_types = "U8", .scales = ".weight_scale", .scale_types = kExponents,
     .inputs = ".input_scale", .order = CodeOrder::nibbles, .element = Format::e2m1, .block_k = 32,
     .dequantization = Dequantization::to_model, .algorithms = "W4A8_MXFP4_FP8", .activation = Format::e4m3,
     .source = "modelopt torch/export/quant_utils.py, process_layer_quant_config; "
               "torch/export/convert_hf_config.py, _quant_algo_to_group_config: input_activations"},
    {.name = "mxfp4-gpt-oss", .title = "MXFP4 of gpt-oss", .methods = "mxfp4", .codes = "_blocks",
     .code_types = "U8", .scales = "_scales", .scale_types = kExponents, .order = CodeOrder::nibbles,
     .element = Format::e2m1, .block_k = 32, .transposed_experts = true, .dequantization = Dequantization::to_model,
     .source = "transformers integrations/mxfp4.py, _convert_moe_packed_tensors: low nibbles first; that function "
               "returns its transpose, (experts, k, n)"},
    {.name = "int8-compressed-tensors", .title = "INT8 of compressed-tensors", .methods = "compressed-tensors",
     .codes = ".weight", .code_types = "I8", .scales = ".weight_scale", .scale_types = kFloats,
     .zeros = ".weight_zero_point", .inputs = ".input_scale", .element = Format::s8,
     .dequantization = Dequantization::to_scale, .tensor_recipe = "int8-w8a8", .row_recipe = "int8-w8a8",
     .formats = "int-quantized naive-quantized",
     .source = "compressed_tensors compressors/naive_quantized/base.py, IntQuantizationCompressor"},
    {.name = "int8-modelopt", .title = "INT8 of ModelOpt, smoothed", .methods = "modelopt", .codes = ".weight",
     .code_types = "I8", .scales = ".weight_scale", .scale_types = kFloats, .inputs = ".input_scale",
     .element = Format::s8, .dequantization = Dequantization::scale_to_model, .tensor_recipe = "int8-w8a8",
     .row_recipe = "int8-w8a8", .algorithms = "W8A8_SQ_PER_CHANNEL",
     .source = "modelopt torch/quantization/qtensor/int8_tensor.py, INT8QTensor.dequantize: codes and scales to the "
               "type of the model, then their product"},
    {.name = "int-pack-quantized", .title = "INT4 and INT8 weights of compressed-tensors",
     .methods = "compressed-tensors", .codes = ".weight_packed", .code_types = "I32", .scales = ".weight_scale",
     .scale_types = kFloats, .zeros = ".weight_zero_point", .groups = ".weight_g_idx", .shape = ".weight_shape",
     .order = CodeOrder::words, .dequantization = Dequantization::to_scale,
     .formats = "pack-quantized",
     .source = "compressed_tensors compressors/pack_quantized/helpers.py, unpack_from_int32"},
    {.name = "gptq", .title = "GPTQ", .methods = "gptq", .codes = ".qweight", .code_types = "I32",
     .scales = ".scales", .scale_types = kFloats, .zeros = ".qzeros", .groups = ".g_idx",
     .order = CodeOrder::gptq, .zero_added = 1, .dequantization = Dequantization::to_scale,
     .source = "AutoGPTQ auto_gptq/nn_modules/qlinear/qlinear_cuda.py, QuantLinear.pack and forward (g_idx); "
               "qlinear_cuda_old.py, QuantLinear.forward: zeros + 1, within the bits (qlinear_cuda.py's own "
               "forward keeps the carry: packages differ where all bits of a stored zero are set)"},
    {.name = "gptq-v2", .title = "GPTQ, format gptq_v2", .methods = "gptq_v2", .codes = ".qweight",
     .code_types = "I32", .scales = ".scales", .scale_types = kFloats, .zeros = ".qzeros", .groups = ".g_idx",
     .order = CodeOrder::gptq, .dequantization = Dequantization::to_scale,
     .source = "gptqmodel utils/model.py, convert_gptq_v1_to_v2_format_module: v1's words + 0x11111111 are v2's"},
    {.name = "awq", .title = "AWQ", .methods = "awq", .codes = ".qweight", .code_types = "I32",
     .scales = ".scales", .scale_types = kFloats, .zeros = ".qzeros", .order = CodeOrder::awq,
     .dequantization = Dequantization::to_scale,
     .source = "AutoAWQ awq/modules/linear/gemm.py, WQLinear_GEMM.from_linear: 4 bits only; "
               "awq/utils/packing_utils.py, AWQ_REVERSE_ORDER and dequantize_gemm"},
};
// clang-format on

}  // namespace

std::span<const Convention> conventions() { return kConventions; }

const Convention kPlain = {.name = "plain",
                           .title = "numbers without scales",
                           .methods = "",
                           .codes = ".weight",
                           .code_types = "F32 BF16 F16 F64 F8_E4M3 F8_E5M2"};
const Convention kGguf = {.name = "gguf",
                          .title = "GGUF",
                          .methods = "",
                          .codes = "",
                          .code_types = "",
                          .order = CodeOrder::blocks,
                          .source = "gguf 0.19.0 gguf/quants.py; ggml-org/ggml docs/gguf.md"};

}  // namespace mmaudit::corpus
