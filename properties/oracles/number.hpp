#pragma once
// The oracles' own reading and writing of number formats, in arbitrary precision.
#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>

#include "mmaudit/model/datapath.hpp"

namespace mmaudit::oracle {

using boost::multiprecision::cpp_int;

/// significand * 2^exponent, exactly.
struct Exact {
  cpp_int significand;
  int exponent = 0;
};

/// floor(log2 |x|) of a value that is not zero.
int leading_exponent(const Exact& x);

Exact plus(const Exact& x, const Exact& y);

Exact product_of(const Exact& x, const Exact& y);

/// How a datapath rounds the addends that it aligns.
Rounding rounding_of(Alignment alignment);

/// x as a whole number of 2^unit, rounded.
cpp_int in_units(const Exact& x, int unit, Rounding rounding);

struct Number {
  bool nan = false, infinite = false, negative = false;
  Exact value;      ///< finite numbers only
  int spelled = 0;  ///< the exponent that alignment uses
  [[nodiscard]] bool zero() const { return !nan && !infinite && value.significand == 0; }
};

/// Any bit pattern of a format; a subnormal has the exponent 1 - bias. `read_ignored_bits`: a NaN shows also
/// in the low bits that the format ignores.
Number decode(const FormatSpec& format, std::uint64_t bits, bool read_ignored_bits = false);

std::uint64_t signed_bits(const FormatSpec& format, bool negative, std::uint64_t bits);
std::uint64_t nan_of(const OutputRule& rule, const FormatSpec& format);
std::uint64_t infinity_of(const FormatSpec& format, bool negative);

/// A sum that is not zero, rounded once. `to_infinity`: what overflow gives; else the largest finite number
/// that the rule can make.
std::uint64_t encode(const Exact& sum, const OutputRule& rule, const FormatSpec& format, bool to_infinity);

}  // namespace mmaudit::oracle
