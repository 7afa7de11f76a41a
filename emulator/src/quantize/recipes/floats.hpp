#pragma once
// What frameworks run without scales.
#include "mmaudit/recipe.hpp"

namespace mmaudit::recipes_of {

// clang-format off
inline constexpr Recipe kFloatRows[] = {
    {.name = "bf16", .arch = "hopper", .dtype = "bf16", .source = "torch.autocast with bfloat16 on an H100"},
    {.name = "tf32", .arch = "ampere", .dtype = "tf32", .source = "torch.backends.cuda.matmul.allow_tf32 on an A100"},
    {.name = "bf16-ampere", .arch = "ampere", .dtype = "bf16", .source = "torch.autocast with bfloat16 on an A100"},
    {.name = "fp16-volta", .arch = "volta", .dtype = "f16", .scaling = "none",
     .source = "torch.autocast with float16 on a V100"},
};
// clang-format on
inline constexpr RecipeFile kFloats{kFloatRows};

}  // namespace mmaudit::recipes_of
