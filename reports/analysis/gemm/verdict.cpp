// From figures to a verdict, its cause, and what would help.
#include "stages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "audit_tables.hpp"
#include "mmaudit/name_in.hpp"
#include "printed.hpp"

namespace mmaudit::report {
namespace {

double underflow_of(const GemmAuditRow& row) { return lost_share(row, &CastCounts::underflow); }
double saturated_of(const GemmAuditRow& row) { return lost_share(row, &CastCounts::saturated); }

/// Below this share of an operand the rounding of its other elements is the larger part.
constexpr double kMany = 0.01;

enum class Cause : std::uint8_t { quantization, accumulation, output };

Cause cause_of(const GemmErrors& errors) {
  if (errors.quantization >= errors.accumulation && errors.quantization >= errors.output)
    return Cause::quantization;
  return errors.accumulation >= errors.output ? Cause::accumulation : Cause::output;
}

/// Why an audit of this tensor says nothing about a product; empty: it does.
std::string why_nothing(const TensorFacts& one) {
  if (one.nan != 0 || one.infinite != 0)
    return fmt::format("{} holds {}: what they reach has no exact value", one.role,
                       one.infinite == 0 ? "NaN"
                       : one.nan == 0    ? "infinities"
                                         : "NaN and infinities");
  if (one.role == "C" || one.elements == 0) return {};
  if (one.zeros == one.elements) return fmt::format("every element of {} is zero", one.role);
  if (ends_in_zeros(one))
    return fmt::format("the last {} of {} is zeros, as of a file cut short",
                       percent_text(share_of(one.zeros_at_end, one.elements)), one.role);
  return {};
}

/// Why no verdict on these figures means anything; empty: a verdict does.
std::string why_not_judged(const GemmErrors& errors) {
  if (errors.elements == 0) return "there is no element";
  if (errors.compared == 0 && errors.overflow == 0) return "no element of the exact product is finite";
  if (errors.no_exact != 0)
    return fmt::format("{} of {} elements have no finite exact value", errors.no_exact, errors.elements);
  if (errors.overflow != 0) return {};
  if (errors.zero_product) return "the exact product is zero, and no error is relative to zero";
  if (!std::isfinite(errors.total)) return "the total error is not finite";
  return {};
}

/// The largest error of a row or of a column of D is beyond --max-row-error.
bool beyond_row_limit(const GemmErrors& errors, const GemmAudit& audit) {
  return audit.row_limit && errors.largest_line().error > *audit.row_limit;
}

/// Some of D was not computed, and may be beyond the tolerances.
bool untested(const GemmAuditRow& row, const GemmAudit& audit) {
  return row.test && row.test->elements != audit.m * audit.n;
}

GemmVerdict verdict_of(const GemmAuditRow& row, const GemmAudit& audit) {
  const GemmErrors& errors = row.errors;
  const std::optional<double>& limit = audit.limit;
  if (row.test && row.test->first) return GemmVerdict::fail;
  const GemmVerdict pass = untested(row, audit) ? GemmVerdict::undecided : GemmVerdict::pass;
  if (!limit) return row.test ? pass : GemmVerdict::not_asked;
  if (errors.overflow != 0 || errors.loses() || beyond_row_limit(errors, audit)) return GemmVerdict::fail;
  const Interval around = errors.interval.value_or(Interval{errors.total, errors.total});
  // A bootstrap's interval may lie beside the estimate it is of.
  if (std::max(around.high, errors.total) <= *limit) return pass;
  return std::min(around.low, errors.total) > *limit ? GemmVerdict::fail : GemmVerdict::undecided;
}

/// "63 rows of D (0, 1, 2 and 60 more)".
std::string lost_text(const std::vector<std::uint64_t>& lost, std::string_view what) {
  constexpr std::size_t kNamed = 3;
  return fmt::format(
      "{} {}{} of D ({}{})", lost.size(), what, lost.size() == 1 ? "" : "s",
      fmt::join(lost.begin(), lost.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, lost.size())),
                ", "),
      lost.size() > kNamed ? fmt::format(" and {} more", lost.size() - kNamed) : "");
}

/// What dominates, and the same with the row's figures.
std::pair<std::string, std::string> reason_of(const GemmAuditRow& row, const GemmAudit& audit) {
  const GemmErrors& errors = row.errors;
  if (errors.overflow != 0)
    return {"overflow", fmt::format("{} of {} results overflow", errors.overflow, errors.elements)};
  if (const bool within = !audit.limit || errors.total <= *audit.limit; within && row.test && row.test->first)
    return {"the tolerances",
            fmt::format("{} of {} elements beyond {}, the first D[{}, {}]: {:.6g}, exact {:.6g}",
                        row.test->beyond, row.test->elements, tolerances_text(audit), row.test->first->row,
                        row.test->first->column, row.test->first->result, row.test->first->exact)};
  for (const auto& [lost, what] : {std::pair(&errors.lost_rows, "row"), {&errors.lost_columns, "column"}})
    if (!lost->empty())
      return {fmt::format("{}s of D that came out all zero", what),
              lost_text(*lost, what) + " came out all zero, where the exact product is not"};
  if (row.verdict == GemmVerdict::undecided && untested(row, audit))
    return {"the sample", "no sampled element is beyond the tolerances, and others may be"};
  if (beyond_row_limit(errors, audit) && errors.total <= *audit.limit)
    return {"the error of a row or column",
            fmt::format("{} {} of D has an error of {:.1e}, limit {:.3g}",
                        errors.largest_line().error > errors.column.error ? "row" : "column",
                        errors.largest_line().row, errors.largest_line().error, *audit.row_limit)};
  const auto sized = [](std::string cause, double size, const std::string& more = "") {
    std::string text = fmt::format("{}, {:.1e}{}", cause, size, more);
    return std::pair(std::move(cause), std::move(text));
  };
  switch (cause_of(errors)) {
    case Cause::accumulation:
      return sized("accumulation", errors.accumulation);
    case Cause::output:
      return sized(fmt::format("rounding of D to {}", name_of(row.output)), errors.output);
    case Cause::quantization:
      break;
  }
  if (saturated_of(row) > kMany / 10)
    return sized("quantization", errors.quantization,
                 fmt::format(": {} saturate", percent_text(saturated_of(row))));
  if (underflow_of(row) > kMany)
    return sized("quantization", errors.quantization,
                 fmt::format(": {} become zero", percent_text(underflow_of(row))));
  return sized("quantization", errors.quantization);
}

/// Something that changes only what is to blame and that the run did not try.
std::string general_advice(const GemmAuditRow& row, const GemmAudit& audit) {
  if (row.errors.overflow != 0)
    return row.accumulation == "half" ? "binary32 accumulators" : "a type with more exponents, or scaling";
  switch (cause_of(row.errors)) {
    case Cause::accumulation:
      return row.accumulation == "half"    ? "binary32 accumulators"
             : row.accumulation == "plain" ? "--policy promote:128"
                                           : "a shorter promotion interval";
    case Cause::output:
      return "--d-format f32";
    case Cause::quantization:
      break;
  }
  const GemmDtype* dtype = find_gemm_dtype(row.dtype);
  const bool by_row = row.errors.loses() || beyond_row_limit(row.errors, audit);
  const bool scalable = dtype != nullptr && dtype->scalable;
  const auto untried = [&](std::string_view scaling) {
    return std::none_of(audit.rows_of.begin(), audit.rows_of.end(), [&](const GemmAuditRow& one) {
      return one.dtype == row.dtype && one.scaling == scaling && one.architecture == row.architecture;
    });
  };
  if (scalable && by_row && untried("row")) return "--scale row";
  if (scalable && row.scaling == "none" && untried("tensor")) return "--scale tensor";
  if (scalable && row.scaling == "tensor" && (underflow_of(row) > 0 || saturated_of(row) > 0) &&
      untried("1x128"))
    return "--scale 1x128";
  if (underflow_of(row) <= kMany) return "a type with more fraction bits";
  return dtype != nullptr && spec_of(dtype->element).exponent_bits >= spec_of(Format::f32).exponent_bits
             ? "tensors of larger numbers: no type here has more exponents"
             : "a type with more exponents";
}

/// Distance in what a user would have to change.
int distance(const GemmAuditRow& x, const GemmAuditRow& y) {
  return (x.accumulation != y.accumulation ? 1 : 0) + (x.scaling != y.scaling ? 2 : 0) +
         (x.dtype != y.dtype ? 4 : 0);
}

std::string advice_of(const GemmAuditRow& row, const GemmAudit& audit) {
  const GemmAuditRow* nearest = nullptr;
  for (const GemmAuditRow& other : audit.rows_of) {
    if (other.verdict != GemmVerdict::pass || other.architecture != row.architecture) continue;
    if (nearest == nullptr || distance(row, other) < distance(row, *nearest)) nearest = &other;
  }
  if (nearest == nullptr) return general_advice(row, audit);
  std::string text = "passes here:";
  if (nearest->dtype != row.dtype) text += " " + nearest->dtype;
  if (nearest->scaling != row.scaling) text += " --scale " + nearest->scaling;
  if (nearest->accumulation != row.accumulation) text += " --policy " + nearest->accumulation;
  return text;
}

std::string method_of(const GemmAudit& audit) {
  const bool empty = audit.m == 0 || audit.n == 0;
  if (empty || (audit.rows == audit.m && audit.columns == audit.n))
    return fmt::format("All {} x {} elements of D were computed, each over its whole K.", audit.m, audit.n);
  return fmt::format(
      "A random sample of {} of {} rows and {} of {} columns of D was computed, each element over its whole "
      "K (seed {}). The interval of an error is 95 %: a bootstrap over rows and over columns; PASS needs all "
      "of it below the limit.",
      audit.rows, audit.m, audit.columns, audit.n, audit.seed);
}

}  // namespace

std::string_view name_of(GemmVerdict verdict) {
  constexpr std::string_view kNames[] = {"-", "PASS", "FAIL", "UNDECIDED", "NOT JUDGED"};
  return name_in(kNames, verdict);
}

void judge(GemmAudit& audit) {
  audit.method = method_of(audit);
  std::string nothing;
  for (const TensorFacts& one : audit.tensors)
    if (nothing.empty()) nothing = why_nothing(one);
  for (GemmAuditRow& row : audit.rows_of) {
    row.cause = row.why = nothing.empty() ? why_not_judged(row.errors) : nothing;
    row.verdict = row.why.empty() ? verdict_of(row, audit) : GemmVerdict::not_judged;
  }
  bool no_exact = false, slow = false, lost = false;
  std::vector<std::string> unlike;
  for (GemmAuditRow& row : audit.rows_of) {
    const std::string who = fmt::format("{} {} ({})", row.architecture, row.instruction, row.evidence);
    if (row.evidence != "recorded" && std::find(unlike.begin(), unlike.end(), who) == unlike.end())
      unlike.push_back(who);
    no_exact = no_exact || row.errors.no_exact != 0;
    lost = lost || (row.errors.overflow == 0 && row.errors.loses());
    slow = slow || row.errors.elements != audit.rows * audit.columns;
    if (row.verdict == GemmVerdict::pass) continue;
    if (row.verdict == GemmVerdict::not_judged) continue;
    std::tie(row.cause, row.why) = reason_of(row, audit);
    row.advice = advice_of(row, audit);
    if (row.verdict == GemmVerdict::undecided)
      row.advice = "--sample with more elements, or all; " + row.advice;
  }
  if (no_exact)
    audit.remarks.emplace_back(
        "Elements of D whose exact value is a NaN, an infinity or beyond binary64 can't be compared; the "
        "errors cover the other elements.");
  if (lost && !audit.row_limit)
    audit.remarks.emplace_back(
        "The norm of D hides rows and columns that are far smaller than others: --max-row-error limits "
        "each.");
  if (slow)
    audit.remarks.emplace_back(
        "Rows that no vector code serves (scales applied by the instruction) were computed on fewer "
        "elements.");
  if (!unlike.empty())
    audit.remarks.push_back(fmt::format(
        "Not recorded on such a GPU, but known from papers or public data: {}.", fmt::join(unlike, ", ")));
}

}  // namespace mmaudit::report
