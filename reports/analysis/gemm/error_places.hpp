#pragma once
#include <cstdint>
#include <span>

#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {

/// What: the share of every k in the quantization error, as if the errors of different k were independent
/// (||e_a b^ + a e_b||^2 of the outer products over the sum of all), and what keeping the k that stand out in
/// BF16 would leave, which is computed. `exact` with C, (m, n). Empty where an operand is not finite.
ChannelStudy channels_of(const GemmOperands& operands, const ConvertedOperands& converted,
                         std::span<const double> exact, const MatmulOptions& how);

/// What: the error of D by bands of rows and of columns, at most kMostBands each. `rows`, `columns`: which of
/// the whole D; empty: the first.
ErrorMap error_map(std::span<const double> exact, std::span<const double> result, std::uint64_t columns,
                   std::span<const std::uint64_t> row_of, std::span<const std::uint64_t> column_of);

}  // namespace mmaudit::report
