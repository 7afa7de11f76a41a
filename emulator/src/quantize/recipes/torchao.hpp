#pragma once
// Bytes of torchao's quantizers, of float32 and, where torchao widens them first, of BF16.
#include "mmaudit/recipe.hpp"

namespace mmaudit::recipes_of {

// clang-format off
/// cvt.rp.satfinite.ue8m0x2.f32 of the quotient: up, unless the number is 2^-127 or less.
inline constexpr Scaling kTorchaoUp{
    .name = "mx-ceil", .by = ScaledBy::instruction, .rounding = ScaleRounding::up, .division = Division::reciprocal,
    .counted = Counted::all,
    .power = {.of = PowerRule::Of::quotient, .added = 0x7FFFFF, .nothing = 0x400000, .times_least = 1,
              .times_nan = __builtin_nanf("")},
    .source = "torchao 0.18.0, prototype/mx_formats/mx_tensor.py:109 (_to_mx_rceil, as compiled for sm_100)"};
inline constexpr Scaling kTorchaoDown{
    .name = "mx-floor", .by = ScaledBy::instruction, .rounding = ScaleRounding::down, .division = Division::reciprocal,
    .counted = Counted::all, .power = {.of = PowerRule::Of::size, .times_least = 0x1p126F},
    .source = "torchao 0.18.0, prototype/mx_formats/mx_tensor.py:214 (to_mx, FLOOR)"};
inline constexpr Scaling kTorchaoOneLevel{
    .name = "mx", .by = ScaledBy::instruction, .division = Division::reciprocal, .counted = Counted::all, .least = 0x1p-6F,
    .source = "torchao 0.18.0, prototype/mx_formats/nvfp4_tensor.py:772 (nvfp4_quantize, one level)"};
inline constexpr Scaling kTorchaoRow{
    .name = "row", .by = ScaledBy::epilogue, .a = kOneLane, .b = kOneLane, .order = FactorOrder::b_first,
    .division = Division::quotient, .counted = Counted::all,
    .source = "torchao 0.18.0, quantization/quant_primitives.py:2243 and :2341 (Float8Tensor.from_hp, PerRow)"};
inline constexpr CastRule kTorchaoCast{CastRounding::nearest_even, true};
inline constexpr GemmDtype kTorchaoDtypes[] = {
    {.name = "mxfp8-torchao", .title = "MXFP8, torchao", .element = Format::e4m3, .scale = Format::ue8m0,
     .scale_block = 32, .cast = kTorchaoCast, .output = Format::bf16, .usual = &kTorchaoUp, .other_usual = &kTorchaoDown},
    {.name = "mxfp4-torchao", .title = "MXFP4, torchao", .element = Format::e2m1, .scale = Format::ue8m0,
     .scale_block = 32, .cast = kTorchaoCast, .output = Format::bf16, .usual = &kTorchaoUp, .other_usual = &kTorchaoDown},
    {.name = "nvfp4-torchao-1", .title = "NVFP4 of torchao, one level", .element = Format::e2m1, .scale = Format::ue4m3,
     .scale_block = 16, .cast = kTorchaoCast, .output = Format::bf16, .usual = &kTorchaoOneLevel},
    {.name = "fp8-row-torchao", .title = "FP8 of torchao, by rows", .element = Format::e4m3, .cast = kTorchaoCast,
     .output = Format::bf16, .usual = &kTorchaoRow},
};
inline constexpr Recipe kTorchaoRows[] = {
    {.name = "fp8-row-torchao", .arch = "hopper", .dtype = "fp8-row-torchao", .scaling = "row",
     .source = "Float8DynamicActivationFloat8WeightConfig with PerRow", .bytes_of = "torchao 0.18.0"},
    {.name = "mxfp8-torchao", .arch = "blackwell", .dtype = "mxfp8-torchao", .scaling = "mx-ceil",
     .source = "MXDynamicActivationMXWeightConfig, its usual RCEIL, compiled", .bytes_of = "torchao 0.18.0"},
    {.name = "mxfp8-torchao-floor", .arch = "blackwell", .dtype = "mxfp8-torchao", .scaling = "mx-floor",
     .source = "to_mx with FLOOR", .bytes_of = "torchao 0.18.0"},
    {.name = "mxfp4-torchao", .arch = "blackwell", .dtype = "mxfp4-torchao", .scaling = "mx-ceil",
     .source = "MXDynamicActivationMXWeightConfig of FP4, its usual RCEIL, compiled", .bytes_of = "torchao 0.18.0"},
    {.name = "mxfp4-torchao-floor", .arch = "blackwell", .dtype = "mxfp4-torchao", .scaling = "mx-floor",
     .source = "to_mx with FLOOR", .bytes_of = "torchao 0.18.0"},
    {.name = "nvfp4-torchao", .arch = "blackwell", .dtype = "nvf4", .scaling = "mx-reciprocal",
     .source = "torchao NVFP4Tensor with a per-tensor scale", .bytes_of = "torchao 0.18.0"},
    {.name = "nvfp4-torchao-1", .arch = "blackwell", .dtype = "nvfp4-torchao-1", .scaling = "mx",
     .source = "torchao NVFP4Tensor without a per-tensor scale", .bytes_of = "torchao 0.18.0"},
};
// clang-format on
inline constexpr RecipeFile kTorchao{kTorchaoRows, kTorchaoDtypes};

}  // namespace mmaudit::recipes_of
