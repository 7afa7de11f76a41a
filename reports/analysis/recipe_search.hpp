#pragma once
// One level per layer, so that costs are least and errors stay within a limit: a multiple-choice knapsack.
#include <cstddef>
#include <vector>

namespace mmaudit::report {

/// What a layer may take.
struct RecipeLevel {
  double cost = 0;     ///< bits times multiplications
  double squared = 0;  ///< square of the error that it makes in the output
};

struct RecipesFound {
  std::vector<std::size_t> levels;  ///< per layer
  double cost = 0;
  double squared = 0;
  double least_cost = 0;  ///< no choice within the limit costs less; `cost` itself where that is proven
};

constexpr std::size_t kSearchStates = 4000;  ///< partial choices kept per layer

/// What: the levels with the least sum of costs whose sum of squares is at most `most`, and of equal costs
/// the least sum of squares. Each layer needs a level of error 0. How: partial choices grow layer by layer.
/// One goes where another is as cheap and as exact, or where its cheapest continuation, which may mix levels
/// of a layer, costs more than known choices. Where more than `states` are left, the least promising go too,
/// and `least_cost` becomes what they might have cost.
RecipesFound cheapest_levels(const std::vector<std::vector<RecipeLevel>>& layers, double most,
                             std::size_t states = kSearchStates);

}  // namespace mmaudit::report
