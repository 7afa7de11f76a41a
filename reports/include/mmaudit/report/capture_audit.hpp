#pragma once
// The operands of every product of a network, audited together: mmaudit audit --capture. docs/torch.md.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {

/// What an error of a layer does to the output of the network, to first order: the file's "<name>.gain".
struct LayerGain {
  double gain = 0;             ///< relative error of the output per relative error of the layer's products
  double multiplications = 0;  ///< of this product
};

/// A product of the file, whose tensors are "<name>.a", "<name>.b" and maybe "<name>.largest" and
/// "<name>.gain".
struct CapturedProduct {
  std::string name;   ///< "blocks.0.mlp#0", "attention#1[3]"
  std::string layer;  ///< without what follows the last #
  GemmAudit audit;
  std::optional<LayerGain> gain;
};

/// What a layer may be computed in: one of the combinations that pass in all of its products.
struct LayerChoice {
  std::string layer;
  std::size_t products = 0;
  const GemmAuditRow* row = nullptr;  ///< of the layer's product with the largest error; null: it is kept
  double gain = 0;                    ///< with a limit on the output's error
  /// The part of the output's error that the layer makes, to first order; 0 where it is kept.
  [[nodiscard]] double output_error() const { return row != nullptr ? gain * row->errors.total : 0; }
};

/// The cheapest choices under a limit on the output, and choices for when that error, measured, is larger
/// than estimated. Numbers say which of its combinations a layer takes.
struct OutputRecipes {
  std::string gpu;  ///< of all combinations
  std::vector<std::size_t> levels;
  std::vector<std::vector<std::size_t>> tighter;  ///< estimates fall by 15 % or more from each to the next
  double cost = 0;                                ///< of `levels`: bits times multiplications
  double least_cost = 0;  ///< no choices within the limit cost less; `cost` itself where that is proven
};

/// What of the run is not in the file, as its metadata has it: "coverage" of mmaudit.torch.capture().
struct CaptureCoverage {
  double share_missed = 0;                             ///< of the multiply-adds of the forward pass, 0 to 1
  std::vector<std::pair<std::string, double>> missed;  ///< operators and their multiply-adds, most first
};

struct CaptureAudit {
  Origin provenance;
  std::vector<CapturedProduct> products;        ///< sorted by name
  std::optional<double> output_limit;           ///< on the estimated relative error of the output
  std::optional<OutputRecipes> output_recipes;  ///< with `output_limit`
  std::ptrdiff_t attentions = 0;                ///< calls whose Q, K and V the file has
  std::optional<CaptureCoverage> coverage;      ///< none: the file does not say
  std::string activations;  ///< the distribution that A was drawn from; empty: A was captured
  /// In the order of the layers, all on one GPU, pointing into `products`. The fewest bits per element, then
  /// one chain over K, then what most layers can take, then the least error of all layers. With
  /// `output_limit` the cheapest for all layers together, bits times multiplications, whose estimate is
  /// within it.
  [[nodiscard]] std::vector<LayerChoice> choices() const;
  /// Choices for when the output's error, measured, exceeds the limit: `output_recipes->tighter`.
  [[nodiscard]] std::vector<std::vector<LayerChoice>> tighter() const;
  /// A limit was given, and every layer has a choice; with `output_limit` any layer, since the others are
  /// kept.
  [[nodiscard]] bool passes() const;
  /// Products with a combination that can't be judged, with or without a limit; under a limit on the output
  /// also by a gain of 0.
  [[nodiscard]] std::size_t not_judged() const;
  [[nodiscard]] bool gain_says_nothing(const CapturedProduct& product) const {
    return output_limit && product.gain && product.gain->gain == 0;
  }
  /// As GemmAudit has it: the same of every product.
  [[nodiscard]] std::vector<std::string> missing() const {
    return products.empty() ? std::vector<std::string>{} : products.front().audit.missing;
  }
};

/// What the metadata of a file say of operators that are not in it; none: nothing. Errors: InputError.
std::optional<CaptureCoverage> coverage_of(const std::string& file,
                                           const std::map<std::string, std::string>& metadata);

/// Under a limit on the estimated error of the output, above 0; each product has a gain.
OutputRecipes output_recipes_of(const std::vector<CapturedProduct>& products, double limit);

/// The root of the sum of squares; what errors of layers have in common is in the gains.
double output_error_of(const std::vector<LayerChoice>& choices);

/// What: audit_tensors() of every product of the file; `request` without tensors. Errors: InputError, also
/// where the file has no product or a tensor of one alone, or no gains where `output_limit` needs them.
CaptureAudit audit_capture(const TensorAuditRequest& request, const std::string& file,
                           const TensorAuditProgress& progress, std::optional<double> output_limit = {});

/// The "schema" is "mmaudit.audit.capture/1".
std::string to_json(const CaptureAudit& audit);
/// The choices as mmaudit.torch.emulate() takes them, "mmaudit.plan/1"; a layer without one is kept.
std::string layer_recipes_of(const CaptureAudit& audit);
/// CSV: one line per product and combination. JUnit: one case per layer.
Report report_of(const CaptureAudit& audit);

}  // namespace mmaudit::report
