#pragma once
#include "model/datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kCdna2Aliases[] = {"mi200", "mi210", "mi250", "mi250x", "gfx90a"};
inline constexpr DatapathEntry kCdna2Datapaths[] = {
    {units::mfma_f32, Format::f32, exact_f32(1), Evidence::literature, kMmaSimFma},
    {units::mfma_f16, Format::f32, flushed_tree(4), Evidence::literature,
     "MMA-Sim (MI250X), MATLAB-tensor-core (MI210): (0+1)+(2+3), then c; against it: FTTN's product; "
     "flushing: MIOpen, MI200 MFMA behavior"},
    {units::mfma_bf16, Format::f32, flushed_tree(2), Evidence::literature,
     "MMA-Sim (MI250X): 0+1, then c; flushing: MIOpen, MI200 MFMA behavior"},
    {units::mfma_bf16_1k, Format::f32, flushed_tree(4), Evidence::literature,
     "MMA-Sim (MI250X): (0+1)+(2+3), then c; flushing: MIOpen, MI200 MFMA behavior"},
    {units::mfma_f64, Format::f64, ieee_f64(), Evidence::literature, kMmaSimFma},
};

inline constexpr Architecture kCdna2 = {"cdna2", kCdna2Aliases, 910, kCdna2Datapaths, "gfx90a"};

}  // namespace mmaudit::generations
