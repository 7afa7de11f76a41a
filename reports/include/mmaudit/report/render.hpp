#pragma once
// An audit as a report.
#include <string>

#include "mmaudit/report/report.hpp"
#include "mmaudit/report/result.hpp"

namespace mmaudit::report {

/// The "schema" field is "mmaudit.audit/2" (1 had no "gemm"); numbers that do not exist are null.
std::string to_json(const AuditResult& result);
Report report_of(const AuditResult& result);

}  // namespace mmaudit::report
