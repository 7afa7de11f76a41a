#pragma once
// The figures of the pages, as inline SVG. Each is empty where there is nothing to draw.
#include <string>
#include <vector>

#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/report/result.hpp"

namespace mmaudit::report {

/// Error against chain length, logarithmic, one curve per type and inputs.
std::string chain_figure(const AuditResult& result);
/// Error level of every data type on one logarithmic axis.
std::string dtype_figure(const AuditResult& result);
/// Accumulation error against K on logarithmic axes, plain and with promotion.
std::string depth_figure(const GemmStudy& study);

/// Combinations that a figure shows; the tables have more.
inline constexpr std::size_t kMostDrawn = 40;

/// Quantization, accumulation, output and total of every row on one logarithmic axis, and the limit.
std::string split_figure(const GemmAudit& audit);
/// Bits that conversion took from the elements of A and B: a key and one histogram per type and scaling.
std::vector<std::string> bits_lost_figures(const GemmAudit& audit);
/// How far the accumulator of the worst element is from the exact sum of its converted products, against K.
std::string sum_figure(const WorstElement& worst);

}  // namespace mmaudit::report
