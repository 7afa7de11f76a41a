#pragma once
// Raw bits -> operands of the exact-integer datapaths.
#include <cstdint>

#include "mmaudit/arithmetic/bits.hpp"
#include "mmaudit/model/datapath.hpp"

namespace mmaudit {

enum class Kind : std::uint8_t { finite = 0, infinite = 1, nan = 2 };

/// value = significand * 2^(exponent - fraction bits of its format). Zeros carry kZeroExponent so that they
/// never win an exponent maximum, unless the datapath's ZeroRule says otherwise.
struct Operand {
  std::int32_t significand = 0;  ///< signed
  std::int16_t exponent = 0;
  Kind kind = Kind::finite;
  bool negative = false;  ///< the sign bit, zeros included
};

inline constexpr std::int16_t kZeroExponent = -8192;

/// How operands of one datapath are read.
struct UnpackRule {
  SubnormalRule subnormal = SubnormalRule::kept;
  ZeroRule zero = ZeroRule::no_part;
  bool read_ignored_bits = false;
};

/// Any bit pattern of a format with at most 24 significand bits. Source: numerics.md, "Unpacking".
MMAUDIT_HD constexpr Operand unpack(const FormatSpec& format, UnpackRule rule, std::uint64_t bits) {
  Operand x;
  x.negative = (bits & format.sign_bit()) != 0;
  const std::uint64_t payload_mask = (std::uint64_t{1} << format.fraction_bits) - 1;
  const std::uint64_t exponent_mask = (std::uint64_t{1} << format.exponent_bits) - 1;
  const std::uint64_t fraction = (bits >> format.ignored_low_bits) & payload_mask;
  const std::uint64_t field = (bits >> (format.ignored_low_bits + format.fraction_bits)) & exponent_mask;
  if (format.specials == Specials::nan_at_minus_zero && x.negative && fraction == 0 && field == 0) {
    x.kind = Kind::nan;
    return x;
  }
  if (field == exponent_mask) {
    const bool dirty =
        rule.read_ignored_bits && (bits & ((std::uint64_t{1} << format.ignored_low_bits) - 1)) != 0;
    if (format.specials == Specials::ieee) {
      x.kind = fraction != 0 || dirty ? Kind::nan : Kind::infinite;
      return x;
    }
    if (format.specials == Specials::nan_only && fraction == payload_mask) {
      x.kind = Kind::nan;
      return x;
    }
  }
  int significand = static_cast<int>(fraction);
  int exponent = format.min_exponent();
  if (field != 0 || format.no_zero) {
    significand |= 1 << format.fraction_bits;
    exponent = static_cast<int>(field) - format.bias;
  } else if (significand != 0 && rule.subnormal == SubnormalRule::normalised) {
    const int shift = format.fraction_bits - floor_log2(static_cast<std::uint64_t>(significand));
    significand <<= shift;
    exponent -= shift;
  } else if (rule.subnormal == SubnormalRule::flushed) {
    significand = 0;
  } else if (rule.subnormal == SubnormalRule::flushed_to_plus) {
    significand = 0;
    x.negative = false;
  }
  if (significand == 0 && rule.zero == ZeroRule::no_part) exponent = kZeroExponent;
  x.significand = x.negative ? -significand : significand;
  x.exponent = static_cast<std::int16_t>(exponent);
  return x;
}

/// The same value as an operand of a format that holds every value of the first, subnormal only where the
/// wide format is. Source: numerics.md, "Widened FP8".
MMAUDIT_HD constexpr Operand widen(const FormatSpec& from, const FormatSpec& to, Operand x) {
  if (x.kind != Kind::finite || x.significand == 0) return x;
  std::int64_t significand = static_cast<std::int64_t>(magnitude(x.significand))
                             << (to.fraction_bits - from.fraction_bits);
  int exponent = x.exponent;
  while ((significand >> to.fraction_bits) == 0 && exponent > to.min_exponent()) {
    significand <<= 1;
    --exponent;
  }
  x.significand = static_cast<std::int32_t>(x.negative ? -significand : significand);
  x.exponent = static_cast<std::int16_t>(exponent);
  return x;
}

}  // namespace mmaudit
