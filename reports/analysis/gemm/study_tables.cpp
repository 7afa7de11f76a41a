// The study as tables of text.
#include <fmt/format.h>

#include <algorithm>

#include "printed.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

constexpr std::uint64_t kShownK = 4096;

const GemmPoint* point_at(const GemmCurve& curve, std::uint64_t k) {
  for (const GemmPoint& point : curve.points)
    if (point.k == k) return &point;
  return nullptr;
}

const GemmPoint* find(const GemmStudy& study, std::string_view dtype, std::string_view accumulation,
                      Distribution distribution, std::uint64_t k) {
  for (const GemmCurve& curve : study.curves)
    if (curve.dtype == dtype && curve.accumulation == accumulation && curve.distribution == distribution)
      return point_at(curve, k);
  return nullptr;
}

Cell part_cell(const GemmPoint* point, double GemmErrors::*part) {
  if (point == nullptr) return "-";
  if (point->errors.compared == 0) return {"overflow", Tone::note};
  return error_text(point->errors.*part);
}

}  // namespace

std::vector<const GemmCurve*> dtypes_of(const GemmStudy& study) {
  std::vector<const GemmCurve*> out;
  for (const GemmCurve& curve : study.curves)
    if (curve.accumulation == "plain" && curve.distribution == Distribution::normal) out.push_back(&curve);
  return out;
}

std::uint64_t shown_k(const GemmStudy& study) {
  std::uint64_t k = 0;
  for (const GemmCurve& curve : study.curves)
    for (const GemmPoint& point : curve.points)
      if (point.k <= kShownK) k = std::max(k, point.k);
  return k;
}

Table study_table(const GemmStudy& study) {
  const std::uint64_t k = shown_k(study);
  Table table{.title = fmt::format("Error of whole products, K = {}, N(0, 1)", k),
              .remark = study.method,
              .columns = {"A, B",
                          "Scale",
                          {"Quanti- zation", true},
                          {"Accum. plain", true},
                          {"promote 128", true},
                          {"split-K 4", true},
                          {"FP16 sums", true},
                          {"Output", true},
                          {"Total, plain", true},
                          {"p99 ulp of D", true, true},
                          {"Drift of |sum|", true, true},
                          {"Bound, plain", true},
                          {"Largest of bound", true, true},
                          {"Instruction", false, true}}};
  for (const GemmCurve* curve : dtypes_of(study)) {
    const auto at = [&](std::string_view accumulation) {
      return find(study, curve->dtype, accumulation, Distribution::normal, k);
    };
    const GemmPoint* plain = at("plain");
    const bool shown = plain != nullptr && plain->errors.compared != 0;
    const bool bounded = shown && plain->errors.bound;
    table.rows.push_back(
        {curve->title, curve->scaling, part_cell(plain, &GemmErrors::quantization),
         part_cell(plain, &GemmErrors::accumulation), part_cell(at("promote:128"), &GemmErrors::accumulation),
         part_cell(at("split-k:4"), &GemmErrors::accumulation),
         part_cell(at("half"), &GemmErrors::accumulation), part_cell(plain, &GemmErrors::output),
         part_cell(plain, &GemmErrors::total), shown ? fmt::format("{:.3g}", plain->errors.p99_ulp) : "-",
         shown ? fmt::format("{:+.1e}", plain->errors.accumulation_drift) : "-",
         bounded ? error_text(*plain->errors.bound) : "-",
         bounded ? fmt::format("{:.2g}", plain->errors.of_bound) : "-", curve->instruction});
  }
  return table;
}

Table study_distribution_table(const GemmStudy& study) {
  const std::uint64_t k = shown_k(study);
  Table table{.title = fmt::format("Total error by distribution, K = {}, plain accumulation", k),

              .columns = {"A, B", "Scale"}};
  for (const Distribution distribution : kDistributions)
    table.columns.emplace_back(name_of(distribution), true);
  for (const GemmCurve* curve : dtypes_of(study)) {
    std::vector<Cell> row = {curve->title, curve->scaling};
    for (const Distribution distribution : kDistributions)
      row.push_back(part_cell(find(study, curve->dtype, "plain", distribution, k), &GemmErrors::total));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table study_depth_table(const GemmStudy& study) {
  Table table{.title = "Accumulation error against K, N(0, 1)", .columns = {{"K", true}}};
  const std::vector<const GemmCurve*> dtypes = dtypes_of(study);
  std::vector<std::uint64_t> depths;
  for (const GemmCurve* curve : dtypes) {
    table.columns.emplace_back(fmt::format("{}, plain", curve->title), true);
    table.columns.emplace_back(fmt::format("{}, promote:128", curve->title), true);
    for (const GemmPoint& point : curve->points)
      if (std::find(depths.begin(), depths.end(), point.k) == depths.end()) depths.push_back(point.k);
  }
  std::sort(depths.begin(), depths.end());
  for (const std::uint64_t k : depths) {
    std::vector<Cell> row = {std::to_string(k)};
    for (const GemmCurve* curve : dtypes)
      for (const std::string_view how : {"plain", "promote:128"})
        row.push_back(
            part_cell(find(study, curve->dtype, how, Distribution::normal, k), &GemmErrors::accumulation));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace mmaudit::report
