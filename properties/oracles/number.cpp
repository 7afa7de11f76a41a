#include "number.hpp"

#include <algorithm>

namespace mmaudit::oracle {

int leading_exponent(const Exact& x) {
  return static_cast<int>(msb(cpp_int(abs(x.significand)))) + x.exponent;
}

Exact plus(const Exact& x, const Exact& y) {
  const int exponent = std::min(x.exponent, y.exponent);
  return {(x.significand << (x.exponent - exponent)) + (y.significand << (y.exponent - exponent)), exponent};
}

Exact product_of(const Exact& x, const Exact& y) {
  return {x.significand * y.significand, x.exponent + y.exponent};
}

Rounding rounding_of(Alignment alignment) {
  if (alignment == Alignment::truncate_magnitude) return Rounding::toward_zero;
  return alignment == Alignment::nearest_even ? Rounding::nearest_even : Rounding::down;
}

cpp_int in_units(const Exact& x, int unit, Rounding rounding) {
  if (x.exponent >= unit) return x.significand << (x.exponent - unit);
  if (x.significand == 0) return 0;
  const bool negative = x.significand < 0;
  const cpp_int whole = abs(x.significand);
  // What stands below the unit: whether anything does, and where it lies to one half.
  const auto cut = static_cast<std::size_t>(unit - x.exponent);
  const std::size_t lowest = lsb(whole);
  const bool inexact = lowest < cut, half_set = bit_test(whole, static_cast<unsigned>(cut - 1));
  cpp_int quotient = whole >> cut;
  const bool above_half = half_set && lowest < cut - 1, at_half = half_set && lowest == cut - 1;
  const bool away =
      inexact && ((rounding == Rounding::up && !negative) || (rounding == Rounding::down && negative) ||
                  (rounding == Rounding::nearest_even && (above_half || (at_half && bit_test(quotient, 0)))));
  if (away) ++quotient;
  if (negative) quotient = -quotient;
  return quotient;
}

Number decode(const FormatSpec& format, std::uint64_t bits, bool read_ignored_bits) {
  const int p = format.fraction_bits;
  const std::uint64_t ignored = bits % (1ULL << format.ignored_low_bits);
  const std::uint64_t read = bits >> format.ignored_low_bits;
  const std::uint64_t fraction = read % (1ULL << p);
  const std::uint64_t largest_field = (1ULL << format.exponent_bits) - 1;
  const std::uint64_t field = (read >> p) % (largest_field + 1);
  Number x;
  x.negative = !format.signless && (read >> (p + format.exponent_bits)) % 2 == 1;
  if (format.specials == Specials::nan_at_minus_zero && x.negative && field == 0 && fraction == 0) {
    x.nan = true;
    return x;
  }
  if (field == largest_field) {
    if (format.specials == Specials::nan_only) {
      x.nan = fraction == (1ULL << p) - 1;
    } else if (format.specials == Specials::ieee) {
      x.nan = fraction != 0 || (read_ignored_bits && ignored != 0);
      x.infinite = !x.nan;
    }
    if (x.nan || x.infinite) return x;
  }
  const bool normal = field != 0 || format.no_zero;
  const int exponent = (normal ? static_cast<int>(field) : 1) - format.bias;
  x.value = {cpp_int(normal ? fraction + (1ULL << p) : fraction), exponent - p};
  if (x.negative) x.value.significand = -x.value.significand;
  x.spelled = exponent;
  return x;
}

std::uint64_t signed_bits(const FormatSpec& format, bool negative, std::uint64_t bits) {
  return bits + (negative ? 1ULL << (format.storage_bits - 1) : 0);
}

std::uint64_t nan_of(const OutputRule& rule, const FormatSpec& format) {
  const std::uint64_t infinity = ((1ULL << format.exponent_bits) - 1) << format.fraction_bits;
  if (rule.nan == NanRule::ieee_quiet) return infinity + (1ULL << (format.fraction_bits - 1));
  return infinity + (1ULL << format.fraction_bits) - 1;
}

std::uint64_t infinity_of(const FormatSpec& format, bool negative) {
  return signed_bits(format, negative, ((1ULL << format.exponent_bits) - 1) << format.fraction_bits);
}

std::uint64_t encode(const Exact& sum, const OutputRule& rule, const FormatSpec& format, bool to_infinity) {
  const int p = rule.fraction_bits;
  const bool negative = sum.significand < 0;
  int exponent = std::max(leading_exponent(sum), format.min_exponent());
  // At most 2^(p + 1), and p is at most 52.
  auto units = static_cast<std::uint64_t>(cpp_int(abs(in_units(sum, exponent - p, rule.rounding))));
  if (units == 0) return signed_bits(format, negative && rule.zero_sign != ZeroSign::plus, 0);
  if (units == 1ULL << (p + 1)) {
    units /= 2;
    ++exponent;
  }
  const bool subnormal = units < 1ULL << p;
  if (subnormal && rule.flush_subnormals) return signed_bits(format, negative, 0);
  if (exponent > format.max_exponent()) {
    if (to_infinity) return infinity_of(format, negative);
    exponent = format.max_exponent();
    units = (1ULL << (p + 1)) - 1;
  }
  const auto field = static_cast<std::uint64_t>(subnormal ? 0 : exponent + format.bias);
  const std::uint64_t fraction = units % (1ULL << p);
  return signed_bits(format, negative,
                     (field << format.fraction_bits) + (fraction << (format.fraction_bits - p)));
}

}  // namespace mmaudit::oracle
