#pragma once
#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {

/// Verdict, reason and advice of every row, the method and the remarks.
void judge(GemmAudit& audit);

}  // namespace mmaudit::report
