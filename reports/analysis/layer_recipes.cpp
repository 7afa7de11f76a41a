// Which combination every layer of a network takes: by itself, or under a limit on the error of the output.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "gemm/audit_tables.hpp"
#include "mmaudit/report/capture_audit.hpp"
#include "recipe_search.hpp"

namespace mmaudit::report {
namespace {

bool same_combination(const GemmAuditRow& x, const GemmAuditRow& y) {
  return x.architecture == y.architecture && x.dtype == y.dtype && x.scaling == y.scaling &&
         x.accumulation == y.accumulation;
}

/// It passes its limit; without one, it has an error that holds for all of D.
bool usable(const GemmAuditRow& row) {
  if (row.verdict != GemmVerdict::not_asked) return row.verdict == GemmVerdict::pass;
  return has_total(row) && !row.errors.loses();
}

/// The GPU's combinations that are usable in all products of a layer, each as its row with the largest error.
/// A layer of a checkpoint that another GPU's recipe quantized, and was asked on that GPU alone, stays on it.
std::vector<const GemmAuditRow*> usable_rows(const std::vector<const CapturedProduct*>& products,
                                             std::string_view gpu) {
  std::vector<const GemmAuditRow*> out;
  const auto is_on = [&](const GemmAuditRow& row) { return row.architecture == gpu; };
  const std::vector<GemmAuditRow>& all = products.front()->audit.rows_of;
  const bool asked = std::any_of(all.begin(), all.end(), is_on);
  for (const GemmAuditRow& candidate : all) {
    if (asked && !is_on(candidate)) continue;
    const GemmAuditRow* worst = &candidate;
    bool good = true;
    for (const CapturedProduct* each : products) {
      const std::vector<GemmAuditRow>& rows = each->audit.rows_of;
      const auto found = std::find_if(rows.begin(), rows.end(), [&](const GemmAuditRow& row) {
        return same_combination(row, candidate);
      });
      good = good && found != rows.end() && usable(*found);
      if (good && found->errors.total > worst->errors.total) worst = &*found;
    }
    if (good) out.push_back(worst);
  }
  return out;
}

constexpr double kKeptBits = 32;         ///< more than any type that is offered costs
constexpr double kSeveralChains = 0.25;  ///< bits that one chain is worth: less than a type

/// What a layer may take under a limit on the output: costs rise, errors fall, and the last one keeps it.
struct Ladder {
  std::vector<const GemmAuditRow*> rows;  ///< null: it is kept
  std::vector<RecipeLevel> levels;
};

Ladder ladder_of(const std::vector<const GemmAuditRow*>& rows, double gain, double multiplications) {
  std::vector<std::pair<RecipeLevel, const GemmAuditRow*>> all;
  for (const GemmAuditRow* row : rows) {
    const double error = gain * row->errors.total;
    const double bits = element_bits(*row) + (one_chain(*row) ? 0 : kSeveralChains);
    all.push_back({{bits * multiplications, error * error}, row});
  }
  all.push_back({{kKeptBits * multiplications, 0}, nullptr});
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) {
    return std::pair(x.first.cost, x.first.squared) < std::pair(y.first.cost, y.first.squared);
  });
  Ladder out;
  for (const auto& [level, row] : all) {
    if (!out.levels.empty() && level.squared >= out.levels.back().squared) continue;
    out.levels.push_back(level);
    out.rows.push_back(row);
  }
  return out;
}

double most_squared(double limit) { return limit * limit * (1 - 1e-15); }  // whose root rounds to no more

/// The layers in the order of their first products, what each may take alone, and its ladder.
struct Layers {
  std::vector<LayerChoice> choices;
  std::vector<std::vector<const GemmAuditRow*>> usable;
  std::vector<Ladder> ladders;
};

Layers layers_of(const std::vector<CapturedProduct>& products, std::string_view gpu) {
  Layers out;
  std::map<std::string_view, std::size_t> places;
  std::vector<std::vector<const CapturedProduct*>> of_layer;
  for (const CapturedProduct& each : products) {
    const auto [at, fresh] = places.try_emplace(each.layer, of_layer.size());
    if (fresh) of_layer.emplace_back();
    of_layer[at->second].push_back(&each);
  }
  for (const std::vector<const CapturedProduct*>& all : of_layer) {
    LayerChoice& choice = out.choices.emplace_back();
    choice.layer = all.front()->layer;
    choice.products = all.size();
    double multiplications = 0;
    for (const CapturedProduct* each : all) {
      if (!each->gain) continue;
      choice.gain = std::max(choice.gain, each->gain->gain);
      multiplications += each->gain->multiplications;
    }
    out.usable.push_back(usable_rows(all, gpu));
    // By a gain of 0 every error is estimated as none: such a layer is kept.
    const auto& offered = choice.gain > 0 ? out.usable.back() : std::vector<const GemmAuditRow*>{};
    out.ladders.push_back(ladder_of(offered, choice.gain, multiplications));
  }
  return out;
}

std::vector<std::vector<RecipeLevel>> levels_of(const Layers& layers) {
  std::vector<std::vector<RecipeLevel>> out;
  for (const Ladder& one : layers.ladders) out.push_back(one.levels);
  return out;
}

std::vector<LayerChoice> chosen(const Layers& layers, const std::vector<std::size_t>& levels) {
  std::vector<LayerChoice> out = layers.choices;
  for (std::size_t i = 0; i < out.size(); ++i) out[i].row = layers.ladders[i].rows[levels[i]];
  return out;
}

/// The GPUs of the combinations, each once: a network runs on one of them.
std::vector<std::string> gpus_of(const std::vector<CapturedProduct>& products) {
  std::vector<std::string> out;
  for (const CapturedProduct& product : products)
    for (const GemmAuditRow& row : product.audit.rows_of)
      if (std::find(out.begin(), out.end(), row.architecture) == out.end()) out.push_back(row.architecture);
  return out;
}

/// What every layer takes by itself, and what that costs: layers that take nothing, bits, errors.
struct Alone {
  std::vector<LayerChoice> choices;
  std::tuple<std::size_t, double, double> cost;
};

/// Each layer the fewest bits, then one chain. Of what costs the same the combination that most layers can
/// take, then the one with the least sum of errors: errors of a sample would choose anew in every layer.
Alone alone(Layers layers) {
  // By combination: layers that can't take it, errors.
  std::map<std::string, std::pair<std::size_t, double>> all;
  for (const auto& rows : layers.usable)
    for (const GemmAuditRow* row : rows) {
      auto& [lack, error] = all.try_emplace(subject_text(*row, true), layers.usable.size(), 0).first->second;
      --lack, error += row->errors.total;
    }
  const auto key = [&](const GemmAuditRow* row) {
    return std::tuple(element_bits(*row), !one_chain(*row), all.at(subject_text(*row, true)));
  };
  Alone out{std::move(layers.choices), {}};
  auto& [without, bits, error] = out.cost;
  for (std::size_t i = 0; i < out.choices.size(); ++i) {
    const auto& rows = layers.usable[i];
    const auto best = std::min_element(rows.begin(), rows.end(),
                                       [&](const auto* x, const auto* y) { return key(x) < key(y); });
    if (best == rows.end()) {
      ++without;
      continue;
    }
    out.choices[i].row = *best;
    bits += element_bits(**best), error += (*best)->errors.total;
  }
  return out;
}

}  // namespace

OutputRecipes output_recipes_of(const std::vector<CapturedProduct>& products, double limit) {
  constexpr double kTighter = 0.85;  // limit of choices, per estimate of the one before
  constexpr std::size_t kMostTighter = 40, kStates = 500;
  std::vector<std::vector<RecipeLevel>> levels;
  RecipesFound found;
  OutputRecipes out;
  for (const std::string& gpu : gpus_of(products)) {
    std::vector<std::vector<RecipeLevel>> of_gpu = levels_of(layers_of(products, gpu));
    const RecipesFound one = cheapest_levels(of_gpu, most_squared(limit));
    if (!out.gpu.empty() && std::pair(one.cost, one.squared) >= std::pair(found.cost, found.squared))
      continue;
    found = one, levels = std::move(of_gpu);
    out = {gpu, found.levels, {}, found.cost, found.least_cost};
  }
  for (double squared = found.squared; squared > 0 && out.tighter.size() < kMostTighter;) {
    const RecipesFound next = cheapest_levels(levels, most_squared(kTighter * std::sqrt(squared)), kStates);
    squared = next.squared;
    out.tighter.push_back(next.levels);
  }
  return out;
}

std::vector<LayerChoice> CaptureAudit::choices() const {
  if (output_recipes) return chosen(layers_of(products, output_recipes->gpu), output_recipes->levels);
  if (products.empty() || !products.front().audit.limit) return layers_of(products, {}).choices;
  std::optional<Alone> best;
  for (const std::string& gpu : gpus_of(products))
    if (Alone one = alone(layers_of(products, gpu)); !best || one.cost < best->cost) best = std::move(one);
  return best ? std::move(best->choices) : layers_of(products, {}).choices;
}

std::vector<std::vector<LayerChoice>> CaptureAudit::tighter() const {
  std::vector<std::vector<LayerChoice>> out;
  if (!output_recipes) return out;
  const Layers layers = layers_of(products, output_recipes->gpu);
  for (const std::vector<std::size_t>& levels : output_recipes->tighter)
    out.push_back(chosen(layers, levels));
  return out;
}

double output_error_of(const std::vector<LayerChoice>& choices) {
  double squared = 0;
  for (const LayerChoice& one : choices) squared += one.output_error() * one.output_error();
  return std::sqrt(squared);
}

bool CaptureAudit::passes() const {
  const std::vector<LayerChoice> all = choices();
  const auto has_row = [](const LayerChoice& one) { return one.row != nullptr; };
  if (output_limit) return std::any_of(all.begin(), all.end(), has_row);
  return !all.empty() && std::all_of(all.begin(), all.end(), has_row);
}

std::size_t CaptureAudit::not_judged() const {
  return static_cast<std::size_t>(std::count_if(products.begin(), products.end(), [&](const auto& one) {
    return gain_says_nothing(one) || one.audit.count(GemmVerdict::not_judged) != 0;
  }));
}

}  // namespace mmaudit::report
