#pragma once
// Bytes of the quantizers that Hugging Face's transformers load weights with.
#include "mmaudit/recipe.hpp"

namespace mmaudit::recipes_of {

// clang-format off
inline constexpr Scaling kGptOssPowers{
    .name = "mx-ceil", .by = ScaledBy::instruction, .rounding = ScaleRounding::up, .division = Division::reciprocal,
    .counted = Counted::all,
    .power = {.of = PowerRule::Of::quotient, .added = 0x7FFFFF, .infinite = 255, .nan = 0, .times_least = 0},
    .source = "triton_kernels (triton 7146a72), numerics_details/mxfp.py, downcast_to_mxfp_torch with ROUND_UP, which "
              "transformers 5.24.0, integrations/mxfp4.py:203, calls"};
inline constexpr Scaling kFineBlocks{
    .name = "1x128", .by = ScaledBy::totals, .a = group_of(128), .b = group_of(128), .division = Division::inverse,
    .counted = Counted::all, .bare = true,
    .source = "transformers 5.24.0, integrations/finegrained_fp8.py:1040 (Fp8Quantize, without ue8m0)"};
inline constexpr Scaling kFineTiles = [] {
  Scaling tiles = kFineBlocks;
  tiles.name = "128x128", tiles.b = tile_of(128, 128), tiles.activations = kFineBlocks.name;
  return tiles;
}();
inline constexpr GemmDtype kTransformersDtypes[] = {
    {.name = "mxfp4-gpt-oss", .title = "MXFP4 of gpt-oss", .element = Format::e2m1, .scale = Format::ue8m0,
     .scale_block = 32, .cast = {CastRounding::nearest_away, true}, .output = Format::bf16, .usual = &kGptOssPowers},
    {.name = "fp8-1x128-transformers", .title = "FP8 of transformers", .element = Format::e4m3,
     .cast = {CastRounding::nearest_even, true}, .output = Format::bf16, .usual = &kFineTiles, .other_usual = &kFineBlocks},
};
inline constexpr Recipe kTransformersRows[] = {
    {.name = "fp8-1x128-transformers", .arch = "hopper", .dtype = "fp8-1x128-transformers", .scaling = "128x128",
     .policy = "promote:128", .source = "FineGrainedFP8Config: its weights; activations by the same rule",
     .bytes_of = "transformers 5.24.0"},
    {.name = "mxfp4-gpt-oss", .arch = "blackwell", .dtype = "mxfp4-gpt-oss", .scaling = "mx-ceil",
     .source = "Mxfp4Config: weights, of BF16; activations by the same rule", .bytes_of = "triton_kernels 7146a72"},
};
// clang-format on
inline constexpr RecipeFile kTransformers{kTransformersRows, kTransformersDtypes};

}  // namespace mmaudit::recipes_of
