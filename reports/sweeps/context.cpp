// What stands beside a sweep on its page: accuracy, whole products, SASS.
#include <fmt/format.h>

#include "mmaudit/csv.hpp"
#include "sweeps/published.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr char kAccuracyRemark[] =
    "Error of a product of N(0, 1) operands with K = 4096 by the model, relative to the exact product; rates "
    "of this sweep, the whole GPU, operands on the spot: what a library can reach at most. FP8 scaled by one "
    "factor per tensor.";

/// Lines of the shipped census for the GPU of the sweep.
report::Table census_of_target(int compute_capability) {
  report::Table table{.title = "What the instructions become", .columns = {"instruction", "SASS", "how"}};
  const std::string target = fmt::format("sm_{}", compute_capability);
  for (const std::vector<std::string_view>& cells : csv::rows_of(shipped_census(), ""))
    if (cells.size() >= 4 && (cells[0] == target || cells[0] == target + "a"))
      table.rows.push_back({cells[1], cells[2], cells[3]});
  return table;
}

}  // namespace

void add_context(report::Report& report, const SweepResult& result, const std::vector<AccuracyRow>& accuracy,
                 const std::string& products, const std::string& label) {
  auto& sections = report.sections;
  if (!products.empty()) sections.insert(sections.begin(), gemm_report(products, label).sections.front());
  if (!accuracy.empty())
    sections.insert(sections.begin(), {.title = kAccuracyTitle,
                                       .remark = kAccuracyRemark,
                                       .figures = accuracy_figures(accuracy),
                                       .tables = {accuracy_table(accuracy)}});
  sections.push_back(section_of(census_of_target(result.provenance.compute_capability)));
  sections.back().folded = true;
}

}  // namespace mmaudit::sweeps
