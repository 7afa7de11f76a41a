#pragma once
// Text into HTML, and the two figures of the page.
#include <string>
#include <string_view>

#include "mmaudit/report/result.hpp"

namespace mmaudit::report {

/// Error against chain length, logarithmic, one curve a (type, inputs). Empty without curves.
std::string chain_figure(const AuditResult& result);

/// Error level of every data type on one logarithmic axis. Empty without rows.
std::string dtype_figure(const AuditResult& result);

}  // namespace mmaudit::report
