// The typed results as JSON. Json finds to_json() by the type, also for the elements of a list; fields keep
// the order in which they are written here.
#include <fmt/format.h>

#include <cmath>

#include "gemm/audit_tables.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/report/audit.hpp"
#include "mmaudit/report/gemm_audit.hpp"

namespace mmaudit::report {

/// A field under the name of its member.
#define MMAUDIT_FIELD(member) \
  { #member, from.member }

// What both audits have.

static void to_json(Json& out, const InputFacts& from) {
  out = {MMAUDIT_FIELD(role), MMAUDIT_FIELD(name), MMAUDIT_FIELD(bytes), {"xxh3_128", from.checksum}};
}

static void to_json(Json& out, const ModelRow& from) {
  out = {MMAUDIT_FIELD(architecture), MMAUDIT_FIELD(instruction), MMAUDIT_FIELD(accumulator),
         MMAUDIT_FIELD(evidence),     MMAUDIT_FIELD(source),      {"rules", parse_json(from.rules)}};
}

static void to_json(Json& out, const Origin& from) {
  constexpr ProvenanceKey kKeys[] = {{"version", &Provenance::version},
                                     {"git_revision", &Provenance::revision},
                                     {"date", &Provenance::date}};
  write_fields(from, kKeys, out);
  out.update({{"backend", from.backend},
              {"architecture", from.architecture},
              {"command", fmt::format("{}", fmt::join(from.command, " "))},
              {"inputs", from.inputs},
              {"model_rows", from.rows}});
}

static void to_json(Json& out, const CastCounts& from) {
  out = {MMAUDIT_FIELD(elements), MMAUDIT_FIELD(underflow), MMAUDIT_FIELD(subnormal),
         MMAUDIT_FIELD(saturated), MMAUDIT_FIELD(not_finite)};
}

static void to_json(Json& out, const RowError& from) { out = {MMAUDIT_FIELD(row), MMAUDIT_FIELD(error)}; }

/// A number that does not exist is null, and so is one that is infinite or NaN, as JSON is written.
static void to_json(Json& out, const GemmErrors& from) {
  const auto number = [any = has_figures(from)](double x) { return any ? Json(x) : Json(nullptr); };
  out = {
      MMAUDIT_FIELD(elements),
      MMAUDIT_FIELD(compared),
      MMAUDIT_FIELD(no_exact),
      MMAUDIT_FIELD(overflow),
      {"relative_frobenius",
       {{"total", number(from.total)},
        {"quantization", number(from.quantization)},
        {"accumulation", number(from.accumulation)},
        {"output", number(from.output)}}},
      {"interval_95", nullptr},
      {"ulp", {{"p50", number(from.p50_ulp)}, {"p99", number(from.p99_ulp)}, {"max", number(from.max_ulp)}}},
      {"bias", number(from.bias)},
      {"magnitude_bias", number(from.magnitude_bias)},
      {"accumulation_drift", number(from.accumulation_drift)},
      {"accumulation_bound", number(from.bound.value_or(NAN))},
      {"largest_of_bound", number(from.bound ? from.of_bound : NAN)},
      {"worst",
       {{"row", from.worst_row},
        {"column", from.worst_column},
        {"exact", from.compared != 0 ? Json(from.worst_exact) : Json(nullptr)},
        {"result", from.compared != 0 ? Json(from.worst_result) : Json(nullptr)}}}};
  if (from.interval) out["interval_95"] = {number(from.interval->low), number(from.interval->high)};
}

// The audit of an architecture.

static void to_json(Json& out, const ErrorStatistics& from) {
  if (from.count == 0) return;  // null
  out = {{"rounds", from.count},      MMAUDIT_FIELD(exact),         MMAUDIT_FIELD(mean_absolute),
         MMAUDIT_FIELD(max_absolute), MMAUDIT_FIELD(mean_relative), MMAUDIT_FIELD(max_relative),
         MMAUDIT_FIELD(bias),         MMAUDIT_FIELD(magnitude_bias)};
}

static void to_json(Json& out, const VerificationRow& from) {
  out = {MMAUDIT_FIELD(instruction), MMAUDIT_FIELD(dots), MMAUDIT_FIELD(mismatches), MMAUDIT_FIELD(evidence)};
}

static void to_json(Json& out, const Verification& from) {
  out = {{"verdict", name_of(from.verdict())},
         MMAUDIT_FIELD(against),
         {"dots", from.dots()},
         {"mismatches", from.mismatches()},
         {"instructions", from.rows}};
}

static void to_json(Json& out, const ProfileCell& from) {
  out = {{"dtype", name_of(from.dtype)}, {"output", name_of(from.output)},
         MMAUDIT_FIELD(instruction),     {"operation", name_of(from.operation)},
         {"inputs", name_of(from.init)}, {"reference", name_of(from.reference)},
         MMAUDIT_FIELD(error),           {"published", nullptr}};
  if (from.agreement != Agreement::unpublished)
    out["published"] = {{"printed", from.published},
                        MMAUDIT_FIELD(source),
                        {"agreement", name_of(from.agreement)},
                        MMAUDIT_FIELD(note)};
}

static void to_json(Json& out, const ChainPoint& from) {
  out = {MMAUDIT_FIELD(length), {"error", from.error}, MMAUDIT_FIELD(rounds_not_finite)};
}

static void to_json(Json& out, const ChainCurve& from) {
  out = {{"dtype", name_of(from.dtype)}, MMAUDIT_FIELD(instruction),
         {"inputs", name_of(from.init)}, MMAUDIT_FIELD(rounds),
         {"draws", name_of(from.draws)}, {"first_infinity", from.first_infinity},
         MMAUDIT_FIELD(points)};
}

static void to_json(Json& out, const DtypeSummary& from) {
  out = {{"dtype", name_of(from.dtype)},
         {"output", name_of(from.output)},
         MMAUDIT_FIELD(instruction),
         MMAUDIT_FIELD(accumulator),
         MMAUDIT_FIELD(evidence),
         {"fp32_inputs_multiplication", from.conversion},
         {"fp32_inputs_addition", from.addition},
         MMAUDIT_FIELD(accumulator_alone)};
}

static void to_json(Json& out, const FormatFacts& from) {
  out = {MMAUDIT_FIELD(name),       MMAUDIT_FIELD(exponent_bits), MMAUDIT_FIELD(fraction_bits),
         MMAUDIT_FIELD(epsilon),    MMAUDIT_FIELD(min_subnormal), MMAUDIT_FIELD(min_normal),
         MMAUDIT_FIELD(max_finite), MMAUDIT_FIELD(infinity)};
}

static void to_json(Json& out, const GemmPoint& from) {
  out = {MMAUDIT_FIELD(k), MMAUDIT_FIELD(cast_a), MMAUDIT_FIELD(cast_b)};
  out.update(Json(from.errors));
}

static void to_json(Json& out, const GemmCurve& from) {
  out = {MMAUDIT_FIELD(dtype),
         MMAUDIT_FIELD(scaling),
         MMAUDIT_FIELD(accumulation),
         {"output", name_of(from.output)},
         {"distribution", name_of(from.distribution)},
         MMAUDIT_FIELD(instruction),
         MMAUDIT_FIELD(evidence),
         MMAUDIT_FIELD(points)};
}

static void to_json(Json& out, const GemmStudy& from) {
  out = {MMAUDIT_FIELD(method), MMAUDIT_FIELD(rows),     MMAUDIT_FIELD(columns),
         MMAUDIT_FIELD(seed),   MMAUDIT_FIELD(left_out), MMAUDIT_FIELD(curves)};
}

std::string to_json(const AuditResult& from) {
  return ordered_document({{"schema", "mmaudit.audit/2"},
                           MMAUDIT_FIELD(provenance),
                           MMAUDIT_FIELD(verification),
                           {"published_agreement",
                            {{"cells", from.published_cells()},
                             {"same_digits", from.count(Agreement::same_digits)},
                             {"explained", from.count(Agreement::explained)},
                             {"differs", from.count(Agreement::differs)}}},
                           MMAUDIT_FIELD(dtypes),
                           MMAUDIT_FIELD(cells),
                           MMAUDIT_FIELD(chain_method),
                           MMAUDIT_FIELD(chains),
                           MMAUDIT_FIELD(gemm),
                           MMAUDIT_FIELD(formats),
                           MMAUDIT_FIELD(not_covered)});
}

// The audit of tensors.

static void to_json(Json& out, const WorstTerm& from) {
  out = {MMAUDIT_FIELD(k), MMAUDIT_FIELD(a), MMAUDIT_FIELD(b), MMAUDIT_FIELD(converted_a),
         MMAUDIT_FIELD(converted_b)};
}

static void to_json(Json& out, const WorstStep& from) {
  out = {MMAUDIT_FIELD(k), MMAUDIT_FIELD(converted), MMAUDIT_FIELD(sum)};
}

static void to_json(Json& out, const WorstElement& from) {
  out = {MMAUDIT_FIELD(row),        MMAUDIT_FIELD(column),      MMAUDIT_FIELD(exact),
         MMAUDIT_FIELD(converted),  MMAUDIT_FIELD(accumulator), MMAUDIT_FIELD(result),
         MMAUDIT_FIELD(magnitudes), MMAUDIT_FIELD(terms),       MMAUDIT_FIELD(steps)};
}

static void to_json(Json& out, const TensorFacts& from) {
  out = {MMAUDIT_FIELD(role),     MMAUDIT_FIELD(name), MMAUDIT_FIELD(dtype),    MMAUDIT_FIELD(shape),
         MMAUDIT_FIELD(elements), MMAUDIT_FIELD(nan),  MMAUDIT_FIELD(infinite), MMAUDIT_FIELD(zeros),
         MMAUDIT_FIELD(largest),  MMAUDIT_FIELD(least)};
}

static void to_json(Json& out, const ChannelShare& from) {
  out = {MMAUDIT_FIELD(k), MMAUDIT_FIELD(share), MMAUDIT_FIELD(largest_a), MMAUDIT_FIELD(largest_b)};
}

static void to_json(Json& out, const ChannelStudy& from) {
  out = {{"largest", from.channels},
         {"stand_out", from.wide},
         {"share", from.wide_share},
         {"quantization_with_them_in_bf16", from.kept}};
}

static void to_json(Json& out, const ErrorMap& from) {
  out = {{"first_rows", from.rows}, {"first_columns", from.columns}, {"errors", Json::array()}};
  for (const auto& one : from.errors)
    out["errors"].push_back(one ? Json(std::stod(fmt::format("{:.3g}", *one))) : Json(nullptr));
}

static void to_json(Json& out, const TestedElement& from) {
  out = {MMAUDIT_FIELD(row), MMAUDIT_FIELD(column), MMAUDIT_FIELD(exact), MMAUDIT_FIELD(result)};
}

static void to_json(Json& out, const ToleranceTest& from) {
  out = {MMAUDIT_FIELD(elements), MMAUDIT_FIELD(beyond), MMAUDIT_FIELD(first), MMAUDIT_FIELD(worst),
         MMAUDIT_FIELD(passing_atol)};
}

static void to_json(Json& out, const GemmAuditRow& from) {
  out = {MMAUDIT_FIELD(architecture),
         MMAUDIT_FIELD(dtype),
         MMAUDIT_FIELD(scaling),
         MMAUDIT_FIELD(accumulation),
         {"output", name_of(from.output)},
         MMAUDIT_FIELD(instruction),
         MMAUDIT_FIELD(evidence),
         {"verdict", nullptr},
         MMAUDIT_FIELD(why),
         MMAUDIT_FIELD(advice),
         MMAUDIT_FIELD(cast_a),
         MMAUDIT_FIELD(cast_b)};
  if (from.verdict != GemmVerdict::not_asked) out["verdict"] = name_of(from.verdict);
  out["cast_a"]["bits_lost"] = from.cast_a.bits_lost;
  out["cast_b"]["bits_lost"] = from.cast_b.bits_lost;
  out.update(Json(from.errors));
  const auto number = [any = has_figures(from.errors)](double x) { return any ? Json(x) : Json(nullptr); };
  out["sqnr_db"] = number(from.errors.sqnr());
  out["cosine"] = number(from.errors.cosine);
  out["by_row"] = {{"middle", number(from.errors.middle_row)},
                   {"largest", from.errors.rows},
                   {"all_zero", from.errors.lost_rows}};
  out["by_column"] = {{"column", from.errors.column.row},
                      {"error", number(from.errors.column.error)},
                      {"all_zero", from.errors.lost_columns}};
  out["channels"] = from.channels;
  out["error_map"] = from.map;
  out["tolerance_test"] = from.test;
  if (from.worst) out["worst"] = *from.worst;  // the errors have its place and two values alone
}

std::string to_json(const GemmAudit& from) {
  Json rows = from.rows_of;
  for (std::size_t i = 0; i < from.rows_of.size(); ++i) {
    const GemmErrors& errors = from.rows_of[i].errors;
    const double times = from.reference.value_or(0) > 0 ? errors.total / *from.reference : NAN;
    rows[i]["times_bf16"] = has_figures(errors) ? Json(times) : Json(nullptr);
  }
  Json use = Json::array();
  for (const GemmAuditRow* row : to_use(from))
    use.push_back({{"architecture", row->architecture},
                   {"dtype", row->dtype},
                   {"scaling", row->scaling},
                   {"accumulation", row->accumulation}});
  return ordered_document({{"schema", "mmaudit.audit.gemm/1"},
                           MMAUDIT_FIELD(provenance),
                           MMAUDIT_FIELD(m),
                           MMAUDIT_FIELD(n),
                           MMAUDIT_FIELD(k),
                           {"sampled_rows", from.rows},
                           {"sampled_columns", from.columns},
                           MMAUDIT_FIELD(seed),
                           {"limit", from.limit},
                           MMAUDIT_FIELD(row_limit),
                           {"rtol", from.tolerances ? Json(from.tolerances->relative) : Json()},
                           {"atol", from.tolerances ? Json(from.tolerances->absolute) : Json()},
                           MMAUDIT_FIELD(missing),
                           {"passes", from.judges() ? Json(from.passes()) : Json(nullptr)},
                           {"headline", headline(from)},
                           {"use", use},
                           {"bf16_total", from.reference},
                           MMAUDIT_FIELD(method),
                           MMAUDIT_FIELD(tensors),
                           {"rows", std::move(rows)},
                           {"findings", findings(from)},
                           MMAUDIT_FIELD(remarks),
                           MMAUDIT_FIELD(left_out)});
}

}  // namespace mmaudit::report
