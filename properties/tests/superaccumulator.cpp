// Two more oracles of exact sums: integers of any size, formats read and written as the reference does; and
// MPFR, told precision and range of the format.
#include <algorithm>
#include <cmath>
#include <vector>

#include "../oracles/exact_sum.hpp"
#include "../oracles/number.hpp"
#include "../oracles/reference_parts.hpp"
#include "opinions.hpp"

namespace mmaudit::oracle {
namespace {

/// A product of numbers, with IEEE 754 rules for what is not finite.
struct Factors {
  bool nan = false, infinite = false, negative = false;
  Exact value{1, 0};

  void times(const Number& x) {
    const bool zero = !infinite && value.significand == 0;
    nan = nan || x.nan || (infinite && x.zero()) || (x.infinite && zero);
    infinite = infinite || x.infinite;
    negative = negative != x.negative;
    if (x.nan || x.infinite) return;
    value = product_of(value, x.value);
  }
};

}  // namespace

std::uint64_t rounded_by_integers(const Instruction& instruction, const DotCase& dot, Format format) {
  const FormatSpec of_a = spec_of(instruction.a), of_b = spec_of(instruction.b), to = spec_of(format);
  const FormatSpec of_scale = spec_of(instruction.scale);
  std::vector<std::uint64_t> met = dot.b;
  bool spoilt = false;
  if (!dot.metadata.empty())
    met = met_by_stored(instruction, MetadataRule::selected, dot.b, dot.metadata, spoilt);
  std::vector<Factors> terms;
  for (std::size_t k = 0; k < dot.a.size(); ++k) {
    Factors& term = terms.emplace_back();
    term.times(decode(of_a, dot.a[k]));
    term.times(decode(of_b, met[k]));
    if (((dot.modifiers & kNegateA) != 0) != ((dot.modifiers & kNegateB) != 0)) {
      term.negative = !term.negative;
      term.value.significand = -term.value.significand;
    }
    for (const auto* bytes : {&dot.scale_a, &dot.scale_b})
      if (!bytes->empty())
        term.times(decode(of_scale, (*bytes)[k / static_cast<std::size_t>(products_per_scale(instruction))]));
  }
  if ((dot.modifiers & kScaleDZero) == 0) terms.emplace_back().times(decode(spec_of(instruction.c), dot.c));

  bool nan = false, plus_infinity = false, minus_infinity = false;
  int unit = 0;
  for (const Factors& term : terms) {
    nan = nan || term.nan;
    plus_infinity = plus_infinity || (term.infinite && !term.negative);
    minus_infinity = minus_infinity || (term.infinite && term.negative);
    unit = std::min(unit, term.value.exponent);
  }
  const std::uint64_t no_number = to.conversion_nan_bits();
  if (nan || (plus_infinity && minus_infinity)) return no_number;
  const bool has_infinity = to.specials == Specials::ieee;
  const auto beyond = [&](bool negative) {
    return has_infinity ? infinity_of(to, negative) << to.ignored_low_bits
                        : no_number | (negative ? to.sign_bit() : 0);
  };
  if (plus_infinity || minus_infinity) return beyond(minus_infinity);
  cpp_int accumulator = 0;
  for (const Factors& term : terms) accumulator += term.value.significand << (term.value.exponent - unit);
  if (accumulator == 0) return 0;
  OutputRule rule;
  rule.format = format;
  rule.fraction_bits = to.fraction_bits;
  rule.rounding = Rounding::nearest_even;
  rule.zero_sign = ZeroSign::ieee;
  const bool negative = accumulator < 0;
  const std::uint64_t sign = negative ? to.sign_bit() : 0;
  // encode() puts the sign on top of the storage; here it goes on top of the value.
  const std::uint64_t magnitude = encode({abs(accumulator), unit}, rule, to, true) << to.ignored_low_bits;
  return magnitude > to.max_finite_bits() ? beyond(negative) : sign | magnitude;
}

namespace {

/// MPFR's range of exponents, put back in the end.
class ExponentRange {
 public:
  ExponentRange(mpfr_exp_t least, mpfr_exp_t most) : least_(mpfr_get_emin()), most_(mpfr_get_emax()) {
    mpfr_set_emin(least);
    mpfr_set_emax(most);
  }
  ExponentRange(const ExponentRange&) = delete;
  ExponentRange& operator=(const ExponentRange&) = delete;
  ~ExponentRange() {
    mpfr_set_emin(least_);
    mpfr_set_emax(most_);
  }

 private:
  mpfr_exp_t least_, most_;
};

}  // namespace

std::uint64_t rounded_by_mpfr(const ExactDot& exact, Format format) {
  const FormatSpec spec = spec_of(format);
  const std::uint64_t nan = spec.conversion_nan_bits();
  const std::uint64_t beyond = spec.specials == Specials::ieee ? spec.infinity_bits() : nan;
  if (std::isnan(exact.value)) return nan;
  if (!exact.finite) return beyond | (exact.value < 0 ? spec.sign_bit() : 0);
  const int p = spec.fraction_bits;
  Big number(p + 1);
  {  // significands lie in [1/2, 1)
    const ExponentRange range(spec.min_exponent() - p + 1, spec.max_exponent() + 1);
    const int inexact = mpfr_set(number.get(), exact.sum->value->get(), MPFR_RNDN);
    mpfr_subnormalize(number.get(), mpfr_check_range(number.get(), inexact, MPFR_RNDN), MPFR_RNDN);
  }
  const double value = mpfr_get_d(number.get(), MPFR_RNDN);  // exact
  if (value == 0)
    return mpfr_zero_p(exact.sum->value->get()) == 0 && mpfr_signbit(number.get()) != 0 ? spec.sign_bit() : 0;
  const std::uint64_t sign = value < 0 ? spec.sign_bit() : 0;
  if (std::isinf(value)) return sign | beyond;
  const int exponent = std::max(std::ilogb(value), spec.min_exponent());
  const auto units = static_cast<std::uint64_t>(std::ldexp(std::fabs(value), p - exponent));
  const std::uint64_t code =
      units < std::uint64_t{1} << p
          ? units
          : (static_cast<std::uint64_t>(exponent + spec.bias) << p) + units - (std::uint64_t{1} << p);
  const std::uint64_t bits = code << spec.ignored_low_bits;
  return sign | (bits > spec.max_finite_bits() ? beyond : bits);
}

Opinions opinions_of(const Instruction& instruction, const DotCase& dot) {
  const ExactDot exact = exact_dot(instruction, dot);
  return {correctly_rounded(exact, instruction.d), rounded_by_mpfr(exact, instruction.d),
          rounded_by_integers(instruction, dot, instruction.d)};
}

}  // namespace mmaudit::oracle
