#include <utility>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (!subject.fused()) return fused_only(subject);
  if (is_sparse(subject.instruction.op)) return "stored elements can't change places: metadata orders them";
  if (subject.spec.d.id != subject.spec.step.output.id) return "D has far fewer bits than the sums";
  return subject.steps.size() < 2 ? "one step" : "";
}

/// The first and the last step exchanged.
std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  Tile other = tile;
  for (std::size_t i = 0; i < subject.steps[0].size(); ++i) {
    const int x = subject.steps[0][i], y = subject.steps.back()[i];
    for (int row = 0; row < tile.instruction.m; ++row) std::swap(other.at_a(row, x), other.at_a(row, y));
    for (int col = 0; col < tile.instruction.n; ++col) std::swap(other.at_b(x, col), other.at_b(y, col));
  }
  return {other};
}

LawVerdict judge(const Case& at) { return verdict(at.d() != at.related[0].at_d(at.row, at.col)); }

}  // namespace

const Law kOrderOfSteps = {
    .order = 90,
    .statement = "The order of steps does matter: exchanging two changes some results.",
    .source = "MMA-Sim, chain of steps; L and order of the row",
    .why_not = why_not,
    .related = related,
    .judge = judge,
    .exhibit = true};

}  // namespace mmaudit::laws
