#pragma once
#include <vector>

#include "mmaudit/report/gemm_errors.hpp"

namespace mmaudit::report {

/// The sums of converted operands as they leave the tensor cores and the totals, (m, n): in units of the
/// elements, with Scaling::blocks in units of the operands.
std::vector<double> model_sums(const GemmCombination& combination, const GemmPath& path,
                               const ConvertedOperands& converted, const MatmulOptions& how);

/// Bound on the error of these sums, in the same units; empty where the datapath has none.
std::vector<double> sum_bounds(const GemmCombination& combination, const GemmPath& path,
                               const ConvertedOperands& converted, const MatmulOptions& how);

}  // namespace mmaudit::report
