#pragma once
// Steps that are not one alignment: exact sums, trees of rounded sums, and sums aligned in two stages. Exact
// integers only; host and device. Source of every rule: docs/numerics.md, "AMD matrix cores".
#include <cstdint>

#include "mmaudit/arithmetic/accumulate.hpp"
#include "mmaudit/arithmetic/wide_sum.hpp"

namespace mmaudit {

inline constexpr int kMostStagedProducts = 64;  ///< products of one step

MMAUDIT_HD constexpr bool is_staged(Arithmetic arithmetic) {
  return arithmetic == Arithmetic::exact_dot_add || arithmetic == Arithmetic::rounded_tree ||
         arithmetic == Arithmetic::two_stage_dot_add;
}

/// An infinite operand in place of factors whose finite product is beyond the format of D.
MMAUDIT_HD constexpr bool product_overflows(const Operand& a, const Operand& b, const StepSpec& spec) {
  const std::int64_t product = std::int64_t{a.significand} * b.significand;
  return product != 0 &&
         a.exponent + b.exponent - spec.product_fraction_bits + floor_log2(magnitude(product)) >
             spec.output.max_exponent();
}

/// What: the step of exact_dot_add: a[k] * b[k] and c, exactly, rounded once. Shapes: `count` operands each,
/// at most kMostStagedProducts, of at most 24 significand bits and binary32's exponents. Returns raw bits of
/// `spec.output`.
MMAUDIT_HD constexpr std::uint64_t exact_dot_add(const Operand* a, const Operand* b, int count,
                                                 const Operand& c, const StepSpec& spec,
                                                 const Datapath& datapath) {
  WideSum sum;
  sum.add(c.significand, c.significand == 0 ? 0 : c.exponent - spec.addend.fraction_bits);
  bool negative_zero = c.significand == 0 && c.negative;
  for (int k = 0; k < count; ++k) {
    const std::int64_t product = std::int64_t{a[k].significand} * b[k].significand;
    negative_zero = negative_zero && product == 0 && a[k].negative != b[k].negative;
    if (product != 0) sum.add(product, a[k].exponent + b[k].exponent - spec.product_fraction_bits);
  }
  return sum.rounded(datapath.output, spec.output, negative_zero);
}

/// One product of finite factors, rounded by the output's rule.
MMAUDIT_HD constexpr std::uint64_t rounded_product(const Operand& a, const Operand& b, const StepSpec& spec,
                                                   const OutputRule& rule) {
  const std::int64_t product = std::int64_t{a.significand} * b.significand;
  const bool negative = a.negative != b.negative;
  return round_to_output(magnitude(product), negative,
                         product == 0 ? 0 : a.exponent + b.exponent - spec.product_fraction_bits, rule,
                         spec.output, negative);
}

/// What: the step of rounded_tree. `c` holds bits of `spec.output`, with what is read as zero replaced by it.
MMAUDIT_HD constexpr std::uint64_t rounded_tree(const Operand* a, const Operand* b, int count,
                                                std::uint64_t c, const StepSpec& spec,
                                                const Datapath& datapath) {
  const OutputRule& rule = datapath.output;
  std::uint64_t sums[kMostStagedProducts] = {};
  for (int k = 0; k < count; ++k) {
    const bool finite = a[k].kind == Kind::finite && b[k].kind == Kind::finite;
    const Operand none;
    sums[k] = finite ? rounded_product(a[k], b[k], spec, rule)
                     : special_result(a + k, b + k, 1, none, datapath, spec.output);
  }
  for (int apart = 1; apart < count; apart *= 2)
    for (int k = 0; k + apart < count; k += 2 * apart)
      sums[k] = add_rounded(sums[k], sums[k + apart], spec.output, rule.rounding, rule);
  return add_rounded(c, sums[0], spec.output, rule.rounding, rule);
}

/// significand * 2^exponent: a sum with its alignment exponent.
struct StagedSum {
  std::int64_t significand = 0;  ///< in units of 2^(exponent - F)
  int exponent = kZeroExponent;
};

/// Every `stride`-th product from `first` on, truncated to F bits below the largest exponent of them.
MMAUDIT_HD constexpr StagedSum truncated_sum(const Operand* a, const Operand* b, int first, int count,
                                             int stride, const StepSpec& spec, const Datapath& datapath) {
  StagedSum sum;
  const auto counts = [&](int k) { return a[k].significand != 0 && b[k].significand != 0; };
  for (int k = first; k < count; k += stride)
    if (counts(k) && a[k].exponent + b[k].exponent > sum.exponent)
      sum.exponent = a[k].exponent + b[k].exponent;
  const int lift = datapath.fraction_bits - spec.product_fraction_bits;
  for (int k = first; k < count; k += stride)
    if (counts(k))
      sum.significand +=
          align(std::int64_t{a[k].significand} * b[k].significand,
                lift + a[k].exponent + b[k].exponent - sum.exponent, Alignment::truncate_magnitude);
  return sum;
}

/// What: the step of two_stage_dot_add over finite operands. Range: |sum| below 2^(F + 2) * count fits int64.
MMAUDIT_HD constexpr std::uint64_t two_stage_dot_add(const Operand* a, const Operand* b, int count,
                                                     const Operand& c, const StepSpec& spec,
                                                     const Datapath& datapath) {
  const auto floored = [](std::int64_t x, int shift) {
    return align(x, shift < -63 ? -63 : shift, Alignment::floor_toward_minus_infinity);
  };
  const int f = datapath.fraction_bits, wide = datapath.sum_fraction_bits + 1;
  StagedSum dot = truncated_sum(a, b, 0, count, datapath.partial_sums, spec, datapath);
  for (int i = 1; i < datapath.partial_sums; ++i) {
    const StagedSum other = truncated_sum(a, b, i, count, datapath.partial_sums, spec, datapath);
    const int exponent = dot.exponent > other.exponent ? dot.exponent : other.exponent;
    dot.significand = floored(dot.significand, dot.exponent - exponent) +
                      floored(other.significand, other.exponent - exponent);
    dot.exponent = exponent;
  }
  // A zero c brings the least exponent of its format.
  const int addend_exponent = c.significand == 0 ? spec.addend.min_exponent() : c.exponent;
  const int exponent = dot.exponent > addend_exponent ? dot.exponent : addend_exponent;
  const bool dropped = datapath.far_addend == FarAddend::dropped && addend_exponent < exponent - f - 1;
  const std::int64_t addend =
      dropped ? 0 : floored(c.significand, f - spec.addend.fraction_bits + addend_exponent - exponent);
  std::int64_t sum =
      floored(dot.significand, wide - f + dot.exponent - exponent) + addend * (std::int64_t{1} << (wide - f));
  int unit = exponent - wide;
  if (sum != 0) {
    const int leading = floor_log2(magnitude(sum)) + unit;
    const int kept = (leading > spec.output.min_exponent() ? leading : spec.output.min_exponent()) -
                     datapath.sum_fraction_bits;
    if (kept > unit) {
      sum = floored(sum, unit - kept);
      unit = kept;
    }
  }
  return round_to_output(magnitude(sum), sum < 0, unit, datapath.output, spec.output);
}

/// What: one step of a staged datapath. Shapes: `count` operands, at most kMostStagedProducts; `c` holds bits
/// of `spec.addend`. Range and rounding: any operands; NaN and infinities as in special_result(). Returns raw
/// bits of `spec.output`.
MMAUDIT_HD constexpr std::uint64_t staged_step(const Operand* a, const Operand* b, int count,
                                               std::uint64_t c_bits, const Operand& c, const StepSpec& spec,
                                               const Datapath& datapath) {
  if (datapath.arithmetic == Arithmetic::rounded_tree) {
    const bool zero = c.kind == Kind::finite && c.significand == 0;
    const std::uint64_t addend = !zero ? c_bits : c.negative ? spec.output.sign_bit() : 0;
    return rounded_tree(a, b, count, addend, spec, datapath);
  }
  Operand x[kMostStagedProducts];
  unsigned kinds = static_cast<unsigned>(c.kind);
  for (int k = 0; k < count; ++k) {
    x[k] = a[k];
    if (datapath.product_overflow == ProductOverflow::infinity && a[k].kind == Kind::finite &&
        b[k].kind == Kind::finite && product_overflows(a[k], b[k], spec))
      x[k].kind = Kind::infinite;
    kinds |= static_cast<unsigned>(x[k].kind) | static_cast<unsigned>(b[k].kind);
  }
  if (kinds != 0) return special_result(x, b, count, c, datapath, spec.output);
  return datapath.arithmetic == Arithmetic::exact_dot_add ? exact_dot_add(a, b, count, c, spec, datapath)
                                                          : two_stage_dot_add(a, b, count, c, spec, datapath);
}

}  // namespace mmaudit
