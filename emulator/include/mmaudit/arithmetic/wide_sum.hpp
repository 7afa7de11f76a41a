#pragma once
// A sum that loses nothing: a fixed-point number wide enough for every product of two binary32 numbers.
#include <cstdint>

#include "mmaudit/arithmetic/round.hpp"

namespace mmaudit {

/// Two's complement in units of 2^kLeastExponent. Source: 2^-298 is the least product of two binary32
/// numbers, 64 of the largest are below 2^262, and the sign takes one bit more.
class WideSum {
 public:
  /// Adds significand * 2^exponent; |significand| below 2^62, exponent from kLeastExponent to 208.
  MMAUDIT_HD constexpr void add(std::int64_t significand, int exponent) {
    if (significand == 0) return;
    const bool negative = significand < 0;
    const std::uint64_t x = magnitude(significand);
    const int at = exponent - kLeastExponent, shift = at % 64;
    const std::uint64_t parts[2] = {x << shift, shift == 0 ? 0 : x >> (64 - shift)};
    std::uint64_t carry = 0;
    for (int word = at / 64, part = 0; word < kWords; ++word, ++part) {
      if (part >= 2 && carry == 0) break;
      const std::uint64_t before = words_[word], term = part < 2 ? parts[part] : 0;
      const std::uint64_t once = negative ? before - term : before + term;
      words_[word] = negative ? once - carry : once + carry;
      carry = negative ? (once > before || words_[word] > once ? 1 : 0)
                       : (once < before || words_[word] < once ? 1 : 0);
    }
  }

  /// Bits of the sum, rounded once. `negative_zero`: whether every addend was -0.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint64_t rounded(const OutputRule& rule, const FormatSpec& format,
                                                           bool negative_zero) const {
    std::uint64_t words[kWords] = {};
    const bool negative = (words_[kWords - 1] >> 63) != 0;
    std::uint64_t carry = negative ? 1 : 0;
    int top = -1;
    for (int i = 0; i < kWords; ++i) {
      words[i] = (negative ? ~words_[i] : words_[i]) + carry;
      carry = carry != 0 && words[i] == 0 ? 1 : 0;
      if (words[i] != 0) top = i;
    }
    if (top < 0) return round_to_output(0, false, 0, rule, format, negative_zero);
    // 62 bits from the leading one down, and whether anything lies below.
    const int leading = 64 * top + floor_log2(words[top]), lowest = leading > 61 ? leading - 61 : 0;
    const int shift = lowest % 64;
    std::uint64_t x = words[lowest / 64] >> shift;
    if (shift != 0 && lowest / 64 + 1 < kWords) x |= words[lowest / 64 + 1] << (64 - shift);
    bool below = shift != 0 && (words[lowest / 64] << (64 - shift)) != 0;
    for (int i = 0; i < lowest / 64; ++i) below = below || words[i] != 0;
    return round_to_output(x | (below ? 1 : 0), negative, lowest + kLeastExponent, rule, format);
  }

 private:
  static constexpr int kWords = 9, kLeastExponent = -300;
  std::uint64_t words_[kWords] = {};
};

}  // namespace mmaudit
