#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (std::string reason = fused_single_format(subject); !reason.empty()) return reason;
  return subject.steps.front().size() < 3 ? "its steps have fewer than three products" : "";
}

/// Two products that cancel, with a factor that is subnormal, half of the least result, and far below a
/// number that decides to which side the half is rounded, if alignment leaves it.
void fill_tie(const Subject& subject, Draws& random, const std::vector<int>& step, Tile& tile) {
  const FormatSpec a = subject.a(), b = subject.b();
  const int lowest_a = a.min_exponent() - a.fraction_bits,
            eb = random.between(b.min_exponent(), b.max_exponent());
  put_power(subject, tile, step[0], lowest_a + eb, eb, false);
  put_power(subject, tile, step[1], lowest_a + eb, eb, true);
  const int half = subject.d().min_exponent() - subject.datapath.output.fraction_bits - 1;
  const int far =
      a.min_exponent() + eb - subject.datapath.fraction_bits - 1 - random.between(0, a.fraction_bits);
  put_power(subject, tile, step[2], half, half / 2, false);
  put_power(subject, tile, step[3], far, far / 2, random.one_in(2));
}

/// In one step: a product, its opposite, and a number between them. What the first two lose they lose alike.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  const auto& step =
      subject.steps[static_cast<std::size_t>(random.between(0, static_cast<int>(subject.steps.size()) - 1))];
  if (subject.datapath.output.rounding == Rounding::nearest_even && step.size() > 3 && random.one_in(2))
    return fill_tie(subject, random, step, tile);
  int chosen[3];
  const int first = random.between(0, static_cast<int>(step.size()) - 1);
  for (int i = 0; i < 3; ++i) chosen[i] = step[static_cast<std::size_t>(first + i) % step.size()];
  const FormatSpec a = subject.a(), b = subject.b();
  const int eb = random.between(b.min_exponent() - 1, b.max_exponent());
  for (int col = 0; col < tile.instruction.n; ++col) {
    const std::uint64_t partner = random_number(random, b, eb);
    for (int k = 0; k < tile.instruction.k; ++k) tile.at_b(k, col) = partner;
  }
  for (int row = 0; row < tile.instruction.m; ++row) {
    const int ea = random.between(a.min_exponent() - 1, a.max_exponent());
    tile.at_a(row, chosen[0]) = random_number(random, a, ea);
    tile.at_a(row, chosen[2]) = tile.at_a(row, chosen[0]) ^ a.sign_bit();
    tile.at_a(row, chosen[1]) =
        random_number(random, a, ea - random.between(0, subject.datapath.fraction_bits));
  }
  for (int col = 0; col < tile.instruction.n; ++col)
    tile.at_b(tile.met(0, chosen[1]), col) =
        random_number(random, b, eb - random.between(0, subject.datapath.fraction_bits));
}

LawVerdict judge(const Case& at) {
  const auto aligned = aligned_sum(at);
  if (!aligned || aligned->c || aligned->products < 2) return silent();
  return equal_bits(at.d(), rounded_output(at.subject, aligned->sum));
}

}  // namespace

const Law kAlignmentTruncates = {
    .order = 20,
    .statement =
        "Beside addends of exponent E at most, what an addend has below 2^(E - F) is cut off toward zero.",
    .source = "Fasi et al. 2021; Khattak and Mikaitis 2025; F of the row",
    .why_not = why_not,
    .fill = fill,
    .judge = judge,
    .scales = Scales::any};

}  // namespace mmaudit::laws
