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
  double least = 1, most = 1e-30;
  std::uint64_t shallow = ~std::uint64_t{0}, deep = 0;
  for (const GemmCurve* curve : curves)
    for (const GemmPoint& point : curve->points) {
      if (!visible(point)) continue;
      least = std::min(least, point.errors.accumulation);
      most = std::max(most, point.errors.accumulation);
      shallow = std::min(shallow, point.k);
      deep = std::max(deep, point.k);
    }
  if (deep == 0 || least > most) return "";

  constexpr double kLeft = 48, kRight = 448, kTop = 12, kBottom = 300;
  svg::LogAxis y{kBottom, kTop, svg::decade_below(least), svg::decade_above(most)};
  if (y.high <= y.low) y.high = y.low + 1;
  const double octaves = std::max(1.0, std::log2(static_cast<double>(deep) / static_cast<double>(shallow)));
  const auto x = [&](std::uint64_t k) {
    return kLeft + 12 +
           std::log2(static_cast<double>(k) / static_cast<double>(shallow)) / octaves * (kRight - kLeft - 24);
  };
  const double legend_rows = std::ceil(static_cast<double>(curves.size()) / 2);
  std::string out = svg::open_svg(460, kBottom + 50 + 20 * legend_rows, "depth",
                                  "Accumulation error against K", described(curves));
  for (int decade = y.low; decade <= y.high; ++decade) {
    const double at = y.at(std::pow(10.0, decade));
    out += svg::line(kLeft, at, kRight, at, "grid") +
           svg::text(kLeft - 7, at + 4, "soft end", svg::decade_text(decade));
  }
  for (std::uint64_t k = shallow; k <= deep; k *= 4)
    out += svg::line(x(k), kBottom, x(k), kBottom + 4, "axis") +
           svg::text(x(k), kBottom + 18, "soft middle", fmt::format("{}", k));
  out += svg::line(kLeft, kBottom, kRight, kBottom, "axis");
  out += svg::text((kLeft + kRight) / 2, kBottom + 35, "soft middle", "depth of the product, K");

  for (std::size_t i = 0; i < curves.size(); ++i) {
    const GemmCurve& curve = *curves[i];
    const Format colour = colour_of(curve);
    const bool promoted = curve.accumulation != kDrawn[0];
    const std::string cls = fmt::format("curve {}{}", name_of(colour), promoted ? " fp32" : "");
    std::string path, marks;
    for (const GemmPoint& point : curve.points) {
      if (!visible(point)) continue;
      const double at = y.at(point.errors.accumulation);
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x(point.k), at);
      marks += svg::mark(colour, promoted, x(point.k), at);
    }
    out += fmt::format("<path class=\"{}\" d=\"{}\"/>{}", cls, path, marks);
    const double left = kLeft - 34 + static_cast<double>(i % 2) * 215;
    const std::size_t row = i / 2;
    const double at = kBottom + 56 + static_cast<double>(row) * 20;
    out += svg::line(left, at, left + 34, at, cls) + svg::mark(colour, promoted, left + 17, at) +
           svg::text(left + 42, at + 4, "",
                     escaped_html(fmt::format("{}, {}", curve.title, curve.accumulation)));
  }
  return out + "</svg>";
}

}  // namespace mmaudit::report
