#pragma once
// Exact integer -> bits of D: the one rounding of a step.
#include <cstdint>

#include "mmaudit/arithmetic/bits.hpp"
#include "mmaudit/model/datapath.hpp"

namespace mmaudit {

/// NaN of an output rule. canonical: 0x7FFFFFFF (binary32), 0x7FFF (binary16). Source: numerics.md, "NaN".
MMAUDIT_HD constexpr std::uint64_t nan_bits(const OutputRule& rule, const FormatSpec& format) {
  if (rule.nan == NanRule::canonical) return format.sign_bit() - 1;
  return format.infinity_bits() | (std::uint64_t{1} << (format.fraction_bits - 1));
}

MMAUDIT_HD constexpr std::uint64_t infinity_bits(const FormatSpec& format, bool negative) {
  return format.infinity_bits() | (negative ? format.sign_bit() : 0);
}

/// quotient + what `rounding` makes of the remainder below it.
MMAUDIT_HD constexpr std::uint64_t round_shifted(std::uint64_t x, int shift, Rounding rounding,
                                                 bool negative) {
  if (shift <= 0) return x << -shift;
  const std::uint64_t quotient = shift_right(x, shift);
  const std::uint64_t rest = shift > 63 ? x : x & ((std::uint64_t{1} << shift) - 1);
  if (rest == 0) return quotient;
  switch (rounding) {
    case Rounding::toward_zero:
      return quotient;
    case Rounding::down:
      return quotient + (negative ? 1 : 0);
    case Rounding::up:
      return quotient + (negative ? 0 : 1);
    case Rounding::nearest_even:
      break;
  }
  if (shift > 64) return quotient;  // x < 2^64 is less than half a unit
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  // Above one half, or at it with an odd quotient, without a branch; at shift 64 the quotient is 0.
  return quotient + (rest + (quotient & 1) > half ? 1 : 0);
}

/// (negative ? -1 : 1) * x * 2^lsb_exponent, rounded once to the rule's format.
/// Overflow goes to infinity also when rounding toward zero, as the hardware does. A zero result has the sign
/// that `zero_sign` gives; `negative_zero` says whether every addend was -0. Source: numerics.md, "Output".
MMAUDIT_HD constexpr std::uint64_t round_to_output(std::uint64_t x, bool negative, int lsb_exponent,
                                                   const OutputRule& rule, const FormatSpec& format,
                                                   bool negative_zero = false) {
  const std::uint64_t sign = negative ? format.sign_bit() : 0;
  if (x == 0) {
    return rule.zero_sign == ZeroSign::ieee && negative_zero ? format.sign_bit() : 0;
  }
  const int leading = floor_log2(x) + lsb_exponent;
  const int exponent = leading > format.min_exponent() ? leading : format.min_exponent();
  const int unit = exponent - rule.fraction_bits;
  const std::uint64_t rounded = round_shifted(x, unit - lsb_exponent, rule.rounding, negative);
  if (rounded == 0) return rule.zero_sign == ZeroSign::plus ? 0 : sign;
  if (rule.flush_subnormals && rounded < (std::uint64_t{1} << rule.fraction_bits)) return sign;
  const int unkept_bits = format.fraction_bits - rule.fraction_bits;
  const std::uint64_t largest = format.max_finite_bits() >> unkept_bits << unkept_bits;
  const std::uint64_t beyond = rule.overflow == Overflow::infinity ? format.infinity_bits() : largest;
  if (exponent > format.max_exponent()) return sign | beyond;
  // The hidden bit of `rounded` adds one to the exponent field; a carry out of the significand does so again.
  const std::uint64_t field = static_cast<std::uint64_t>(exponent - format.min_exponent());
  const std::uint64_t bits = (field << format.fraction_bits) + (rounded << unkept_bits);
  return sign | (bits >= format.infinity_bits() ? beyond : bits);
}

}  // namespace mmaudit
