#pragma once
// Text into HTML, and the figures of the page.
#include <string>
#include <string_view>

#include "mmaudit/report/gemm_study.hpp"
#include "mmaudit/report/result.hpp"

namespace mmaudit::report {

/// Error against chain length, logarithmic, one curve a (type, inputs). Empty without curves.
std::string chain_figure(const AuditResult& result);

/// Error level of every data type on one logarithmic axis. Empty without rows.
std::string dtype_figure(const AuditResult& result);

/// Accumulation error against K on logarithmic axes, plain and with promotion. Empty without curves.
std::string depth_figure(const GemmStudy& study);

}  // namespace mmaudit::report
