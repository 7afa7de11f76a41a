#pragma once
// Bytes that NVIDIA's ModelOpt exports, of float32.
#include "mmaudit/recipe.hpp"

namespace mmaudit::recipes_of {

// clang-format off
inline constexpr Scaling kModeloptLevels{
    .name = "mx", .by = ScaledBy::instruction, .second_level = true, .division = Division::quotient,
    .counted = Counted::all, .least = 0x1p-9F, .zero_scale = 1, .plain_zero = true,
    .source = "nvidia-modelopt 0.47.0, torch/quantization/qtensor/nvfp4_tensor.py:170, :254 (NVFP4QTensor.quantize)"};
inline constexpr Scaling kModeloptUp{
    .name = "mx-ceil", .by = ScaledBy::instruction, .rounding = ScaleRounding::up, .division = Division::reciprocal,
    .counted = Counted::all,
    .power = {.of = PowerRule::Of::quotient, .added = 0x7FFFFF, .nothing = 0x400000, .nan = 0},
    .source = "nvidia-modelopt 0.47.0, torch/quantization/qtensor/mxfp8_tensor.py:43 and :144 (MXFP8QTensor.quantize)"};
inline constexpr GemmDtype kModeloptDtypes[] = {
    {.name = "nvfp4-modelopt", .title = "NVFP4 of ModelOpt", .element = Format::e2m1, .scale = Format::ue4m3,
     .scale_block = 16, .cast = {CastRounding::nearest_even, true}, .output = Format::bf16, .usual = &kModeloptLevels},
    {.name = "mxfp8-modelopt", .title = "MXFP8 of ModelOpt", .element = Format::e4m3, .scale = Format::ue8m0,
     .scale_block = 32, .cast = {CastRounding::nearest_even, true}, .output = Format::bf16, .usual = &kModeloptUp},
};
inline constexpr Recipe kModeloptRows[] = {
    {.name = "mxfp8-modelopt", .arch = "blackwell", .dtype = "mxfp8-modelopt", .scaling = "mx-ceil",
     .source = "ModelOpt MXFP8_DEFAULT_CFG, exported weights", .bytes_of = "nvidia-modelopt 0.47.0"},
    {.name = "nvfp4-modelopt", .arch = "blackwell", .dtype = "nvfp4-modelopt", .scaling = "mx",
     .source = "NVFP4_DEFAULT_CFG, exported weights; activations likewise", .bytes_of = "nvidia-modelopt 0.47.0"},
};
// clang-format on
inline constexpr RecipeFile kModelopt{kModeloptRows, kModeloptDtypes};

}  // namespace mmaudit::recipes_of
