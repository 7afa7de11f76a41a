#include "printed.hpp"
#include "svg_parts.hpp"

namespace mmaudit::report::svg {
namespace {

/// "10" with a raised exponent.
std::string decade_text(int decade) {
  return fmt::format("10<tspan dy=\"-4\" font-size=\"9\">{}{}</tspan>", decade < 0 ? "\u2212" : "",
                     std::abs(decade));
}

/// What the curves show, for readers who don't see them.
std::string description_of(const Plot& plot) {
  std::string about = plot.about;
  for (const PlotCurve& curve : plot.curves) {
    if (plot.symbol.empty() || curve.points.empty()) continue;
    const auto [first, from] = curve.points.front();
    const auto [last, to] = curve.points.back();
    about += fmt::format(" {}: {} at {} = {:.0f}, {} at {} = {:.0f}.{}", curve.name, error_text(from),
                         plot.symbol, first, error_text(to), plot.symbol, last, curve.remark);
  }
  return about;
}

}  // namespace

std::string ErrorAxis::grid(double top, double bottom, int step) const {
  std::string out = line(zero, top, zero, bottom, "grid") + text(zero, bottom + 16, "soft middle", "0");
  for (int decade = decades.low; decade <= decades.high; decade += step) {
    const double x = decades.at(std::pow(10.0, decade));
    out += line(x, top, x, bottom, "grid") + text(x, bottom + 16, "soft middle", decade_text(decade));
  }
  return out;
}

std::string decades_up(const LogAxis& y) {
  std::string out;
  for (int decade = y.low; decade <= y.high; ++decade) {
    const double at = y.at(std::pow(10.0, decade));
    out += line(kLeft, at, kRight, at, "grid") + text(kLeft - 7, at + 4, "soft end", decade_text(decade));
  }
  return out;
}

std::string drawn(const Plot& plot, std::string_view extra) {
  double least = 1, most = 1e-30;
  for (const PlotCurve& curve : plot.curves)
    for (const auto& point : curve.points) {
      least = std::min(least, point.second);
      most = std::max(most, point.second);
    }
  if (least > most) return "";

  const LogAxis y = axis_around(kBottom, kTop, least, most);
  const double legend_rows = std::ceil(static_cast<double>(plot.curves.size()) / 2);
  std::string out =
      open_svg(460, kBottom + 50 + 20 * legend_rows, plot.id, plot.title, description_of(plot)) +
      decades_up(y);
  for (const auto& [x, label] : plot.ticks) {
    const double at = plot.x.at(x);
    out += line(at, kBottom, at, kBottom + 4, "axis") + text(at, kBottom + 18, "soft middle", label);
  }
  out += line(kLeft, kBottom, kRight, kBottom, "axis");
  out += text((kLeft + kRight) / 2, kBottom + 35, "soft middle", plot.x_title);

  std::string legend;
  std::vector<std::string> layers;
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const PlotCurve& curve = plot.curves[i];
    const std::string classes = fmt::format("curve {}{}", name_of(curve.colour), curve.dashed ? " fp32" : "");
    std::string path, marks;
    for (const auto& [x, value] : curve.points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", plot.x.at(x), y.at(value));
      marks += mark(curve.colour, curve.hollow, plot.x.at(x), y.at(value));
    }
    layers.push_back(fmt::format("<path class=\"{}\" d=\"{}\"/>{}", classes, path, marks));
    const std::size_t row = i / 2;
    const double left = kLeft - 34 + static_cast<double>(i % 2) * 215;
    const double at = kBottom + 56 + static_cast<double>(row) * 20;
    legend += line(left, at, left + 34, at, classes) + mark(curve.colour, curve.hollow, left + 17, at) +
              text(left + 42, at + 4, "", escaped_html(curve.name));
  }
  if (plot.first_on_top) std::reverse(layers.begin(), layers.end());
  for (const std::string& layer : layers) out += layer;
  return out.append(legend).append(extra) + "</svg>";
}

}  // namespace mmaudit::report::svg
