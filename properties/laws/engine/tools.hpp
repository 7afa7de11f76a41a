#pragma once
// What several laws need: values, exponents and roundings in plain binary64, which holds every quantity they
// speak of exactly. Nothing of the model's arithmetic.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include "mmaudit/convert.hpp"
#include "mmaudit/laws/law.hpp"

namespace mmaudit::laws {

#include "law_declarations.hpp"

inline std::string fused_only(const Subject& subject) {
  return subject.fused() ? "" : "steps of products aligned to one exponent only";
}
inline std::string fused_single_format(const Subject& subject) {
  if (!subject.fused()) return fused_only(subject);
  return subject.spec.converts ? "c or D is converted beside the steps" : "";
}

/// Exponent that a number's field spells: of a subnormal or zero the least normal one.
inline int field_exponent(std::uint64_t bits, const FormatSpec& format) {
  const int shift = format.fraction_bits + format.ignored_low_bits;
  const auto field = static_cast<int>((bits & format.magnitude_mask()) >> shift);
  return (field == 0 && !format.no_zero ? 1 : field) - format.bias;
}

inline double value_of(std::uint64_t bits, const FormatSpec& format) { return decode_value(bits, format); }

/// A factor as the datapath sees it: a narrow one may be widened first, which makes its subnormals normal.
inline int factor_exponent(const Subject& subject, std::uint64_t bits, const FormatSpec& format) {
  if (subject.spec.wide.id == Format::none) return field_exponent(bits, format);
  const double value = std::fabs(value_of(bits, format));
  const int own = value == 0 ? -10000 : std::ilogb(value);
  return std::max(own, static_cast<int>(subject.spec.wide.min_exponent()));
}

struct Product {
  double value = 0;
  int exponent = 0;      ///< e(a) + e(b)
  bool special = false;  ///< a factor is NaN or infinite
};

inline double signed_by(bool negate, double x) { return negate ? -x : x; }

/// The value of a scale byte; bits that its format leaves free are not read.
inline double scale_value(std::uint8_t bits, const FormatSpec& format) {
  return value_of(bits & format.magnitude_mask(), format);
}

/// The two scales of k: their product, exact, and the sum of their exponents; 1 and 0 where there are none.
struct ScalePair {
  double value = 1;
  int exponent = 0;
};
inline ScalePair scales_at(const Case& at, int k) {
  if (at.tile.scale_a.empty()) return {};
  const FormatSpec& format = at.subject.spec.scale;
  const int block = at.tile.block_of(k);
  const std::uint8_t a = at.tile.at_scale_a(at.row, block), b = at.tile.at_scale_b(block, at.col);
  return {scale_value(a, format) * scale_value(b, format),
          field_exponent(a, format) + field_exponent(b, format)};
}

/// Product k of element (row, col) with its scales, exact (not for binary64).
inline Product product_of(const Case& at, int k) {
  const std::uint64_t a = at.tile.at_a(at.row, k), b = at.tile.met_b(at.row, k, at.col);
  const double x = signed_by((at.tile.modifiers & kNegateA) != 0, value_of(a, at.subject.a()));
  const double y = signed_by((at.tile.modifiers & kNegateB) != 0, value_of(b, at.subject.b()));
  const ScalePair scales = scales_at(at, k);
  return {x * y * scales.value,
          factor_exponent(at.subject, a, at.subject.a()) + factor_exponent(at.subject, b, at.subject.b()) +
              scales.exponent,
          !std::isfinite(x) || !std::isfinite(y) || !std::isfinite(scales.value)};
}

/// What relates tiles whose D is to be the same says no more.
inline LawVerdict same_as_related(const Case& at) {
  return equal_bits(at.related[0].at_d(at.row, at.col), at.d());
}

/// c as it enters, 0 where a modifier drops it.
inline std::uint64_t entering_c(const Case& at) {
  return (at.tile.modifiers & kScaleDZero) != 0 ? 0 : at.c();
}

/// `x` cut to a multiple of 2^exponent, toward zero.
inline double cut(double x, int exponent) {
  return std::ldexp(std::trunc(std::ldexp(x, -exponent)), exponent);
}

/// The addends of a step, each cut off at 2^(E - F), added.
struct AlignedSum {
  double sum = 0;  ///< exact
  int products = 0;
  bool c = false;  ///< c is one of them
};
/// nullopt: an addend is NaN or infinite, or they are of several steps, or c comes last.
std::optional<AlignedSum> aligned_sum(const Case& at);

/// +-2^e as element k of a row of A times element k of a column of B, as near as the formats have it, with
/// subnormal factors; b's part near 2^of_b.
void put_power(const Subject& subject, Tile& tile, int k, int e, int of_b, bool negative);

/// The bits that `x` (exact) has after the one rounding of the datapath's output. Zero is +0.
inline std::uint64_t rounded_output(const Subject& subject, double x) {
  const FormatSpec d = subject.d();
  if (x == 0) return 0;
  const OutputRule& rule = subject.datapath.output;
  const int exponent = std::max(std::ilogb(x), d.min_exponent());
  const int unit = exponent - rule.fraction_bits;
  const double scaled = std::ldexp(std::fabs(x), -unit);
  const double kept = rule.rounding == Rounding::toward_zero ? std::floor(scaled) : std::nearbyint(scaled);
  if (kept == 0) return 0;
  const double result = std::ldexp(kept, unit);
  const double largest = value_of(d.max_finite_bits(), d);
  if (result > largest) return (x < 0 ? d.sign_bit() : 0) | d.infinity_bits();
  return encode_value(x < 0 ? -result : result, d);
}

inline bool is_nan(std::uint64_t bits, const FormatSpec& format) {
  return std::isnan(value_of(bits, format));
}
inline bool is_finite(std::uint64_t bits, const FormatSpec& format) {
  return std::isfinite(value_of(bits, format));
}
inline bool is_zero(std::uint64_t bits, const FormatSpec& format) {
  return (bits & format.magnitude_mask()) >> format.ignored_low_bits == 0;
}

/// A finite number with the exponent `exponent` (cut to the format's range) and a random significand.
inline std::uint64_t random_number(Draws& random, const FormatSpec& format, int exponent) {
  const int low = format.min_exponent() - 1, high = format.max_exponent();
  const int field = std::clamp(exponent, low, high) + format.bias;
  const std::uint64_t fraction = random.next() & ((std::uint64_t{1} << format.fraction_bits) - 1);
  std::uint64_t bits = (static_cast<std::uint64_t>(field) << format.fraction_bits) | fraction;
  bits <<= format.ignored_low_bits;
  if (bits > format.max_finite_bits()) bits = format.max_finite_bits();
  return bits | (random.one_in(2) ? format.sign_bit() : 0);
}

/// +2^exponent; the format holds it.
inline std::uint64_t power_of_two_bits(const FormatSpec& format, int exponent) {
  return encode_value(std::ldexp(1.0, exponent), format);
}

inline int random_exponent(Draws& random, const FormatSpec& format) {
  return random.between(format.min_exponent() - 1, format.max_exponent());
}

/// Any integer of the format.
inline std::uint64_t random_integer(Draws& random, const FormatSpec& format) {
  return random.next() & ((std::uint64_t{1} << format.value_bits()) - 1);
}

/// Scales of `block` for every row and column whose product is 2^exponent, as near as the format has it.
void put_scales(Draws& random, Tile& tile, int block, int exponent);

/// One choice of positions for all rows of a sparse tile, and numbers that no step rounds away: exponents of
/// `lowest` to 4.
void fill_alike(const Subject& subject, Draws& random, int lowest, Tile& tile);

/// A dense instruction of depth k, not the subject's own operation, that computes the subject's formats by
/// the subject's rules.
std::optional<Instruction> dense_twin(const Subject& subject, int k);

/// The rows and columns of `tile` that `to` has too, over the elements of B that row 0 meets.
Tile corner_of(const Tile& tile, const Instruction& to);

}  // namespace mmaudit::laws
