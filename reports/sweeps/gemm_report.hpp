#pragma once
// Whole products as a file and as a report.
#include <string>

#include "mmaudit/report/report.hpp"
#include "mmaudit/sweeps/gemm.hpp"

namespace mmaudit::sweeps {

inline constexpr char kGemmSchema[] = "mmaudit.gemm/1";

std::string gemm_json(const GemmResult& result);
/// Errors: InputError("<label>: ...") for anything that gemm_json() does not write.
GemmResult gemm_from_json(const std::string& text, const std::string& label);

/// One line per kernel and size: time, rate, share of the ceiling, bits.
report::Table gemm_table(const GemmResult& result);
/// The table, the order of the ablation, and the share of the ceiling that the best kernel reaches.
report::Report report_of(const GemmResult& result);

}  // namespace mmaudit::sweeps
