#pragma once
#include "datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kHopperAliases[] = {"sm_90", "sm_90a", "h100", "h200",
                                                      "h800",  "gh200",  "h20"};
inline constexpr std::string_view kHopperCorpus = "corpus/data/hopper";
inline constexpr DatapathEntry kHopperDatapaths[] = {
    {MatrixUnit::mma_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_fp8, Format::f32, widened_to_f16(to_f32(16, 25, -133)), Evidence::recorded,
     kHopperCorpus},
    {MatrixUnit::mma_fp8, Format::f16, widened_to_f16(to_f16(16, 25, -21)), Evidence::recorded,
     kHopperCorpus},
    {MatrixUnit::mma_f64, Format::f64, ieee_f64(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wgmma_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wgmma_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wgmma_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wgmma_fp8, Format::f32, keeping(to_f32(32, 13, -133), 13), Evidence::recorded,
     kHopperCorpus},
    {MatrixUnit::wgmma_fp8, Format::f16, to_f16(32, 13, -21), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_i8, Format::s32, exact_s32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_i4, Format::s32, exact_s32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_b1, Format::s32, exact_s32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wgmma_i8, Format::s32, exact_s32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wgmma_b1, Format::s32, exact_s32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_sp_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_sp_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_sp_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_sp_fp8, Format::f32, widened_to_f16(to_f32(16, 25, -133)), Evidence::recorded,
     kHopperCorpus},
    {MatrixUnit::mma_sp_i8, Format::s32, exact_s32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_sp_i4, Format::s32, exact_s32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wgmma_sp_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wgmma_sp_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wgmma_sp_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wgmma_sp_fp8, Format::f32, keeping(to_f32(32, 13, -133), 13), Evidence::recorded,
     kHopperCorpus},
    {MatrixUnit::wgmma_sp_fp8, Format::f16, to_f16(32, 13, -21), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wgmma_sp_i8, Format::s32, exact_s32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wmma_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, kHopperCorpus, Format::f32},
    {MatrixUnit::wmma_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, kHopperCorpus, Format::f16},
    {MatrixUnit::wmma_f16, Format::f32, widened_c(to_f32(16, 25, -133)), Evidence::recorded, kHopperCorpus,
     Format::f16},
    {MatrixUnit::wmma_f16, Format::f16, narrowed_d(to_f32(16, 25, -133)), Evidence::recorded, kHopperCorpus,
     Format::f32},
    {MatrixUnit::wmma_tf32, Format::f32, to_f32(4, 25, -133), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wmma_f64, Format::f64, ieee_f64(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wmma_i8, Format::s32, exact_s32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wmma_i4, Format::s32, exact_s32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::wmma_b1, Format::s32, exact_s32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_884, Format::f32, chained_f32(), Evidence::recorded, kHopperCorpus},
    {MatrixUnit::mma_884, Format::f16, paired_f16(), Evidence::recorded, kHopperCorpus},
};

inline constexpr Architecture kHopper = {"hopper", kHopperAliases, 90, kHopperDatapaths};

}  // namespace mmaudit::generations
