#include <algorithm>

#include "laws.hpp"
#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (std::string reason = fused_single_format(subject); !reason.empty()) return reason;
  return subject.steps.front().size() < 3 ? "its steps have fewer than three products" : "";
}

/// In one step: a product, its opposite, and a number between them. What the first two lose they lose alike.
void fill(const Subject& subject, Random& random, Tile& tile) {
  const auto& step =
      subject.steps[static_cast<std::size_t>(random.in(0, static_cast<int>(subject.steps.size()) - 1))];
  int chosen[3];
  const int first = random.in(0, static_cast<int>(step.size()) - 1);
  for (int i = 0; i < 3; ++i) chosen[i] = step[static_cast<std::size_t>(first + i) % step.size()];
  const FormatSpec a = subject.a(), b = subject.b();
  const int eb = random.in(b.min_exponent() - 1, b.max_exponent());
  for (int col = 0; col < tile.instruction.n; ++col) {
    const std::uint64_t partner = random_number(random, b, eb);
    for (int k = 0; k < tile.instruction.k; ++k) tile.at_b(k, col) = partner;
  }
  for (int row = 0; row < tile.instruction.m; ++row) {
    const int ea = random.in(a.min_exponent() - 1, a.max_exponent());
    tile.at_a(row, chosen[0]) = random_number(random, a, ea);
    tile.at_a(row, chosen[2]) = tile.at_a(row, chosen[0]) ^ a.sign_bit();
    tile.at_a(row, chosen[1]) = random_number(random, a, ea - random.in(0, subject.row.fraction_bits));
  }
  for (int col = 0; col < tile.instruction.n; ++col)
    for (int i = 0; i < (tile.metadata.empty() ? 1 : 0); ++i)
      tile.at_b(chosen[1], col) = random_number(random, b, eb - random.in(0, subject.row.fraction_bits));
}

Verdict judge(const Case& at) {
  if (!is_zero(entering_c(at), at.subject.c())) return silent();
  for (const std::vector<int>& step : at.subject.steps) {
    std::vector<Product> here;
    int elsewhere = 0;
    for (int k = 0; k < at.tile.stored(); ++k) {
      const Product one = product_of(at, k);
      if (one.special) return silent();
      if (one.value == 0) continue;
      if (std::find(step.begin(), step.end(), k) == step.end())
        ++elsewhere;
      else
        here.push_back(one);
    }
    if (here.size() != 3 || elsewhere != 0) continue;
    // Which two cancel is not said by their places: products are looked at in order of size.
    std::sort(here.begin(), here.end(),
              [](const Product& x, const Product& y) { return std::fabs(x.value) > std::fabs(y.value); });
    if (here[0].value != -here[1].value || here[0].exponent != here[1].exponent) return silent();
    const int most = std::max(
        {here[0].exponent, here[1].exponent, here[2].exponent, static_cast<int>(at.subject.row.floor)});
    const int unit = most - at.subject.row.fraction_bits;
    return equal_bits(at.d(), rounded_output(at.subject, cut(here[2].value, unit)));
  }
  return silent();
}

}  // namespace

const Law kAlignmentTruncates = {
    .name = "alignment_truncates",
    .statement =
        "Beside addends of exponent E at most, what an addend has below 2^(E - F) is cut off toward zero.",
    .source = "Fasi et al. 2021; Khattak and Mikaitis 2025; F of the row",
    .why_not = why_not,
    .fill = fill,
    .judge = judge};

}  // namespace mmaudit::laws
