#pragma once
// What the rows of every generation are made of: models by name, and sources that several rows share.
#include <array>
#include <span>
#include <string_view>

#include "mmaudit/architecture.hpp"

namespace mmaudit::generations {

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

inline constexpr std::string_view kPtxIntegers =
    "PTX ISA 9.0: mma and wgmma.mma_async, .satfinite, .xor, .and";

inline constexpr std::string_view kMmaSimTcgen05 =
    "MMA-Sim (B200): as wgmma on Hopper, floor of binary32 as measured there";
inline constexpr std::string_view kMmaSimHalf =
    "MMA-Sim (B200); floor: as measured for wgmma on Hopper, MMA-Sim has none, FPy says -133";
inline constexpr std::string_view kMmaSimF8 =
    "MMA-Sim (e5m2, e4m3, e2m1); e3m2 and e2m3 by analogy; floor: cannot show with these inputs";
inline constexpr std::string_view kMmaSimF8Half =
    "MMA-Sim (e5m2, e4m3, e2m1); e3m2 and e2m3 by analogy; floor: as Hopper, MMA-Sim says -22 (mma), none "
    "(tcgen05)";
inline constexpr std::string_view kMmaSimMx8 =
    "MMA-Sim (RTX PRO 6000, B200): scales add to the exponents; e3m2 and e2m3 by analogy; floor: MMA-Sim";
inline constexpr std::string_view kMmaSimMx4 =
    "MMA-Sim (RTX PRO 6000, B200): groups of 16, F = 35, floor -139; zeros, cancelled groups and NaN scales: "
    "its code, no recording";
inline constexpr std::string_view kMmaSimNvf4 =
    "MMA-Sim (RTX PRO 6000, B200): groups of 16, F = 35, floor -139, top bit of ue4m3 ignored; zeros, "
    "cancelled groups and NaN scales: its code, no recording";
inline constexpr std::string_view kPtxTcgen05Integers = "PTX ISA 9.0: tcgen05.mma, kind::i8, saturate";
// Nobody has published how a sparse instruction sums: as the dense one over the stored elements, Hopper's
// recordings say. Other generations are taken to be alike.
inline constexpr std::string_view kSparse =
    "as the dense row over the stored elements, which is how Hopper was recorded; PTX ISA 9.0 (what meets "
    "what)";
inline constexpr std::string_view kSparseFp8 =
    "as mma.fp8 over the stored elements, which is how Hopper was recorded; PTX ISA 9.0 (what meets what)";
inline constexpr std::string_view kSparseIntegers = "PTX ISA 9.0: mma.sp and wgmma.mma_async.sp, .satfinite";
inline constexpr std::string_view k884Code =
    "ptxas 13.0 calls code of FMUL, FFMA and FADD for it; registers of that code traced";
inline constexpr std::string_view kWmmaF16 =
    "as mma.f16: ptxas 13.0 turns wmma into HMMA.1688 (sm_75) or HMMA.16816";
inline constexpr std::string_view kWmmaMixed =
    "as mma.f16 in binary32: ptxas 13.0 adds HADD2.F32 of c before the HMMA.F32 and F2F or F2FP after them";
inline constexpr std::string_view kWmmaTf32 =
    "as mma.tf32 of k4: ptxas 13.0 turns every n half into two HMMA.1684";
inline constexpr std::string_view kWmmaF64 = "as mma.f64: ptxas 13.0 turns it into one DMMA";
inline constexpr std::string_view kWmmaIntegers = "PTX ISA 9.0: wmma.mma, .satfinite, .xor, .and";

// Rows that stand alike in several generations.

/// The steps of a generation's f16 units by their results, and those of its tf32 unit.
struct Steps {
  AccumulatorModel f32, f16, tf32;
};

inline constexpr DatapathRow kIntegerRows[] = {
    {Datapath::mma_i8, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_i4, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {Datapath::mma_b1, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
};

inline constexpr DatapathRow kSparseIntegerRows[] = {
    {Datapath::mma_sp_i8, Format::s32, exact_s32(), Evidence::literature, kSparseIntegers},
    {Datapath::mma_sp_i4, Format::s32, exact_s32(), Evidence::literature, kSparseIntegers},
};

inline constexpr DatapathRow kWmmaIntegerRows[] = {
    {Datapath::wmma_i8, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {Datapath::wmma_i4, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {Datapath::wmma_b1, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
};

/// mma.m8n8k4 where it has lost its unit.
inline constexpr DatapathRow k884CodeRows[] = {
    {Datapath::mma_884, Format::f32, chained_f32(), Evidence::literature, k884Code},
    {Datapath::mma_884, Format::f16, paired_f16(), Evidence::literature, k884Code},
};

/// Sparse f16 and tf32, as the dense ones.
constexpr std::array<DatapathRow, 3> sparse_rows(const Steps& steps) {
  return {{
      {Datapath::mma_sp_f16, Format::f32, steps.f32, Evidence::literature, kSparse},
      {Datapath::mma_sp_f16, Format::f16, steps.f16, Evidence::literature, kSparse},
      {Datapath::mma_sp_tf32, Format::f32, steps.tf32, Evidence::literature, kSparse},
  }};
}

/// wmma of binary16 factors, every pair of C and D.
constexpr std::array<DatapathRow, 4> wmma_f16_rows(const AccumulatorModel& f32, const AccumulatorModel& f16) {
  return {{
      {Datapath::wmma_f16, Format::f32, f32, Evidence::literature, kWmmaF16, Format::f32},
      {Datapath::wmma_f16, Format::f16, f16, Evidence::literature, kWmmaF16, Format::f16},
      {Datapath::wmma_f16, Format::f32, widened_c(f32), Evidence::literature, kWmmaMixed, Format::f16},
      {Datapath::wmma_f16, Format::f16, narrowed_d(f32), Evidence::literature, kWmmaMixed, Format::f32},
  }};
}

/// wmma of every type, as mma; that of tf32 goes in steps of 4 whatever the unit could take.
constexpr auto wmma_rows(const Steps& steps) {
  AccumulatorModel tf32 = steps.tf32;
  tf32.block = 4;
  const DatapathRow wide[] = {
      {Datapath::wmma_tf32, Format::f32, tf32, Evidence::literature, kWmmaTf32},
      {Datapath::wmma_f64, Format::f64, ieee_f64(), Evidence::literature, kWmmaF64},
  };
  return detail::joined<DatapathRow>(wmma_f16_rows(steps.f32, steps.f16), wide, kWmmaIntegerRows);
}

}  // namespace mmaudit::generations
