#pragma once
// Whole products as a file and as a report.
#include <string>

#include "mmaudit/report/report.hpp"
#include "mmaudit/sweeps/gemm.hpp"

namespace mmaudit::sweeps {

inline constexpr char kGemmSchema[] = "mmaudit.gemm/1";

std::string gemm_json(const GemmResult& result);

/// What: time, rate, share of the ceiling and bits per kernel and size; then the order of the ablation and
/// the share that the best kernel reaches, as yes or no. `json`: what gemm_json() makes, from a file called
/// `label`. Errors: InputError("<label>: ...") for any other text.
report::Report gemm_report(const std::string& json, const std::string& label);

}  // namespace mmaudit::sweeps
