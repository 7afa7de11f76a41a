#pragma once
// INT4 of weights and activations, a factor per token and one per output channel.
#include "mmaudit/recipe.hpp"

namespace mmaudit::recipes_of {

// clang-format off
inline constexpr Scaling kInt4Scaling{
    .name = "row", .by = ScaledBy::epilogue, .a = kOneLane, .b = kOneLane, .source = "shown and reverted"};
inline constexpr GemmDtype kInt4Dtypes[] = {
    {.name = "int4-tokens", .title = "INT4 per token", .element = Format::s4,
     .cast = {CastRounding::nearest_even, true}, .output = Format::bf16, .usual = &kInt4Scaling},
};
inline constexpr Recipe kInt4Rows[] = {
    {.name = "int4-tokens", .arch = "ampere", .dtype = "int4-tokens", .source = "shown and reverted"},
};
// clang-format on
inline constexpr RecipeFile kInt4Tokens{kInt4Rows, kInt4Dtypes};

}  // namespace mmaudit::recipes_of
