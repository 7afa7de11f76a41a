#pragma once
// Scales that the tensor core applies.
#include "mmaudit/recipe.hpp"

namespace mmaudit::recipes_of {

// clang-format off
inline constexpr Recipe kMicroscaledRows[] = {
    {.name = "mxfp8-floor", .arch = "blackwell", .dtype = "mxf8", .scaling = "mx-floor",
     .source = "OCP Microscaling 1.0, section 6.3"},
    {.name = "mxfp8-ceil", .arch = "blackwell", .dtype = "mxf8", .scaling = "mx-ceil",
     .source = "scales rounded up, as cvt.rp.satfinite.ue8m0x2.f32 does"},
    {.name = "mxfp4", .arch = "blackwell", .dtype = "mxf4", .scaling = "mx-floor",
     .source = "OCP Microscaling 1.0, section 6.3"},
    {.name = "nvfp4", .arch = "blackwell", .dtype = "nvf4", .scaling = "mx",
     .source = "ue4m3 scales of 16 under one factor per tensor (Transformer Engine's NVFP4BlockScaling without Hadamard "
               "transform, stochastic rounding and 16 x 16 weights)", .bytes_of = "Transformer Engine d0067d0"},
};
// clang-format on
inline constexpr RecipeFile kMicroscaled{kMicroscaledRows};

}  // namespace mmaudit::recipes_of
