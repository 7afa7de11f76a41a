#pragma once
// encode_value() for what most elements are: numbers whose result is normal, without a branch that depends on
// their bits.
#include <bit>
#include <cstdint>

#include "mmaudit/convert.hpp"

namespace mmaudit::report {

class FastCast {
 public:
  FastCast(const FormatSpec& format, CastRule rule)
      : format_(format),
        rule_(rule),
        shift_(detail::kDoubleFraction - format.fraction_bits),
        ignored_(format.ignored_low_bits),
        most_(format.max_finite_bits() >> format.ignored_low_bits),
        sign_(format.sign_bit()) {
    const std::uint64_t half = std::uint64_t{1} << (shift_ - 1);
    if (rule.rounding == CastRounding::nearest_even) add_ = half - 1, odd_ = 1;
    if (rule.rounding == CastRounding::nearest_away) add_ = half;
    least_ = static_cast<std::uint64_t>(format.min_exponent() + detail::kDoubleBias)
             << detail::kDoubleFraction;
    rebias_ = static_cast<std::uint64_t>(detail::kDoubleBias - format.bias) << format.fraction_bits;
    simple_ = rule.rounding != CastRounding::toward_plus && !format.signless && !format.integer();
  }

  /// The bits of encode_value(x, format, rule).
  [[nodiscard]] std::uint64_t operator()(double x) const {
    const auto bits = std::bit_cast<std::uint64_t>(x);
    const std::uint64_t size = bits & ~(std::uint64_t{1} << 63);
    const std::uint64_t code = ((size + add_ + (size >> shift_ & odd_)) >> shift_) - rebias_;
    if (!simple_ || size < least_ || code > most_) return encode_value(x, format_, rule_);
    return code << ignored_ | (bits >> 63 != 0 ? sign_ : 0);
  }

 private:
  FormatSpec format_;
  CastRule rule_;
  int shift_, ignored_;
  std::uint64_t most_, sign_, add_ = 0, odd_ = 0, least_ = 0, rebias_ = 0;
  bool simple_ = false;
};

}  // namespace mmaudit::report
