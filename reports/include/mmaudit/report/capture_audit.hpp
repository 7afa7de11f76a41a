#pragma once
// The operands of every product of a network, audited together: mmaudit audit --capture. docs/torch.md.
#include <string>
#include <vector>

#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {

/// A product of the file, whose tensors are "<name>.a", "<name>.b" and maybe "<name>.largest".
struct CapturedProduct {
  std::string name;   ///< "blocks.0.mlp#0", "attention#1[3]"
  std::string layer;  ///< without what follows the last #
  GemmAudit audit;
};

/// What a layer may be computed in: the combination that comes first of those that pass in all of its
/// products.
struct LayerChoice {
  std::string layer;
  std::size_t products = 0;
  const GemmAuditRow* row = nullptr;  ///< of the layer's product with the largest error; null: nothing passes
};

struct CaptureAudit {
  Origin provenance;
  std::vector<CapturedProduct> products;  ///< sorted by name
  /// In the order of the layers; of everything that was asked for the cheapest: the fewest bits per element,
  /// then one chain over K, then the least error. Rows point into `products`.
  [[nodiscard]] std::vector<LayerChoice> choices() const;
  /// A limit was given, and every layer has a choice.
  [[nodiscard]] bool passes() const;
  /// Products with a combination that can't be judged, with or without a limit.
  [[nodiscard]] std::size_t not_judged() const;
};

/// What: audit_tensors() of every product of the file; `request` without tensors. Errors: InputError, also
/// where the file has no product or a tensor of one alone.
CaptureAudit audit_capture(const TensorAuditRequest& request, const std::string& file,
                           const TensorAuditProgress& progress);

/// The "schema" is "mmaudit.audit.capture/1".
std::string to_json(const CaptureAudit& audit);
/// The choices as mmaudit.torch.emulate() takes them, "mmaudit.plan/1"; a layer without one is kept.
std::string plan_of(const CaptureAudit& audit);
/// CSV: one line per product and combination. JUnit: one case per layer.
Report report_of(const CaptureAudit& audit);

}  // namespace mmaudit::report
