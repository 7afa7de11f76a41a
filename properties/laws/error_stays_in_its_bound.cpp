#include <algorithm>

#include "mmaudit/error_bound.hpp"
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) { return fused_single_format(subject); }

// 113 bits: its own error is far below every bound here.
#if __LDBL_MANT_DIG__ == 113
using Wide = long double;
#else
__extension__ using Wide = __float128;
#endif

/// Half of the tiles: a power of two beside products that are cut off, as much as can be. The others: numbers
/// of many exponents.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  const FormatSpec a = subject.a(), b = subject.b(), c = subject.c();
  if (random.one_in(2)) {
    const int width = random.between(0, subject.datapath.fraction_bits + 4);
    for (std::uint64_t& x : tile.a)
      x = random_number(random, a, random.between(-2, 2) - random.between(0, width) / 2);
    for (std::uint64_t& x : tile.b)
      x = random_number(random, b, random.between(-2, 2) - random.between(0, width) / 2);
    for (std::uint64_t& x : tile.c) x = random_number(random, c, random.between(-4, 4));
    return;
  }
  // 2^top beside products about one unit of its alignment, with significands near 2.
  const int top = std::min(
      {a.max_exponent() + b.max_exponent() - 1, c.max_exponent() - 3, subject.d().max_exponent() - 3, 20});
  const int e = top - subject.datapath.fraction_bits - 2;
  const int ea = std::clamp(e / 2, a.min_exponent(), a.max_exponent());
  const int eb = std::clamp(e - ea, b.min_exponent(), b.max_exponent());
  const auto largest = [](const FormatSpec& format, int exponent) {
    return power_of_two_bits(format, exponent + 1) - (std::uint64_t{1} << format.ignored_low_bits);
  };
  // All of one size loses most: of four units of e5m2's largest significand squared, 0.77 a product.
  const int sizes = random.between(0, 1);
  for (std::uint64_t& x : tile.a) x = largest(a, ea + random.between(0, sizes));
  for (std::uint64_t& x : tile.b) x = largest(b, eb + random.between(0, sizes));
  const bool last = subject.datapath.addend != AddendPlace::in_first_step;
  for (std::uint64_t& x : tile.c) x = last ? 0 : power_of_two_bits(c, top);
  if (!last) return;
  // As a product of the first step.
  const int first = subject.steps.front().front(), high = std::min<int>(a.max_exponent(), top);
  for (int row = 0; row < tile.instruction.m; ++row) {
    tile.at_a(row, first) = power_of_two_bits(a, high);
    for (int col = 0; col < tile.instruction.n; ++col)
      tile.at_b(tile.met(row, first), col) = power_of_two_bits(b, top - high);
  }
}

/// Roundings to nearest of several steps would all have to meet their worst tie; and the products of the
/// narrowest formats span fewer bits than F.
bool can_reach(const Subject& subject) {
  const FormatSpec a = subject.a(), b = subject.b();
  const int span = a.max_exponent() - a.min_exponent() + a.fraction_bits + b.max_exponent() -
                   b.min_exponent() + b.fraction_bits;
  return subject.datapath.output.rounding == Rounding::toward_zero &&
         span > subject.datapath.fraction_bits + 16;
}

LawVerdict judge(const Case& at) {
  const Subject& subject = at.subject;
  const FormatSpec d = subject.d();
  const double c = value_of(entering_c(at), subject.c());
  if (!std::isfinite(c) || !is_finite(at.d(), d)) return silent();
  Wide exact = c;
  double magnitude = std::fabs(c);
  int most = c == 0 ? static_cast<int>(subject.datapath.min_alignment_exponent)
                    : field_exponent(at.c(), subject.c());
  for (int k = 0; k < at.tile.stored(); ++k) {
    const Product one = product_of(at, k);
    if (one.special) return silent();
    if (one.value == 0) continue;
    exact += one.value;
    magnitude += std::fabs(one.value);
    most = std::max(most, one.exponent);
  }
  const double largest = value_of(d.max_finite_bits(), d);
  if (magnitude >= largest / 4) return silent();
  const double bound =
      instruction_error_bound(subject.spec, {magnitude, most}, field_exponent(at.d(), subject.d()));
  const Wide error = static_cast<Wide>(value_of(at.d(), d)) - exact;
  const double size = std::fabs(static_cast<double>(error));
  LawVerdict out = verdict(size <= bound);
  out.reached = size / bound;
  return out;
}

}  // namespace

const Law kErrorStaysInItsBound = {
    .order = 170,
    .statement =
        "|D - exact| stays below what L, F and the roundings of the steps add up to, and comes near it.",
    .source = "derived in properties.md from the row",
    .why_not = why_not,
    .fill = fill,
    .judge = judge,
    .reach = 0.5,
    .can_reach = can_reach};

}  // namespace mmaudit::laws
