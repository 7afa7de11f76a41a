#pragma once
// Transformer Engine's bytes by its kernels' text, of float32; others are in microscaled.hpp and fp8.hpp.
#include "mmaudit/recipe.hpp"

namespace mmaudit::recipes_of {

// clang-format off
inline constexpr Scaling kEngineUp{
    .name = "mx-ceil", .by = ScaledBy::instruction, .rounding = ScaleRounding::up, .division = Division::reciprocal,
    .counted = Counted::infinite,
    .power = {.of = PowerRule::Of::product, .added = 0x7FFFFF, .nothing = 0x400000},
    .source = "Transformer Engine d0067d0, common/cast/mxfp8/quantize_mxfp8.cuh:446, common/util/ptx_arch_spec.cuh:72, "
              "common/util/ptx.cuh:309"};
inline constexpr Scaling kEngineTiles = [] {
  Scaling tiles = scalings::mx;
  tiles.name = "16x16", tiles.b = tile_of(16, 16), tiles.activations = scalings::mx.name;
  tiles.source = "Transformer Engine d0067d0, common/cast/nvfp4/quantize_transpose_nvfp4.cuh:856 (2D), core_nvfp4.cuh:36";
  return tiles;
}();
inline constexpr Scaling kEngineBlocks{
    .name = "1x128", .by = ScaledBy::totals, .a = group_of(128), .b = group_of(128), .division = Division::inverse,
    .counted = Counted::infinite, .power_factor = true,
    .source = "Transformer Engine d0067d0, common/recipe/recipe_common.cuh:14 with powers of two, amax_epsilon 0"};
inline constexpr Scaling kEngineBlocksAndTiles = [] {
  Scaling tiles = kEngineBlocks;
  tiles.name = "128x128", tiles.b = tile_of(128, 128), tiles.activations = kEngineBlocks.name;
  return tiles;
}();
inline constexpr CastRule kEngineCast{CastRounding::nearest_even, true};
inline constexpr GemmDtype kEngineDtypes[] = {
    {.name = "mxfp8-te", .title = "MXFP8 of TE", .element = Format::e4m3, .scale = Format::ue8m0,
     .scale_block = 32, .cast = kEngineCast, .output = Format::bf16, .usual = &kEngineUp},
    {.name = "nvfp4-te", .title = "NVFP4 of TE", .element = Format::e2m1, .scale = Format::ue4m3,
     .scale_block = 16, .cast = kEngineCast, .output = Format::bf16, .usual = &kEngineTiles, .other_usual = &scalings::mx},
    {.name = "fp8-1x128-te", .title = "FP8 of TE, by blocks", .element = Format::e4m3, .cast = kEngineCast,
     .output = Format::bf16, .usual = &kEngineBlocksAndTiles, .other_usual = &kEngineBlocks},
};
inline constexpr Recipe kEngineRows[] = {
    {.name = "fp8-1x128-te", .arch = "hopper", .dtype = "fp8-1x128-te", .scaling = "128x128", .policy = "promote:128",
     .source = "Float8BlockScaling, with powers of two", .bytes_of = "Transformer Engine d0067d0"},
    {.name = "mxfp8-te", .arch = "blackwell", .dtype = "mxfp8-te", .scaling = "mx-ceil", .source = "MXFP8BlockScaling",
     .bytes_of = "Transformer Engine d0067d0"},
    {.name = "nvfp4-te", .arch = "blackwell", .dtype = "nvfp4-te", .scaling = "16x16",
     .source = "NVFP4BlockScaling with its 16 x 16 weights, without Hadamard transform and stochastic rounding",
     .bytes_of = "Transformer Engine d0067d0"},
};
// clang-format on
inline constexpr RecipeFile kTransformerEngine{kEngineRows, kEngineDtypes};

}  // namespace mmaudit::recipes_of
