// An audit of tensors in words and as tables.
#include "audit_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mmaudit/printable.hpp"
#include "printed.hpp"

namespace mmaudit::report {
namespace {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return fmt::format("{}", fmt::join(shape, " x "));
}

std::string share_text(std::uint64_t a, std::uint64_t of_a, std::uint64_t b, std::uint64_t of_b) {
  const auto share = [](std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  };
  const double most = std::max(share(a, of_a), share(b, of_b));
  return most == 0 ? "0" : fmt::format("{:.3g}%", 100 * most);
}

std::string value_text(const GemmErrors& errors, double value) {
  if (errors.compared == 0) return errors.overflow != 0 ? "overflow" : "-";
  return std::isfinite(value) ? error_text(value) : "infinite";
}

std::string interval_text(const GemmErrors& errors) {
  if (!errors.interval || errors.compared == 0 || errors.total == 0) return "-";
  const double most = std::max(errors.interval->high - errors.total, errors.total - errors.interval->low);
  return std::isfinite(most) ? fmt::format("{:.3g}%", 100 * most / errors.total) : "-";
}

}  // namespace

std::string printable(std::string_view text, std::size_t longest) {
  return mmaudit::printable(text, longest);
}

Tone tone_of(const GemmAudit& audit) {
  return audit.passes() ? Tone::good : audit.limit ? Tone::bad : Tone::plain;
}

Tone tone_of(GemmVerdict verdict) {
  if (verdict == GemmVerdict::pass) return Tone::good;
  if (verdict == GemmVerdict::not_asked) return Tone::plain;
  return verdict == GemmVerdict::fail ? Tone::bad : Tone::note;
}

Table tensor_table(const GemmAudit& audit) {
  Table table;
  table.title = "Tensors";
  table.columns = {{"Operand"},     {"File"},          {"Type"},
                   {"Shape"},       {"Largest", true}, {"Least not 0", true},
                   {"Zeros", true}, {"NaN", true},     {"Infinite", true}};
  for (const TensorFacts& one : audit.tensors)
    table.rows.push_back({{one.role},
                          {printable(one.name)},
                          {printable(one.dtype)},
                          {shape_text(one.shape)},
                          {fmt::format("{:.4g}", one.largest)},
                          {fmt::format("{:.4g}", one.least)},
                          {share_text(one.zeros, one.elements, 0, 0)},
                          {grouped(one.nan), one.nan != 0 ? Tone::bad : Tone::plain},
                          {grouped(one.infinite), one.infinite != 0 ? Tone::bad : Tone::plain}});
  return table;
}

bool several_architectures(const GemmAudit& audit) {
  return std::any_of(audit.rows_of.begin(), audit.rows_of.end(), [&](const GemmAuditRow& row) {
    return row.architecture != audit.rows_of[0].architecture;
  });
}

Table row_table(const GemmAudit& audit, bool verdict_first) {
  const bool several = several_architectures(audit);
  Table table;
  table.title = "Relative error of D (Frobenius norm)";
  if (several) table.columns.push_back({"GPU"});
  for (const Column& column : std::vector<Column>{{"Type"},
                                                  {"Scale"},
                                                  {"Policy"},
                                                  {"Total", true},
                                                  {"95 % +-", true},
                                                  {"Quanti- zation", true},
                                                  {"Accum.", true},
                                                  {"Output", true},
                                                  {"p99 ulp", true},
                                                  {"max ulp", true, true},
                                                  {"Bias", true, true},
                                                  {"Drift of |sum|", true, true},
                                                  {"To zero", true},
                                                  {"Satu- rated", true, several},
                                                  {"Bound on accum.", true, true},
                                                  {"Largest of bound", true, true},
                                                  {"D", false, true},
                                                  {"Instruction", false, true},
                                                  {"Known from", false, true},
                                                  {"Verdict"}})
    table.columns.push_back(column);
  for (const GemmAuditRow& row : audit.rows_of) {
    const GemmErrors& e = row.errors;
    const bool any = e.compared != 0;
    std::vector<Cell> cells;
    if (several) cells.push_back({printable(row.architecture)});
    for (Cell& cell : std::vector<Cell>{{row.dtype},
                                        {row.scaling},
                                        {row.accumulation},
                                        {value_text(e, e.total)},
                                        {interval_text(e)},
                                        {value_text(e, e.quantization)},
                                        {value_text(e, e.accumulation)},
                                        {value_text(e, e.output)},
                                        {any ? fmt::format("{:.3g}", e.p99_ulp) : "-"},
                                        {any ? fmt::format("{:.3g}", e.max_ulp) : "-"},
                                        {any ? signed_text(e.bias) : "-"},
                                        {any ? signed_text(e.accumulation_drift) : "-"},
                                        {share_text(row.cast_a.underflow, row.cast_a.elements,
                                                    row.cast_b.underflow, row.cast_b.elements)},
                                        {share_text(row.cast_a.saturated, row.cast_a.elements,
                                                    row.cast_b.saturated, row.cast_b.elements)},
                                        {e.bound && any ? error_text(*e.bound) : "-"},
                                        {e.bound && any ? fmt::format("{:.2g}", e.of_bound) : "-"},
                                        {std::string(name_of(row.output))},
                                        {row.instruction},
                                        {row.evidence},
                                        {std::string(name_of(row.verdict)), tone_of(row.verdict)}})
      cells.push_back(std::move(cell));
    table.rows.push_back(std::move(cells));
  }
  if (verdict_first) {
    const auto forward = [at = several ? 4 : 3](auto& list) {
      std::rotate(list.begin() + at, list.end() - 1, list.end());
    };
    forward(table.columns);
    for (auto& row : table.rows) forward(row);
  }
  return table;
}

std::string headline(const GemmAudit& audit) {
  const std::string what = fmt::format("D ({} x {}) = A B, K = {}", audit.m, audit.n, audit.k);
  if (audit.rows_of.empty()) return what + ": none of the combinations asked for can be computed.";
  if (!audit.limit) return what + ". No limit was given (--max-rel-fro), so nothing is judged.";
  std::string text = fmt::format("{}: {} of {} combinations stay within a relative error of {:.3g}", what,
                                 audit.count(GemmVerdict::pass), audit.rows_of.size(), *audit.limit);
  if (const int n = audit.count(GemmVerdict::fail); n != 0)
    text += fmt::format(", {} {}", n, n == 1 ? "fails" : "fail");
  if (const int n = audit.count(GemmVerdict::undecided); n != 0)
    text += fmt::format(", {} {} undecided", n, n == 1 ? "is" : "are");
  if (const int n = audit.count(GemmVerdict::not_judged); n != 0)
    text += fmt::format(", {} can't be judged", n);
  return text + ".";
}

std::string subject_text(const GemmAuditRow& row, bool several) {
  return fmt::format("{}{} {} {}", several ? printable(row.architecture) + " " : "", row.dtype, row.scaling,
                     row.accumulation);
}

std::vector<std::string> reasons(const GemmAudit& audit) {
  const bool several = several_architectures(audit);
  std::vector<std::string> out;
  for (const GemmAuditRow& row : audit.rows_of) {
    if (row.verdict == GemmVerdict::pass || row.verdict == GemmVerdict::not_asked || row.why.empty())
      continue;
    std::string line = fmt::format("{}: {} ({})", subject_text(row, several), name_of(row.verdict), row.why);
    if (!row.advice.empty())
      line += fmt::format("; {}{}", row.advice.starts_with("passes") ? "" : "try ", row.advice);
    out.push_back(printable(line, kLongestLine));
  }
  return out;
}

std::string_view columns_remark() {
  return "Total: D against the exact product. Quantization: the exact product of the converted operands "
         "against it. "
         "Accum.: the sum that leaves the tensor core against that. Output: scales applied and D rounded. "
         "The three "
         "add up element by element. ulp: of D's type at the exact value. To zero, saturated: of the operand "
         "that "
         "loses more.";
}

}  // namespace mmaudit::report
