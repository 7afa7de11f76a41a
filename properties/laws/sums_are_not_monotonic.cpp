#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (!subject.c_in_first_step()) return "c is not an addend of the first step";
  if (subject.instruction.d != Format::f32 || subject.datapath.output.fraction_bits != 23)
    return "D has too few bits to show it this way";
  if (subject.steps.front().size() < 6) return "its steps have too few products";
  return subject.a().fraction_bits + subject.a().min_exponent() > -subject.datapath.fraction_bits
             ? "its numbers are too coarse"
             : "";
}

/// c just below 2; beside it products of one unit of the alignment each, all of which the next c makes too
/// small.
void fill(const Subject& subject, Draws& random, Tile& tile) {
  const int e = subject.datapath.fraction_bits, eb = -(e - e / 2);
  for (std::uint64_t& x : tile.c) x = 0x3FFFFFFF;
  for (const int k : subject.steps.front())
    for (int row = 0; row < tile.instruction.m; ++row)
      tile.at_a(row, k) = encode_value(std::ldexp(random.one_in(3) ? 3.0 : 1.0, -(e / 2)), subject.a());
  for (std::uint64_t& x : tile.b) x = power_of_two_bits(subject.b(), eb);
}

std::vector<Tile> related(const Subject&, const Tile& tile) {
  Tile other = tile;
  for (std::uint64_t& x : other.c) ++x;  // the next number above, of a positive one
  return {other};
}

LawVerdict judge(const Case& at) {
  const FormatSpec d = at.subject.d();
  const std::uint64_t larger = at.related[0].at_d(at.row, at.col);
  if ((at.c() & d.sign_bit()) != 0 || !is_finite(at.d(), d) || !is_finite(larger, d)) return silent();
  return verdict(value_of(larger, d) < value_of(at.d(), d));
}

}  // namespace

const Law kSumsAreNotMonotonic = {
    .order = 160,
    .statement = "A larger c can give a smaller D: it moves the unit that alignment cuts at.",
    .source = "Fasi et al. 2021 (monotonicity)",
    .why_not = why_not,
    .fill = fill,
    .related = related,
    .judge = judge,
    .exhibit = true};

}  // namespace mmaudit::laws
