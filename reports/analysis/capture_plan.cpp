// Which combination every layer of a network takes: by itself, or under a limit on the error of the output.
#include <algorithm>
#include <cmath>
#include <tuple>

#include "gemm/audit_tables.hpp"
#include "mmaudit/report/capture_audit.hpp"

namespace mmaudit::report {
namespace {

bool same_combination(const GemmAuditRow& x, const GemmAuditRow& y) {
  return x.architecture == y.architecture && x.dtype == y.dtype && x.scaling == y.scaling &&
         x.accumulation == y.accumulation;
}

/// It passes its limit; without one, it has an error that holds for all of D.
bool usable(const GemmAuditRow& row) {
  if (row.verdict != GemmVerdict::not_asked) return row.verdict == GemmVerdict::pass;
  return has_figures(row.errors) && row.errors.overflow == 0 && std::isfinite(row.errors.total);
}

bool one_chain(const GemmAuditRow& row) { return row.accumulation == "plain" || row.accumulation == "half"; }

/// The combinations that are usable in all products of a layer, each as its row with the largest error.
std::vector<const GemmAuditRow*> usable_rows(const std::vector<const CapturedProduct*>& products) {
  std::vector<const GemmAuditRow*> out;
  for (const GemmAuditRow& candidate : products.front()->audit.rows_of) {
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

/// What a layer may take, and at what price.
struct Level {
  const GemmAuditRow* row = nullptr;  ///< null: it is kept
  double cost = 0;
  double squared = 0;  ///< error of the output, to first order
};

struct Ladder {
  std::vector<Level> levels;  ///< costs rise, errors fall; the last one keeps the layer
  std::size_t at = 0;
};

constexpr double kKeptBits = 32;  ///< more than any type that is offered costs
constexpr double kSeveralChains =
    0.25;  ///< bits that leaving the tensor core every so often is worth: less than a type

Ladder ladder_of(const std::vector<const GemmAuditRow*>& rows, double gain, double multiplications) {
  std::vector<Level> all;
  for (const GemmAuditRow* row : rows) {
    const double error = gain * row->errors.total;
    all.push_back({row, (element_bits(*row) + (one_chain(*row) ? 0 : kSeveralChains)) * multiplications,
                   error * error});
  }
  all.push_back({nullptr, kKeptBits * multiplications, 0});
  std::stable_sort(all.begin(), all.end(), [](const Level& x, const Level& y) {
    return std::pair(x.cost, x.squared) < std::pair(y.cost, y.squared);
  });
  Ladder out;
  for (const Level& one : all)
    if (out.levels.empty() || one.squared < out.levels.back().squared) out.levels.push_back(one);
  return out;
}

double squared_of(const std::vector<Ladder>& ladders) {
  double out = 0;
  for (const Ladder& one : ladders) out += one.levels[one.at].squared;
  return out;
}

/// Takes the step that lowers the squared error most for its price; false: there is none.
bool improve(std::vector<Ladder>& ladders) {
  Ladder* best = nullptr;
  std::size_t to = 0;
  double most = 0;
  for (Ladder& one : ladders) {
    const Level& now = one.levels[one.at];
    for (std::size_t i = one.at + 1; i < one.levels.size(); ++i) {
      const Level& next = one.levels[i];
      const double worth = (now.squared - next.squared) / std::max(next.cost - now.cost, 1e-300);
      if (best == nullptr || worth > most) std::tie(best, to, most) = std::tuple(&one, i, worth);
    }
  }
  if (best == nullptr) return false;
  best->at = to;
  return true;
}

/// The cheapest levels first, better ones while the sum is above `limit` squared; then what turned out too
/// good goes back, dearest first.
void settle(std::vector<Ladder>& ladders, double limit) {
  const double most = limit * limit;
  while (squared_of(ladders) > most && improve(ladders)) {
  }
  while (true) {
    Ladder* best = nullptr;
    std::size_t to = 0;
    double saved = 0;
    for (Ladder& one : ladders) {
      const std::size_t now = one.at;
      for (std::size_t i = 0; i < now; ++i) {
        const double less = one.levels[now].cost - one.levels[i].cost;
        one.at = i;
        if (less > saved && squared_of(ladders) <= most)
          std::tie(best, to, saved) = std::tuple(&one, i, less);
        one.at = now;
      }
    }
    if (best == nullptr) return;
    best->at = to;
  }
}

}  // namespace

std::vector<LayerChoice> CaptureAudit::choices() const {
  std::vector<LayerChoice> out;
  std::vector<Ladder> ladders;
  for (const CapturedProduct& first : products) {
    if (std::any_of(out.begin(), out.end(), [&](const LayerChoice& one) { return one.layer == first.layer; }))
      continue;
    LayerChoice& choice = out.emplace_back();
    choice.layer = first.layer;
    std::vector<const CapturedProduct*> of_layer;
    double multiplications = 0;
    for (const CapturedProduct& each : products) {
      if (each.layer != first.layer) continue;
      of_layer.push_back(&each);
      if (!each.gain) continue;
      choice.gain = std::max(choice.gain, each.gain->gain);
      multiplications += each.gain->multiplications;
    }
    choice.products = of_layer.size();
    const std::vector<const GemmAuditRow*> rows = usable_rows(of_layer);
    const auto key = [](const GemmAuditRow* row) {
      return std::tuple(element_bits(*row), !one_chain(*row), row->errors.total);
    };
    if (output_limit)
      ladders.push_back(ladder_of(rows, choice.gain, multiplications));
    else if (!rows.empty() && products.front().audit.limit)
      choice.row = *std::min_element(rows.begin(), rows.end(),
                                     [&](const auto* x, const auto* y) { return key(x) < key(y); });
  }
  if (!output_limit) return out;
  settle(ladders, *output_limit);
  for (std::size_t i = 0; i < out.size(); ++i) out[i].row = ladders[i].levels[ladders[i].at].row;
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
  return static_cast<std::size_t>(std::count_if(products.begin(), products.end(), [](const auto& one) {
    return one.audit.count(GemmVerdict::not_judged) != 0;
  }));
}

}  // namespace mmaudit::report
