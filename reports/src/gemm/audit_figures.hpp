#pragma once
// Figures of the page on tensors, as inline SVG.
#include <string>
#include <vector>

#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {

/// Combinations that a figure shows; the tables have more.
inline constexpr std::size_t kMostDrawn = 40;

/// Quantization, accumulation, output and total of every row on one logarithmic axis, and the limit. Empty
/// when nothing was compared.
std::string split_figure(const GemmAudit& audit);

/// Bits that conversion took from the elements of A and B: a key and one histogram per type and scaling.
std::vector<std::string> bits_lost_figures(const GemmAudit& audit);

/// How far the accumulator of the worst element is from the exact sum of its converted products, against K.
/// Empty where it never is.
std::string sum_figure(const WorstElement& worst);

}  // namespace mmaudit::report
