#pragma once
// mmaudit audit --a --b: the user's own tensors.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common.hpp"
#include "mmaudit/report/result.hpp"

namespace mmaudit::cli {

struct TensorAuditOptions {
  std::string a, b, c;
  bool b_transposed = false;
  std::vector<std::string> architectures, dtypes, scales, policies;
  std::string sample = "auto", output, unit;
  double limit = 0;  ///< 0: none
  std::uint64_t seed = 1;
  unsigned threads = 0;
  std::string json, markdown, csv, junit, html, dtype_a, dtype_b;
};

inline constexpr const char* kTensorGroup = "Your own tensors";  ///< of the options, in --help
/// Adds the options that only --a and --b have.
void add_tensor_options(Command& command, TensorAuditOptions& options);

/// The file of --model, where there is one, among the inputs.
void add_model_file(const Context& context, report::Provenance& provenance);

/// Exit code: kMismatch when a limit was given and a combination does not pass.
int audit_tensors(const TensorAuditOptions& options, const Context& context);

}  // namespace mmaudit::cli
