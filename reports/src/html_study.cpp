// The study of whole products on the page: tables, and accumulation error against K.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "html_text.hpp"
#include "mmaudit/report/gemm_study.hpp"
#include "printed.hpp"
#include "svg_parts.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

constexpr std::string_view kDrawn[] = {"plain", "promote:128"};

/// Curves of N(0, 1): for every type, one a way of accumulating.
std::vector<const GemmCurve*> drawn(const GemmStudy& study) {
  std::vector<const GemmCurve*> out;
  for (const GemmCurve& curve : study.curves)
    if (curve.distribution == Distribution::normal &&
        std::find(std::begin(kDrawn), std::end(kDrawn), curve.accumulation) != std::end(kDrawn))
      out.push_back(&curve);
  return out;
}

/// The type's colour and mark; scaled kinds are drawn as the format of their elements.
Format colour_of(const GemmCurve& curve) {
  const auto instruction = find_instruction(curve.instruction);
  return instruction ? instruction->a : Format::none;
}

bool visible(const GemmPoint& point) { return point.errors.compared != 0 && point.errors.accumulation > 0; }

std::string described(const std::vector<const GemmCurve*>& curves) {
  std::string about = "Relative error of the accumulation against K, both axes logarithmic.";
  for (const GemmCurve* curve : curves) {
    const auto first = std::find_if(curve->points.begin(), curve->points.end(), visible);
    const auto last = std::find_if(curve->points.rbegin(), curve->points.rend(), visible);
    if (first == curve->points.end()) continue;
    about += fmt::format(" {}, {}: {} at K = {}, {} at K = {}.", curve->title, curve->accumulation,
                         error_text(first->errors.accumulation), first->k,
                         error_text(last->errors.accumulation), last->k);
  }
  return about;
}

}  // namespace

std::string depth_figure(const GemmStudy& study) {
  const std::vector<const GemmCurve*> curves = drawn(study);
  std::uint64_t shallow = ~std::uint64_t{0}, deep = 0;
  for (const GemmCurve* curve : curves)
    for (const GemmPoint& point : curve->points) {
      if (!visible(point)) continue;
      shallow = std::min(shallow, point.k);
      deep = std::max(deep, point.k);
    }
  if (deep == 0) return "";
  const auto octaves = [&](std::uint64_t k) {
    return std::log2(static_cast<double>(k) / static_cast<double>(shallow));
  };
  const auto x = [&](std::uint64_t k) {
    return svg::kLeft + 12 + octaves(k) / std::max(1.0, octaves(deep)) * (svg::kRight - svg::kLeft - 24);
  };

  svg::Plot plot{.id = "depth",
                 .title = "Accumulation error against K",
                 .x_title = "depth of the product, K",
                 .about = described(curves),
                 .ticks = {},
                 .curves = {}};
  for (std::uint64_t k = shallow; k <= deep; k *= 4) plot.ticks.emplace_back(x(k), fmt::format("{}", k));
  for (const GemmCurve* curve : curves) {
    const Format colour = colour_of(*curve);
    const bool promoted = curve->accumulation != kDrawn[0];
    svg::PlotCurve line{fmt::format("curve {}{}", name_of(colour), promoted ? " fp32" : ""),
                        colour,
                        promoted,
                        fmt::format("{}, {}", curve->title, curve->accumulation),
                        {}};
    for (const GemmPoint& point : curve->points)
      if (visible(point)) line.points.emplace_back(x(point.k), point.errors.accumulation);
    plot.curves.push_back(std::move(line));
  }
  return svg::drawn(plot);
}

}  // namespace mmaudit::report
