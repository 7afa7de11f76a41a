#include <algorithm>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (!subject.aligned()) return fused_only(subject);
  return subject.spec.converts || subject.datapath.output.zero_sign != ZeroSign::plus
             ? "sums are added or converted by IEEE rules beside the steps"
             : "";
}

/// Zeros of both signs, and pairs that cancel.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  if (random.one_in(3)) {  // every addend is -0
    std::fill(tile.a.begin(), tile.a.end(), subject.a().sign_bit());
    for (std::uint64_t& x : tile.b) x = random_number(random, subject.b(), 0) & subject.b().magnitude_mask();
    std::fill(tile.c.begin(), tile.c.end(), subject.c().sign_bit());
    return;
  }
  const int ea = random_exponent(random, subject.a()), eb = random_exponent(random, subject.b());
  for (std::uint64_t& x : tile.a) x = random.one_in(2) ? subject.a().sign_bit() : 0;
  for (std::uint64_t& x : tile.b)
    x = random.one_in(3) ? subject.b().sign_bit() : random_number(random, subject.b(), eb);
  for (std::uint64_t& x : tile.c) x = random.one_in(2) ? subject.c().sign_bit() : 0;
  if (random.one_in(2)) return;
  const auto& step = subject.steps.front();
  if (step.size() < 2 || !tile.metadata.empty()) return;
  for (int row = 0; row < tile.instruction.m; ++row) {
    tile.at_a(row, step[0]) = random_number(random, subject.a(), ea);
    tile.at_a(row, step[1]) = tile.at_a(row, step[0]) ^ subject.a().sign_bit();
  }
  for (int col = 0; col < tile.instruction.n; ++col) tile.at_b(step[1], col) = tile.at_b(step[0], col);
}

LawVerdict judge(const Case& at) {
  if (!is_zero(at.d(), at.subject.d())) return silent();
  return equal_bits(at.d(), 0);
}

}  // namespace

const Law kZeroIsPlusZero = {.order = 130,
                             .statement = "A zero D is +0, whatever the signs of what made it.",
                             .source = "MMA-Sim; measured on Hopper",
                             .why_not = why_not,
                             .fill = fill,
                             .judge = judge,
                             .scales = Scales::any};

}  // namespace mmaudit::laws
