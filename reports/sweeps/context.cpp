// What stands beside a sweep on its page: accuracy, whole products, SASS.
#include "sweeps/census.hpp"
#include "sweeps/published.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr char kAccuracyRemark[] =
    "Error of a product of N(0, 1) operands with K = 4096 by the model, relative to the exact product; rates "
    "of this sweep, the whole GPU, operands on the spot: what a library can reach at most. FP8 scaled by one "
    "factor per tensor.";

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
  report::Table census = census_table(shipped_census(), result.provenance.compute_capability);
  for (auto& row : census.rows) row.pop_back();  // the opcodes
  census.columns.pop_back();
  sections.push_back(section_of(std::move(census), report::kOnPage));
  sections.back().folded = true;
  for (report::Section& section : sections)
    if (section.folded) section.shown &= ~report::kOnTerminal;
}

}  // namespace mmaudit::sweeps
