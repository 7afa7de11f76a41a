#pragma once
#include <optional>
#include <span>

#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {

/// What happened to the element that errors.worst_row and worst_column name; row and column of the result are
/// those. None where nothing was compared or nothing differs.
std::optional<WorstElement> worst_element(const GemmErrors& errors, const GemmCombination& combination,
                                          const GemmPath& path, const ConvertedOperands& converted,
                                          const GemmOperands& operands, std::span<const double> exact,
                                          const GemmElements& elements);

}  // namespace mmaudit::report
