#pragma once
#include <vector>

#include "mmaudit/report/gemm_errors.hpp"

namespace mmaudit::report {

/// What the tensor cores and the totals make of converted operands, (m, n): in units of the elements, with
/// Scaling::blocks in units of the operands.
std::vector<double> model_sums(const GemmCombination& combination, const GemmPath& path,
                               const ConvertedOperands& converted, const GemmMeans& means);

/// Bound on the error of these sums, in the same units; empty where the row has none.
std::vector<double> sum_bounds(const GemmCombination& combination, const GemmPath& path,
                               const ConvertedOperands& converted, const GemmMeans& means);

}  // namespace mmaudit::report
