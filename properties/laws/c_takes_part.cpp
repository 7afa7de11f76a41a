#include <algorithm>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (!subject.c_in_first_step()) return "c is not an addend of the first step";
  return subject.steps.front().size() < 2 ? "its steps have fewer than two products" : "";
}

/// A subnormal c, half of the least result, and far below a number that decides to which side it is rounded.
void fill_tie(const Subject& subject, Draws& random, const std::vector<int>& step, Tile& tile) {
  const FormatSpec c = subject.c();
  for (std::uint64_t& x : tile.c) x = random_number(random, c, c.min_exponent() - 1);
  const int half = subject.d().min_exponent() - subject.datapath.output.fraction_bits - 1;
  const int far = c.min_exponent() - subject.datapath.fraction_bits - 1 - random.between(0, c.fraction_bits);
  put_power(subject, tile, step[0], half, half / 2, false);
  put_power(subject, tile, step[1], far, far / 2, random.one_in(2));
}

/// c and its opposite as a product, and a number between them, in the first step.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  const auto& step = subject.steps.front();
  if (subject.datapath.output.rounding == Rounding::nearest_even && random.one_in(3))
    return fill_tie(subject, random, step, tile);
  const int first = step[0], second = step[1];
  const FormatSpec a = subject.a(), b = subject.b(), c = subject.c();
  const int eb = std::clamp(0, b.min_exponent(), b.max_exponent());
  for (int k = 0; k < tile.instruction.k; ++k)
    for (int col = 0; col < tile.instruction.n; ++col) tile.at_b(k, col) = power_of_two_bits(b, eb);
  for (int row = 0; row < tile.instruction.m; ++row) {
    const int e = random.between(std::max(a.min_exponent() + eb, c.min_exponent()),
                                 std::min(a.max_exponent() + eb, c.max_exponent()));
    tile.at_a(row, first) = power_of_two_bits(a, e - eb) | a.sign_bit();
    tile.at_a(row, second) =
        random_number(random, a, e - eb - random.between(0, subject.datapath.fraction_bits));
    for (int col = 0; col < tile.instruction.n; ++col) tile.at_c(row, col) = power_of_two_bits(c, e);
  }
}

LawVerdict judge(const Case& at) {
  const auto aligned = aligned_sum(at);
  if (!aligned || !aligned->c || aligned->products == 0) return silent();
  return equal_bits(at.d(), rounded_output(at.subject, aligned->sum));
}

}  // namespace

const Law kCTakesPart = {
    .order = 50,
    .statement = "c is one more addend of the first step: it is aligned with the products, and they with it.",
    .source = "Fasi et al. 2021 (order of addition); MMA-Sim",
    .why_not = why_not,
    .fill = fill,
    .judge = judge,
    .scales = Scales::any};

}  // namespace mmaudit::laws
