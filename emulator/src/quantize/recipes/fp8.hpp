#pragma once
// FP8 under factors of software.
#include "mmaudit/recipe.hpp"

namespace mmaudit::recipes_of {

// clang-format off
inline constexpr Recipe kFp8Rows[] = {
    {.name = "fp8-tensor", .arch = "hopper", .dtype = "e4m3", .scaling = "tensor-inverse", .gradient = "e5m2",
     .source = "current scaling, fast accumulation (Transformer Engine Float8CurrentScaling; "
               "torch._scaled_mm with use_fast_accum)", .bytes_of = "Transformer Engine d0067d0, torchao 0.18.0"},
    {.name = "fp8-tensor-promoted", .arch = "hopper", .dtype = "e4m3", .scaling = "tensor-inverse", .policy = "promote:128",
     .gradient = "e5m2", .source = "the same with every 128 of k added in binary32",
     .bytes_of = "Transformer Engine d0067d0, torchao 0.18.0"},
    {.name = "fp8-delayed", .arch = "hopper", .dtype = "e4m3", .scaling = "tensor-inverse", .gradient = "e5m2",
     .history = 1024, .source = "Transformer Engine DelayedScaling, HYBRID, amax_history_len 1024, their maximum",
     .bytes_of = "Transformer Engine d0067d0"},
    {.name = "fp8-1x128", .arch = "hopper", .dtype = "e4m3", .scaling = "128x128", .policy = "promote:128",
     .source = "DeepSeek-V3 (arXiv 2412.19437, section 3.3): 1x128 activations, 128x128 weights; elements as DeepGEMM's",
     .bytes_of = "DeepGEMM 54e2261"},
};
// clang-format on
inline constexpr RecipeFile kFp8{kFp8Rows};

}  // namespace mmaudit::recipes_of
