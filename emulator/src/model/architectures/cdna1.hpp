#pragma once
#include "model/datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kCdna1Aliases[] = {"mi100", "gfx908"};
inline constexpr DatapathEntry kCdna1Datapaths[] = {
    {units::mfma_f32, Format::f32, exact_f32(1), Evidence::literature, kMmaSimFma},
    {units::mfma_f16, Format::f32, exact_f32(4), Evidence::literature,
     "MMA-Sim (MI100): 4 products and c exactly, one RNE; FTTN's product (MI100): 255.875; NaN and zero "
     "signs: not published"},
    {units::mfma_bf16, Format::f32, exact_f32(2), Evidence::literature,
     "MMA-Sim (MI100): 2 products and c exactly, one RNE; NaN and zero signs: not published"},
};

inline constexpr Architecture kCdna1 = {"cdna1", kCdna1Aliases, 908, kCdna1Datapaths, "gfx908"};

}  // namespace mmaudit::generations
