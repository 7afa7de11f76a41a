#pragma once
// What a conversion did to a number, in the terms of IEEE 754-2019, part 7.
#include <cstdint>

#include "mmaudit/convert.hpp"

namespace mmaudit {

struct CastOutcome {
  bool nan = false;        ///< the source was NaN: nothing else is set
  bool overflow = false;   ///< beyond the largest number even with exponents that go on, or an infinity that
                           ///< did not stay one, or an integer that was clamped: nothing else is set
  bool exact = false;      ///< the result is the source; an infinity that stayed one counts
  bool underflow = false;  ///< a number that became zero
  bool subnormal = false;  ///< the result is subnormal; an integer never is
};

namespace detail {

/// outcome_of_cast() for integers, of a number that is not NaN.
MMAUDIT_HD constexpr CastOutcome outcome_of_integer(double value, double result, const FormatSpec& format,
                                                    CastRounding rounding) {
  // A signed integer with twice the range of either kind: what differs there was clamped.
  FormatSpec wider = format;
  wider.encoding = Encoding::signed_integer;
  wider.fraction_bits = static_cast<std::uint8_t>(format.fraction_bits + 2);
  CastOutcome outcome;
  outcome.exact = result == value;
  outcome.overflow = decode_integer(encode_integer(value, wider, rounding), wider) != result;
  outcome.underflow = !outcome.exact && !outcome.overflow && result == 0;
  return outcome;
}

}  // namespace detail

/// What: the outcome of encode_value(value, format, rule), which gave `bits`. Errors: none.
MMAUDIT_HD constexpr CastOutcome outcome_of_cast(double value, std::uint64_t bits, const FormatSpec& format,
                                                 CastRule rule) {
  CastOutcome outcome;
  if (value != value) {
    outcome.nan = true;
    return outcome;
  }
  const double result = decode_value(bits, format);
  if (format.integer()) return detail::outcome_of_integer(value, result, format, rule.rounding);
  outcome.exact = result == value;
  if (outcome.exact || format.id == Format::f64) {
    const std::uint64_t size = bits & format.magnitude_mask();
    outcome.subnormal = !format.no_zero && size >> format.ignored_low_bits != 0 &&
                        size >> (format.ignored_low_bits + format.fraction_bits) == 0;
    return outcome;
  }
  // The same format with one more exponent bit: where that goes past the largest number, it is overflow.
  FormatSpec wider = format;
  wider.exponent_bits = static_cast<std::uint8_t>(format.exponent_bits + 1);
  wider.specials = Specials::finite;
  rule.saturate = true;
  const std::uint64_t unbounded = encode_value(value, wider, rule) & wider.magnitude_mask();
  outcome.overflow = unbounded > format.max_finite_bits();
  if (outcome.overflow) return outcome;
  const std::uint64_t size = (bits & format.magnitude_mask()) >> format.ignored_low_bits;
  outcome.underflow = !format.no_zero && size == 0;
  outcome.subnormal = !format.no_zero && size != 0 && size >> format.fraction_bits == 0;
  return outcome;
}

/// Counts one more outcome; `counts` has a number for each, and for what is inexact.
template <typename Counts>
void count_outcome(const CastOutcome& x, Counts& counts) {
  counts.exact += x.exact ? 1U : 0U;
  counts.inexact += !x.exact && !x.overflow && !x.nan ? 1U : 0U;
  counts.overflow += x.overflow ? 1U : 0U;
  counts.nan += x.nan ? 1U : 0U;
  counts.underflow += x.underflow ? 1U : 0U;
  counts.subnormal += x.subnormal ? 1U : 0U;
}

}  // namespace mmaudit
