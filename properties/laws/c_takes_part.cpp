#include <algorithm>
#include <utility>

#include "laws.hpp"
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (!subject.c_in_first_step()) return "c is not an addend of the first step";
  return subject.steps.front().size() < 2 ? "its steps have fewer than two products" : "";
}

/// c and its opposite as a product, and a number between them, in the first step.
void fill(const Subject& subject, Random& random, Tile& tile) {
  const auto& step = subject.steps.front();
  const int first = step[0], second = step[1];
  const FormatSpec a = subject.a(), b = subject.b(), c = subject.c();
  const int eb = std::clamp(0, b.min_exponent(), b.max_exponent());
  for (int k = 0; k < tile.instruction.k; ++k)
    for (int col = 0; col < tile.instruction.n; ++col) tile.at_b(k, col) = power_of_two_bits(b, eb);
  for (int row = 0; row < tile.instruction.m; ++row) {
    const int e = random.in(std::max(a.min_exponent() + eb, c.min_exponent()),
                            std::min(a.max_exponent() + eb, c.max_exponent()));
    tile.at_a(row, first) = power_of_two_bits(a, e - eb) | a.sign_bit();
    tile.at_a(row, second) = random_number(random, a, e - eb - random.in(0, subject.row.fraction_bits));
    for (int col = 0; col < tile.instruction.n; ++col) tile.at_c(row, col) = power_of_two_bits(c, e);
  }
}

Verdict judge(const Case& at) {
  const double c = value_of(entering_c(at), at.subject.c());
  if (!std::isfinite(c) || c == 0) return silent();
  std::vector<Product> here;
  for (int k = 0; k < at.tile.stored(); ++k) {
    const Product one = product_of(at, k);
    if (one.special) return silent();
    if (one.value == 0) continue;
    const auto& step = at.subject.steps.front();
    if (std::find(step.begin(), step.end(), k) == step.end()) return silent();
    here.push_back(one);
  }
  if (here.size() != 2) return silent();
  if (here[0].value != -c) std::swap(here[0], here[1]);
  if (here[0].value != -c || std::fabs(c) != std::ldexp(1.0, std::ilogb(c))) return silent();
  const int most = std::max({here[0].exponent, here[1].exponent, field_exponent(at.c(), at.subject.c()),
                             static_cast<int>(at.subject.row.floor)});
  const int unit = most - at.subject.row.fraction_bits;
  return equal_bits(at.d(), rounded_output(at.subject, cut(here[1].value, unit)));
}

}  // namespace

const Law kCTakesPart = {
    .name = "c_takes_part",
    .statement = "c is one more addend of the first step: it is aligned with the products, and they with it.",
    .source = "Fasi et al. 2021 (order of addition); MMA-Sim",
    .why_not = why_not,
    .fill = fill,
    .judge = judge};

}  // namespace mmaudit::laws
