#pragma once
// The conversions of loops over many numbers on the host: encode_value() for what most elements are, numbers
// whose result is normal, without a branch that depends on their bits; and decode_value() of formats that the
// machine has.
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {

class FastCast {
 public:
  FastCast(const FormatSpec& format, CastRule rule)
      : format_(format),
        rule_(rule),
        shift_(detail::kDoubleFraction - format.fraction_bits),
        ignored_(format.ignored_low_bits),
        most_(format.max_finite_bits() >> format.ignored_low_bits),
        sign_(format.sign_bit()) {
    const std::uint64_t half = shift_ > 0 ? std::uint64_t{1} << (shift_ - 1) : 0;
    if (rule.rounding == CastRounding::nearest_even) add_ = half - 1, odd_ = 1;
    if (rule.rounding == CastRounding::nearest_away) add_ = half;
    least_ = static_cast<std::uint64_t>(format.min_exponent() + detail::kDoubleBias)
             << detail::kDoubleFraction;
    rebias_ = static_cast<std::uint64_t>(detail::kDoubleBias - format.bias) << format.fraction_bits;
    simple_ =
        shift_ > 0 && rule.rounding != CastRounding::toward_plus && !format.signless && !format.integer();
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

/// decode_value(); of at most 8 bits the numbers are looked up.
class FastDecode {
 public:
  explicit FastDecode(const FormatSpec& format) : format_(format) {
    for (std::uint64_t bits = 0; format.storage_bits == 8 && bits < 256; ++bits)
      table_.push_back(decode_value(bits, format));
  }

  [[nodiscard]] double operator()(std::uint64_t bits) const {
    if (!table_.empty()) return table_[bits];
    double x = 0;
    switch (format_.id) {
      case Format::f64:
        x = std::bit_cast<double>(bits);
        break;
      case Format::f32:
        x = float_of(bits);
        break;
      case Format::bf16:
        x = float_of(bits << 16);
        break;
      default:
        return decode_value(bits, format_);
    }
    return x == x ? x : std::numeric_limits<double>::quiet_NaN();
  }
  /// Element `index` of `elements`.
  [[nodiscard]] double at(const void* elements, std::uint64_t index) const {
    switch (format_.storage_bits) {  // of a known width the copy is fast
      case 8:
        return (*this)(load_word(elements, 1, index));
      case 16:
        return (*this)(load_word(elements, 2, index));
      case 32:
        return (*this)(load_word(elements, 4, index));
      default:
        return (*this)(load_word(elements, 8, index));
    }
  }

 private:
  static double float_of(std::uint64_t bits) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  FormatSpec format_;
  std::vector<double> table_;
};

/// What: `count` elements of `from` as elements of `to`, cast_bits() each; each(value, bits) is called with
/// the number that was and the bits that it became. `result` may be `source` where the two are as wide.
template <typename Each>
void cast_elements(const void* source, const FormatSpec& from, void* result, const FormatSpec& to,
                   CastRule rule, std::uint64_t count, const Each& each) {
  const FastDecode decode(from);
  const FastCast cast(to, rule);
  for (std::uint64_t i = 0; i < count; ++i) {
    const double value = decode.at(source, i);
    // A NaN may keep bits of its own.
    const std::uint64_t bits =
        value == value ? cast(value) : cast_bits(load_word(source, from.storage_bytes(), i), from, to, rule);
    store_word(result, to.storage_bytes(), i, bits);
    each(value, bits);
  }
}

}  // namespace mmaudit
