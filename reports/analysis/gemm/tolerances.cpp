// Whether a test with a relative and an absolute tolerance would pass, and where not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "audit_tables.hpp"
#include "printed.hpp"
#include "stages.hpp"

namespace mmaudit::report {
namespace {

std::string element_text(const std::optional<TestedElement>& one) {
  return one ? fmt::format("D[{}, {}] = {:.6g}, exact {:.6g}", one->row, one->column, one->result, one->exact)
             : "-";
}

}  // namespace

ToleranceTest tolerance_test(std::span<const double> exact, std::span<const double> result,
                             std::span<const std::uint64_t> rows, std::span<const std::uint64_t> columns,
                             std::uint64_t width, const Tolerances& tolerances) {
  ToleranceTest out{.elements = exact.size(), .first = {}, .worst = {}};
  double farthest = -1;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (result[i] == exact[i]) continue;  // the same infinity too
    const bool numbers = std::isfinite(exact[i]) && std::isfinite(result[i]);
    const double off = numbers ? std::fabs(result[i] - exact[i]) : std::numeric_limits<double>::infinity();
    const double allowed = tolerances.absolute + tolerances.relative * std::fabs(exact[i]);
    out.passing_atol = std::max(out.passing_atol, off - tolerances.relative * std::fabs(exact[i]));
    if (numbers && off <= allowed) continue;
    const std::uint64_t row = i / width, column = i % width;
    const TestedElement one{rows.empty() ? row : rows[row], columns.empty() ? column : columns[column],
                            exact[i], result[i]};
    if (++out.beyond == 1) out.first = one;
    if (off / allowed > farthest) out.worst = one, farthest = off / allowed;
  }
  return out;
}

namespace {

/// The tolerance that the test would pass with, three digits rounded up.
std::string passing_text(const GemmAuditRow& row, const Tolerances& asked) {
  const double atol = row.test->passing_atol;
  if (!std::isfinite(atol)) return "none";
  if (row.test->beyond == 0) return "those given";
  const double step = std::pow(10.0, std::floor(std::log10(atol)) - 2);
  return fmt::format("rtol {:.3g}, atol {:.3g}", asked.relative, std::ceil(atol / step) * step);
}

}  // namespace

std::string tolerances_text(const GemmAudit& audit) {
  return fmt::format("rtol {:.3g}, atol {:.3g}", audit.tolerances->relative, audit.tolerances->absolute);
}

std::string limits_text(const GemmAudit& audit) {
  std::string limit = audit.limit ? fmt::format("limit {:.3g}", *audit.limit) : "";
  if (!audit.tolerances) return limit;
  return limit + (limit.empty() ? "" : ", ") + tolerances_text(audit);
}

Table tolerance_table(const GemmAudit& audit) {
  using Row = GemmAuditRow;
  if (!audit.tolerances) return {};
  const auto beyond = [](const Row& row) {
    return Cell(fmt::format("{} of {}", grouped(row.test->beyond), grouped(row.test->elements)),
                row.test->beyond != 0 ? Tone::bad : Tone::plain);
  };
  return table_of<Row>(
      "Elements of D beyond " + tolerances_text(audit), audit.rows_of,
      {{"Combination", [&audit](const Row& row) { return subject_text(row, several_architectures(audit)); }},
       {{"Beyond", true}, beyond},
       {"Passes with", [&audit](const Row& row) { return passing_text(row, *audit.tolerances); }},
       {"First", [](const Row& row) { return element_text(row.test->first); }},
       {"Worst", [](const Row& row) { return element_text(row.test->worst); }}});
}

}  // namespace mmaudit::report
