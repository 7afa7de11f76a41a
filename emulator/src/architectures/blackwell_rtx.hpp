#pragma once
#include "architectures/rows.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kBlackwellRtxAliases[] = {"sm_120",  "sm_120a",    "rtx5070",     "rtx5080",
                                                            "rtx5090", "rtxpro6000", "rtxblackwell"};
inline constexpr DatapathRow kBlackwellRtxRows[] = {
    {Datapath::mma_f16, Format::f32, to_f32(16, 25, -133), Evidence::literature,
     "MMA-Sim (RTX PRO 6000), qqq-tao model (RTX 5090, without a floor)"},
    {Datapath::mma_f16, Format::f16, to_f16(16, 25, -21), Evidence::literature,
     "MMA-Sim (RTX PRO 6000), qqq-tao model (RTX 5090); floor: as Hopper, MMA-Sim says -22"},
    {Datapath::mma_tf32, Format::f32, to_f32(8, 25, -133), Evidence::literature,
     "MMA-Sim (RTX PRO 6000), qqq-tao model (RTX 5090, without a floor)"},
    {Datapath::mma_fp8, Format::f32, to_f32(32, 25, -133), Evidence::literature,
     "MMA-Sim (RTX PRO 6000), qqq-tao model (RTX 5090), Khattak and Mikaitis; floor: MMA-Sim, cannot show "
     "with FP8 inputs"},
    {Datapath::mma_fp8, Format::f16, to_f16(32, 25, -21), Evidence::literature,
     "MMA-Sim (RTX PRO 6000), qqq-tao model (RTX 5090); floor: as Hopper, MMA-Sim says -22"},
    {Datapath::mma_f64, Format::f64, ieee_f64(), Evidence::literature,
     "MMA-Sim (RTX PRO 6000); order of NaN operands as recorded on an H200"},
    {Datapath::mma_i8, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_i4, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_b1, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_f8f6f4, Format::f32, to_f32(32, 25, -133), Evidence::literature, kMmaSimF8},
    {Datapath::mma_f8f6f4, Format::f16, to_f16(32, 25, -21), Evidence::literature, kMmaSimF8Half},
    {Datapath::mma_mxf8f6f4, Format::f32, to_f32(32, 25, -133), Evidence::literature, kMmaSimMx8},
    {Datapath::mma_mxf4, Format::f32, grouped(), Evidence::literature, kMmaSimMx4},
    {Datapath::mma_mxf4nvf4, Format::f32, grouped(), Evidence::literature, kMmaSimNvf4},
    {Datapath::mma_sp_f16, Format::f32, to_f32(16, 25, -133), Evidence::literature, kSparse},
    {Datapath::mma_sp_f16, Format::f16, to_f16(16, 25, -21), Evidence::literature, kSparse},
    {Datapath::mma_sp_tf32, Format::f32, to_f32(8, 25, -133), Evidence::literature, kSparse},
    {Datapath::mma_sp_fp8, Format::f32, to_f32(32, 25, -133), Evidence::literature, kSparse},
    {Datapath::mma_sp_fp8, Format::f16, to_f16(32, 25, -21), Evidence::literature, kSparse},
    {Datapath::mma_sp_i8, Format::s32, exact_s32(), Evidence::literature, kSparseIntegers},
    {Datapath::mma_sp_i4, Format::s32, exact_s32(), Evidence::literature, kSparseIntegers},
    {Datapath::wmma_f16, Format::f32, to_f32(16, 25, -133), Evidence::literature, kWmmaF16, Format::f32},
    {Datapath::wmma_f16, Format::f16, to_f16(16, 25, -21), Evidence::literature, kWmmaF16, Format::f16},
    {Datapath::wmma_f16, Format::f32, widened_c(to_f32(16, 25, -133)), Evidence::literature, kWmmaMixed,
     Format::f16},
    {Datapath::wmma_f16, Format::f16, narrowed_d(to_f32(16, 25, -133)), Evidence::literature, kWmmaMixed,
     Format::f32},
    {Datapath::wmma_tf32, Format::f32, to_f32(4, 25, -133), Evidence::literature, kWmmaTf32},
    {Datapath::wmma_f64, Format::f64, ieee_f64(), Evidence::literature, kWmmaF64},
    {Datapath::wmma_i8, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {Datapath::wmma_i4, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {Datapath::wmma_b1, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {Datapath::mma_884, Format::f32, chained_f32(), Evidence::literature, k884Code},
    {Datapath::mma_884, Format::f16, paired_f16(), Evidence::literature, k884Code},
};

inline constexpr Architecture kBlackwellRtx = {"blackwell_rtx", kBlackwellRtxAliases, 120, kBlackwellRtxRows};

}  // namespace mmaudit::generations
