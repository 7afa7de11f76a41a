#include <algorithm>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (!subject.fused() || subject.datapath.addend != AddendPlace::after_last_nearest)
    return "c is added earlier";
  return subject.instruction.c != subject.instruction.d ? "c is converted first" : "";
}

std::vector<Tile> related(const Subject&, const Tile& tile) {
  Tile without = tile;
  std::fill(without.c.begin(), without.c.end(), 0);
  return {without};
}

LawVerdict judge(const Case& at) {
  const FormatSpec d = at.subject.d();
  const std::uint64_t sum = at.related[0].at_d(at.row, at.col);
  if (!is_finite(sum, d) || !is_finite(at.c(), d)) return silent();
  const double x = value_of(sum, d), y = value_of(at.c(), d);
  // binary32: the machine's own addition; binary16: exact in binary64, then rounded once.
  const double nearest =
      d.id == Format::f32 ? static_cast<double>(static_cast<float>(x) + static_cast<float>(y)) : x + y;
  return equal_bits(at.d(), encode_value(nearest, d));
}

}  // namespace

const Law kCComesLast = {
    .order = 60,
    .statement = "c is added to the finished sum by an ordinary IEEE addition to nearest even.",
    .source = "numerics.md, widened FP8; ptxas: FADD or HADD2 after the last HMMA",
    .why_not = why_not,
    .related = related,
    .judge = judge};

}  // namespace mmaudit::laws
