#pragma once
// Attention as torch or a callable of Python runs it here, compared with plans.
#include <cstddef>
#include <string>
#include <vector>

#include "mmaudit/attention.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::checks {

/// Where Python runs: the program, and the device as torch calls it.
struct PythonPlace {
  std::string python = "python3", device = "cuda";
};
/// O of torch's scaled_dot_product_attention by the kernels of a family.
struct TorchAttention {
  std::vector<std::byte> o;
  std::string where;  ///< "torch 2.11.0 on NVIDIA H200"
};
/// Errors: InputError for a family that torch does not run; EnvironmentError where torch can't.
TorchAttention torch_attention(const PythonPlace& place, std::string_view family,
                               const AttentionProblem& problem, const AttentionOperands& operands);
/// Every bit of O beside what its plan gives. Passed where all are equal. `where`: whose O it is.
report::Report compare_attention(const AttentionProblem& problem, const AttentionPlan& plan,
                                 const std::vector<std::byte>& expected, const std::vector<std::byte>& found,
                                 const std::string& where);

/// What a callable is asked with.
struct AttentionReveal {
  std::string function, kind = "f16", causal = "none";  ///< function: FILE.py:NAME
  std::uint64_t heads = 2, queries = 128, keys = 512, depth = 64, seed = 1;
};
/// The plan that mmaudit.reveal_attention() of the Python finds. Passed where it gives every bit. Errors:
/// InputError for a function that is not there or fails; EnvironmentError where Python lacks mmaudit or
/// torch.
report::Report reveal_attention(const PythonPlace& place, const AttentionReveal& asked);

}  // namespace mmaudit::checks
