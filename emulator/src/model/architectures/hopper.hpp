#pragma once
#include "model/datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kHopperAliases[] = {"sm_90", "sm_90a", "h100", "h200",
                                                      "h800",  "gh200",  "h20"};
inline constexpr Steps kHopperSteps = {to_f32(16, 25, -133), to_f16(16, 25, -21), to_f32(8, 25, -133)};
inline constexpr Datapath kHopperWgmmaFp8 = keeping(to_f32(32, 13, -133), 13);
inline constexpr DatapathEntry kHopperDense[] = {
    {units::mma_f16, Format::f32, kHopperSteps.f32},
    {units::mma_f16, Format::f16, kHopperSteps.f16},
    {units::mma_tf32, Format::f32, kHopperSteps.tf32},
    {units::mma_fp8, Format::f32, widened_to_f16(kHopperSteps.f32)},
    {units::mma_fp8, Format::f16, widened_to_f16(kHopperSteps.f16)},
    {units::mma_f64, Format::f64, ieee_f64()},
    {units::wgmma_f16, Format::f32, kHopperSteps.f32},
    {units::wgmma_f16, Format::f16, kHopperSteps.f16},
    {units::wgmma_tf32, Format::f32, kHopperSteps.tf32},
    {units::wgmma_fp8, Format::f32, kHopperWgmmaFp8},
    {units::wgmma_fp8, Format::f16, to_f16(32, 13, -21)},
};
inline constexpr DatapathEntry kHopperWgmmaIntegers[] = {
    {units::wgmma_i8, Format::s32, exact_s32()},
    {units::wgmma_b1, Format::s32, exact_s32()},
};
inline constexpr DatapathEntry kHopperSparseFp8[] = {
    {units::mma_sp_fp8, Format::f32, widened_to_f16(kHopperSteps.f32)},
};
inline constexpr DatapathEntry kHopperWgmmaSparse[] = {
    {units::wgmma_sp_f16, Format::f32, kHopperSteps.f32},
    {units::wgmma_sp_f16, Format::f16, kHopperSteps.f16},
    {units::wgmma_sp_tf32, Format::f32, kHopperSteps.tf32},
    {units::wgmma_sp_fp8, Format::f32, kHopperWgmmaFp8},
    {units::wgmma_sp_fp8, Format::f16, to_f16(32, 13, -21)},
    {units::wgmma_sp_i8, Format::s32, exact_s32()},
};
inline constexpr auto kHopperDatapaths = recorded(
    "corpus/data/hopper",
    detail::joined<DatapathEntry>(kHopperDense, kIntegerDatapaths, kHopperWgmmaIntegers,
                                  sparse_datapaths(kHopperSteps), kHopperSparseFp8, kSparseIntegerDatapaths,
                                  kHopperWgmmaSparse, wmma_datapaths(kHopperSteps), k884CodeDatapaths));

inline constexpr Architecture kHopper = {"hopper", kHopperAliases, 90, kHopperDatapaths};

}  // namespace mmaudit::generations
