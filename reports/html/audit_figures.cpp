// Figures of the audit of an architecture.
#include "audit_figures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/report/audit.hpp"
#include "printed.hpp"
#include "svg_parts.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

bool visible(const GemmPoint& point) { return point.errors.compared != 0 && point.errors.accumulation > 0; }

/// The type's colour and mark; scaled kinds are drawn as the format of their elements.
Format colour_of(const GemmCurve& curve) {
  const auto instruction = find_instruction(curve.instruction);
  return instruction ? instruction->a : Format::none;
}

}  // namespace

std::string chain_figure(const AuditResult& result) {
  int longest = 0;
  for (const ChainCurve& curve : result.chains)
    for (const ChainPoint& point : curve.points) longest = std::max(longest, point.length);
  svg::Plot plot{.id = "chain",
                 .title = "Error along a chain of multiplications",
                 .x_title = "multiplications in the chain, N",
                 .about = "Mean relative L2 error against the number of multiplications.",
                 .symbol = "N",
                 .x = {.first = 1, .last = static_cast<double>(longest)},
                 .first_on_top = true};
  for (int length = 1; length <= longest; ++length)
    plot.ticks.emplace_back(length, fmt::format("{}", length));
  std::string infinities;
  for (const ChainCurve& curve : result.chains) {
    const bool fp32 = curve.init == Initialisation::fp32;
    svg::PlotCurve& drawn = plot.curves.emplace_back(
        svg::PlotCurve{curve_name(curve), curve.dtype, curve.dtype == Format::f16, fp32});
    for (const ChainPoint& point : curve.points)
      if (point.error && *point.error > 0) drawn.points.emplace_back(point.length, *point.error);
    if (!curve.first_infinity) continue;
    drawn.remark = fmt::format(" First infinity at N = {}.", *curve.first_infinity);
    if (!fp32) continue;
    const double at = plot.x.at(*curve.first_infinity);
    const std::string label =
        fmt::format("{}: first infinity at N = {}", title_of(curve.dtype), *curve.first_infinity);
    infinities +=
        fmt::format("<path class=\"curve {}\" stroke-dasharray=\"2 3\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>",
                    name_of(curve.dtype), at, svg::kTop + 96, svg::kBottom) +
        svg::text(at - 6, svg::kBottom - 12, "end", escaped_html(label));
  }
  return svg::drawn(plot, infinities);
}

std::string depth_figure(const GemmStudy& study) {
  constexpr std::string_view kPlain = "plain", kPromoted = "promote:128";
  svg::Plot plot{.id = "depth",
                 .title = "Accumulation error against K",
                 .x_title = "depth of the product, K",
                 .about = "Relative error of the accumulation against K, both axes logarithmic.",
                 .symbol = "K",
                 .x = {.octaves = true}};
  std::uint64_t shallow = ~std::uint64_t{0}, deep = 0;
  for (const GemmCurve& curve : study.curves) {
    const bool promoted = curve.accumulation == kPromoted;
    if (curve.distribution != Distribution::normal || (!promoted && curve.accumulation != kPlain)) continue;
    svg::PlotCurve& drawn = plot.curves.emplace_back(svg::PlotCurve{
        fmt::format("{}, {}", curve.title, curve.accumulation), colour_of(curve), promoted, promoted});
    for (const GemmPoint& point : curve.points) {
      if (!visible(point)) continue;
      drawn.points.emplace_back(point.k, point.errors.accumulation);
      shallow = std::min(shallow, point.k);
      deep = std::max(deep, point.k);
    }
  }
  if (deep == 0) return "";
  plot.x.first = static_cast<double>(shallow);
  plot.x.last = static_cast<double>(deep);
  for (std::uint64_t k = shallow; k <= deep; k *= 4) plot.ticks.emplace_back(k, fmt::format("{}", k));
  return svg::drawn(plot);
}

Levels dtype_levels(const AuditResult& result) {
  Levels out{.id = "dtype",
             .title = "Error of one product and of the unit, per data type",
             .x_title = "mean relative error",
             .names = {"a times b of FP32 inputs", "the unit alone"},
             .rows = {}};
  const auto mean = [](const ErrorStatistics& error) {
    return error.count == 0 ? std::nullopt : std::optional(error.mean_relative);
  };
  for (const DtypeSummary& row : result.dtypes)
    out.rows.push_back(
        {.label = fmt::format("{}{}", title_of(row.dtype), row.output == Format::f32 ? "" : ", D FP16"),
         .remark = row.instruction.substr(0, row.instruction.find('.')),
         .colour = row.dtype,
         .values = {mean(row.conversion), mean(row.accumulator_alone)}});
  return out;
}

Levels study_levels(const GemmStudy& study) {
  const std::uint64_t k = shown_k(study);
  Levels out{.id = "products",
             .title = fmt::format("Error of whole products, per data type, K = {}", k),
             .x_title = fmt::format("relative error of D, K = {}, N(0, 1)", k),
             .names = {"all of it", "of the accumulation alone"},
             .rows = {}};
  for (const GemmCurve* curve : dtypes_of(study)) {
    const auto point = std::find_if(curve->points.begin(), curve->points.end(),
                                    [k](const GemmPoint& one) { return one.k == k; });
    if (point == curve->points.end() || point->errors.compared == 0) continue;
    out.rows.push_back({.label = curve->title,
                        .remark = curve->scaling == "none" ? "" : curve->scaling,
                        .colour = colour_of(*curve),
                        .values = {point->errors.total, point->errors.accumulation}});
  }
  return out;
}

}  // namespace mmaudit::report
