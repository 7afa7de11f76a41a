#include <algorithm>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (!subject.c_in_first_step()) return "c is not an addend of the first step";
  return subject.steps.size() > 1 ? "more than one step" : "";
}

/// Full significands of nearly one exponent: alignment has nothing to cut off.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  const FormatSpec a = subject.a(), b = subject.b(), c = subject.c();
  const int range = std::min(a.max_exponent() - a.min_exponent(), b.max_exponent() - b.min_exponent());
  const int spread =
      std::clamp((subject.datapath.fraction_bits - a.fraction_bits - b.fraction_bits) / 2, 0, range / 2);
  const int ea = random.between(a.min_exponent() + spread, a.max_exponent());
  const int eb = random.between(b.min_exponent() + spread, b.max_exponent());
  for (std::uint64_t& x : tile.a) x = random_number(random, a, ea - random.between(0, spread));
  for (std::uint64_t& x : tile.b) x = random_number(random, b, eb - random.between(0, spread));
  const int kept = std::min<int>(c.fraction_bits, subject.datapath.fraction_bits - 2);
  for (std::uint64_t& x : tile.c) {
    x = random_number(random, c, ea + eb - random.between(0, 2));
    x &= ~((std::uint64_t{1} << (c.fraction_bits - kept)) - 1);
  }
}

/// Exponent of the lowest bit set.
int lowest_bit(double x) {
  int exponent = 0;
  double significand = std::frexp(std::fabs(x), &exponent);
  while (significand != std::trunc(significand)) {
    significand *= 2;
    --exponent;
  }
  return exponent;
}

LawVerdict judge(const Case& at) {
  const double c = value_of(entering_c(at), at.subject.c());
  if (!std::isfinite(c)) return silent();
  int most = at.subject.datapath.min_alignment_exponent, least = 10000, count = 0;
  double sum = c;
  if (c != 0) {
    most = std::max(most, field_exponent(at.c(), at.subject.c()));
    least = lowest_bit(c);
    ++count;
  }
  for (int k = 0; k < at.tile.stored(); ++k) {
    const Product one = product_of(at, k);
    if (one.special) return silent();
    if (one.value == 0) continue;
    most = std::max(most, one.exponent);
    least = std::min(least, lowest_bit(one.value));
    sum += one.value;
    ++count;
  }
  if (count < 2 || least < most - at.subject.datapath.fraction_bits) return silent();
  return equal_bits(at.d(), rounded_output(at.subject, sum));
}

}  // namespace

const Law kOneRounding = {
    .order = 70,
    .statement = "Where alignment has nothing to cut off, D is the exact sum, rounded once.",
    .source = "Fasi et al. 2021 (normalisation at the end); numerics.md, output rules",
    .why_not = why_not,
    .fill = fill,
    .judge = judge,
    .scales = Scales::any};

}  // namespace mmaudit::laws
