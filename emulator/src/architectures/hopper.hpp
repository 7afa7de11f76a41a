#pragma once
#include "architectures/rows.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kHopperAliases[] = {"sm_90", "sm_90a", "h100", "h200",
                                                      "h800",  "gh200",  "h20"};
inline constexpr DatapathEntry kHopperRows[] = {
    {MatrixUnit::mma_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_fp8, Format::f32, widened_to_f16(to_f32(16, 25, -133)), Evidence::recorded,
     "corpus/data/hopper"},
    {MatrixUnit::mma_fp8, Format::f16, widened_to_f16(to_f16(16, 25, -21)), Evidence::recorded,
     "corpus/data/hopper"},
    {MatrixUnit::mma_f64, Format::f64, ieee_f64(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wgmma_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wgmma_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wgmma_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wgmma_fp8, Format::f32, keeping(to_f32(32, 13, -133), 13), Evidence::recorded,
     "corpus/data/hopper"},
    {MatrixUnit::wgmma_fp8, Format::f16, to_f16(32, 13, -21), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_i8, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_i4, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_b1, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wgmma_i8, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wgmma_b1, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_sp_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_sp_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_sp_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_sp_fp8, Format::f32, widened_to_f16(to_f32(16, 25, -133)), Evidence::recorded,
     "corpus/data/hopper"},
    {MatrixUnit::mma_sp_i8, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_sp_i4, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wgmma_sp_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wgmma_sp_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wgmma_sp_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wgmma_sp_fp8, Format::f32, keeping(to_f32(32, 13, -133), 13), Evidence::recorded,
     "corpus/data/hopper"},
    {MatrixUnit::wgmma_sp_fp8, Format::f16, to_f16(32, 13, -21), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wgmma_sp_i8, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wmma_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper",
     Format::f32},
    {MatrixUnit::wmma_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper",
     Format::f16},
    {MatrixUnit::wmma_f16, Format::f32, widened_c(to_f32(16, 25, -133)), Evidence::recorded,
     "corpus/data/hopper", Format::f16},
    {MatrixUnit::wmma_f16, Format::f16, narrowed_d(to_f32(16, 25, -133)), Evidence::recorded,
     "corpus/data/hopper", Format::f32},
    {MatrixUnit::wmma_tf32, Format::f32, to_f32(4, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wmma_f64, Format::f64, ieee_f64(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wmma_i8, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wmma_i4, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::wmma_b1, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_884, Format::f32, chained_f32(), Evidence::recorded, "corpus/data/hopper"},
    {MatrixUnit::mma_884, Format::f16, paired_f16(), Evidence::recorded, "corpus/data/hopper"},
};

inline constexpr Architecture kHopper = {"hopper", kHopperAliases, 90, kHopperRows};

}  // namespace mmaudit::generations
