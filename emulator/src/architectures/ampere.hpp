#pragma once
#include "architectures/rows.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kAmpereAliases[] = {"ga100", "sm_80", "a100", "a30", "a800"};
inline constexpr DatapathRow kAmpereRows[] = {
    {Datapath::mma_f16, Format::f32, to_f32(8, 24, -132), Evidence::replayed,
     "MATLAB-tensor-core A100/fp16, A100/bf16 (first 8 k); second step of k16: MMA-Sim; floor: MMA-Sim, "
     "Khattak and Mikaitis"},
    {Datapath::mma_f16, Format::f16, to_f16(8, 24, -20), Evidence::replayed,
     "MATLAB-tensor-core A100/fp16 d_fp16 (first 8 k); second step of k16: MMA-Sim; floor: Khattak and "
     "Mikaitis, MMA-Sim says -21"},
    {Datapath::mma_tf32, Format::f32, to_f32(4, 24, -132), Evidence::replayed,
     "MATLAB-tensor-core A100/tf32 (first 4 k); second step of k8: MMA-Sim; floor: MMA-Sim, Khattak and "
     "Mikaitis"},
    {Datapath::mma_f64, Format::f64, ieee_f64(), Evidence::literature,
     "Fasi et al. 2021 (A100), MMA-Sim; order of NaN operands as recorded on an H200"},
    {Datapath::mma_i8, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_i4, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_b1, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_sp_f16, Format::f32, to_f32(8, 24, -132), Evidence::literature, kSparse},
    {Datapath::mma_sp_f16, Format::f16, to_f16(8, 24, -20), Evidence::literature, kSparse},
    {Datapath::mma_sp_tf32, Format::f32, to_f32(4, 24, -132), Evidence::literature, kSparse},
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

inline constexpr Architecture kAmpere = {"ampere", kAmpereAliases, 80, kAmpereRows};

}  // namespace mmaudit::generations
