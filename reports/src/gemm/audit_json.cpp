// An audit of tensors as JSON.
#include "audit_tables.hpp"
#include "gemm_json.hpp"
#include "json_parts.hpp"
#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {
namespace {

using Json = nlohmann::ordered_json;

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

}  // namespace mmaudit::report
