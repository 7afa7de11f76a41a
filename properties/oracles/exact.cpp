#include "mmaudit/oracles/exact.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "exact_sum.hpp"
#include "mmaudit/convert.hpp"

namespace mmaudit::oracle {
namespace {

constexpr int kDecimalDigits = 40;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Terms = std::vector<std::unique_ptr<Big>>;

/// A precision in which every partial sum of the terms is exact.
mpfr_prec_t exact_precision(const Terms& terms) {
  mpfr_exp_t highest = 0, lowest = 0;
  bool first = true;
  for (const auto& term : terms) {
    if (mpfr_regular_p(term->get()) == 0) continue;
    const mpfr_exp_t top = mpfr_get_exp(term->get());
    const mpfr_exp_t bottom = top - static_cast<mpfr_exp_t>(mpfr_min_prec(term->get()));
    highest = first ? top : std::max(highest, top);
    lowest = first ? bottom : std::min(lowest, bottom);
    first = false;
  }
  return highest - lowest + 64;
}

std::unique_ptr<Big> sum_of(const Terms& terms) {
  auto sum = std::make_unique<Big>(exact_precision(terms));
  std::vector<mpfr_ptr> pointers;
  for (const auto& term : terms) pointers.push_back(term->get());
  mpfr_sum(sum->get(), pointers.data(), pointers.size(), MPFR_RNDN);
  return sum;
}

std::string decimal_of(mpfr_srcptr x, bool& exact) {
  exact = true;
  if (mpfr_zero_p(x) != 0) return "0";
  mpfr_exp_t point = 0;
  char* raw = mpfr_get_str(nullptr, &point, 10, kDecimalDigits, x, MPFR_RNDN);
  std::string digits = raw;
  mpfr_free_str(raw);
  std::string text;
  if (digits.front() == '-') {
    text = "-";
    digits.erase(0, 1);
  }
  digits.erase(digits.find_last_not_of('0') + 1);
  const auto count = static_cast<mpfr_exp_t>(digits.size());
  // Plain where that is short, else scientific.
  if (point > -5 && point <= 0) {
    text += "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  } else if (point > 0 && point <= 21) {
    if (count <= point) {
      text += digits + std::string(static_cast<std::size_t>(point - count), '0');
    } else {
      text += digits.substr(0, static_cast<std::size_t>(point)) + "." +
              digits.substr(static_cast<std::size_t>(point));
    }
  } else {
    text += digits.substr(0, 1);
    if (count > 1) text += "." + digits.substr(1);
    text += "e" + std::to_string(point - 1);
  }
  // It is exact when it reads back to x in x's own precision without rounding.
  Big back(mpfr_get_prec(x));
  char* end = nullptr;
  const int inexact = mpfr_strtofr(back.get(), text.c_str(), &end, 10, MPFR_RNDN);
  exact = inexact == 0 && mpfr_equal_p(back.get(), x) != 0;
  return text;
}

/// Exponent of one unit in the last place of `format` at x, which is not zero.
int unit_exponent(mpfr_srcptr x, const FormatSpec& format) {
  const int leading = static_cast<int>(mpfr_get_exp(x)) - 1;  // MPFR's significands lie in [1/2, 1)
  return std::max(leading, format.min_exponent()) - format.fraction_bits;
}

/// d - exact, exactly; both finite.
std::unique_ptr<Big> difference(const ExactDot& exact, double d) {
  Terms terms;
  terms.push_back(std::make_unique<Big>(mpfr_get_prec(exact.sum->value->get())));
  mpfr_neg(terms.back()->get(), exact.sum->value->get(), MPFR_RNDN);
  terms.push_back(std::make_unique<Big>(53));
  mpfr_set_d(terms.back()->get(), d, MPFR_RNDN);
  return sum_of(terms);
}

bool settled_by_specials(const ExactDot& exact, double d, double& error) {
  if (exact.finite && std::isfinite(d)) return false;
  if (std::isnan(exact.value) || std::isnan(d)) {
    error = std::isnan(exact.value) && std::isnan(d) ? 0 : kNan;
  } else if (!exact.finite && exact.value == d) {
    error = 0;
  } else {
    error = std::isinf(d) ? d : -exact.value;
  }
  return true;
}

}  // namespace

ExactDot exact_dot(const Instruction& instruction, const DotCase& dot) {
  // Every format is a subset of binary64, which MPFR reads; a product of two of them has at most 106 bits.
  Terms terms, magnitudes;
  const auto add = [&](double x, double y, double scale_x = 1, double scale_y = 1) {
    terms.push_back(std::make_unique<Big>(106));
    mpfr_set_d(terms.back()->get(), x, MPFR_RNDN);
    // What has scales is narrow: four factors together have far fewer bits than two of binary64.
    for (const double factor : {y, scale_x, scale_y})
      mpfr_mul_d(terms.back()->get(), terms.back()->get(), factor, MPFR_RNDN);
    magnitudes.push_back(std::make_unique<Big>(106));
    mpfr_abs(magnitudes.back()->get(), terms.back()->get(), MPFR_RNDN);
  };
  const auto value = [](Format format, std::uint64_t bits) { return decode_value(bits, spec_of(format)); };
  const double sign_a = (dot.modifiers & kNegateA) != 0 ? -1.0 : 1.0;
  const double sign_b = (dot.modifiers & kNegateB) != 0 ? -1.0 : 1.0;
  // A stored element stands in the group of its index; there are half as many as rows of B.
  const auto depth = static_cast<std::size_t>(instruction.k);
  const bool pairs = instruction.a == Format::s4 || instruction.a == Format::u4 ||
                     instruction.kind == MmaKind::mxf4 || instruction.kind == MmaKind::mxf4nvf4;
  const std::size_t group = instruction.a == Format::tf32 ? 2 : pairs ? 8 : 4;
  for (std::size_t k = 0; k < (dot.metadata.empty() ? depth : depth / 2); ++k) {
    const std::size_t met = dot.metadata.empty() ? k : 2 * k / group * group + dot.metadata[k];
    const double x = sign_a * value(instruction.a, dot.a[k]), y = sign_b * value(instruction.b, dot.b[met]);
    const auto scale = [&](const std::vector<std::uint8_t>& bytes) {
      if (bytes.empty()) return 1.0;
      return value(instruction.scale, bytes[met / static_cast<std::size_t>(instruction.scale_block)]);
    };
    if (instruction.multiply == Multiply::xor_popc)
      add(x != y ? 1.0 : 0.0, 1.0);
    else
      add(x, y, scale(dot.scale_a), scale(dot.scale_b));
  }
  if ((dot.modifiers & kScaleDZero) == 0) add(value(instruction.c, dot.c), 1.0);

  ExactDot result;
  std::unique_ptr<Big> sum = sum_of(terms);
  result.magnitude = mpfr_get_d(sum_of(magnitudes)->get(), MPFR_RNDN);
  result.finite = mpfr_number_p(sum->get()) != 0;
  result.value = mpfr_zero_p(sum->get()) != 0 ? 0.0 : mpfr_get_d(sum->get(), MPFR_RNDN);
  if (result.finite) {
    result.decimal = decimal_of(sum->get(), result.decimal_is_exact);
    result.sum = std::make_shared<const ExactSum>(ExactSum{std::move(sum)});
  } else if (mpfr_nan_p(sum->get()) != 0) {
    result.decimal = "nan";
  } else {
    result.decimal = result.value < 0 ? "-inf" : "inf";
  }
  return result;
}

double relative_error(const ExactDot& exact, double d) {
  double error = 0;
  if (settled_by_specials(exact, d, error)) return std::fabs(error);
  mpfr_srcptr x = exact.sum->value->get();
  if (mpfr_zero_p(x) != 0) return d == 0 ? 0 : kInfinity;
  const std::unique_ptr<Big> gap = difference(exact, d);
  Big quotient(128);
  mpfr_div(quotient.get(), gap->get(), x, MPFR_RNDN);
  return std::fabs(mpfr_get_d(quotient.get(), MPFR_RNDN));
}

double error_in_ulps(const ExactDot& exact, std::uint64_t d, Format format) {
  const FormatSpec spec = spec_of(format);
  const double got = decode_value(d, spec);
  double error = 0;
  if (settled_by_specials(exact, got, error)) return error;
  mpfr_srcptr x = exact.sum->value->get();
  const int unit = mpfr_zero_p(x) != 0 ? spec.min_exponent() - spec.fraction_bits : unit_exponent(x, spec);
  const std::unique_ptr<Big> gap = difference(exact, got);
  mpfr_mul_2si(gap->get(), gap->get(), -unit, MPFR_RNDN);
  return mpfr_get_d(gap->get(), MPFR_RNDN);
}

std::uint64_t correctly_rounded(const ExactDot& exact, Format format) {
  const FormatSpec spec = spec_of(format);
  const std::uint64_t nan = spec.conversion_nan_bits();
  if (std::isnan(exact.value)) return nan;
  const std::uint64_t beyond = spec.specials == Specials::ieee ? spec.infinity_bits() : nan;
  if (!exact.finite) return beyond | (exact.value < 0 ? spec.sign_bit() : 0);
  mpfr_srcptr x = exact.sum->value->get();
  if (mpfr_zero_p(x) != 0) return 0;
  const std::uint64_t sign = mpfr_sgn(x) < 0 ? spec.sign_bit() : 0;
  const int unit = unit_exponent(x, spec);
  Big units(mpfr_get_prec(x));
  mpfr_abs(units.get(), x, MPFR_RNDN);
  mpfr_mul_2si(units.get(), units.get(), -unit, MPFR_RNDN);
  mpfr_roundeven(units.get(), units.get());
  const auto significand = static_cast<std::uint64_t>(mpfr_get_ui(units.get(), MPFR_RNDN));
  // A carry to the next binade, or from the subnormals to the normal numbers, moves into the exponent by
  // itself.
  const int biased = unit + spec.fraction_bits - spec.min_exponent();
  if (biased > spec.max_exponent() - spec.min_exponent()) return sign | beyond;
  const std::uint64_t bits = ((static_cast<std::uint64_t>(biased) << spec.fraction_bits) + significand)
                             << spec.ignored_low_bits;
  return sign | (bits > spec.max_finite_bits() ? beyond : bits);
}

}  // namespace mmaudit::oracle
