#pragma once
// The dot product itself, before any hardware touches it: the exact sum, and how far a D is from it.
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "mmaudit/model/instruction.hpp"

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

/// Scale bytes of a row of A and of a column of B, k / scale_block each; empty: every scale is 1.
struct ScaleSpans {
  std::span<const std::uint8_t> a, b;
};

/// What: the exact a . b + c, block-scaled with every element times its scale. Shapes: a and b hold
/// instruction.k elements, raw bits in storage width; c is raw bits of C's format. `modifiers` is a set of
/// Modifier bits. Of a sparse instruction a and `metadata` hold the stored elements. Errors: none.
ExactDot exact_dot(const Instruction& instruction, std::span<const std::uint64_t> a,
                   std::span<const std::uint64_t> b, std::uint64_t c, unsigned modifiers = 0,
                   ScaleSpans scales = {}, std::span<const std::uint8_t> metadata = {});

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
