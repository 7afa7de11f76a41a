#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  return spec_of(subject.instruction.a).integer() ? "integers have no exponent" : "";
}

bool column_is_zero(const Subject& subject, const Tile& tile, int k) {
  for (int row = 0; row < tile.instruction.m; ++row)
    if (!is_zero(tile.at_a(row, k), subject.a())) return false;
  return true;
}

/// Every second column of A is zero.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  const int ea = random_exponent(random, subject.a()), eb = random_exponent(random, subject.b());
  const int ec = random_exponent(random, subject.c());
  for (std::uint64_t& x : tile.a) x = random_number(random, subject.a(), ea - random.between(0, 6));
  for (std::uint64_t& x : tile.b) x = random_number(random, subject.b(), eb - random.between(0, 6));
  for (std::uint64_t& x : tile.c) x = random_number(random, subject.c(), ec - random.between(0, 6));
  for (int k = 0; k < tile.stored(); ++k)
    if (random.one_in(2))
      for (int row = 0; row < tile.instruction.m; ++row) tile.at_a(row, k) = 0;
}

/// The partners of zeros become the largest numbers there are.
std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  Tile other = tile;
  Draws random{tile.salt};
  for (int k = 0; k < tile.stored(); ++k) {
    if (!column_is_zero(subject, tile, k)) continue;
    if (tile.metadata.empty())
      for (int col = 0; col < tile.instruction.n; ++col)
        other.at_b(k, col) = subject.b().max_finite_bits() | (random.one_in(2) ? subject.b().sign_bit() : 0);
    for (int row = 0; row < tile.instruction.m; ++row)
      if (random.one_in(2)) other.at_a(row, k) = subject.a().sign_bit();
  }
  return {other};
}

LawVerdict judge(const Case& at) {
  const std::uint64_t expected = at.related[0].at_d(at.row, at.col);
  // -0 products may sum to -0 where the zero of a sum has the IEEE sign.
  if (is_zero(at.d(), at.subject.d()) && is_zero(expected, at.subject.d())) return verdict(true);
  return equal_bits(at.d(), expected);
}

}  // namespace

const Law kZerosHaveNoExponent = {
    .order = 30,
    .statement = "A product with a zero factor changes nothing, however large the other factor is.",
    .source = "numerics.md, zero rule; MMA-Sim",
    .why_not = why_not,
    .fill = fill,
    .related = related,
    .judge = judge,
    .scales = Scales::any};

}  // namespace mmaudit::laws
