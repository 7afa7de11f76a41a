#pragma once
// A checkpoint from a folder to an answer: mmaudit model. docs/model.md.
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/json.hpp"
#include "mmaudit/report/capture_audit.hpp"

namespace mmaudit::report {

struct ModelRequest {
  std::string path, convention, original;
  std::string activations = "outliers:8:20";  ///< a distribution, or a file of mmaudit.torch.capture
  std::string layers = "*";                   ///< glob over names of layers
  std::vector<std::string> recipes = {"nvfp4", "mxfp8-ceil", "fp8-tensor"};  ///< of layers without scales
  double limit = 0;
  bool strict = false;        ///< a suspicion fails too
  std::uint64_t sample = 64;  ///< rows of every weight
  std::uint64_t seed = 1;
  unsigned threads = 0;
};

/// A layer against the original; rows are those that were sampled, scales all of them.
struct WeightComparison {
  double error = 0, sqnr = 0;  ///< norm of the difference over the norm of the original; decibels
  double saturated = 0,
         zeroed = 0;  ///< shares of the elements: at the format's end; no longer other than zero
  std::uint64_t scales = 0, zero = 0, infinite = 0, nan = 0, subnormal = 0;
};

struct ModelLayer {
  std::string name, meaning, type;
  std::uint64_t experts = 1, n = 0, k = 0, bytes = 0;
  bool quantized = false, product = true, compared = false;
  std::string why;  ///< it was not audited; "": it was, or nobody asked
  std::optional<WeightComparison> against;
  std::vector<std::string> faults;      ///< proven
  std::vector<std::string> suspicions;  ///< what may be right all the same
  std::vector<std::string> notes;       ///< what is right, and explains a difference
};

/// A tensor without codes that is not as the original's, or a layer that one of the two lacks.
struct ModelTensor {
  std::string name;
  std::vector<std::string> faults{}, suspicions{}, notes{};
};

struct ModelAudit {
  Json checkpoint;     ///< mmaudit.checkpoint/1
  CaptureAudit audit;  ///< a product per layer; quantized ones have one row: their own codes
  std::vector<ModelLayer> layers;
  std::vector<ModelTensor> tensors;
  std::size_t same_tensors = 0;             ///< without codes, and as the original's
  std::vector<std::string> unread;          ///< tensors that can't be read, and why
  std::vector<std::string> unread_layers;   ///< names of those among them that were asked for
  std::vector<std::string> contradictions;  ///< of the config with the tensors
  std::string original, activations, sampled;
  std::vector<std::string>
      recipes;  ///< that layers without scales were audited in, in the order of their rows
  bool strict = false, limited = false;
};

/// What: opens the checkpoint; audits one product per layer unless `list`. Errors: InputError.
ModelAudit audit_model(const ModelRequest& request, bool list, const TensorAuditProgress& progress);

/// What is wrong with a quantized layer, found by trying what would put it right. Private to the audit.
Report report_of(const ModelAudit& audit);
/// mmaudit.model/1; of a list mmaudit.checkpoint/1.
std::string to_json(const ModelAudit& audit);
/// What emulate() takes, "mmaudit.plan/1": quantized layers their own recipe, others their choice.
std::string layer_recipes_of(const ModelAudit& audit);

}  // namespace mmaudit::report
