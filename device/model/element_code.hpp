#pragma once
// Elements of few bits by binary32 alone, with the bits of quantize.hpp's rules: what those compute in
// binary64 is either a product that binary32 has too, or lies between two numbers that round to the same
// element.
#include <cmath>
#include <cstdint>

#include "mmaudit/epilogue.hpp"
#include "mmaudit/quantize.hpp"

namespace mmaudit::device {

inline constexpr std::uint32_t kInfinityBits = 0x7F800000, kMagnitudeBits = 0x7FFFFFFF;

/// encode_value() of binary32 numbers, to the nearest: plain data, passed to kernels by value.
struct ElementCode {
  std::uint32_t dropped = 0, half = 0, rebias = 0, least = 0, most = 0, beyond = 0, nan = 0, sign = 0,
                low = 0;
  std::uint32_t magic_bits = 0;  ///< of a number whose last bit is the format's least number
  bool integer = false;

  static bool serves(const FormatSpec& to, const CastRule& cast) {
    return cast.rounding == CastRounding::nearest_even && has_ordered_codes(to) && to.storage_bits <= 16;
  }

  ElementCode(const FormatSpec& to, const CastRule& cast) : integer(to.integer()) {
    if (integer) return;
    const auto bits = [](float x) { return __builtin_bit_cast(std::uint32_t, x); };
    constexpr std::uint32_t kFraction = 23, kBias = 127;
    low = to.ignored_low_bits;
    dropped = kFraction - to.fraction_bits;
    half = (1U << (dropped - 1)) - 1;
    rebias = (kBias - static_cast<std::uint32_t>(to.bias)) << to.fraction_bits;
    least = bits(ldexpf(1.0F, to.min_exponent()));
    magic_bits = bits(ldexpf(1.0F, to.min_exponent() + static_cast<int>(dropped)));
    most = static_cast<std::uint32_t>(to.max_finite_bits()) >> low;
    nan = static_cast<std::uint32_t>(to.conversion_nan_bits());
    sign = static_cast<std::uint32_t>(to.sign_bit());
    beyond = cast.saturate                   ? most
             : to.specials == Specials::ieee ? static_cast<std::uint32_t>(to.infinity_bits()) >> low
                                             : nan >> low;
  }

  MMAUDIT_HD std::uint32_t operator()(float x) const {
    const auto bits = __builtin_bit_cast(std::uint32_t, x);
    const std::uint32_t size = bits & kMagnitudeBits;
    if (integer) {
      if (size > kInfinityBits) return 0;
      const float clamped = x > 127.0F ? 127.0F : x < -128.0F ? -128.0F : x;
      return static_cast<std::uint32_t>(static_cast<int>(rintf(clamped))) & 0xFFU;
    }
    // Below the least normal number the sum with a larger one rounds where the element ends.
    const float lifted = __builtin_bit_cast(float, size) + __builtin_bit_cast(float, magic_bits);
    std::uint32_t code = size < least ? __builtin_bit_cast(std::uint32_t, lifted) - magic_bits
                                      : ((size + half + (size >> dropped & 1)) >> dropped) - rebias;
    code = (code > most ? beyond : code) << low | (bits >> 31 != 0 ? sign : 0);
    return size > kInfinityBits ? nan : code;
  }
};

/// What numbers under one scale and factor are multiplied by, and what the product is to the element.
struct ElementTimes {
  enum How : std::uint32_t {
    product,  ///< what the element is rounded of
    about,    ///< within 2^-22.8 of it, if it isn't tiny, where every element is zero
    nothing   ///< unknown: element after element as quantize.hpp has it
  };
  float by = 0;
  How how = nothing;

  /// Of numbers that are divided by `whole` and rounded once to binary32 or binary64. Rounding twice changes
  /// no element: a quotient of 24 by 28 bits that isn't halfway between two elements is 2^-40 of itself away.
  MMAUDIT_HD static ElementTimes over(double whole, const QuantizeRule& rule) {
    const auto by = static_cast<float>(1 / whole);
    // Both factors have few bits, so this product is exact. Numbers that fall below binary32 become zero in
    // every format of less range; by 1 the others keep theirs.
    constexpr int kLeastExponent = -60;
    const bool narrow = rule.element.integer() || rule.element.min_exponent() > kLeastExponent;
    if (whole == 1 || (narrow && static_cast<double>(by) * whole == 1)) return {by, product};
    return {by, narrow && by >= 0x1p-100F && by <= 0x1p100F ? about : nothing};
  }
  /// `scale` is 1 and `factor` 1 where the rule has none.
  MMAUDIT_HD static ElementTimes under(const QuantizeRule& rule, double scale, float factor) {
    if (rule.division == Division::exact)
      return scale == 0 ? ElementTimes() : over(scale * static_cast<double>(factor), rule);
    const float by = multiplier(rule, scale, factor);
    return rule.divides() ? over(static_cast<double>(by), rule) : ElementTimes{by, product};
  }

  /// The element of x; false where it is unknown.
  MMAUDIT_HD bool element(float x, const ElementCode& code, bool plain_zero, std::uint32_t& out) const {
    const float y = detail::times(x, by);
    if (how == product) {
      out = code(plain_zero && y == 0 ? 0.0F : y);
      return true;
    }
    const std::uint32_t least = code(detail::times(y, 1 - 0x1p-21F));
    out = plain_zero && x == 0 ? code(0.0F) : least;
    // Whether a quotient became zero decides on a sign.
    const bool told = !plain_zero || x == 0 || !(fabsf(y) < 0x1p-100F);
    return how == about && told && least == code(detail::times(y, 1 + 0x1p-21F));
  }
};

}  // namespace mmaudit::device
