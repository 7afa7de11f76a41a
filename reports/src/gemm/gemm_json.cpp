#include "gemm_json.hpp"

#include <cmath>

namespace mmaudit::report {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

Json json_of(const CastCounts& counts) {
  return {{"elements", counts.elements},
          {"underflow", counts.underflow},
          {"subnormal", counts.subnormal},
          {"saturated", counts.saturated},
          {"not_finite", counts.not_finite}};
}

/// What is not there, or infinite, is null.
Json json_of(const GemmErrors& errors) {
  Json out = {{"elements", errors.elements},
              {"compared", errors.compared},
              {"no_exact", errors.no_exact},
              {"overflow", errors.overflow}};
  const auto number = [any = errors.compared != 0](double x) {
    return any && std::isfinite(x) ? Json(x) : Json(nullptr);
  };
  out["relative_frobenius"] = {{"total", number(errors.total)},
                               {"quantization", number(errors.quantization)},
                               {"accumulation", number(errors.accumulation)},
                               {"output", number(errors.output)}};
  out["interval_95"] = nullptr;
  if (errors.interval) out["interval_95"] = {number(errors.interval->low), number(errors.interval->high)};
  out["ulp"] = {
      {"p50", number(errors.p50_ulp)}, {"p99", number(errors.p99_ulp)}, {"max", number(errors.max_ulp)}};
  out["bias"] = number(errors.bias);
  out["magnitude_bias"] = number(errors.magnitude_bias);
  out["accumulation_drift"] = number(errors.accumulation_drift);
  out["accumulation_bound"] = errors.bound ? number(*errors.bound) : Json(nullptr);
  out["largest_of_bound"] = errors.bound ? number(errors.of_bound) : Json(nullptr);
  out["worst"] = {{"row", errors.worst_row},
                  {"column", errors.worst_column},
                  {"exact", number(errors.worst_exact)},
                  {"result", number(errors.worst_result)}};
  return out;
}

Json json_of(const GemmStudy& study) {
  Json curves = Json::array();
  for (const GemmCurve& curve : study.curves) {
    Json points = Json::array();
    for (const GemmPoint& point : curve.points) {
      Json each = {{"k", point.k}, {"cast_a", json_of(point.cast_a)}, {"cast_b", json_of(point.cast_b)}};
      each.update(json_of(point.errors));
      points.push_back(std::move(each));
    }
    curves.push_back({{"dtype", curve.dtype},
                      {"scaling", curve.scaling},
                      {"accumulation", curve.accumulation},
                      {"output", name_of(curve.output)},
                      {"distribution", name_of(curve.distribution)},
                      {"instruction", curve.instruction},
                      {"evidence", curve.evidence},
                      {"points", std::move(points)}});
  }
  return {{"method", study.method}, {"rows", study.rows},         {"columns", study.columns},
          {"seed", study.seed},     {"left_out", study.left_out}, {"curves", std::move(curves)}};
}

}  // namespace mmaudit::report
