#pragma once
// Between binary64 and the bits of any format: what a program does to its numbers before and after a matrix
// instruction. Integer code on the binary64 bits, so host and device agree whatever the rounding mode of
// either. Sources: PTX ISA 9.0 "cvt" (rn, rna, rz, rp, satfinite, the NaN of a conversion); OCP 8-bit
// floating point specification 1.0 (overflow of e4m3 and e5m2 with and without saturation); CUDA's cuda_fp8.h
// (a negative number becomes the ue8m0 of its magnitude, numbers below the least ue8m0 become that).
#include <cstdint>
#include <optional>
#include <string_view>

#include "mmaudit/arithmetic/format.hpp"
#include "mmaudit/config.hpp"

namespace mmaudit {

enum class CastRounding : std::uint8_t {
  nearest_even,  ///< cvt.rn
  nearest_away,  ///< cvt.rna: a tie goes to the larger magnitude
  toward_zero,   ///< cvt.rz: the low bits are cut off
  toward_plus    ///< cvt.rp: the next number above; of the magnitude where the format has no sign
};

struct CastRule {
  CastRounding rounding = CastRounding::nearest_even;
  bool saturate = false;  ///< cvt.satfinite: beyond the largest finite number gives that number, infinity too
};

namespace detail {

inline constexpr int kDoubleFraction = 52, kDoubleBias = 1023, kDoubleMaxField = 2047;

/// 2^exponent, for the exponents of normal binary64 numbers.
MMAUDIT_HD constexpr double power_of_two(int exponent) {
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(exponent + kDoubleBias) << kDoubleFraction);
}

/// `significand` / 2^`shift`, rounded to an integer.
MMAUDIT_HD constexpr std::uint64_t shift_and_round(std::uint64_t significand, int shift,
                                                   CastRounding rounding, bool negative) {
  if (shift <= 0) return significand << -shift;
  const bool up = rounding == CastRounding::toward_plus && !negative;
  if (shift > 62) return up && significand != 0 ? 1 : 0;  // below half a unit: the significand has 53 bits
  const std::uint64_t kept = significand >> shift;
  const std::uint64_t rest = significand - (kept << shift);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  if (rounding == CastRounding::toward_plus) return kept + (up && rest != 0 ? 1 : 0);
  if (rounding == CastRounding::toward_zero || rest < half) return kept;
  if (rest > half || rounding == CastRounding::nearest_away) return kept + 1;
  return kept + (kept & 1);
}

/// encode_value() for integers: rounded, clamped to the format's range. NaN gives 0 (cvt to an
/// integer does the same).
MMAUDIT_HD constexpr std::uint64_t encode_integer(double value, const FormatSpec& format,
                                                  CastRounding rounding) {
  const bool has_sign = format.encoding == Encoding::signed_integer;
  const std::uint64_t all = (std::uint64_t{1} << format.value_bits()) - 1;
  const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, value);
  const bool negative = bits >> 63 != 0;
  if (value != value || (negative && !has_sign)) return 0;
  const std::uint64_t most = has_sign ? all / 2 + (negative ? 1 : 0) : all;
  const int field = static_cast<int>((bits >> kDoubleFraction) & kDoubleMaxField);
  const std::uint64_t unit = std::uint64_t{1} << kDoubleFraction;
  const std::uint64_t significand = field == 0 ? 0 : (bits & (unit - 1)) | unit;
  const int shift = kDoubleFraction + kDoubleBias - field;
  const std::uint64_t rounded =
      shift < kDoubleFraction - 40 ? most : shift_and_round(significand, shift, rounding, negative);
  const std::uint64_t kept = rounded > most ? most : rounded;
  return (negative ? ~kept + 1 : kept) & all;
}

MMAUDIT_HD constexpr double decode_integer(std::uint64_t bits, const FormatSpec& format) {
  const std::uint64_t top = std::uint64_t{1} << (format.value_bits() - 1);
  const std::uint64_t low = bits & (top | (top - 1));
  const bool negative = format.encoding == Encoding::signed_integer && (low & top) != 0;
  return static_cast<double>(static_cast<std::int64_t>(low) -
                             (negative ? static_cast<std::int64_t>(2 * top) : 0));
}

}  // namespace detail

/// What: the bits of `value` in `format`, in the storage width; ignored low bits are zero. Range and
/// rounding: as `rule` says, once, subnormals kept; toward_zero never overflows a finite number, toward_plus
/// no negative one. What does not fit becomes infinity, in a format without one NaN with the sign kept, and
/// with `saturate` or in a format without NaN the largest finite number. A NaN becomes the NaN of the
/// conversion instructions: positive, every bit below the sign set; in a format without NaN that is the
/// largest number. A format without a sign takes the magnitude; one without a zero its least number for
/// everything below that. Integers are clamped whatever the rule, and NaN gives 0. Errors: none; a format
/// wider than binary64 does not exist here.
MMAUDIT_HD constexpr std::uint64_t encode_value(double value, const FormatSpec& format, CastRule rule = {}) {
  if (format.integer()) return detail::encode_integer(value, format, rule.rounding);
  const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, value);
  const bool negative = bits >> 63 != 0 && !format.signless;
  const std::uint64_t sign = negative ? format.sign_bit() : 0;
  const std::uint64_t fraction_mask = (std::uint64_t{1} << detail::kDoubleFraction) - 1;
  const int field = static_cast<int>((bits >> detail::kDoubleFraction) & detail::kDoubleMaxField);
  const std::uint64_t fraction = bits & fraction_mask;
  const std::uint64_t nan = format.conversion_nan_bits();
  const std::uint64_t beyond = rule.saturate                       ? format.max_finite_bits()
                               : format.specials == Specials::ieee ? format.infinity_bits()
                                                                   : nan;

  // Without -0 there is one zero and one NaN, both without a sign.
  const bool one_zero = format.specials == Specials::nan_at_minus_zero;
  const std::uint64_t zero = one_zero ? 0 : sign;
  const std::uint64_t signed_beyond = one_zero && !rule.saturate ? nan : sign | beyond;

  if (field == detail::kDoubleMaxField) return fraction != 0 ? nan : signed_beyond;
  if (field == 0 && fraction == 0) return zero;

  // value = significand * 2^(exponent - 52)
  const std::uint64_t significand = field == 0 ? fraction : fraction | (fraction_mask + 1);
  const int exponent = (field == 0 ? 1 : field) - detail::kDoubleBias;
  // Below the least normal exponent the unit in the last place no longer shrinks.
  const int unit_exponent = exponent < format.min_exponent() ? format.min_exponent() : exponent;
  const int shift = detail::kDoubleFraction - format.fraction_bits + (unit_exponent - exponent);
  const std::uint64_t rounded = detail::shift_and_round(significand, shift, rule.rounding, negative);
  if (rounded == 0) return zero;  // without a zero, code 0 is the least number

  // A carry out of the fraction moves into the exponent field by itself; a subnormal has field 0 and no
  // hidden bit.
  const int biased = unit_exponent + format.bias - 1;
  const std::uint64_t code = static_cast<std::uint64_t>(biased * (std::int64_t{1} << format.fraction_bits) +
                                                        static_cast<std::int64_t>(rounded))
                             << format.ignored_low_bits;
  if (biased + 1 > format.max_exponent() + format.bias || code > format.max_finite_bits()) {
    const bool inward = rule.rounding == CastRounding::toward_zero ||
                        (rule.rounding == CastRounding::toward_plus && negative);
    return inward ? sign | format.max_finite_bits() : signed_beyond;
  }
  return sign | code;
}

/// What: the bits that cvt.rna.tf32.f32 makes of a binary32 NaN, which encode_value() does not describe: the
/// low bits are cut off, and .satfinite then takes one unit away as it does from infinity. So a NaN whose
/// payload is in the low bits becomes infinity, or with .satfinite a finite number. Source: measured, all NaN
/// on an H200 (device/tests/conversions_test.cpp); PTX ISA 9.0 leaves it open.
MMAUDIT_HD constexpr std::uint32_t rna_tf32_of_nan(std::uint32_t bits, bool saturate) {
  constexpr std::uint32_t kUnit = 0x2000;
  return (bits & ~(kUnit - 1)) - (saturate ? kUnit : 0);
}

/// encode_value() to the nearest number, ties to even.
MMAUDIT_HD constexpr std::uint64_t encode_nearest_even(double value, const FormatSpec& format,
                                                       bool saturate = false) {
  return encode_value(value, format, {CastRounding::nearest_even, saturate});
}

/// What: the number that `bits` (storage width) spell; exact. Ignored low bits are not read. Infinity and NaN
/// (always the same quiet one) come out as such.
MMAUDIT_HD constexpr double decode_value(std::uint64_t bits, const FormatSpec& format) {
  if (format.integer()) return detail::decode_integer(bits, format);
  const std::uint64_t magnitude = (bits & format.magnitude_mask()) >> format.ignored_low_bits;
  const double sign = (bits & format.sign_bit()) != 0 ? -1.0 : 1.0;
  const std::uint64_t max_field = (std::uint64_t{1} << format.exponent_bits) - 1;
  const std::uint64_t field = magnitude >> format.fraction_bits;
  const std::uint64_t fraction = magnitude & ((std::uint64_t{1} << format.fraction_bits) - 1);
  constexpr std::uint64_t kInfinity = std::uint64_t{0x7FF} << detail::kDoubleFraction;

  if (format.specials == Specials::ieee && field == max_field) {
    if (fraction != 0) return __builtin_bit_cast(double, kInfinity | (std::uint64_t{1} << 51));
    return sign * __builtin_bit_cast(double, kInfinity);
  }
  if (format.specials == Specials::nan_only &&
      magnitude == format.magnitude_mask() >> format.ignored_low_bits)
    return __builtin_bit_cast(double, kInfinity | (std::uint64_t{1} << 51));
  if (format.specials == Specials::nan_at_minus_zero && bits % (2 * format.sign_bit()) == format.sign_bit())
    return __builtin_bit_cast(double, kInfinity | (std::uint64_t{1} << 51));
  if (format.id == Format::f64) return __builtin_bit_cast(double, bits);

  const bool normal = field != 0 || format.no_zero;
  const std::uint64_t significand = normal ? fraction | (std::uint64_t{1} << format.fraction_bits) : fraction;
  const int exponent = (normal ? static_cast<int>(field) : 1) - format.bias - format.fraction_bits;
  // Both factors are exact, and every format below f64 lies inside the normal range of binary64.
  return sign * static_cast<double>(significand) * detail::power_of_two(exponent);
}

/// What: the number that `stored` spells in `from`, as bits of `to`: encode_value() of decode_value(), except
/// that cvt.rna.tf32.f32 keeps bits of a NaN. Errors: none.
MMAUDIT_HD constexpr std::uint64_t cast_bits(std::uint64_t stored, const FormatSpec& from,
                                             const FormatSpec& to, CastRule rule) {
  const double value = decode_value(stored, from);
  const bool nan_of_rna = value != value && from.id == Format::f32 && to.id == Format::tf32 &&
                          rule.rounding == CastRounding::nearest_away;
  return nan_of_rna ? rna_tf32_of_nan(static_cast<std::uint32_t>(stored), rule.saturate)
                    : encode_value(value, to, rule);
}

/// A rounding as PTX spells it.
struct NamedRounding {
  std::string_view name;
  CastRounding rounding;
};
inline constexpr NamedRounding kCastRoundings[] = {{"rn", CastRounding::nearest_even},
                                                   {"rz", CastRounding::toward_zero},
                                                   {"rna", CastRounding::nearest_away},
                                                   {"rp", CastRounding::toward_plus}};
/// nullopt for any other name. Host only.
constexpr std::optional<CastRounding> find_cast_rounding(std::string_view name) {
  for (const NamedRounding& one : kCastRoundings)
    if (one.name == name) return one.rounding;
  return std::nullopt;
}

}  // namespace mmaudit
