#pragma once
// Bytes of compressed-tensors, which llm-compressor writes and vLLM reads, of float32.
#include "mmaudit/recipe.hpp"

namespace mmaudit::recipes_of {

// clang-format off
inline constexpr Scaling kCompressedLevels{
    .name = "mx", .by = ScaledBy::instruction, .second_level = true, .division = Division::of_inverse,
    .counted = Counted::all, .zero_scale = 0.125F, .plain_zero = true,
    .source = "compressed-tensors 0.20.0, quantization/utils/helpers.py:52, :324, lifecycle/forward_helpers.py:169"};
inline constexpr Scaling kCompressedPowers{
    .name = "mx", .by = ScaledBy::instruction, .rounding = ScaleRounding::down, .division = Division::reciprocal,
    .counted = Counted::all, .power = {.of = PowerRule::Of::size, .added = 0x200000, .infinite = 255}, .plain_zero = true,
    .source = "compressed-tensors 0.20.0, quantization/utils/mxfp_utils.py:131 (generate_mx_scales)"};
inline constexpr GemmDtype kCompressedDtypes[] = {
    {.name = "nvfp4-compressed-tensors", .title = "NVFP4 of compressed-tensors", .element = Format::e2m1,
     .scale = Format::ue4m3, .scale_block = 16, .cast = {CastRounding::nearest_even, true}, .output = Format::bf16,
     .usual = &kCompressedLevels},
    {.name = "mxfp4-compressed-tensors", .title = "MXFP4 of compressed-tensors", .element = Format::e2m1,
     .scale = Format::ue8m0, .scale_block = 32, .cast = {CastRounding::nearest_even, true}, .output = Format::bf16,
     .usual = &kCompressedPowers},
};
inline constexpr Recipe kCompressedRows[] = {
    {.name = "mxfp4-compressed-tensors", .arch = "blackwell", .dtype = "mxfp4-compressed-tensors", .scaling = "mx",
     .source = "llm-compressor's MXFP4", .bytes_of = "compressed-tensors 0.20.0"},
    {.name = "nvfp4-compressed-tensors", .arch = "blackwell", .dtype = "nvfp4-compressed-tensors", .scaling = "mx",
     .source = "llm-compressor's NVFP4; the factor is 1 / global scale", .bytes_of = "compressed-tensors 0.20.0"},
};
// clang-format on
inline constexpr RecipeFile kLlmCompressor{kCompressedRows, kCompressedDtypes};

}  // namespace mmaudit::recipes_of
