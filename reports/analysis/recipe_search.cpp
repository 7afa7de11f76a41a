#include "recipe_search.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace mmaudit::report {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-10;  ///< more than sums in another order differ by, relatively

/// A step along the lower convex hull of a layer's levels, towards cheaper ones with larger errors.
struct Edge {
  std::size_t layer = 0;
  double squared = 0, saved = 0;  ///< both positive
  double worth = 0;               ///< saved per squared
};

/// The steps of a layer from its level of error 0 on, no further than `most`; none is worth more than the one
/// before, whatever rounding does.
std::vector<Edge> hull_of(std::size_t layer, std::vector<RecipeLevel> levels, double most) {
  std::erase_if(levels, [most](const RecipeLevel& one) { return one.squared > most; });
  std::sort(levels.begin(), levels.end(), [](const RecipeLevel& x, const RecipeLevel& y) {
    return std::pair(x.squared, x.cost) < std::pair(y.squared, y.cost);
  });
  std::vector<RecipeLevel> hull;
  for (const RecipeLevel& one : levels) {
    if (!hull.empty() && one.cost >= hull.back().cost) continue;
    while (hull.size() > 1) {
      const RecipeLevel &x = hull[hull.size() - 2], &y = hull.back();
      if ((x.cost - y.cost) * (one.squared - y.squared) > (y.cost - one.cost) * (y.squared - x.squared))
        break;
      hull.pop_back();
    }
    hull.push_back(one);
  }
  std::vector<Edge> out;
  for (std::size_t i = 1; i < hull.size(); ++i) {
    const double squared = hull[i].squared - hull[i - 1].squared, saved = hull[i - 1].cost - hull[i].cost;
    out.push_back({layer, squared, saved, std::min(saved / squared, i == 1 ? kNothing : out.back().worth)});
  }
  return out;
}

/// What the layers from one on cost at least, and at most, for a sum of squares: the best steps first.
class Rest {
 public:
  /// `edges` by falling worth; `kept` is the cost of the layers at error 0.
  Rest(const std::vector<Edge>& edges, std::size_t first, double kept) : kept_(kept) {
    squared_.push_back(0);
    saved_.push_back(0);
    for (const Edge& one : edges) {
      if (one.layer < first) continue;
      squared_.push_back(squared_.back() + one.squared);
      saved_.push_back(saved_.back() + one.saved);
    }
  }
  struct Bounds {
    double least = 0, reached = 0;
  };
  [[nodiscard]] Bounds bounds(double squared) const {
    const std::size_t whole = steps_within(squared);
    double least = kept_ - saved_[whole];
    if (whole + 1 < squared_.size())
      least -= (squared - squared_[whole]) / (squared_[whole + 1] - squared_[whole]) *
               (saved_[whole + 1] - saved_[whole]);
    return {least, kept_ - saved_[steps_within(squared * (1 - kRounding))]};
  }

 private:
  [[nodiscard]] std::size_t steps_within(double squared) const {
    const auto after = std::upper_bound(squared_.begin(), squared_.end(), squared);
    return static_cast<std::size_t>(after - squared_.begin()) - 1;
  }
  double kept_;
  std::vector<double> squared_, saved_;
};

/// Levels of the first layers.
struct State {
  double cost = 0, squared = 0;
  double least = 0, reached = 0;        ///< bounds of what it costs with all layers
  std::uint32_t before = 0, level = 0;  ///< the state without its last layer, and that one's level
};

/// Without those that another beats on both sums.
void keep_best(std::vector<State>& states) {
  std::sort(states.begin(), states.end(), [](const State& x, const State& y) {
    return std::pair(x.cost, x.squared) < std::pair(y.cost, y.squared);
  });
  std::vector<State> kept;
  for (const State& one : states)
    if (kept.empty() || one.squared < kept.back().squared) kept.push_back(one);
  states = std::move(kept);
}

/// Leaves the `most` states that may become cheapest, among them the one that is known to become cheap; what
/// the others might have cost at least.
double thin(std::vector<State>& states, std::size_t most) {
  most = std::max<std::size_t>(most, 1);
  if (states.size() <= most) return kNothing;
  const auto promised = std::min_element(
      states.begin(), states.end(), [](const State& x, const State& y) { return x.reached < y.reached; });
  std::iter_swap(states.begin(), promised);
  const auto end = states.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(states.begin() + 1, end, states.end(),
                   [](const State& x, const State& y) { return x.least < y.least; });
  const double lost = end->least;
  states.erase(end, states.end());
  return lost;
}

double cost_of_error_0(const std::vector<RecipeLevel>& levels) {
  double out = kNothing;
  for (const RecipeLevel& one : levels)
    if (one.squared == 0) out = std::min(out, one.cost);
  return out;
}

struct Choice {
  std::uint32_t before = 0, level = 0;
};

}  // namespace

RecipesFound cheapest_levels(const std::vector<std::vector<RecipeLevel>>& layers, double most,
                             std::size_t states) {
  std::vector<Edge> edges;
  double kept = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::vector<Edge> of_layer = hull_of(i, layers[i], most);
    edges.insert(edges.end(), of_layer.begin(), of_layer.end());
    kept += cost_of_error_0(layers[i]);
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& x, const Edge& y) { return x.worth > y.worth; });
  double known = kept, lost = kNothing;
  std::vector<State> now = {State{}};
  std::vector<std::vector<Choice>> choices;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    kept -= cost_of_error_0(layers[i]);
    const Rest rest(edges, i + 1, kept);
    std::vector<State> next;
    for (std::uint32_t before = 0; before < now.size(); ++before) {
      for (std::uint32_t level = 0; level < layers[i].size(); ++level) {
        const double squared = now[before].squared + layers[i][level].squared;
        if (squared > most) continue;
        const double cost = now[before].cost + layers[i][level].cost;
        const Rest::Bounds of_rest = rest.bounds(most - squared);
        next.push_back({cost, squared, cost + of_rest.least, cost + of_rest.reached, before, level});
        known = std::min(known, next.back().reached);
      }
    }
    std::erase_if(next, [&](const State& one) { return one.least > known * (1 + kRounding); });
    keep_best(next);
    lost = std::min(lost, thin(next, states));
    std::vector<Choice>& made = choices.emplace_back();
    for (const State& one : next) made.push_back({one.before, one.level});
    now = std::move(next);
  }
  const auto best = std::min_element(now.begin(), now.end(), [](const State& x, const State& y) {
    return std::pair(x.cost, x.squared) < std::pair(y.cost, y.squared);
  });
  RecipesFound out{std::vector<std::size_t>(layers.size()), best->cost, best->squared, best->cost};
  if (lost < out.cost * (1 - kRounding)) out.least_cost = lost;
  auto at = static_cast<std::size_t>(best - now.begin());
  for (std::size_t i = layers.size(); i-- > 0; at = choices[i][at].before)
    out.levels[i] = choices[i][at].level;
  return out;
}

}  // namespace mmaudit::report
