#pragma once
#include "model/datapath_parts.hpp"

namespace mmaudit::generations {

inline constexpr std::string_view kBlackwellRtxAliases[] = {"sm_120",     "sm_120a",     "sm_121",  "sm_121a",
                                                            "gb10",       "rtx5070",     "rtx5080", "rtx5090",
                                                            "rtxpro6000", "rtxblackwell"};
inline constexpr Steps kBlackwellRtxSteps = {to_f32(16, 25, -133), to_f16(16, 25, -21), to_f32(8, 25, -133)};
inline constexpr DatapathEntry kBlackwellRtxOwn[] = {
    {units::mma_f16, Format::f32, kBlackwellRtxSteps.f32, Evidence::literature,
     "MMA-Sim (RTX PRO 6000), qqq-tao model (RTX 5090, without a floor)"},
    {units::mma_f16, Format::f16, kBlackwellRtxSteps.f16, Evidence::literature,
     "MMA-Sim (RTX PRO 6000), qqq-tao model (RTX 5090); floor: as Hopper, MMA-Sim says -22"},
    {units::mma_tf32, Format::f32, kBlackwellRtxSteps.tf32, Evidence::literature,
     "MMA-Sim (RTX PRO 6000), qqq-tao model (RTX 5090, without a floor)"},
    {units::mma_fp8, Format::f32, to_f32(32, 25, -133), Evidence::literature,
     "MMA-Sim (RTX PRO 6000), qqq-tao model (RTX 5090), Khattak and Mikaitis; floor: MMA-Sim, cannot show "
     "with FP8 inputs"},
    {units::mma_fp8, Format::f16, to_f16(32, 25, -21), Evidence::literature,
     "MMA-Sim (RTX PRO 6000), qqq-tao model (RTX 5090); floor: as Hopper, MMA-Sim says -22"},
    {units::mma_f64, Format::f64, ieee_f64(), Evidence::literature,
     "MMA-Sim (RTX PRO 6000); order of NaN operands as recorded on an H200"},
};
inline constexpr DatapathEntry kBlackwellRtxKinds[] = {
    {units::mma_f8f6f4, Format::f32, to_f32(32, 25, -133), Evidence::literature, kMmaSimF8},
    {units::mma_f8f6f4, Format::f16, to_f16(32, 25, -21), Evidence::literature, kMmaSimF8Half},
    {units::mma_mxf8f6f4, Format::f32, to_f32(32, 25, -133), Evidence::literature, kMmaSimMx8},
    {units::mma_mxf4, Format::f32, grouped(), Evidence::literature, kMmaSimMx4},
    {units::mma_mxf4nvf4, Format::f32, grouped(), Evidence::literature, kMmaSimNvf4},
};
inline constexpr DatapathEntry kBlackwellRtxSparseKinds[] = {
    {units::mma_sp_f8f6f4, Format::f32, to_f32(32, 25, -133), Evidence::literature, kSparse},
    {units::mma_sp_f8f6f4, Format::f16, to_f16(32, 25, -21), Evidence::literature, kSparse},
    {units::mma_sp_mxf8f6f4, Format::f32, to_f32(32, 25, -133), Evidence::literature, kSparseScaled},
    {units::mma_sp_mxf4, Format::f32, grouped(), Evidence::literature, kSparseScaled},
    {units::mma_sp_mxf4nvf4, Format::f32, grouped(), Evidence::literature, kSparseScaled},
};
inline constexpr DatapathEntry kBlackwellRtxSparseFp8[] = {
    {units::mma_sp_fp8, Format::f32, to_f32(32, 25, -133), Evidence::literature, kSparse},
    {units::mma_sp_fp8, Format::f16, to_f16(32, 25, -21), Evidence::literature, kSparse},
};
inline constexpr auto kBlackwellRtxDatapaths = detail::joined<DatapathEntry>(
    kBlackwellRtxOwn, kIntegerDatapaths, kBlackwellRtxKinds, sparse_datapaths(kBlackwellRtxSteps),
    kBlackwellRtxSparseFp8, kBlackwellRtxSparseKinds, kSparseIntegerDatapaths,
    wmma_datapaths(kBlackwellRtxSteps), k884CodeDatapaths);

inline constexpr Architecture kBlackwellRtx = {"blackwell_rtx", kBlackwellRtxAliases, 120,
                                               kBlackwellRtxDatapaths};

}  // namespace mmaudit::generations
