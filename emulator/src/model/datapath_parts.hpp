#pragma once
// What the generations share: datapaths by name, and sources that several entries cite.
#include <array>
#include <string_view>

#include "mmaudit/model/architecture.hpp"

namespace mmaudit::generations {

/// Fused dot-add with binary32 results, rounded toward zero.
constexpr Datapath to_f32(int products_per_step, int fraction_bits, int min_alignment_exponent) {
  Datapath datapath;
  datapath.products_per_step = static_cast<std::int16_t>(products_per_step);
  datapath.fraction_bits = static_cast<std::int16_t>(fraction_bits);
  datapath.min_alignment_exponent = static_cast<std::int16_t>(min_alignment_exponent);
  return datapath;
}

/// The same with binary16 results, rounded to nearest even.
constexpr Datapath to_f16(int products_per_step, int fraction_bits, int min_alignment_exponent) {
  Datapath datapath = to_f32(products_per_step, fraction_bits, min_alignment_exponent);
  datapath.output.format = Format::f16;
  datapath.output.fraction_bits = 10;
  datapath.output.rounding = Rounding::nearest_even;
  return datapath;
}

/// Only `kept` fraction bits survive in the container.
constexpr Datapath keeping(Datapath datapath, int kept) {
  datapath.output.fraction_bits = static_cast<std::uint8_t>(kept);
  return datapath;
}

/// FP8 on the f16 datapath: pairs of bytes are widened, and an ordinary add puts c on the sum at the end.
constexpr Datapath widened_to_f16(Datapath datapath) {
  datapath.widen_to = Format::f16;
  datapath.order = KOrder::pairs_of_four;
  datapath.addend = AddendPlace::after_last_nearest;
  return datapath;
}

constexpr Datapath ieee_f64() {
  Datapath datapath;
  datapath.arithmetic = Arithmetic::fma_chain;
  datapath.products_per_step = 1;
  datapath.fraction_bits = 0;
  datapath.min_alignment_exponent = 0;
  datapath.output = {Format::f64,        52,    Rounding::nearest_even,
                     Overflow::infinity, false, ZeroSign::ieee,
                     NanRule::ieee_quiet};
  return datapath;
}

/// wmma with a binary16 C and a binary32 D: c is converted, exactly.
constexpr Datapath widened_c(Datapath datapath) {
  datapath.sum_format = Format::f32;
  return datapath;
}

/// wmma with a binary32 C and a binary16 D: the last result is converted, by the rules of a conversion.
constexpr Datapath narrowed_d(Datapath datapath) {
  datapath.sum_format = Format::f32;
  datapath.output.format = Format::f16;
  datapath.output.fraction_bits = 10;
  datapath.output.rounding = Rounding::nearest_even;
  datapath.output.zero_sign = ZeroSign::of_sum;
  return datapath;
}

/// One rounding to nearest even per step: F is so wide that alignment never changes it.
constexpr Datapath ieee_step(int products_per_step, AddendPlace addend) {
  Datapath datapath = to_f32(products_per_step, 50, -1000);
  datapath.sum_format = Format::f32;
  datapath.addend = addend;
  datapath.subnormal_operand = SubnormalRule::normalised;
  datapath.output.rounding = Rounding::nearest_even;
  return datapath;
}

/// mma.m8n8k4 without a unit, as binary32 multiplies and adds: with a binary32 D a chain of fma from +0, then
/// c; with a binary16 D two products at a time are added to c.
constexpr Datapath chained_f32() { return ieee_step(1, AddendPlace::after_last_nearest); }
constexpr Datapath paired_f16() {
  Datapath datapath = ieee_step(2, AddendPlace::before_each_nearest);
  datapath.output.format = Format::f16;
  datapath.output.fraction_bits = 10;
  datapath.output.zero_sign = ZeroSign::ieee;
  return datapath;
}

/// AMD's binary32 results: one IEEE rounding to nearest even. The bits of a NaN are not published.
constexpr Datapath nearest_f32(Arithmetic arithmetic, int products_per_step) {
  Datapath datapath = to_f32(products_per_step, 0, 0);
  datapath.arithmetic = arithmetic;
  datapath.output.rounding = Rounding::nearest_even;
  datapath.output.zero_sign = ZeroSign::ieee;
  datapath.output.nan = NanRule::ieee_quiet;
  return datapath;
}

/// Exact sums of L products and c; with one product binary32 FMA.
constexpr Datapath exact_f32(int products_per_step) {
  return nearest_f32(Arithmetic::exact_dot_add, products_per_step);
}

/// Trees of IEEE operations; subnormals become zero wherever one goes in or comes out.
constexpr Datapath flushed_tree(int products_per_step) {
  Datapath datapath = nearest_f32(Arithmetic::rounded_tree, products_per_step);
  datapath.subnormal_operand = datapath.subnormal_addend = SubnormalRule::flushed_to_plus;
  datapath.output.flush_subnormals = true;
  return datapath;
}

/// CDNA3: F = 24 and 31 bits of the sum.
constexpr Datapath two_stages(int products_per_step, int partial_sums) {
  Datapath datapath = nearest_f32(Arithmetic::two_stage_dot_add, products_per_step);
  datapath.fraction_bits = 24;
  datapath.partial_sums = static_cast<std::int16_t>(partial_sums);
  datapath.sum_fraction_bits = 31;
  datapath.product_overflow = ProductOverflow::infinity;
  datapath.output.zero_sign = ZeroSign::of_sum;
  if (partial_sums > 1) datapath.far_addend = FarAddend::dropped;
  return datapath;
}

/// Exact integers; .satfinite clamps once.
constexpr Datapath exact_s32() {
  Datapath datapath;
  datapath.arithmetic = Arithmetic::integer;
  datapath.output.format = Format::s32;
  datapath.output.fraction_bits = 32;
  return datapath;
}

/// The 4-bit block-scaled kinds: groups of 16 products summed exactly, aligned by their scales.
constexpr Datapath grouped() {
  Datapath datapath = to_f32(64, 35, -139);
  datapath.arithmetic = Arithmetic::grouped_dot_add;
  datapath.group = 16;
  return datapath;
}

// Sources in full, and inputs that would settle the open points: docs/numerics-architectures.md. No public
// recording reaches a floor: binary32 floors come from the papers, binary16 floors follow emin - (F - 18),
// the pattern measured on Hopper.

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
// No publication says how a sparse instruction sums. Hopper's recordings say: as the dense one over the
// stored elements. The other generations are assumed to do the same.
inline constexpr std::string_view kSparse =
    "as the dense row over the stored elements, which is how Hopper was recorded; PTX ISA 9.0 (what meets "
    "what)";
inline constexpr std::string_view kSparseFp8 =
    "as mma.fp8 over the stored elements, which is how Hopper was recorded; PTX ISA 9.0 (what meets what)";
inline constexpr std::string_view kSparseTcgen05 =
    "hypothesis: as the dense tcgen05 row over the stored elements, which is how Hopper's wgmma.sp was "
    "recorded; "
    "PTX ISA 9.0 (what meets what)";
inline constexpr std::string_view kSparseTcgen05Integers =
    "PTX ISA 9.0: tcgen05.mma.sp, kind::i8, saturate; sum over the stored elements";
inline constexpr std::string_view kSparseScaled =
    "hypothesis: as the dense row over the stored elements, which is how sparse instructions without scales "
    "were recorded on Hopper; PTX ISA 9.0 and CUTLASS (what meets what, and which scale)";
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

inline constexpr std::string_view kMmaSimFma =
    "MMA-Sim: a chain of IEEE FMA, k ascending; NaN and zero signs: not published";

// Entries that several generations have.

/// The same entries, all of them confirmed by the recordings of a folder.
template <std::size_t Size>
constexpr auto recorded(std::string_view folder, std::array<DatapathEntry, Size> entries) {
  for (DatapathEntry& entry : entries) {
    entry.evidence = Evidence::recorded;
    entry.source = folder;
  }
  return entries;
}

/// The datapaths of a generation's f16 unit, by output format, and of its tf32 unit.
struct Steps {
  Datapath f32, f16, tf32;
};

inline constexpr DatapathEntry kIntegerDatapaths[] = {
    {units::mma_i8, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {units::mma_i4, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
    {units::mma_b1, Format::s32, exact_s32(), Evidence::literature, kPtxIntegers},
};

inline constexpr DatapathEntry kSparseIntegerDatapaths[] = {
    {units::mma_sp_i8, Format::s32, exact_s32(), Evidence::literature, kSparseIntegers},
    {units::mma_sp_i4, Format::s32, exact_s32(), Evidence::literature, kSparseIntegers},
};

inline constexpr DatapathEntry kWmmaIntegerDatapaths[] = {
    {units::wmma_i8, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {units::wmma_i4, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
    {units::wmma_b1, Format::s32, exact_s32(), Evidence::literature, kWmmaIntegers},
};

/// mma.m8n8k4 on generations without a unit for it.
inline constexpr DatapathEntry k884CodeDatapaths[] = {
    {units::mma_884, Format::f32, chained_f32(), Evidence::literature, k884Code},
    {units::mma_884, Format::f16, paired_f16(), Evidence::literature, k884Code},
};

/// Sparse f16 and tf32, as the dense ones.
constexpr std::array<DatapathEntry, 3> sparse_datapaths(const Steps& steps) {
  return {{
      {units::mma_sp_f16, Format::f32, steps.f32, Evidence::literature, kSparse},
      {units::mma_sp_f16, Format::f16, steps.f16, Evidence::literature, kSparse},
      {units::mma_sp_tf32, Format::f32, steps.tf32, Evidence::literature, kSparse},
  }};
}

/// wmma of binary16 factors, every pair of C and D.
constexpr std::array<DatapathEntry, 4> wmma_f16_datapaths(const Datapath& f32, const Datapath& f16) {
  return {{
      {units::wmma_f16, Format::f32, f32, Evidence::literature, kWmmaF16, Format::f32},
      {units::wmma_f16, Format::f16, f16, Evidence::literature, kWmmaF16, Format::f16},
      {units::wmma_f16, Format::f32, widened_c(f32), Evidence::literature, kWmmaMixed, Format::f16},
      {units::wmma_f16, Format::f16, narrowed_d(f32), Evidence::literature, kWmmaMixed, Format::f32},
  }};
}

/// wmma of every type, as mma; tf32 in steps of 4, although the unit could take more.
constexpr auto wmma_datapaths(const Steps& steps) {
  Datapath tf32 = steps.tf32;
  tf32.products_per_step = 4;
  const DatapathEntry wide[] = {
      {units::wmma_tf32, Format::f32, tf32, Evidence::literature, kWmmaTf32},
      {units::wmma_f64, Format::f64, ieee_f64(), Evidence::literature, kWmmaF64},
  };
  return detail::joined<DatapathEntry>(wmma_f16_datapaths(steps.f32, steps.f16), wide, kWmmaIntegerDatapaths);
}

}  // namespace mmaudit::generations
