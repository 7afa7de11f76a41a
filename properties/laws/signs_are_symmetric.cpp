#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  return subject.datapath.arithmetic == Arithmetic::integer ? "the range of integers is not symmetric" : "";
}

std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  Tile other = tile;
  for (std::uint64_t& x : other.a) x ^= subject.a().sign_bit();
  for (std::uint64_t& x : other.c) x ^= subject.c().sign_bit();
  return {other};
}

LawVerdict judge(const Case& at) {
  const FormatSpec d = at.subject.d();
  const std::uint64_t other = at.related[0].at_d(at.row, at.col);
  if (is_nan(at.d(), d)) return verdict(is_nan(other, d), at.d());
  if (is_zero(at.d(), d)) return verdict(is_zero(other, d), at.d());
  return verdict(other == (at.d() ^ d.sign_bit()), at.d() ^ d.sign_bit());
}

}  // namespace

const Law kSignsAreSymmetric = {
    .order = 120,
    .statement = "A and c with their signs changed give D with its sign changed.",
    .source = "consequence of truncation of magnitudes and of symmetric roundings",
    .why_not = why_not,
    .related = related,
    .judge = judge,
    .scales = Scales::any};

}  // namespace mmaudit::laws
