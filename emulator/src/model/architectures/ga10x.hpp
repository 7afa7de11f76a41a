#pragma once
#include "model/datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kGa10xAliases[] = {"sm_86",   "sm_87",   "a2",       "a10",
                                                     "a16",     "a40",     "rtx3060",  "rtx3070",
                                                     "rtx3080", "rtx3090", "rtxa6000", "orin"};
inline constexpr Steps kGa10xSteps = {to_f32(8, 24, -132), to_f16(8, 24, -20), to_f32(4, 24, -132)};
inline constexpr DatapathEntry kGa10xOwn[] = {
    {units::mma_f16, Format::f32, kGa10xSteps.f32, Evidence::replayed,
     "MATLAB-tensor-core A2/fp16, A2/bf16 (first 8 k; sm_86 only); second step of k16: MMA-Sim; floor: "
     "MMA-Sim, Khattak and Mikaitis"},
    {units::mma_f16, Format::f16, kGa10xSteps.f16, Evidence::replayed,
     "MATLAB-tensor-core A2/fp16 d_fp16 (first 8 k; sm_86 only); second step of k16: MMA-Sim; floor: Khattak "
     "and Mikaitis, MMA-Sim says -21"},
    {units::mma_tf32, Format::f32, kGa10xSteps.tf32, Evidence::replayed,
     "MATLAB-tensor-core A2/tf32 (first 4 k; sm_86 only); second step of k8: MMA-Sim; floor: MMA-Sim, "
     "Khattak and Mikaitis"},
    {units::mma_f64, Format::f64, ieee_f64(), Evidence::literature,
     "PTX ISA (same as FMA); order of NaN operands as recorded on an H200"},
};
inline constexpr auto kGa10xDatapaths =
    detail::joined<DatapathEntry>(kGa10xOwn, kIntegerDatapaths, sparse_datapaths(kGa10xSteps),
                                  kSparseIntegerDatapaths, wmma_datapaths(kGa10xSteps), k884CodeDatapaths);

inline constexpr Architecture kGa10x = {"ga10x", kGa10xAliases, 86, kGa10xDatapaths};

}  // namespace mmaudit::generations
