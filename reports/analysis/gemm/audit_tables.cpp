// An audit of tensors in words and as tables.
#include "audit_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mmaudit/printable.hpp"
#include "printed.hpp"

namespace mmaudit::report {
namespace {

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
  using Row = TensorFacts;
  const auto count = [](std::uint64_t Row::*value) {
    return [value](const Row& row) {
      return Cell(grouped(row.*value), row.*value != 0 ? Tone::bad : Tone::plain);
    };
  };
  return table_of<Row>(
      "Tensors", audit.tensors,
      {{"Operand", [](const Row& row) { return row.role; }},
       {"File", [](const Row& row) { return printable(row.name); }},
       {"Type", [](const Row& row) { return printable(row.dtype); }},
       {"Shape", [](const Row& row) { return fmt::format("{}", fmt::join(row.shape, " x ")); }},
       {{"Largest", true}, [](const Row& row) { return fmt::format("{:.4g}", row.largest); }},
       {{"Least not 0", true}, [](const Row& row) { return fmt::format("{:.4g}", row.least); }},
       {{"Zeros", true}, [](const Row& row) { return percent_text(share_of(row.zeros, row.elements)); }},
       {{"NaN", true}, count(&Row::nan)},
       {{"Infinite", true}, count(&Row::infinite)}});
}

double lost_share(const GemmAuditRow& row, std::uint64_t CastCounts::*lost) {
  return std::max(share_of(row.cast_a.*lost, row.cast_a.elements),
                  share_of(row.cast_b.*lost, row.cast_b.elements));
}

bool several_architectures(const GemmAudit& audit) {
  return std::any_of(audit.rows_of.begin(), audit.rows_of.end(), [&](const GemmAuditRow& row) {
    return row.architecture != audit.rows_of[0].architecture;
  });
}

Table row_table(const GemmAudit& audit, bool verdict_first) {
  using Row = GemmAuditRow;
  const bool several = several_architectures(audit);
  const auto part = [](double GemmErrors::*value) {
    return [value](const Row& row) { return value_text(row.errors, row.errors.*value); };
  };
  const auto ulp = [](double GemmErrors::*value) {
    return [value](const Row& row) {
      return row.errors.compared != 0 ? fmt::format("{:.3g}", row.errors.*value) : "-";
    };
  };
  const auto drift = [](double GemmErrors::*value) {
    return
        [value](const Row& row) { return row.errors.compared != 0 ? signed_text(row.errors.*value) : "-"; };
  };
  const auto lost = [](std::uint64_t CastCounts::*value) {
    return [value](const Row& row) { return percent_text(lost_share(row, value)); };
  };
  const auto bounded = [](const GemmErrors& e) { return e.bound && e.compared != 0; };
  const Field<Row> verdict = {
      "Verdict", [](const Row& row) { return Cell(name_of(row.verdict), tone_of(row.verdict)); }};
  std::vector<Field<Row>> fields = {
      {"Type", [](const Row& row) { return row.dtype; }},
      {"Scale", [](const Row& row) { return row.scaling; }},
      {"Policy", [](const Row& row) { return row.accumulation; }},
      {{"Total", true}, part(&GemmErrors::total)},
      {{"95 % +-", true}, [](const Row& row) { return interval_text(row.errors); }},
      {{"Quanti- zation", true}, part(&GemmErrors::quantization)},
      {{"Accum.", true}, part(&GemmErrors::accumulation)},
      {{"Output", true}, part(&GemmErrors::output)},
      {{"p99 ulp", true}, ulp(&GemmErrors::p99_ulp)},
      {{"max ulp", true, true}, ulp(&GemmErrors::max_ulp)},
      {{"Bias", true, true}, drift(&GemmErrors::bias)},
      {{"Drift of |sum|", true, true}, drift(&GemmErrors::accumulation_drift)},
      {{"To zero", true}, lost(&CastCounts::underflow)},
      {{"Satu- rated", true, several}, lost(&CastCounts::saturated)},
      {{"Bound on accum.", true, true},
       [=](const Row& row) { return bounded(row.errors) ? error_text(*row.errors.bound) : "-"; }},
      {{"Largest of bound", true, true},
       [=](const Row& row) {
         return bounded(row.errors) ? fmt::format("{:.2g}", row.errors.of_bound) : "-";
       }},
      {{"D", false, true}, [](const Row& row) { return name_of(row.output); }},
      {{"Instruction", false, true}, [](const Row& row) { return row.instruction; }},
      {{"Known from", false, true}, [](const Row& row) { return row.evidence; }}};
  fields.insert(verdict_first ? fields.begin() + 3 : fields.end(), verdict);
  if (several)
    fields.insert(fields.begin(), {"GPU", [](const Row& row) { return printable(row.architecture); }});
  return table_of<Row>("Relative error of D (Frobenius norm)", audit.rows_of, fields);
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
         "against it. Accum.: the sum that leaves the tensor core against that. Output: scales applied and D "
         "rounded. The three add up element by element. ulp: of D's type at the exact value. To zero, "
         "saturated: of the operand that loses more.";
}

}  // namespace mmaudit::report
