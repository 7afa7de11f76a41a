#pragma once
// mmaudit sweep report: a sweep that was measured, as tables and as a page with figures.
#include <string>

namespace mmaudit::cli {

struct SweepReportOptions {
  std::string sweep;  ///< a sweep.json
  std::string gemm;   ///< what sweep gemm --out wrote, for the page; empty: none
  std::string html;   ///< a file for the page; empty: none
};

/// Exit code. Errors: InputError for a file that is no sweep.
int sweep_report(const SweepReportOptions& options);

}  // namespace mmaudit::cli
