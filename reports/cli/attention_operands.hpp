#pragma once
// What the commands of mmaudit attention share: options, operands from files, plans.
#include <string>
#include <vector>

#include "attention/run.hpp"
#include "common.hpp"
#include "mmaudit/attention.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {

struct AttentionOptions {
  std::string q, k, v, o, capture, function, mask, out, type, like = "torch-flash", causal = "none",
                                                              at = "0,0,0";
  std::vector<std::string> kernels, recipes = {"bf16", "fa3-head", "fa4-e4m3", "fa4-e4m3-mended"};
  std::uint64_t batch = 1, heads = 1, kv_heads = 0, queries = 1, keys = 1, depth = 64, rows = 64, most = 4096,
                seed = 1;
  double scale = 0, softcap = 0, limit = 0;
  unsigned threads = 0;
  PythonPlace place;
  Outputs outputs;
};

struct Loaded {
  AttentionProblem problem;
  corpus::Tensor q, k, v, mask;
  [[nodiscard]] AttentionOperands operands() const;
};
struct Planned {
  AttentionPlan plan;
  const Architecture* architecture;
};

Causal causal_of(const std::string& name);
/// A tensor of four axes; axes that are missing are 1.
corpus::Tensor load_part(const char* option, const std::string& file);
/// The format of a file of numbers; raw bits need --type.
Format format_of(const char* option, const corpus::Tensor& tensor, const std::string& type);
Loaded load(const AttentionOptions& options);
std::vector<NamedFile> inputs_of(const AttentionOptions& options);
Planned planned(const AttentionOptions& options, const AttentionProblem& problem);
/// O by the plan.
corpus::Tensor predicted(const AttentionOptions& options, const Loaded& given, const Planned& how);

}  // namespace mmaudit::cli
