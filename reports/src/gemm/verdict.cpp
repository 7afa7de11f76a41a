// From figures to a verdict, its cause, and what would help.
#include "verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace mmaudit::report {
namespace {

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double underflow_of(const GemmAuditRow& row) {
  return std::max(share(row.cast_a.underflow, row.cast_a.elements),
                  share(row.cast_b.underflow, row.cast_b.elements));
}
double saturated_of(const GemmAuditRow& row) {
  return std::max(share(row.cast_a.saturated, row.cast_a.elements),
                  share(row.cast_b.saturated, row.cast_b.elements));
}

std::string percent(double part) { return fmt::format("{:.3g}%", 100 * part); }

enum class Cause : std::uint8_t { quantization, accumulation, output };

Cause cause_of(const GemmErrors& errors) {
  if (errors.quantization >= errors.accumulation && errors.quantization >= errors.output)
    return Cause::quantization;
  return errors.accumulation >= errors.output ? Cause::accumulation : Cause::output;
}

GemmVerdict verdict_of(const GemmErrors& errors, const std::optional<double>& limit) {
  if (errors.compared == 0 && errors.overflow == 0) return GemmVerdict::not_judged;
  if (!limit) return GemmVerdict::not_asked;
  if (errors.overflow != 0) return GemmVerdict::fail;
  const Interval around = errors.interval.value_or(Interval{errors.total, errors.total});
  // A bootstrap's interval may lie beside the estimate it is of.
  if (std::max(around.high, errors.total) <= *limit) return GemmVerdict::pass;
  return std::min(around.low, errors.total) > *limit ? GemmVerdict::fail : GemmVerdict::undecided;
}

std::string reason_of(const GemmAuditRow& row) {
  const GemmErrors& errors = row.errors;
  if (row.verdict == GemmVerdict::not_judged)
    return errors.elements == 0 ? "there is no element" : "no element of the exact product is finite";
  if (errors.overflow != 0) return fmt::format("{} of {} results overflow", errors.overflow, errors.elements);
  switch (cause_of(errors)) {
    case Cause::accumulation:
      return fmt::format("accumulation, {:.1e}", errors.accumulation);
    case Cause::output:
      return fmt::format("rounding of D to {}, {:.1e}", name_of(row.output), errors.output);
    case Cause::quantization:
      break;
  }
  // Below these shares the rounding of the other elements is the larger part.
  constexpr double kMany = 0.01;
  if (saturated_of(row) > kMany / 10)
    return fmt::format("quantization, {:.1e}: {} saturate", errors.quantization, percent(saturated_of(row)));
  if (underflow_of(row) > kMany)
    return fmt::format("quantization, {:.1e}: {} become zero", errors.quantization,
                       percent(underflow_of(row)));
  return fmt::format("quantization, {:.1e}", errors.quantization);
}

/// Something that changes only what is to blame.
std::string general_advice(const GemmAuditRow& row) {
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
  const bool scalable = dtype != nullptr && dtype->scalable;
  if (scalable && row.scaling == "none") return "--scale tensor";
  if (scalable && row.scaling == "tensor" && (underflow_of(row) > 0 || saturated_of(row) > 0))
    return "--scale 1x128";
  return "a type with more fraction bits";
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
  if (nearest == nullptr) return general_advice(row);
  std::string text = "passes here:";
  if (nearest->dtype != row.dtype) text += " " + nearest->dtype;
  if (nearest->scaling != row.scaling) text += " --scale " + nearest->scaling;
  if (nearest->accumulation != row.accumulation) text += " --policy " + nearest->accumulation;
  return text;
}

std::string method_of(const GemmAudit& audit) {
  if (audit.rows == audit.m && audit.columns == audit.n)
    return fmt::format("All {} x {} elements of D were computed, each over its whole K.", audit.m, audit.n);
  return fmt::format(
      "A random sample of {} of {} rows and {} of {} columns of D was computed, each element over its whole "
      "K (seed "
      "{}). The interval of an error is 95 %: a bootstrap over rows and over columns; PASS needs all of it "
      "below the "
      "limit.",
      audit.rows, audit.m, audit.columns, audit.n, audit.seed);
}

}  // namespace

std::string_view name_of(GemmVerdict verdict) {
  switch (verdict) {
    case GemmVerdict::not_asked:
      return "-";
    case GemmVerdict::pass:
      return "PASS";
    case GemmVerdict::fail:
      return "FAIL";
    case GemmVerdict::undecided:
      return "UNDECIDED";
    case GemmVerdict::not_judged:
      return "NOT JUDGED";
  }
  return "";
}

void judge(GemmAudit& audit) {
  audit.method = method_of(audit);
  for (GemmAuditRow& row : audit.rows_of) row.verdict = verdict_of(row.errors, audit.limit);
  bool no_exact = false, slow = false;
  std::vector<std::string> unlike;
  for (GemmAuditRow& row : audit.rows_of) {
    const std::string who = fmt::format("{} {} ({})", row.architecture, row.instruction, row.evidence);
    if (row.evidence != "recorded" && std::find(unlike.begin(), unlike.end(), who) == unlike.end())
      unlike.push_back(who);
    no_exact = no_exact || row.errors.no_exact != 0;
    slow = slow || row.errors.elements != audit.rows * audit.columns;
    if (row.verdict == GemmVerdict::pass) continue;
    row.why = reason_of(row);
    if (row.verdict != GemmVerdict::not_judged) row.advice = advice_of(row, audit);
    if (row.verdict == GemmVerdict::undecided)
      row.advice = "--sample with more elements, or all; " + row.advice;
  }
  if (no_exact)
    audit.remarks.emplace_back(
        "Elements of D whose exact value is a NaN, an infinity or beyond binary64 can't be compared; the "
        "errors are "
        "those of the others.");
  if (slow)
    audit.remarks.emplace_back(
        "Rows that no vector code serves (scales applied by the instruction) were computed on fewer "
        "elements.");
  if (!unlike.empty())
    audit.remarks.push_back(fmt::format(
        "Not recorded on such a GPU, but known from papers or public data: {}.", fmt::join(unlike, ", ")));
}

}  // namespace mmaudit::report
