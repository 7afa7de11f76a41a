#include <cmath>
#include <nlohmann/json.hpp>

#include "gemm/gemm_json.hpp"
#include "json_parts.hpp"
#include "mmaudit/report/render.hpp"

namespace mmaudit::report {
namespace {

// Fields keep the order in which they are written here.
using Json = nlohmann::ordered_json;

Json to_json_value(const ErrorStatistics& error) {
  if (error.count == 0) return nullptr;
  return {{"rounds", error.count},
          {"exact", error.exact},
          {"mean_absolute", error.mean_absolute},
          {"max_absolute", error.max_absolute},
          {"mean_relative", error.mean_relative},
          {"max_relative", error.max_relative},
          {"bias", error.bias},
          {"magnitude_bias", error.magnitude_bias}};
}

Json to_json_value(const Verification& verification) {
  Json rows = Json::array();
  for (const VerificationRow& row : verification.rows)
    rows.push_back({{"instruction", row.instruction},
                    {"dots", row.dots},
                    {"mismatches", row.mismatches},
                    {"evidence", row.evidence}});
  return {{"verdict", name_of(verification.verdict())},
          {"against", verification.against},
          {"dots", verification.dots()},
          {"mismatches", verification.mismatches()},
          {"instructions", std::move(rows)}};
}

Json to_json_value(const ProfileCell& cell) {
  Json out = {{"dtype", name_of(cell.dtype)},       {"output", name_of(cell.output)},
              {"instruction", cell.instruction},    {"operation", name_of(cell.operation)},
              {"inputs", name_of(cell.init)},       {"reference", name_of(cell.reference)},
              {"error", to_json_value(cell.error)}, {"published", nullptr}};
  if (cell.agreement != Agreement::unpublished)
    out["published"] = {{"printed", cell.published},
                        {"source", cell.source},
                        {"agreement", name_of(cell.agreement)},
                        {"note", cell.note}};
  return out;
}

Json to_json_value(const ChainCurve& curve) {
  Json points = Json::array();
  for (const ChainPoint& point : curve.points)
    points.push_back({{"length", point.length},
                      {"error", point.error ? Json(*point.error) : Json(nullptr)},
                      {"rounds_not_finite", point.rounds_not_finite}});
  return {{"dtype", name_of(curve.dtype)},
          {"instruction", curve.instruction},
          {"inputs", name_of(curve.init)},
          {"rounds", curve.rounds},
          {"draws", name_of(curve.draws)},
          {"first_infinity", curve.first_infinity ? Json(*curve.first_infinity) : Json(nullptr)},
          {"points", std::move(points)}};
}

Json to_json_value(const DtypeSummary& row) {
  return {{"dtype", name_of(row.dtype)},
          {"output", name_of(row.output)},
          {"instruction", row.instruction},
          {"accumulator", row.accumulator},
          {"evidence", row.evidence},
          {"fp32_inputs_multiplication", to_json_value(row.conversion)},
          {"fp32_inputs_addition", to_json_value(row.addition)},
          {"accumulator_alone", to_json_value(row.accumulator_alone)}};
}

Json to_json_value(const FormatFacts& row) {
  return {{"name", row.name},
          {"exponent_bits", row.exponent_bits},
          {"fraction_bits", row.fraction_bits},
          {"epsilon", row.epsilon},
          {"min_subnormal", row.min_subnormal},
          {"min_normal", row.min_normal},
          {"max_finite", row.max_finite},
          {"infinity", row.infinity}};
}

template <class Row>
Json array_of(const std::vector<Row>& rows) {
  Json out = Json::array();
  for (const Row& row : rows) out.push_back(to_json_value(row));
  return out;
}

}  // namespace

Json json_of(const Provenance& from) {
  Json inputs = Json::array(), rows = Json::array();
  for (const InputFacts& one : from.inputs)
    inputs.push_back(
        {{"role", one.role}, {"name", one.name}, {"bytes", one.bytes}, {"xxh3_128", one.checksum}});
  for (const ModelRow& row : from.rows)
    rows.push_back({{"architecture", row.architecture},
                    {"instruction", row.instruction},
                    {"accumulator", row.accumulator},
                    {"evidence", row.evidence},
                    {"source", row.source},
                    {"rules", Json::parse(row.rules, nullptr, false)}});
  return {{"version", from.version},     {"git_revision", from.git_revision}, {"date", from.date},
          {"backend", from.backend},     {"architecture", from.architecture}, {"command", from.command},
          {"inputs", std::move(inputs)}, {"model_rows", std::move(rows)}};
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::string to_json(const AuditResult& result) {
  const Json out = {{"schema", "mmaudit.audit/2"},
                    {"provenance", json_of(result.provenance)},
                    {"verification", to_json_value(result.verification)},
                    {"published_agreement",
                     {{"cells", result.published_cells()},
                      {"same_digits", result.count(Agreement::same_digits)},
                      {"explained", result.count(Agreement::explained)},
                      {"differs", result.count(Agreement::differs)}}},
                    {"dtypes", array_of(result.dtypes)},
                    {"cells", array_of(result.cells)},
                    {"chain_method", result.chain_method},
                    {"chains", array_of(result.chains)},
                    {"gemm", json_of(result.gemm)},
                    {"formats", array_of(result.formats)},
                    {"not_covered", result.not_covered}};
  return json_text(out);
}

}  // namespace mmaudit::report
