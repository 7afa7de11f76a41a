#include "mmaudit/architecture.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace mmaudit {
namespace {

/// Start of the row of a fused dot-add datapath with binary32 results, rounded toward zero.
constexpr AccumulatorModel to_f32(int block, int fraction_bits, int floor) {
  AccumulatorModel row;
  row.block = static_cast<std::int16_t>(block);
  row.fraction_bits = static_cast<std::int16_t>(fraction_bits);
  row.floor = static_cast<std::int16_t>(floor);
  return row;
}

/// The same with binary16 results, rounded to nearest even.
constexpr AccumulatorModel to_f16(int block, int fraction_bits, int floor) {
  AccumulatorModel row = to_f32(block, fraction_bits, floor);
  row.output.format = Format::f16;
  row.output.fraction_bits = 10;
  row.output.rounding = Rounding::nearest_even;
  return row;
}

/// Only `kept` fraction bits survive in the container.
constexpr AccumulatorModel keeping(AccumulatorModel row, int kept) {
  row.output.fraction_bits = static_cast<std::uint8_t>(kept);
  return row;
}

/// FP8 that runs as f16 products on the f16 datapath: pairs of bytes widened, c added last by an ordinary
/// add.
constexpr AccumulatorModel widened_to_f16(AccumulatorModel row) {
  row.widen_to = Format::f16;
  row.order = KOrder::pairs_of_four;
  row.addend = AddendPlace::after_last_nearest;
  return row;
}

constexpr AccumulatorModel ieee_f64() {
  AccumulatorModel row;
  row.arithmetic = Arithmetic::fma_chain;
  row.block = 1;
  row.fraction_bits = 0;
  row.floor = 0;
  row.output = {Format::f64,        52, Rounding::nearest_even, Overflow::infinity, false, ZeroSign::ieee,
                NanRule::ieee_quiet};
  return row;
}

/// wmma with a binary16 C and a binary32 D: c is converted, exactly.
constexpr AccumulatorModel widened_c(AccumulatorModel row) {
  row.sum_format = Format::f32;
  return row;
}

/// wmma with a binary32 C and a binary16 D: the last result is converted, by the rules of a conversion.
constexpr AccumulatorModel narrowed_d(AccumulatorModel row) {
  row.sum_format = Format::f32;
  row.output.format = Format::f16;
  row.output.fraction_bits = 10;
  row.output.rounding = Rounding::nearest_even;
  row.output.zero_sign = ZeroSign::of_sum;
  return row;
}

/// One rounding to nearest even a step: F is wide enough that alignment cuts nothing that could change it.
constexpr AccumulatorModel ieee_step(int block, AddendPlace addend) {
  AccumulatorModel row = to_f32(block, 50, -1000);
  row.sum_format = Format::f32;
  row.addend = addend;
  row.subnormal_operand = SubnormalRule::normalised;
  row.output.rounding = Rounding::nearest_even;
  return row;
}

/// mma.m8n8k4 without its own unit, as binary32 multiplies and adds: a chain of fma from +0, c added last;
/// or, to a binary16 D, two products at a time put on c.
constexpr AccumulatorModel chained_f32() { return ieee_step(1, AddendPlace::after_last_nearest); }
constexpr AccumulatorModel paired_f16() {
  AccumulatorModel row = ieee_step(2, AddendPlace::before_each_nearest);
  row.output.format = Format::f16;
  row.output.fraction_bits = 10;
  row.output.zero_sign = ZeroSign::ieee;
  return row;
}

/// Exact integers; .satfinite clamps once.
constexpr AccumulatorModel exact_s32() {
  AccumulatorModel row;
  row.arithmetic = Arithmetic::integer;
  row.output.format = Format::s32;
  row.output.fraction_bits = 32;
  return row;
}

/// The 4-bit block-scaled kinds: groups of 16 products summed exactly, aligned by their scales.
constexpr AccumulatorModel grouped() {
  AccumulatorModel row = to_f32(64, 35, -139);
  row.arithmetic = Arithmetic::grouped_dot_add;
  row.group = 16;
  return row;
}

// Sources in full: docs/numerics-architectures.md, which also has the inputs that would decide what is open.
// No public recording reaches a floor: those of binary32 are the papers', those of binary16 follow emin - (F
// - 18), the pattern that Hopper was measured to have.

constexpr std::string_view kPtxIntegers = "PTX ISA 9.0: mma and wgmma.mma_async, .satfinite, .xor, .and";

constexpr std::string_view kMmaSimTcgen05 =
    "MMA-Sim (B200): as wgmma on Hopper, floor of binary32 as measured there";
constexpr std::string_view kMmaSimHalf =
    "MMA-Sim (B200); floor: as measured for wgmma on Hopper, MMA-Sim has none, FPy says -133";
constexpr std::string_view kMmaSimF8 =
    "MMA-Sim (e5m2, e4m3, e2m1); e3m2 and e2m3 by analogy; floor: cannot show with these inputs";
constexpr std::string_view kMmaSimF8Half =
    "MMA-Sim (e5m2, e4m3, e2m1); e3m2 and e2m3 by analogy; floor: as Hopper, MMA-Sim says -22 (mma), none "
    "(tcgen05)";
constexpr std::string_view kMmaSimMx8 =
    "MMA-Sim (RTX PRO 6000, B200): scales add to the exponents; e3m2 and e2m3 by analogy; floor: MMA-Sim";
constexpr std::string_view kMmaSimMx4 =
    "MMA-Sim (RTX PRO 6000, B200): groups of 16, F = 35, floor -139; zeros, cancelled groups and NaN scales: "
    "its code, no recording";
constexpr std::string_view kMmaSimNvf4 =
    "MMA-Sim (RTX PRO 6000, B200): groups of 16, F = 35, floor -139, top bit of ue4m3 ignored; zeros, "
    "cancelled groups and NaN scales: its code, no recording";
constexpr std::string_view kPtxTcgen05Integers = "PTX ISA 9.0: tcgen05.mma, kind::i8, saturate";
// Nobody has published how a sparse instruction sums: as the dense one over the stored elements, Hopper's
// recordings say. Other generations are taken to be alike.
constexpr std::string_view kSparse =
    "as the dense row over the stored elements, which is how Hopper was recorded; PTX ISA 9.0 (what meets "
    "what)";
constexpr std::string_view kSparseFp8 =
    "as mma.fp8 over the stored elements, which is how Hopper was recorded; PTX ISA 9.0 (what meets what)";
constexpr std::string_view kSparseIntegers = "PTX ISA 9.0: mma.sp and wgmma.mma_async.sp, .satfinite";
constexpr std::string_view k884Code =
    "ptxas 13.0 calls code of FMUL, FFMA and FADD for it; registers of that code traced";
constexpr std::string_view kWmmaF16 =
    "as mma.f16: ptxas 13.0 turns wmma into HMMA.1688 (sm_75) or HMMA.16816";
constexpr std::string_view kWmmaMixed =
    "as mma.f16 in binary32: ptxas 13.0 adds HADD2.F32 of c before the HMMA.F32 and F2F or F2FP after them";
constexpr std::string_view kWmmaTf32 = "as mma.tf32 of k4: ptxas 13.0 turns every n half into two HMMA.1684";
constexpr std::string_view kWmmaF64 = "as mma.f64: ptxas 13.0 turns it into one DMMA";
constexpr std::string_view kWmmaIntegers = "PTX ISA 9.0: wmma.mma, .satfinite, .xor, .and";

constexpr std::string_view kVoltaAliases[] = {"sm_70", "sm_72", "v100", "titanv"};
constexpr DatapathRow kVolta[] = {
    {Datapath::mma_884, Format::f32, to_f32(4, 23, -131), Evidence::replayed,
     "MATLAB-tensor-core V100/fp16 d_fp32 (wmma); floor: MMA-Sim, cannot show with binary16 inputs and a "
     "binary32 "
     "C",
     Format::f32},
    {Datapath::mma_884, Format::f32, to_f32(4, 23, -19), Evidence::literature,
     "MMA-Sim (C binary16, D binary32); floor: by the pattern, MMA-Sim says -20", Format::f16},
    {Datapath::mma_884, Format::f16, to_f16(4, 23, -19), Evidence::replayed,
     "MATLAB-tensor-core V100/fp16 d_fp16 (wmma; F at least 22); floor: Khattak and Mikaitis, MMA-Sim says "
     "-20",
     Format::f16},
    {Datapath::wmma_f16, Format::f32, to_f32(4, 23, -131), Evidence::literature,
     "as mma.884, four steps (Raihan et al. 2019: 4 sets of k); the first four k: MATLAB-tensor-core V100",
     Format::f32},
    {Datapath::wmma_f16, Format::f16, to_f16(4, 23, -19), Evidence::literature,
     "as mma.884, four steps (Raihan et al. 2019: 4 sets of k); the first four k: MATLAB-tensor-core V100",
     Format::f16},
    {Datapath::wmma_f16, Format::f32, to_f32(4, 23, -19), Evidence::literature,
     "as mma.884 with C binary16 (MMA-Sim), four steps", Format::f16},
    {Datapath::wmma_f16, Format::f16, narrowed_d(to_f32(4, 23, -131)), Evidence::literature,
     "as Turing: steps in binary32, then one conversion; Volta itself is not known", Format::f32},
};

constexpr std::string_view kTuringAliases[] = {"sm_75",   "t4",        "rtx2060",  "rtx2070",
                                               "rtx2080", "rtx2080ti", "titanrtx", "quadrortx6000"};
constexpr DatapathRow kTuring[] = {
    {Datapath::mma_884, Format::f32, to_f32(4, 24, -132), Evidence::literature,
     "MMA-Sim table 3 (T4); runs as HMMA.884 (Sun et al. 2023)", Format::f32},
    {Datapath::mma_884, Format::f32, to_f32(4, 24, -20), Evidence::literature,
     "MMA-Sim (C binary16, D binary32); floor: by the pattern, MMA-Sim says -21", Format::f16},
    {Datapath::mma_884, Format::f16, to_f16(4, 24, -20), Evidence::literature,
     "MMA-Sim table 3 (T4); floor: Khattak and Mikaitis, MMA-Sim says -21", Format::f16},
    {Datapath::mma_f16, Format::f32, to_f32(8, 24, -132), Evidence::literature,
     "MMA-Sim table 3 (T4), one extra bit also in Fasi et al. 2021; Valpey et al. (arXiv 2502.15999) have L "
     "= 4"},
    {Datapath::mma_f16, Format::f16, to_f16(8, 24, -20), Evidence::literature,
     "MMA-Sim table 3 (T4); floor: Khattak and Mikaitis, MMA-Sim says -21; Valpey et al. have L = 4"},
    {Datapath::mma_i8, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_i4, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_b1, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::wmma_f16, Format::f32, to_f32(8, 24, -132), Evidence::literature, kWmmaF16, Format::f32},
    {Datapath::wmma_f16, Format::f16, to_f16(8, 24, -20), Evidence::literature, kWmmaF16, Format::f16},
    {Datapath::wmma_f16, Format::f32, widened_c(to_f32(8, 24, -132)), Evidence::literature, kWmmaMixed,
     Format::f16},
    {Datapath::wmma_f16, Format::f16, narrowed_d(to_f32(8, 24, -132)), Evidence::literature, kWmmaMixed,
     Format::f32},
    {Datapath::wmma_i8, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {Datapath::wmma_i4, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {Datapath::wmma_b1, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
};

constexpr std::string_view kAmpereAliases[] = {"ga100", "sm_80", "a100", "a30", "a800"};
constexpr DatapathRow kAmpere[] = {
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

constexpr std::string_view kGa10xAliases[] = {"sm_86",   "sm_87",   "a2",      "a10",     "a16",      "a40",
                                              "rtx3060", "rtx3070", "rtx3080", "rtx3090", "rtxa6000", "orin"};
constexpr DatapathRow kGa10x[] = {
    {Datapath::mma_f16, Format::f32, to_f32(8, 24, -132), Evidence::replayed,
     "MATLAB-tensor-core A2/fp16, A2/bf16 (first 8 k; sm_86 only); second step of k16: MMA-Sim; floor: "
     "MMA-Sim, Khattak and Mikaitis"},
    {Datapath::mma_f16, Format::f16, to_f16(8, 24, -20), Evidence::replayed,
     "MATLAB-tensor-core A2/fp16 d_fp16 (first 8 k; sm_86 only); second step of k16: MMA-Sim; floor: Khattak "
     "and Mikaitis, MMA-Sim says "
     "-21"},
    {Datapath::mma_tf32, Format::f32, to_f32(4, 24, -132), Evidence::replayed,
     "MATLAB-tensor-core A2/tf32 (first 4 k; sm_86 only); second step of k8: MMA-Sim; floor: MMA-Sim, "
     "Khattak and Mikaitis"},
    {Datapath::mma_f64, Format::f64, ieee_f64(), Evidence::literature,
     "PTX ISA (same as FMA); order of NaN operands as recorded on an H200"},
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

constexpr std::string_view kAdaAliases[] = {"sm_89",   "l4",         "l40",       "l40s",
                                            "rtx4060", "rtx4070",    "rtx4080",   "rtx4090",
                                            "rtx1000", "rtx1000ada", "rtx6000ada"};
constexpr DatapathRow kAda[] = {
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

constexpr std::string_view kHopperAliases[] = {"sm_90", "sm_90a", "h100", "h200", "h800", "gh200", "h20"};
constexpr DatapathRow kHopper[] = {
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

constexpr std::string_view kBlackwellAliases[] = {"sm_100", "sm_100a", "sm_103", "sm_103a",
                                                  "b200",   "gb200",   "b300",   "gb300"};
constexpr DatapathRow kBlackwell[] = {
    {Datapath::mma_f16, Format::f32, to_f32(16, 25, -133), Evidence::replayed,
     "MATLAB-tensor-core B200/fp16, B200/bf16 (sm_100 only); floor: MMA-Sim, Khattak and Mikaitis, and "
     "Hopper"},
    {Datapath::mma_f16, Format::f16, to_f16(16, 25, -21), Evidence::replayed,
     "MATLAB-tensor-core B200/fp16 d_fp16 (sm_100 only); floor: as Hopper, MMA-Sim says -22, Khattak and "
     "Mikaitis -15 or -21"},
    {Datapath::mma_tf32, Format::f32, to_f32(8, 25, -133), Evidence::replayed,
     "MATLAB-tensor-core B200/tf32 (first 4 k; sm_100 only); one step of 8: MMA-Sim; floor: MMA-Sim, Khattak "
     "and Mikaitis, and Hopper"},
    {Datapath::mma_fp8, Format::f32, widened_to_f16(to_f32(16, 25, -133)), Evidence::replayed,
     "MATLAB-tensor-core B200/E4M3, B200/E5M2 d_fp32 (k32; sm_100 only); k16 and mixed formats: as Hopper"},
    {Datapath::mma_fp8, Format::f16, widened_to_f16(to_f16(16, 25, -21)), Evidence::replayed,
     "MATLAB-tensor-core B200/E4M3, B200/E5M2 d_fp16 (k32; sm_100 only); k16 and mixed formats: as Hopper"},
    {Datapath::mma_f64, Format::f64, ieee_f64(), Evidence::literature,
     "MMA-Sim (B200); order of NaN operands as recorded on an H200"},
    {Datapath::mma_i8, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_i4, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_b1, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::tcgen05_f16, Format::f32, to_f32(16, 25, -133), Evidence::literature, kMmaSimTcgen05},
    {Datapath::tcgen05_f16, Format::f16, to_f16(16, 25, -21), Evidence::literature, kMmaSimHalf},
    {Datapath::tcgen05_tf32, Format::f32, to_f32(8, 25, -133), Evidence::literature, kMmaSimTcgen05},
    {Datapath::tcgen05_f8f6f4, Format::f32, to_f32(32, 25, -133), Evidence::literature, kMmaSimF8},
    {Datapath::tcgen05_f8f6f4, Format::f16, to_f16(32, 25, -21), Evidence::literature, kMmaSimF8Half},
    {Datapath::tcgen05_i8, Format::s32, exact_s32(), Evidence::literature, kPtxTcgen05Integers},
    {Datapath::tcgen05_mxf8f6f4, Format::f32, to_f32(32, 25, -133), Evidence::literature, kMmaSimMx8},
    {Datapath::tcgen05_mxf4, Format::f32, grouped(), Evidence::literature, kMmaSimMx4},
    {Datapath::tcgen05_mxf4nvf4, Format::f32, grouped(), Evidence::literature, kMmaSimNvf4},
    {Datapath::mma_sp_f16, Format::f32, to_f32(16, 25, -133), Evidence::literature, kSparse},
    {Datapath::mma_sp_f16, Format::f16, to_f16(16, 25, -21), Evidence::literature, kSparse},
    {Datapath::mma_sp_tf32, Format::f32, to_f32(8, 25, -133), Evidence::literature, kSparse},
    {Datapath::mma_sp_fp8, Format::f32, widened_to_f16(to_f32(16, 25, -133)), Evidence::literature,
     kSparseFp8},
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

constexpr std::string_view kRtxBlackwellAliases[] = {"sm_120",  "sm_120a",    "rtx5070",     "rtx5080",
                                                     "rtx5090", "rtxpro6000", "rtxblackwell"};
constexpr DatapathRow kRtxBlackwell[] = {
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

constexpr Architecture kArchitectures[] = {
    {"volta", kVoltaAliases, 70, kVolta},
    {"turing", kTuringAliases, 75, kTuring},
    {"ampere", kAmpereAliases, 80, kAmpere},
    {"ga10x", kGa10xAliases, 86, kGa10x},
    {"ada", kAdaAliases, 89, kAda},
    {"hopper", kHopperAliases, 90, kHopper},
    {"blackwell", kBlackwellAliases, 100, kBlackwell},
    {"blackwell_rtx", kRtxBlackwellAliases, 120, kRtxBlackwell},
};

bool equal_ignoring_case(std::string_view x, std::string_view y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](unsigned char p, unsigned char q) { return std::tolower(p) == std::tolower(q); });
}

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& row : kArchitectures) {
    if (equal_ignoring_case(row.name, name)) return &row;
    for (const std::string_view alias : row.aliases)
      if (equal_ignoring_case(alias, name)) return &row;
  }
  return nullptr;
}

const Architecture* find_architecture(int compute_capability) {
  return find_architecture("sm_" + std::to_string(compute_capability));
}

const DatapathRow* find_datapath(const Architecture& architecture, const Instruction& instruction) {
  if (architecture.compute_capability < instruction.min_compute_capability) return nullptr;
  for (const DatapathRow& row : architecture.datapaths)
    if (row.path == instruction.path && row.output == instruction.d &&
        (row.addend == Format::none || row.addend == instruction.c))
      return &row;
  return nullptr;
}

std::string_view name_of(Datapath path) {
  switch (path) {
    case Datapath::mma_884:
      return "mma.884";
    case Datapath::mma_f16:
      return "mma.f16";
    case Datapath::mma_tf32:
      return "mma.tf32";
    case Datapath::mma_fp8:
      return "mma.fp8";
    case Datapath::mma_f64:
      return "mma.f64";
    case Datapath::wgmma_f16:
      return "wgmma.f16";
    case Datapath::wgmma_tf32:
      return "wgmma.tf32";
    case Datapath::wgmma_fp8:
      return "wgmma.fp8";
    case Datapath::mma_i8:
      return "mma.int8";
    case Datapath::mma_i4:
      return "mma.int4";
    case Datapath::mma_b1:
      return "mma.b1";
    case Datapath::wgmma_i8:
      return "wgmma.int8";
    case Datapath::wgmma_b1:
      return "wgmma.b1";
    case Datapath::mma_f8f6f4:
      return "mma.f8f6f4";
    case Datapath::mma_mxf8f6f4:
      return "mma.mxf8f6f4";
    case Datapath::mma_mxf4:
      return "mma.mxf4";
    case Datapath::mma_mxf4nvf4:
      return "mma.mxf4nvf4";
    case Datapath::tcgen05_f16:
      return "tcgen05.f16";
    case Datapath::tcgen05_tf32:
      return "tcgen05.tf32";
    case Datapath::tcgen05_f8f6f4:
      return "tcgen05.f8f6f4";
    case Datapath::tcgen05_i8:
      return "tcgen05.int8";
    case Datapath::tcgen05_mxf8f6f4:
      return "tcgen05.mxf8f6f4";
    case Datapath::tcgen05_mxf4:
      return "tcgen05.mxf4";
    case Datapath::tcgen05_mxf4nvf4:
      return "tcgen05.mxf4nvf4";
    case Datapath::mma_sp_f16:
      return "mma.sp.f16";
    case Datapath::mma_sp_tf32:
      return "mma.sp.tf32";
    case Datapath::mma_sp_fp8:
      return "mma.sp.fp8";
    case Datapath::mma_sp_i8:
      return "mma.sp.int8";
    case Datapath::mma_sp_i4:
      return "mma.sp.int4";
    case Datapath::wgmma_sp_f16:
      return "wgmma.sp.f16";
    case Datapath::wgmma_sp_tf32:
      return "wgmma.sp.tf32";
    case Datapath::wgmma_sp_fp8:
      return "wgmma.sp.fp8";
    case Datapath::wgmma_sp_i8:
      return "wgmma.sp.int8";
    case Datapath::wmma_f16:
      return "wmma.f16";
    case Datapath::wmma_tf32:
      return "wmma.tf32";
    case Datapath::wmma_f64:
      return "wmma.f64";
    case Datapath::wmma_i8:
      return "wmma.int8";
    case Datapath::wmma_i4:
      return "wmma.int4";
    case Datapath::wmma_b1:
      return "wmma.b1";
  }
  return "unknown";
}

std::string_view name_of(Evidence evidence) {
  switch (evidence) {
    case Evidence::recorded:
      return "recorded";
    case Evidence::replayed:
      return "replayed";
    case Evidence::literature:
      return "literature";
    case Evidence::user:
      return "user";
  }
  return "unknown";
}

}  // namespace mmaudit
