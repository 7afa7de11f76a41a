#pragma once
// The exact sum of a dot product, and how far a D is from it.
#include <cstdint>
#include <memory>
#include <string>

#include "mmaudit/dot_case.hpp"

namespace mmaudit::oracle {

/// The exact sum; opaque.
struct ExactSum;

/// a . b + c (of single bits under xor, the count of the k where they differ) over the numbers that the bit
/// patterns spell (ignored low bits are not read), by IEEE 754 rules for NaN and infinity.
struct ExactDot {
  bool finite = false;   ///< neither NaN nor infinite
  double value = 0;      ///< nearest binary64 (ties to even), or NaN, or an infinity; a zero sum is +0
  double magnitude = 0;  ///< |a| . |b| + |c|, nearest binary64: what the rounding errors scale with
  std::string decimal;   ///< at most 40 significant digits, trailing zeros removed; "nan", "inf", "-inf"
  bool decimal_is_exact = true;         ///< false: the decimal was rounded (to nearest) at 40 digits
  std::shared_ptr<const ExactSum> sum;  ///< null unless finite
};

/// What: the exact a . b + c of `dot`, block-scaled with every element times its scale. Empty scales are 1.
/// Errors: none.
ExactDot exact_dot(const Instruction& instruction, const DotCase& dot);

/// |d - exact| / |exact|, nearest binary64. 0 when d is what the exact result is (both NaN, the same
/// infinity, both zero); NaN when only one is NaN; infinite when an exact zero came out as something else or
/// only one is infinite.
double relative_error(const ExactDot& exact, double d);

/// (D - exact) in units in the last place of D's format at the exact value (the least subnormal's for values
/// below the least normal number): +-0.5 and less is correctly rounded, a negative error of a positive value
/// was cut off. `d` is raw bits. Special cases as in relative_error(), signed.
double error_in_ulps(const ExactDot& exact, std::uint64_t d, Format format);

/// Of floating formats: the exact value rounded once to nearest even, raw bits in storage width; overflow
/// gives infinity, in a format without one NaN. NaN is every bit below the sign (0x7FFFFFFF in binary32).
std::uint64_t correctly_rounded(const ExactDot& exact, Format format);

}  // namespace mmaudit::oracle
