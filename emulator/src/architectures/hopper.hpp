#pragma once
#include "architectures/rows.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kHopperAliases[] = {"sm_90", "sm_90a", "h100", "h200",
                                                      "h800",  "gh200",  "h20"};
inline constexpr DatapathRow kHopperRows[] = {
    {Datapath::mma_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_fp8, Format::f32, widened_to_f16(to_f32(16, 25, -133)), Evidence::recorded,
     "corpus/data/hopper"},
    {Datapath::mma_fp8, Format::f16, widened_to_f16(to_f16(16, 25, -21)), Evidence::recorded,
     "corpus/data/hopper"},
    {Datapath::mma_f64, Format::f64, ieee_f64(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_fp8, Format::f32, keeping(to_f32(32, 13, -133), 13), Evidence::recorded,
     "corpus/data/hopper"},
    {Datapath::wgmma_fp8, Format::f16, to_f16(32, 13, -21), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_i8, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_i4, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_b1, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_i8, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_b1, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_sp_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_sp_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_sp_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_sp_fp8, Format::f32, widened_to_f16(to_f32(16, 25, -133)), Evidence::recorded,
     "corpus/data/hopper"},
    {Datapath::mma_sp_i8, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_sp_i4, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_sp_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_sp_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_sp_tf32, Format::f32, to_f32(8, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_sp_fp8, Format::f32, keeping(to_f32(32, 13, -133), 13), Evidence::recorded,
     "corpus/data/hopper"},
    {Datapath::wgmma_sp_fp8, Format::f16, to_f16(32, 13, -21), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wgmma_sp_i8, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wmma_f16, Format::f32, to_f32(16, 25, -133), Evidence::recorded, "corpus/data/hopper",
     Format::f32},
    {Datapath::wmma_f16, Format::f16, to_f16(16, 25, -21), Evidence::recorded, "corpus/data/hopper",
     Format::f16},
    {Datapath::wmma_f16, Format::f32, widened_c(to_f32(16, 25, -133)), Evidence::recorded,
     "corpus/data/hopper", Format::f16},
    {Datapath::wmma_f16, Format::f16, narrowed_d(to_f32(16, 25, -133)), Evidence::recorded,
     "corpus/data/hopper", Format::f32},
    {Datapath::wmma_tf32, Format::f32, to_f32(4, 25, -133), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wmma_f64, Format::f64, ieee_f64(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wmma_i8, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wmma_i4, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::wmma_b1, Format::s32, exact_s32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_884, Format::f32, chained_f32(), Evidence::recorded, "corpus/data/hopper"},
    {Datapath::mma_884, Format::f16, paired_f16(), Evidence::recorded, "corpus/data/hopper"},
};

inline constexpr Architecture kHopper = {"hopper", kHopperAliases, 90, kHopperRows};

}  // namespace mmaudit::generations
