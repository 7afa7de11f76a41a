// Figures as inline SVG. Colours and line styles are classes, so that one drawing serves light, dark and
// print.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "html_text.hpp"
#include "mmaudit/report/render.hpp"
#include "printed.hpp"
#include "svg_parts.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

/// What the curves show, for readers who don't see them.
std::string chain_description(const AuditResult& result) {
  std::string about = "Mean relative L2 error against the number of multiplications.";
  for (const ChainCurve& curve : result.chains) {
    const ChainPoint *first = nullptr, *last = nullptr;
    for (const ChainPoint& point : curve.points) {
      if (!point.error) continue;
      if (first == nullptr) first = &point;
      last = &point;
    }
    if (first == nullptr) continue;
    about += fmt::format(" {}: {} at N = {}, {} at N = {}.", curve_name(curve), error_text(*first->error),
                         first->length, error_text(*last->error), last->length);
    if (curve.first_infinity) about += fmt::format(" First infinity at N = {}.", *curve.first_infinity);
  }
  return about;
}

}  // namespace

std::string chain_figure(const AuditResult& result) {
  int longest = 0;
  for (const ChainCurve& curve : result.chains)
    for (const ChainPoint& point : curve.points) longest = std::max(longest, point.length);
  const double step = (svg::kRight - svg::kLeft - 24) / std::max(longest - 1, 1);
  const auto x = [&](int length) { return svg::kLeft + 12 + (length - 1) * step; };

  svg::Plot plot{.id = "chain",
                 .title = "Error along a chain of multiplications",
                 .x_title = "multiplications in the chain, N",
                 .about = chain_description(result),
                 .ticks = {},
                 .curves = {},
                 .first_on_top = true};
  for (int length = 1; length <= longest; ++length)
    plot.ticks.emplace_back(x(length), fmt::format("{}", length));
  std::string infinities;
  for (const ChainCurve& curve : result.chains) {
    const bool fp32 = curve.init == Initialisation::fp32;
    svg::PlotCurve drawn{fmt::format("curve {}{}", name_of(curve.dtype), fp32 ? " fp32" : ""),
                         curve.dtype,
                         curve.dtype == Format::f16,
                         curve_name(curve),
                         {}};
    for (const ChainPoint& point : curve.points)
      if (point.error && *point.error > 0) drawn.points.emplace_back(x(point.length), *point.error);
    plot.curves.push_back(std::move(drawn));
    if (!curve.first_infinity || !fp32) continue;
    const double at = x(*curve.first_infinity);
    const std::string label =
        fmt::format("{}: first infinity at N = {}", title_of(curve.dtype), *curve.first_infinity);
    infinities +=
        fmt::format("<path class=\"curve {}\" stroke-dasharray=\"2 3\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>",
                    name_of(curve.dtype), at, svg::kTop + 96, svg::kBottom) +
        svg::text(at - 6, svg::kBottom - 12, "end", escaped_html(label));
  }
  return svg::drawn(plot, infinities);
}

std::string dtype_figure(const AuditResult& result) {
  if (result.dtypes.empty()) return "";
  constexpr double kLeft = 140, kRight = 440, kTop = 44, kRow = 24;
  const double bottom = kTop + kRow * static_cast<double>(result.dtypes.size());
  const svg::LogAxis x{kLeft + 44, kRight, -8, 0};
  const double zero = kLeft + 14;  // off the logarithmic axis

  std::string about = "Mean relative errors on a logarithmic axis.";
  for (const DtypeSummary& row : result.dtypes)
    about += fmt::format(" {} on {}: product of FP32 inputs {}, unit alone {}.", title_of(row.dtype),
                         row.instruction, error_text(row.conversion.mean_relative),
                         error_text(row.accumulator_alone.mean_relative));
  std::string out = svg::open_svg(460, bottom + 42, "dtype", "Error level per data type", about);

  out += svg::mark(Format::tf32, false, 4, 12) + svg::text(14, 16, "", "a times b of FP32 inputs, mean");
  out += svg::mark(Format::tf32, true, 254, 12) + svg::text(264, 16, "", "the unit alone, mean");
  out += svg::line(zero, kTop - 8, zero, bottom, "grid") + svg::text(zero, bottom + 16, "soft middle", "0");
  for (int decade = x.low; decade <= x.high; decade += 2) {
    const double at = x.at(std::pow(10.0, decade));
    out += svg::line(at, kTop - 8, at, bottom, "grid") +
           svg::text(at, bottom + 16, "soft middle", svg::decade_text(decade));
  }
  out += svg::line(kLeft, bottom, zero + 12, bottom, "axis") +
         svg::line(zero + 20, bottom, kRight, bottom, "axis");
  out += svg::text((kLeft + kRight) / 2, bottom + 35, "soft middle", "mean relative error");
  double at = kTop + kRow / 2 - 4;
  for (const DtypeSummary& row : result.dtypes) {
    const bool wgmma = row.instruction.starts_with("wgmma");
    const std::string label =
        fmt::format("{}{}", title_of(row.dtype), row.output == Format::f32 ? "" : ", D FP16");
    out += svg::text(0, at + 4, "", escaped_html(label)) +
           svg::text(92, at + 4, "soft", wgmma ? "wgmma" : "mma");
    const auto place = [&](const ErrorStatistics& error) {
      return error.mean_relative == 0 ? zero : x.at(error.mean_relative);
    };
    const bool both = row.conversion.count != 0 && row.accumulator_alone.count != 0;
    if (both) out += svg::line(place(row.accumulator_alone), at, place(row.conversion), at, "grid");
    if (row.conversion.count != 0) out += svg::mark(row.dtype, false, place(row.conversion), at);
    if (row.accumulator_alone.count != 0) out += svg::mark(row.dtype, true, place(row.accumulator_alone), at);
    at += kRow;
  }
  return out + "</svg>";
}

}  // namespace mmaudit::report
