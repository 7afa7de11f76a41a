#include <utility>

#include "tools.hpp"

namespace mmaudit::laws {
namespace {

std::string why_not(const Subject& subject) {
  if (!subject.fused()) return fused_only(subject);
  if (is_sparse(subject.instruction.op)) return "stored elements can't change places: metadata orders them";
  return subject.steps.front().size() < 2 ? "one product a step" : "";
}

std::vector<Tile> related(const Subject& subject, const Tile& tile) {
  Tile other = tile;
  Draws random{tile.salt};
  for (const std::vector<int>& step : subject.steps) {
    std::vector<int> from = step;
    for (std::size_t i = from.size(); i-- > 1;)
      std::swap(from[i], from[static_cast<std::size_t>(random.between(0, static_cast<int>(i)))]);
    for (std::size_t i = 0; i < step.size(); ++i) {
      for (int row = 0; row < tile.instruction.m; ++row) other.at_a(row, step[i]) = tile.at_a(row, from[i]);
      for (int col = 0; col < tile.instruction.n; ++col) other.at_b(step[i], col) = tile.at_b(from[i], col);
    }
  }
  return {other};
}

}  // namespace

const Law kOrderInsideAStep = {.order = 80,
                               .statement = "The order of products inside a step does not matter.",
                               .source = "Fasi et al. 2021; L and order of the row",
                               .why_not = why_not,
                               .related = related,
                               .judge = same_as_related,
                               .scales = Scales::any};

}  // namespace mmaudit::laws
