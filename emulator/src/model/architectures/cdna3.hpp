#pragma once
#include "model/datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kCdna3Aliases[] = {"mi300", "mi300a", "mi300x", "mi325x", "gfx942"};
inline constexpr std::string_view kMmaSimTwoStages =
    "MMA-Sim (MI300X): F = 24, the sum with c floored at 31 bits; an older version: no second floor";
inline constexpr DatapathEntry kCdna3Datapaths[] = {
    {units::mfma_f32, Format::f32, exact_f32(1), Evidence::literature, kMmaSimFma},
    {units::mfma_f16, Format::f32, two_stages(8, 1), Evidence::literature, kMmaSimTwoStages},
    {units::mfma_bf16_1k, Format::f32, two_stages(8, 1), Evidence::literature, kMmaSimTwoStages},
    {units::mfma_xf32, Format::f32, two_stages(4, 1), Evidence::literature, kMmaSimTwoStages},
    {units::mfma_fp8, Format::f32, two_stages(16, 2), Evidence::literature,
     "MMA-Sim (MI300X): even and odd k apart, F = 24, floored at 31 bits with c; an older version: no second "
     "floor"},
    {units::mfma_f64, Format::f64, ieee_f64(), Evidence::literature, kMmaSimFma},
};

inline constexpr Architecture kCdna3 = {"cdna3", kCdna3Aliases, 942, kCdna3Datapaths, "gfx942"};

}  // namespace mmaudit::generations
