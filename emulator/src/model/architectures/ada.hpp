#pragma once
#include "model/datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kAdaAliases[] = {"sm_89",   "l4",         "l40",       "l40s",
                                                   "rtx4060", "rtx4070",    "rtx4080",   "rtx4090",
                                                   "rtx1000", "rtx1000ada", "rtx6000ada"};
inline constexpr Steps kAdaSteps = {to_f32(8, 24, -132), to_f16(8, 24, -20), to_f32(4, 24, -132)};
inline constexpr DatapathEntry kAdaOwn[] = {
    {units::mma_f16, Format::f32, kAdaSteps.f32, Evidence::replayed,
     "MATLAB-tensor-core Ada, L40S /fp16, /bf16 (first 8 k); second step of k16: MMA-Sim; floor: MMA-Sim, "
     "Khattak and Mikaitis"},
    {units::mma_f16, Format::f16, kAdaSteps.f16, Evidence::replayed,
     "MATLAB-tensor-core Ada, L40S /fp16 d_fp16 (first 8 k); second step of k16: MMA-Sim; floor: Khattak and "
     "Mikaitis, MMA-Sim says -21"},
    {units::mma_tf32, Format::f32, kAdaSteps.tf32, Evidence::replayed,
     "MATLAB-tensor-core Ada, L40S /tf32 (first 4 k); second step of k8: MMA-Sim; floor: MMA-Sim, Khattak "
     "and Mikaitis"},
    {units::mma_fp8, Format::f32, keeping(to_f32(16, 13, -132), 13), Evidence::replayed,
     "MATLAB-tensor-core Ada, L40S /E4M3, /E5M2 d_fp32 (k32); k16 and mixed formats: MMA-Sim; floor: "
     "MMA-Sim, cannot show"},
    {units::mma_fp8, Format::f16, to_f16(16, 13, -20), Evidence::replayed,
     "MATLAB-tensor-core Ada /E4M3, /E5M2 d_fp16 (k32); k16 and mixed formats: MMA-Sim; floor: as mma.f16, "
     "MMA-Sim says -21"},
    {units::mma_f64, Format::f64, ieee_f64(), Evidence::literature,
     "PTX ISA (same as FMA); order of NaN operands as recorded on an H200"},
};
inline constexpr DatapathEntry kAdaSparseFp8[] = {
    {units::mma_sp_fp8, Format::f32, keeping(to_f32(16, 13, -132), 13), Evidence::literature, kSparse},
};
inline constexpr auto kAdaDatapaths =
    detail::joined<DatapathEntry>(kAdaOwn, kIntegerDatapaths, sparse_datapaths(kAdaSteps), kAdaSparseFp8,
                                  kSparseIntegerDatapaths, wmma_datapaths(kAdaSteps), k884CodeDatapaths);

inline constexpr Architecture kAda = {"ada", kAdaAliases, 89, kAdaDatapaths};

}  // namespace mmaudit::generations
