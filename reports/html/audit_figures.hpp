#pragma once
// The figures of the pages, as inline SVG. Each is empty where there is nothing to draw.
#include <string>
#include <vector>

#include "mmaudit/report/figures.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/report/result.hpp"

namespace mmaudit::report {

/// Error against chain length, logarithmic, one curve per type and inputs.
std::string chain_figure(const AuditResult& result);
/// Error level of every data type whose products are single numbers.
Levels dtype_levels(const AuditResult& result);
/// Errors of whole products: every data type, block-scaled ones too.
Levels study_levels(const GemmStudy& study);
/// Accumulation error against K on logarithmic axes, plain and with promotion.
std::string depth_figure(const GemmStudy& study);

/// Combinations that a figure shows; the tables have more.
inline constexpr std::size_t kMostDrawn = 40;

/// The colours of matrix_table() on an axis of errors: what they stand for, the limit, BF16.
std::string heat_key(const GemmAudit& audit);
/// Quantization, accumulation, output and total of every row on one logarithmic axis, and the limit.
std::string split_figure(const GemmAudit& audit);
/// Bits that conversion took from the elements of A and B: a key and one histogram per type and scaling.
std::vector<std::string> bits_lost_figures(const GemmAudit& audit);
/// The error of D by bands of its rows and columns, in the colours of heat_key(). `index` tells figures
/// apart.
std::string error_map_figure(const GemmAudit& audit, const GemmAuditRow& row, std::size_t index);
/// How far the accumulator of the worst element is from the exact sum of its converted products, against K.
std::string sum_figure(const WorstElement& worst);

}  // namespace mmaudit::report
