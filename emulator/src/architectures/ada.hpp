#pragma once
#include "architectures/rows.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kAdaAliases[] = {"sm_89",   "l4",         "l40",       "l40s",
                                                   "rtx4060", "rtx4070",    "rtx4080",   "rtx4090",
                                                   "rtx1000", "rtx1000ada", "rtx6000ada"};
inline constexpr DatapathRow kAdaRows[] = {
    {Datapath::mma_f16, Format::f32, to_f32(8, 24, -132), Evidence::replayed,
     "MATLAB-tensor-core Ada, L40S /fp16, /bf16 (first 8 k); second step of k16: MMA-Sim; floor: MMA-Sim, "
     "Khattak and Mikaitis"},
    {Datapath::mma_f16, Format::f16, to_f16(8, 24, -20), Evidence::replayed,
     "MATLAB-tensor-core Ada, L40S /fp16 d_fp16 (first 8 k); second step of k16: MMA-Sim; floor: Khattak and "
     "Mikaitis, MMA-Sim says -21"},
    {Datapath::mma_tf32, Format::f32, to_f32(4, 24, -132), Evidence::replayed,
     "MATLAB-tensor-core Ada, L40S /tf32 (first 4 k); second step of k8: MMA-Sim; floor: MMA-Sim, Khattak "
     "and Mikaitis"},
    {Datapath::mma_fp8, Format::f32, keeping(to_f32(16, 13, -132), 13), Evidence::replayed,
     "MATLAB-tensor-core Ada, L40S /E4M3, /E5M2 d_fp32 (k32); k16 and mixed formats: MMA-Sim; floor: "
     "MMA-Sim, cannot "
     "show"},
    {Datapath::mma_fp8, Format::f16, to_f16(16, 13, -20), Evidence::replayed,
     "MATLAB-tensor-core Ada /E4M3, /E5M2 d_fp16 (k32); k16 and mixed formats: MMA-Sim; floor: as mma.f16, "
     "MMA-Sim "
     "says -21"},
    {Datapath::mma_f64, Format::f64, ieee_f64(), Evidence::literature,
     "PTX ISA (same as FMA); order of NaN operands as recorded on an H200"},
    {Datapath::mma_i8, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_i4, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_b1, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_sp_f16, Format::f32, to_f32(8, 24, -132), Evidence::literature, kSparse},
    {Datapath::mma_sp_f16, Format::f16, to_f16(8, 24, -20), Evidence::literature, kSparse},
    {Datapath::mma_sp_tf32, Format::f32, to_f32(4, 24, -132), Evidence::literature, kSparse},
    {Datapath::mma_sp_fp8, Format::f32, keeping(to_f32(16, 13, -132), 13), Evidence::literature, kSparse},
    {Datapath::mma_sp_i8, Format::s32, exact_s32(), Evidence::literature, kSparseIntegers},
    {Datapath::mma_sp_i4, Format::s32, exact_s32(), Evidence::literature, kSparseIntegers},
    {Datapath::wmma_f16, Format::f32, to_f32(8, 24, -132), Evidence::literature, kWmmaF16, Format::f32},
    {Datapath::wmma_f16, Format::f16, to_f16(8, 24, -20), Evidence::literature, kWmmaF16, Format::f16},
    {Datapath::wmma_f16, Format::f32, widened_c(to_f32(8, 24, -132)), Evidence::literature, kWmmaMixed,
     Format::f16},
    {Datapath::wmma_f16, Format::f16, narrowed_d(to_f32(8, 24, -132)), Evidence::literature, kWmmaMixed,
     Format::f32},
    {Datapath::wmma_tf32, Format::f32, to_f32(4, 24, -132), Evidence::literature, kWmmaTf32},
    {Datapath::wmma_f64, Format::f64, ieee_f64(), Evidence::literature, kWmmaF64},
    {Datapath::wmma_i8, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {Datapath::wmma_i4, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {Datapath::wmma_b1, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {Datapath::mma_884, Format::f32, chained_f32(), Evidence::literature, k884Code},
    {Datapath::mma_884, Format::f16, paired_f16(), Evidence::literature, k884Code},
};

inline constexpr Architecture kAda = {"ada", kAdaAliases, 89, kAdaRows};

}  // namespace mmaudit::generations
