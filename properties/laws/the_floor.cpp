#include <algorithm>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (std::string reason = fused_single_format(subject); !reason.empty()) return reason;
  if (subject.a().min_exponent() + subject.b().min_exponent() >= subject.datapath.min_alignment_exponent)
    return "no product of these formats has an exponent below the floor";
  return "";
}

void fill(const Subject& subject, Draws& random, Tile& tile) {
  const auto& step =
      subject.steps[static_cast<std::size_t>(random.between(0, static_cast<int>(subject.steps.size()) - 1))];
  const FormatSpec a = subject.a(), b = subject.b();
  const bool nearest = subject.datapath.output.rounding == Rounding::nearest_even;
  if (step.size() > 1 && random.one_in(2)) {
    // The least result, or the tie below it, and what the floor keeps of a far smaller number decides.
    const int least = subject.d().min_exponent() - subject.datapath.output.fraction_bits;
    const int lowest_a = a.min_exponent() - a.fraction_bits, lowest_b = b.min_exponent() - b.fraction_bits;
    const auto product = [&](int row, int k, int e, int of_b, bool negative) {
      const int of_a = std::clamp<int>(e - of_b, lowest_a, a.max_exponent());
      tile.at_a(row, k) = power_of_two_bits(a, of_a) | (negative ? a.sign_bit() : 0);
      for (int col = 0; col < tile.instruction.n; ++col)
        tile.at_b(tile.met(row, k), col) = power_of_two_bits(b, of_b);
    };
    const int unit = subject.datapath.min_alignment_exponent - subject.datapath.fraction_bits;
    for (int row = 0; row < tile.instruction.m; ++row) {
      product(row, step[0], nearest ? least - 1 : least, b.min_exponent(), false);
      product(row, step[1], unit + random.between(-3, 6), nearest ? lowest_b : b.min_exponent(), !nearest);
    }
    return;
  }
  const int floor = subject.datapath.min_alignment_exponent, depth = subject.datapath.fraction_bits + 2;
  const int ea = std::clamp(random.between(floor - b.max_exponent(), floor - b.min_exponent()),
                            a.min_exponent(), std::min<int>(a.max_exponent(), floor - b.min_exponent()));
  for (const int k : step) {
    if (random.one_in(2)) continue;
    for (int row = 0; row < tile.instruction.m; ++row)
      tile.at_a(row, k) = random_number(random, a, ea - (random.one_in(2) ? 0 : random.between(0, depth)));
    if (!tile.metadata.empty()) continue;
    for (int col = 0; col < tile.instruction.n; ++col)
      tile.at_b(k, col) =
          random_number(random, b, floor - ea - (random.one_in(2) ? 0 : random.between(0, depth)));
  }
  if (tile.metadata.empty()) return;
  for (std::uint64_t& x : tile.b)
    x = random_number(random, b, floor - ea - (random.one_in(2) ? 0 : random.between(0, depth)));
}

LawVerdict judge(const Case& at) {
  if (!is_zero(entering_c(at), at.subject.c())) return silent();
  int steps = 0, count = 0;
  double sum = 0;
  for (const std::vector<int>& step : at.subject.steps) {
    bool any = false;
    for (const int k : step) {
      const Product one = product_of(at, k);
      if (one.special || (one.value != 0 && one.exponent > at.subject.datapath.min_alignment_exponent))
        return silent();
      if (one.value == 0) continue;
      any = true;
      ++count;
      sum += cut(one.value, at.subject.datapath.min_alignment_exponent - at.subject.datapath.fraction_bits);
    }
    steps += any;
  }
  if (steps != 1 || count == 0) return silent();
  return equal_bits(at.d(), rounded_output(at.subject, sum));
}

}  // namespace

const Law kTheFloor = {
    .order = 40,
    .statement = "Where every exponent is below the floor, the floor takes the place of E.",
    .source = "numerics.md, floors; measured on Hopper",
    .why_not = why_not,
    .fill = fill,
    .judge = judge};

}  // namespace mmaudit::laws
