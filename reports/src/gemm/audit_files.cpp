// An audit of tensors for programs: JSON, CSV, JUnit.
#include <fmt/format.h>

#include <cmath>

#include "audit_tables.hpp"
#include "gemm_json.hpp"
#include "json_parts.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/report/render.hpp"

namespace mmaudit::report {
namespace {

using Json = nlohmann::ordered_json;

std::string csv_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

Json with_bits_lost(const CastCounts& counts) {
  Json out = json_of(counts);
  out["bits_lost"] = counts.bits_lost;
  return out;
}

/// Replaces "worst" of json_of(GemmErrors), which has the place and the two values alone.
Json json_of(const WorstElement& worst) {
  Json terms = Json::array(), steps = Json::array();
  for (const WorstTerm& term : worst.terms)
    terms.push_back({{"k", term.k},
                     {"a", term.a},
                     {"b", term.b},
                     {"converted_a", term.converted_a},
                     {"converted_b", term.converted_b}});
  for (const WorstStep& step : worst.steps)
    steps.push_back({{"k", step.k}, {"converted", step.converted}, {"sum", step.sum}});
  return {{"row", worst.row},
          {"column", worst.column},
          {"exact", worst.exact},
          {"converted", worst.converted},
          {"accumulator", worst.accumulator},
          {"result", worst.result},
          {"magnitudes", worst.magnitudes},
          {"terms", std::move(terms)},
          {"steps", std::move(steps)}};
}

std::string case_name(const GemmAuditRow& row) {
  return fmt::format("{} {} {}", row.dtype, row.scaling, row.accumulation);
}

}  // namespace

std::string to_json(const GemmAudit& audit) {
  Json tensors = Json::array(), rows = Json::array();
  for (const TensorFacts& one : audit.tensors)
    tensors.push_back({{"role", one.role},
                       {"name", one.name},
                       {"dtype", one.dtype},
                       {"shape", one.shape},
                       {"elements", one.elements},
                       {"nan", one.nan},
                       {"infinite", one.infinite},
                       {"zeros", one.zeros},
                       {"largest", one.largest},
                       {"least", one.least}});
  for (const GemmAuditRow& row : audit.rows_of) {
    Json out = {
        {"architecture", row.architecture},
        {"dtype", row.dtype},
        {"scaling", row.scaling},
        {"accumulation", row.accumulation},
        {"output", name_of(row.output)},
        {"instruction", row.instruction},
        {"evidence", row.evidence},
        {"verdict", row.verdict == GemmVerdict::not_asked ? Json(nullptr) : Json(name_of(row.verdict))},
        {"why", row.why},
        {"advice", row.advice},
        {"cast_a", with_bits_lost(row.cast_a)},
        {"cast_b", with_bits_lost(row.cast_b)}};
    out.update(json_of(row.errors));
    if (row.worst) out["worst"] = json_of(*row.worst);
    rows.push_back(std::move(out));
  }
  const Json out = {{"schema", "mmaudit.audit.gemm/1"},
                    {"provenance", json_of(audit.provenance)},
                    {"m", audit.m},
                    {"n", audit.n},
                    {"k", audit.k},
                    {"sampled_rows", audit.rows},
                    {"sampled_columns", audit.columns},
                    {"seed", audit.seed},
                    {"limit", audit.limit ? Json(*audit.limit) : Json(nullptr)},
                    {"passes", audit.limit ? Json(audit.passes()) : Json(nullptr)},
                    {"method", audit.method},
                    {"tensors", std::move(tensors)},
                    {"rows", std::move(rows)},
                    {"findings", findings(audit)},
                    {"remarks", audit.remarks},
                    {"left_out", audit.left_out}};
  return json_text(out);
}

std::string to_csv(const GemmAudit& audit) {
  std::string out =
      "architecture,dtype,scaling,accumulation,output,instruction,evidence,elements,compared,no_exact,"
      "overflow,total,"
      "total_low,total_high,quantization,accumulation_error,output_error,p50_ulp,p99_ulp,max_ulp,bias,"
      "magnitude_bias,"
      "accumulation_drift,bound,of_bound,underflow_a,underflow_b,subnormal_a,subnormal_b,saturated_a,"
      "saturated_b,"
      "verdict,why\r\n";
  const auto number = [](double x, bool there) {
    return there && std::isfinite(x) ? fmt::format("{:.9g}", x) : "";
  };
  for (const GemmAuditRow& row : audit.rows_of) {
    const GemmErrors& e = row.errors;
    const bool any = e.compared != 0;
    out += fmt::format("{},{},{},{},{},{},{},", csv_quoted(row.architecture), row.dtype, row.scaling,
                       row.accumulation, name_of(row.output), row.instruction, row.evidence);
    out += fmt::format("{},{},{},{},", e.elements, e.compared, e.no_exact, e.overflow);
    const Interval around = e.interval.value_or(Interval{e.total, e.total});
    for (const double x : {e.total, around.low, around.high, e.quantization, e.accumulation, e.output,
                           e.p50_ulp, e.p99_ulp, e.max_ulp, e.bias, e.magnitude_bias, e.accumulation_drift})
      out += number(x, any) + ",";
    out += number(e.bound.value_or(0), any && e.bound) + "," + number(e.of_bound, any && e.bound) + ",";
    for (const std::uint64_t count : {row.cast_a.underflow, row.cast_b.underflow, row.cast_a.subnormal,
                                      row.cast_b.subnormal, row.cast_a.saturated, row.cast_b.saturated})
      out += fmt::format("{},", count);
    out += fmt::format("{},{}\r\n", row.verdict == GemmVerdict::not_asked ? "" : name_of(row.verdict),
                       csv_quoted(row.why));
  }
  return out;
}

std::string to_junit(const GemmAudit& audit) {
  const int failures = audit.count(GemmVerdict::fail) + audit.count(GemmVerdict::undecided);
  const int errors = audit.count(GemmVerdict::not_judged);
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"mmaudit audit\" "
      "tests=\"{}\" "
      "failures=\"{}\" errors=\"{}\">\n",
      audit.rows_of.size(), failures, errors);
  for (const GemmAuditRow& row : audit.rows_of) {
    out += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", escaped_html(row.architecture),
                       escaped_html(case_name(row)));
    const bool bad = row.verdict == GemmVerdict::fail || row.verdict == GemmVerdict::undecided;
    if (!bad && row.verdict != GemmVerdict::not_judged) {
      out += "/>\n";
      continue;
    }
    out += fmt::format(">\n      <{0} message=\"{1}: {2}\">{3}</{0}>\n    </testcase>\n",
                       bad ? "failure" : "error", name_of(row.verdict), escaped_html(row.why),
                       escaped_html(row.advice));
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace mmaudit::report
