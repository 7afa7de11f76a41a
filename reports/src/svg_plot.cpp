#include "svg_parts.hpp"

namespace mmaudit::report::svg {

std::string drawn(const Plot& plot, std::string_view extra) {
  double least = 1, most = 1e-30;
  for (const PlotCurve& curve : plot.curves)
    for (const auto& point : curve.points) {
      least = std::min(least, point.second);
      most = std::max(most, point.second);
    }
  if (least > most) return "";

  LogAxis y{kBottom, kTop, decade_below(least), decade_above(most)};
  if (y.high <= y.low) y.high = y.low + 1;
  const double legend_rows = std::ceil(static_cast<double>(plot.curves.size()) / 2);
  std::string out = open_svg(460, kBottom + 50 + 20 * legend_rows, plot.id, plot.title, plot.about);
  for (int decade = y.low; decade <= y.high; ++decade) {
    const double at = y.at(std::pow(10.0, decade));
    out += line(kLeft, at, kRight, at, "grid") + text(kLeft - 7, at + 4, "soft end", decade_text(decade));
  }
  for (const auto& [x, label] : plot.ticks)
    out += line(x, kBottom, x, kBottom + 4, "axis") + text(x, kBottom + 18, "soft middle", label);
  out += line(kLeft, kBottom, kRight, kBottom, "axis");
  out += text((kLeft + kRight) / 2, kBottom + 35, "soft middle", plot.x_title);

  std::string legend;
  std::vector<std::string> layers;
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const PlotCurve& curve = plot.curves[i];
    std::string path, marks;
    for (const auto& [x, value] : curve.points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y.at(value));
      marks += mark(curve.colour, curve.hollow, x, y.at(value));
    }
    layers.push_back(fmt::format("<path class=\"{}\" d=\"{}\"/>{}", curve.classes, path, marks));
    const std::size_t row = i / 2;
    const double left = kLeft - 34 + static_cast<double>(i % 2) * 215;
    const double at = kBottom + 56 + static_cast<double>(row) * 20;
    legend += line(left, at, left + 34, at, curve.classes) + mark(curve.colour, curve.hollow, left + 17, at) +
              text(left + 42, at + 4, "", escaped_html(curve.name));
  }
  if (plot.first_on_top) std::reverse(layers.begin(), layers.end());
  for (const std::string& layer : layers) out += layer;
  return out.append(legend).append(extra) + "</svg>";
}

}  // namespace mmaudit::report::svg
