#pragma once
#include "model/datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kAmpereAliases[] = {"ga100", "sm_80", "a100", "a30", "a800"};
inline constexpr Steps kAmpereSteps = {to_f32(8, 24, -132), to_f16(8, 24, -20), to_f32(4, 24, -132)};
inline constexpr DatapathEntry kAmpereOwn[] = {
    {units::mma_f16, Format::f32, kAmpereSteps.f32, Evidence::replayed,
     "MATLAB-tensor-core A100/fp16, A100/bf16 (first 8 k); second step of k16: MMA-Sim; floor: MMA-Sim, "
     "Khattak and Mikaitis"},
    {units::mma_f16, Format::f16, kAmpereSteps.f16, Evidence::replayed,
     "MATLAB-tensor-core A100/fp16 d_fp16 (first 8 k); second step of k16: MMA-Sim; floor: Khattak and "
     "Mikaitis, MMA-Sim says -21"},
    {units::mma_tf32, Format::f32, kAmpereSteps.tf32, Evidence::replayed,
     "MATLAB-tensor-core A100/tf32 (first 4 k); second step of k8: MMA-Sim; floor: MMA-Sim, Khattak and "
     "Mikaitis"},
    {units::mma_f64, Format::f64, ieee_f64(), Evidence::literature,
     "Fasi et al. 2021 (A100), MMA-Sim; order of NaN operands as recorded on an H200"},
};
inline constexpr auto kAmpereDatapaths =
    detail::joined<DatapathEntry>(kAmpereOwn, kIntegerDatapaths, sparse_datapaths(kAmpereSteps),
                                  kSparseIntegerDatapaths, wmma_datapaths(kAmpereSteps), k884CodeDatapaths);

inline constexpr Architecture kAmpere = {"ampere", kAmpereAliases, 80, kAmpereDatapaths};

}  // namespace mmaudit::generations
