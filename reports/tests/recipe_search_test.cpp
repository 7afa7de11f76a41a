// The search for the cheapest recipes against all choices there are.
#include "recipe_search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

namespace mmaudit::report {
namespace {

using Layers = std::vector<std::vector<RecipeLevel>>;

/// Layers that each cost `sizes` numbers of multiplications; levels of 4 to 32 bits, errors that shrink with
/// them.
Layers drawn(std::mt19937& random, std::size_t count, std::uint32_t sizes) {
  Layers out(count);
  std::uniform_real_distribution<double> exponent(-3, 0);
  for (std::vector<RecipeLevel>& levels : out) {
    const double size = 1 + static_cast<double>(random() % sizes), gain = std::pow(10, exponent(random));
    for (const double bits : {4.0, 4.25, 6.0, 8.0, 8.25, 16.0}) {
      if (random() % 4 == 0) continue;
      const double error = gain * std::exp2(-bits / 2) * (1 + exponent(random) / 6);
      levels.push_back({bits * size, error * error});
    }
    levels.push_back({32 * size, 0});
  }
  return out;
}

RecipeLevel sum_of(const Layers& layers, const std::vector<std::size_t>& levels) {
  RecipeLevel out;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    out.cost += layers[i][levels[i]].cost;
    out.squared += layers[i][levels[i]].squared;
  }
  return out;
}

/// By trying all of them.
RecipeLevel cheapest_of_all(const Layers& layers, double most) {
  std::vector<std::size_t> levels(layers.size());
  RecipeLevel best{1e300, 1e300};
  for (bool more = true; more;) {
    const RecipeLevel sum = sum_of(layers, levels);
    if (sum.squared <= most && std::pair(sum.cost, sum.squared) < std::pair(best.cost, best.squared))
      best = sum;
    more = false;
    for (std::size_t i = 0; i < levels.size() && !more; ++i) {
      more = ++levels[i] < layers[i].size();
      if (!more) levels[i] = 0;
    }
  }
  return best;
}

double worst_of(const Layers& layers) {
  double out = 0;
  for (const auto& levels : layers) {
    double most = 0;
    for (const RecipeLevel& one : levels) most = std::max(most, one.squared);
    out += most;
  }
  return out;
}

TEST(PlanSearch, IsTheCheapestOfAll) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 400; ++trial) {
    const Layers layers = drawn(random, 1 + random() % 6, trial % 2 == 0 ? 3 : 1000);
    const double most = worst_of(layers) * std::pow(10, -static_cast<double>(random() % 60) / 10);
    const RecipesFound found = cheapest_levels(layers, most);
    const RecipeLevel best = cheapest_of_all(layers, most), sum = sum_of(layers, found.levels);
    ASSERT_EQ(found.cost, best.cost) << trial;
    ASSERT_DOUBLE_EQ(found.squared, best.squared) << trial;
    ASSERT_EQ(found.least_cost, found.cost) << trial;
    ASSERT_EQ(sum.cost, found.cost) << trial;
    ASSERT_LE(sum.squared, most) << trial;
  }
}

TEST(PlanSearch, StepsOfLeastErrorPerCostAreNotEnough) {
  // By worth the first layer steps down first, and then the second can't.
  const Layers layers = {{{4, 5}, {10, 0}}, {{4, 9}, {12, 0}}};
  const RecipesFound found = cheapest_levels(layers, 9);
  EXPECT_EQ(found.cost, 14);
  EXPECT_EQ(found.levels, (std::vector<std::size_t>{1, 0}));
}

TEST(PlanSearch, IsProvenForAWholeNetwork) {
  std::mt19937 random(11);
  for (const std::uint32_t sizes : {4U, 1000000U}) {
    const Layers layers = drawn(random, 300, sizes);
    const double most = worst_of(layers) / 30;
    const RecipesFound found = cheapest_levels(layers, most);
    EXPECT_LE(found.squared, most);
    EXPECT_EQ(sum_of(layers, found.levels).cost, found.cost);
    EXPECT_EQ(found.least_cost, found.cost) << sizes;
  }
}

TEST(PlanSearch, SaysWhatItMayHaveMissed) {
  std::mt19937 random(13);
  std::size_t missed = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Layers layers = drawn(random, 6, 1000);
    const double most = worst_of(layers) / 20;
    const double best = cheapest_of_all(layers, most).cost;
    const RecipesFound found = cheapest_levels(layers, most, 1);
    ASSERT_LE(sum_of(layers, found.levels).squared, most) << trial;
    ASSERT_GE(found.cost, best) << trial;
    ASSERT_LE(found.least_cost, best * (1 + 1e-9)) << trial;
    missed += found.cost > best ? 1 : 0;
  }
  EXPECT_GT(missed, 0U);  // else this test shows nothing
}

TEST(PlanSearch, LayersWithoutInfluenceTakeTheFewestBits) {
  const double huge = 1e300 * 1e300;
  EXPECT_EQ(cheapest_levels({{{4, 0}}, {{4, 0}}}, 0).cost, 8);
  EXPECT_EQ(cheapest_levels({{{4, huge}, {8, 1}, {32, 0}}}, 0.5).levels, std::vector<std::size_t>{2});
  EXPECT_TRUE(cheapest_levels({}, 1).levels.empty());
}

}  // namespace
}  // namespace mmaudit::report
