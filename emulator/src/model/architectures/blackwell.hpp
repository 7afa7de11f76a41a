#pragma once
#include "model/datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kBlackwellAliases[] = {"sm_100", "sm_100a", "sm_103", "sm_103a",
                                                         "b200",   "gb200",   "b300",   "gb300"};
inline constexpr Steps kBlackwellSteps = {to_f32(16, 25, -133), to_f16(16, 25, -21), to_f32(8, 25, -133)};
inline constexpr DatapathEntry kBlackwellOwn[] = {
    {units::mma_f16, Format::f32, kBlackwellSteps.f32, Evidence::replayed,
     "MATLAB-tensor-core B200/fp16, B200/bf16 (sm_100 only); floor: MMA-Sim, Khattak and Mikaitis, and "
     "Hopper"},
    {units::mma_f16, Format::f16, kBlackwellSteps.f16, Evidence::replayed,
     "MATLAB-tensor-core B200/fp16 d_fp16 (sm_100 only); floor: as Hopper, MMA-Sim says -22, Khattak and "
     "Mikaitis -15 or -21"},
    {units::mma_tf32, Format::f32, kBlackwellSteps.tf32, Evidence::replayed,
     "MATLAB-tensor-core B200/tf32 (first 4 k; sm_100 only); one step of 8: MMA-Sim; floor: MMA-Sim, Khattak "
     "and Mikaitis, and Hopper"},
    {units::mma_fp8, Format::f32, widened_to_f16(kBlackwellSteps.f32), Evidence::replayed,
     "MATLAB-tensor-core B200/E4M3, B200/E5M2 d_fp32 (k32; sm_100 only); k16 and mixed formats: as Hopper"},
    {units::mma_fp8, Format::f16, widened_to_f16(kBlackwellSteps.f16), Evidence::replayed,
     "MATLAB-tensor-core B200/E4M3, B200/E5M2 d_fp16 (k32; sm_100 only); k16 and mixed formats: as Hopper"},
    {units::mma_f64, Format::f64, ieee_f64(), Evidence::literature,
     "MMA-Sim (B200); order of NaN operands as recorded on an H200"},
};
inline constexpr DatapathEntry kBlackwellTcgen05[] = {
    {units::tcgen05_f16, Format::f32, kBlackwellSteps.f32, Evidence::literature, kMmaSimTcgen05},
    {units::tcgen05_f16, Format::f16, kBlackwellSteps.f16, Evidence::literature, kMmaSimHalf},
    {units::tcgen05_tf32, Format::f32, kBlackwellSteps.tf32, Evidence::literature, kMmaSimTcgen05},
    {units::tcgen05_f8f6f4, Format::f32, to_f32(32, 25, -133), Evidence::literature, kMmaSimF8},
    {units::tcgen05_f8f6f4, Format::f16, to_f16(32, 25, -21), Evidence::literature, kMmaSimF8Half},
    {units::tcgen05_i8, Format::s32, exact_s32(), Evidence::literature, kPtxTcgen05Integers},
    {units::tcgen05_mxf8f6f4, Format::f32, to_f32(32, 25, -133), Evidence::literature, kMmaSimMx8},
    {units::tcgen05_mxf4, Format::f32, grouped(), Evidence::literature, kMmaSimMx4},
    {units::tcgen05_mxf4nvf4, Format::f32, grouped(), Evidence::literature, kMmaSimNvf4},
};
inline constexpr DatapathEntry kBlackwellTcgen05Sparse[] = {
    {units::tcgen05_sp_f16, Format::f32, kBlackwellSteps.f32, Evidence::literature, kSparseTcgen05},
    {units::tcgen05_sp_f16, Format::f16, kBlackwellSteps.f16, Evidence::literature, kSparseTcgen05},
    {units::tcgen05_sp_tf32, Format::f32, kBlackwellSteps.tf32, Evidence::literature, kSparseTcgen05},
    {units::tcgen05_sp_f8f6f4, Format::f32, to_f32(32, 25, -133), Evidence::literature, kSparseTcgen05},
    {units::tcgen05_sp_f8f6f4, Format::f16, to_f16(32, 25, -21), Evidence::literature, kSparseTcgen05},
    {units::tcgen05_sp_i8, Format::s32, exact_s32(), Evidence::literature, kSparseTcgen05Integers},
};
inline constexpr DatapathEntry kBlackwellSparseFp8[] = {
    {units::mma_sp_fp8, Format::f32, widened_to_f16(kBlackwellSteps.f32), Evidence::literature, kSparseFp8},
};
inline constexpr auto kBlackwellDatapaths = detail::joined<DatapathEntry>(
    kBlackwellOwn, kIntegerDatapaths, kBlackwellTcgen05, kBlackwellTcgen05Sparse,
    sparse_datapaths(kBlackwellSteps), kBlackwellSparseFp8, kSparseIntegerDatapaths,
    wmma_datapaths(kBlackwellSteps), k884CodeDatapaths);

inline constexpr Architecture kBlackwell = {"blackwell", kBlackwellAliases, 100, kBlackwellDatapaths};

}  // namespace mmaudit::generations
