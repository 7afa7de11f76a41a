#pragma once
// The fused dot-add: L products and one addend, aligned to one exponent, truncated, added exactly, rounded
// once. Exact integers only; the same code runs on the host and in kernels. Source of every rule:
// docs/numerics.md.
#include <cstdint>

#include "mmaudit/arithmetic/round.hpp"
#include "mmaudit/arithmetic/unpack.hpp"

namespace mmaudit {

/// What one step needs besides its operands.
struct StepSpec {
  FormatSpec addend;                       ///< format of c
  FormatSpec output;                       ///< format of the step's result
  std::int16_t product_fraction_bits = 0;  ///< fraction bits of a product of two operands
};

/// One addend in units of 2^(maximum - F): magnitude * 2^shift under the datapath's alignment rule.
MMAUDIT_HD constexpr std::int64_t align(std::int64_t significand, int shift, Alignment rule) {
  const bool negative = significand < 0;
  const std::uint64_t x = magnitude(significand);
  std::uint64_t aligned = 0;
  if (shift >= 0) {
    aligned = x << shift;
  } else {
    const Rounding rounding = rule == Alignment::truncate_magnitude ? Rounding::toward_zero
                              : rule == Alignment::nearest_even     ? Rounding::nearest_even
                                                                    : Rounding::down;
    aligned = round_shifted(x, -shift, rounding, negative);
  }
  return negative ? -static_cast<std::int64_t>(aligned) : static_cast<std::int64_t>(aligned);
}

/// The exponent a product brings to the maximum.
MMAUDIT_HD constexpr int product_exponent(const Operand& a, const Operand& b, int product_fraction_bits,
                                          ProductRule rule) {
  const int exponent = a.exponent + b.exponent;
  const std::int64_t product = std::int64_t{a.significand} * b.significand;
  if (rule == ProductRule::unnormalised || product == 0) return exponent;
  return exponent + floor_log2(magnitude(product)) - product_fraction_bits;
}

/// The result when at least one input is NaN or infinite.
MMAUDIT_HD constexpr std::uint64_t special_result(const Operand* a, const Operand* b, int count,
                                                  const Operand& c, const Datapath& datapath,
                                                  const FormatSpec& output) {
  bool plus = c.kind == Kind::infinite && !c.negative;
  bool minus = c.kind == Kind::infinite && c.negative;
  bool nan = c.kind == Kind::nan;
  for (int k = 0; k < count; ++k) {
    if (a[k].kind == Kind::nan || b[k].kind == Kind::nan) nan = true;
    if (a[k].kind != Kind::infinite && b[k].kind != Kind::infinite) continue;
    const bool zero_factor = (a[k].kind == Kind::finite && a[k].significand == 0) ||
                             (b[k].kind == Kind::finite && b[k].significand == 0);
    if (zero_factor) {
      nan = nan || datapath.infinity_times_zero == InfinityTimesZero::nan;
    } else if (a[k].negative != b[k].negative) {
      minus = true;
    } else {
      plus = true;
    }
  }
  if (nan || (plus && minus)) return nan_bits(datapath.output, output);
  if (plus || minus) return infinity_bits(output, minus);
  return 0;  // only mutants get here: infinity * 0 = 0
}

/// What: one hardware step, d = sum a[k]*b[k] + c.
/// Shapes: a and b hold `count` operands in evaluation order, count <= datapath.products_per_step.
/// Range and rounding: any operands; every addend is truncated to a multiple of 2^(E-F), the sum is exact,
/// and it is rounded once by datapath.output. |sum| < (4*count+2) * 2^F must fit int64, so F <= 55 for count
/// <= 32. Returns raw bits of `spec.output`.
MMAUDIT_HD constexpr std::uint64_t fused_dot_add(const Operand* a, const Operand* b, int count,
                                                 const Operand& c, const StepSpec& spec,
                                                 const Datapath& datapath) {
  unsigned kinds = static_cast<unsigned>(c.kind);
  int maximum = datapath.min_alignment_exponent > c.exponent ? datapath.min_alignment_exponent : c.exponent;
  for (int k = 0; k < count; ++k) {
    kinds |= static_cast<unsigned>(a[k].kind) | static_cast<unsigned>(b[k].kind);
    const int exponent = product_exponent(a[k], b[k], spec.product_fraction_bits, datapath.product);
    maximum = exponent > maximum ? exponent : maximum;
  }
  if (kinds != 0) return special_result(a, b, count, c, datapath, spec.output);

  std::int64_t sum =
      align(c.significand, datapath.fraction_bits - spec.addend.fraction_bits + c.exponent - maximum,
            datapath.alignment);
  const int lift = datapath.fraction_bits - spec.product_fraction_bits;
  bool negative_zero = c.significand == 0 && c.negative;
  if (datapath.alignment == Alignment::truncate_magnitude && datapath.product == ProductRule::unnormalised &&
      lift >= 0) {
    // The rule of every known datapath, without a branch per product: no exponent exceeds the maximum here.
    for (int k = 0; k < count; ++k) {
      const std::int64_t product = std::int64_t{a[k].significand} * b[k].significand;
      const int drop = maximum - a[k].exponent - b[k].exponent;
      const std::int64_t sign = product >> 63;
      const auto aligned = static_cast<std::int64_t>((magnitude(product) << lift) >> (drop < 63 ? drop : 63));
      sum += (aligned ^ sign) - sign;
    }
  } else {
    for (int k = 0; k < count; ++k) {
      const std::int64_t product = std::int64_t{a[k].significand} * b[k].significand;
      sum += align(product, lift + a[k].exponent + b[k].exponent - maximum, datapath.alignment);
    }
  }
  if (sum == 0) {
    for (int k = 0; k < count; ++k) {
      const bool zero = a[k].significand == 0 || b[k].significand == 0;
      negative_zero = negative_zero && zero && a[k].negative != b[k].negative;
    }
  }
  return round_to_output(magnitude(sum), sum < 0, maximum - datapath.fraction_bits, datapath.output,
                         spec.output, negative_zero);
}

/// IEEE 754 x + y of two values of `format` (at most 24 significand bits), rounded by `rounding`, subnormals
/// kept, NaN by the output rule. Used where c is added by an ordinary floating-point add after the steps.
MMAUDIT_HD constexpr std::uint64_t add_rounded(std::uint64_t x_bits, std::uint64_t y_bits,
                                               const FormatSpec& format, Rounding rounding, OutputRule rule) {
  const UnpackRule plain;
  Operand x = unpack(format, plain, x_bits);
  Operand y = unpack(format, plain, y_bits);
  if (x.kind == Kind::nan || y.kind == Kind::nan ||
      (x.kind == Kind::infinite && y.kind == Kind::infinite && x.negative != y.negative)) {
    return nan_bits(rule, format);
  }
  if (x.kind == Kind::infinite) return infinity_bits(format, x.negative);
  if (y.kind == Kind::infinite) return infinity_bits(format, y.negative);
  if (x.exponent < y.exponent) {
    const Operand swap = x;
    x = y;
    y = swap;
  }
  rule.rounding = rounding;
  rule.zero_sign = ZeroSign::ieee;
  rule.overflow = rounding == Rounding::nearest_even ? Overflow::infinity : rule.overflow;
  rule.fraction_bits = format.fraction_bits;
  if (x.significand == 0) {  // the larger exponent is a zero: both are
    return round_to_output(0, false, 0, rule, format, x.negative && y.negative);
  }
  constexpr int kGuardBits = 36;  // 24 + 36 + carry fits 63 bits; what lies lower is kept as a sticky bit
  const int lsb_exponent = x.exponent - format.fraction_bits - kGuardBits;
  const std::uint64_t high = magnitude(x.significand) << kGuardBits;
  const int gap = x.exponent - y.exponent;
  const std::uint64_t low = gap <= kGuardBits ? magnitude(y.significand) << (kGuardBits - gap)
                                              : shift_right_jam(magnitude(y.significand), gap - kGuardBits);
  const std::int64_t sum = (x.negative ? -static_cast<std::int64_t>(high) : static_cast<std::int64_t>(high)) +
                           (y.negative ? -static_cast<std::int64_t>(low) : static_cast<std::int64_t>(low));
  return round_to_output(magnitude(sum), sum < 0, lsb_exponent, rule, format);
}

/// The value of `bits` in another format, rounded by the rule; NaN by the rule, infinities and the sign of a
/// zero kept.
MMAUDIT_HD constexpr std::uint64_t convert_rounded(std::uint64_t bits, const FormatSpec& from,
                                                   const FormatSpec& to, const OutputRule& rule) {
  const Operand x = unpack(from, UnpackRule{}, bits);
  if (x.kind == Kind::nan) return nan_bits(rule, to);
  if (x.kind == Kind::infinite) return infinity_bits(to, x.negative);
  return round_to_output(magnitude(x.significand), x.negative, x.exponent - from.fraction_bits, rule, to,
                         x.negative);
}

}  // namespace mmaudit
