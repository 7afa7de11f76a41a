// Figures of the audit of an architecture.
#include "audit_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

std::string dtype_figure(const AuditResult& result) {
  if (result.dtypes.empty()) return "";
  constexpr double kLeft = 140, kRight = 380, kTop = 62, kRow = 24;
  const double bottom = kTop + kRow * static_cast<double>(result.dtypes.size());
  const svg::ErrorAxis x{{kLeft + 44, kRight, -8, 0}, kLeft + 14};

  std::string about = "Mean relative errors on a logarithmic axis.";
  for (const DtypeSummary& row : result.dtypes)
    about += fmt::format(" {} on {}: product of FP32 inputs {}, unit alone {}.", title_of(row.dtype),
                         row.instruction, error_text(row.conversion.mean_relative),
                         error_text(row.accumulator_alone.mean_relative));
  std::string out = svg::open_svg(svg::kPhone, bottom + 42, "dtype", "Error level per data type", about);

  out += svg::mark(Format::tf32, false, 4, 12) + svg::text(14, 16, "", "a times b of FP32 inputs, mean");
  out += svg::mark(Format::tf32, true, 4, 30) + svg::text(14, 34, "", "the unit alone, mean");
  out += x.grid(kTop - 8, bottom, 2);
  out += svg::line(kLeft, bottom, x.zero + 12, bottom, "axis") +
         svg::line(x.zero + 20, bottom, kRight, bottom, "axis");
  out += svg::text((kLeft + kRight) / 2, bottom + 35, "soft middle", "mean relative error");
  double at = kTop + kRow / 2 - 4;
  for (const DtypeSummary& row : result.dtypes) {
    const bool wgmma = row.instruction.starts_with("wgmma");
    const std::string label =
        fmt::format("{}{}", title_of(row.dtype), row.output == Format::f32 ? "" : ", D FP16");
    out += svg::text(0, at + 4, "", escaped_html(label)) +
           svg::text(92, at + 4, "soft", wgmma ? "wgmma" : "mma");
    const double product = x.at(row.conversion.mean_relative),
                 alone = x.at(row.accumulator_alone.mean_relative);
    const bool has_product = row.conversion.count != 0, has_alone = row.accumulator_alone.count != 0;
    if (has_product && has_alone) out += svg::line(alone, at, product, at, "grid");
    if (has_product) out += svg::mark(row.dtype, false, product, at);
    if (has_alone) out += svg::mark(row.dtype, true, alone, at);
    at += kRow;
  }
  return out + "</svg>";
}

}  // namespace mmaudit::report
