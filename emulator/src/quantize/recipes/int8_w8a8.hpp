#pragma once
// INT8 of weights and activations: a factor per token and one per output channel, both of the largest
// magnitude over 127.5, so that one of two signs is cut; sums of 32-bit integers, which the factor of the
// token and then the one of the channel multiply.
#include "mmaudit/recipe.hpp"

namespace mmaudit::recipes_of {

// clang-format off
inline constexpr Scaling kInt8Scaling{
    .name = "row", .by = ScaledBy::epilogue, .a = kOneLane, .b = kOneLane, .order = FactorOrder::a_first,
    .division = Division::reciprocal, .counted = Counted::all, .least = 127.5F * 0x1p-23F, .most = 127.5,
    .source = "torchao 0.18.0, quantization/quantize_/workflows/int8/int8_tensor.py:199 (Int8Tensor.from_hp of float32) "
              "and :315 (int_scaled_matmul)"};
inline constexpr GemmDtype kInt8Dtypes[] = {
    {.name = "int8-w8a8", .title = "INT8 W8A8", .element = Format::s8, .cast = {CastRounding::nearest_even, true},
     .output = Format::bf16, .usual = &kInt8Scaling},
};
inline constexpr Recipe kInt8Rows[] = {
    {.name = "int8-w8a8", .arch = "ampere", .dtype = "int8-w8a8",
     .source = "activations per token, weights per channel (torchao Int8DynamicActivationInt8Weight)",
     .bytes_of = "torchao 0.18.0"},
};
// clang-format on
inline constexpr RecipeFile kInt8W8a8{kInt8Rows, kInt8Dtypes};

}  // namespace mmaudit::recipes_of
