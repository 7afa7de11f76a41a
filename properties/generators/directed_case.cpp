#include "directed_case.hpp"

#include <algorithm>
#include <optional>

#include "mmaudit/value_text.hpp"

namespace mmaudit::gen {
namespace {

/// 2^exponent, subnormals included; nullopt outside the format.
std::optional<std::uint64_t> power(const FormatSpec& format, int exponent) {
  const int p = format.fraction_bits;
  if (exponent < format.min_exponent() - p || exponent > format.max_exponent()) return std::nullopt;
  const std::uint64_t bits = exponent < format.min_exponent()
                                 ? std::uint64_t{1} << (exponent - format.min_exponent() + p)
                                 : static_cast<std::uint64_t>(exponent + format.bias) << p;
  return bits << format.ignored_low_bits;
}

}  // namespace

Case::Case(const Setting& spec, std::string_view question) : spec_(spec) {
  dot_.question = question;
  dot_.a.assign(static_cast<std::size_t>(spec.k), 0);
  dot_.b.assign(static_cast<std::size_t>(spec.k), 0);
  if (!spec.block_scaled()) return;
  dot_.scale_a.assign(static_cast<std::size_t>(spec.k / spec.scale_block), spec.scale_byte(true));
  dot_.scale_b.assign(static_cast<std::size_t>(spec.k / spec.scale_block), spec.scale_byte(false));
}

Case& Case::term(int k, std::string_view a, std::string_view b) {
  const ParsedValue x = parse_value(a, spec_.a);
  const ParsedValue y = parse_value(b, spec_.b);
  if (!x.error.empty() || !y.error.empty()) applies_ = false;
  return set(k, x.bits, y.bits);
}

Case& Case::product(int k, int exponent, bool negative) {
  exponent -= spec_.scale_shift;
  // The middle of the possible splits keeps both factors away from subnormals where it can.
  const int low = std::max(spec_.a.min_exponent() - spec_.a.fraction_bits, exponent - spec_.b.max_exponent());
  const int high =
      std::min(spec_.a.max_exponent(), exponent - spec_.b.min_exponent() + spec_.b.fraction_bits);
  if (low > high) {
    applies_ = false;
    return *this;
  }
  const int middle = std::clamp(exponent / 2, low, high);
  const auto x = power(spec_.a, middle);
  const auto y = power(spec_.b, exponent - middle);
  if (!x || !y) {
    applies_ = false;
    return *this;
  }
  return set(k, *x | (negative ? spec_.a.sign_bit() : 0), *y);
}

Case& Case::products(std::initializer_list<int> exponents, bool negative) {
  int k = 0;
  for (const int exponent : exponents) product(k++, exponent, negative);
  return *this;
}

Case& Case::product_and_half(int k, int exponent, bool negative) {
  product(k, exponent, negative);
  if (!applies_) return *this;
  // Half of a significand next to it: three halves of a power of two, subnormal or not.
  std::uint64_t& factor = dot_.a[static_cast<std::size_t>(k)];
  const std::uint64_t unit = std::uint64_t{1} << spec_.a.ignored_low_bits;
  const std::uint64_t magnitude = factor & ~spec_.a.sign_bit();
  const std::uint64_t least_normal = unit << spec_.a.fraction_bits;
  if (magnitude >= least_normal) {
    factor |= least_normal >> 1;
  } else if (magnitude > unit) {
    factor |= magnitude >> 1;
  } else {
    applies_ = false;
  }
  return *this;
}

Case& Case::addend(std::string_view text) {
  const ParsedValue c = parse_value(text, spec_.step.addend);
  if (!c.error.empty()) applies_ = false;
  dot_.c = c.bits;
  return *this;
}

Case& Case::addend_power(int exponent, bool negative) {
  const auto c = power(spec_.step.addend, exponent);
  if (!c) applies_ = false;
  dot_.c = c.value_or(0) | (negative ? spec_.step.addend.sign_bit() : 0);
  return *this;
}

void Case::into(std::vector<DirectedDot>& out) const {
  if (applies_) out.push_back(dot_);
}

Case& Case::set(int k, std::uint64_t a, std::uint64_t b) {
  if (k >= spec_.k) {
    applies_ = false;
    return *this;
  }
  dot_.a[static_cast<std::size_t>(k)] = a;
  dot_.b[static_cast<std::size_t>(k)] = b;
  return *this;
}

}  // namespace mmaudit::gen
