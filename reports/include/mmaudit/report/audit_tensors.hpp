#pragma once
// An audit of the user's own tensors: mmaudit audit --a --b.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {

/// What to multiply and how, in the words of the command's options; the names of docs/audit.md.
struct TensorAuditRequest {
  std::string a, b, c;               ///< files; `c` may be empty
  std::optional<bool> b_transposed;  ///< the file of B is (N, K); none: (K, N), and a square B is refused
  std::vector<const Architecture*> architectures;
  std::vector<std::string> dtypes, scales, policies;  ///< empty: the usual ones
  std::string dtype_a, dtype_b;                       ///< a pair of dtypes that differ; both empty: none
  std::string sample = "auto", output, unit;
  double limit = 0;  ///< 0: none
  std::uint64_t seed = 1;
  unsigned threads = 0;
};

/// Progress of the audit: begin() names a stage and its number of steps, advance() adds finished steps.
struct TensorAuditProgress {
  std::function<void(std::string_view what, std::uint64_t total)> begin;
  std::function<void(std::uint64_t steps)> advance;
};

/// What: reads the files, samples D, computes every combination that the architectures have. Of the
/// provenance it fills in the backend, the architectures, the files and the rows of the model. Errors:
/// InputError that names the option, what was found and what is allowed.
GemmAudit audit_tensors(const TensorAuditRequest& request, const TensorAuditProgress& progress);

}  // namespace mmaudit::report
