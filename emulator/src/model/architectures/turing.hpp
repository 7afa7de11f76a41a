#pragma once
#include "model/datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kTuringAliases[] = {"sm_75",   "t4",        "rtx2060",  "rtx2070",
                                                      "rtx2080", "rtx2080ti", "titanrtx", "quadrortx6000"};
inline constexpr DatapathEntry kTuringOwn[] = {
    {units::mma_884, Format::f32, to_f32(4, 24, -132), Evidence::literature,
     "MMA-Sim table 3 (T4); runs as HMMA.884 (Sun et al. 2023)", Format::f32},
    {units::mma_884, Format::f32, to_f32(4, 24, -20), Evidence::literature,
     "MMA-Sim (C binary16, D binary32); floor: by the pattern, MMA-Sim says -21", Format::f16},
    {units::mma_884, Format::f16, to_f16(4, 24, -20), Evidence::literature,
     "MMA-Sim table 3 (T4); floor: Khattak and Mikaitis, MMA-Sim says -21", Format::f16},
    {units::mma_f16, Format::f32, to_f32(8, 24, -132), Evidence::literature,
     "MMA-Sim table 3 (T4), one extra bit also in Fasi et al. 2021; Valpey et al. (arXiv 2502.15999) have L "
     "= 4"},
    {units::mma_f16, Format::f16, to_f16(8, 24, -20), Evidence::literature,
     "MMA-Sim table 3 (T4); floor: Khattak and Mikaitis, MMA-Sim says -21; Valpey et al. have L = 4"},
};
inline constexpr auto kTuringDatapaths = detail::joined<DatapathEntry>(
    kTuringOwn, kIntegerDatapaths, wmma_f16_datapaths(to_f32(8, 24, -132), to_f16(8, 24, -20)),
    kWmmaIntegerDatapaths);

inline constexpr Architecture kTuring = {"turing", kTuringAliases, 75, kTuringDatapaths};

}  // namespace mmaudit::generations
