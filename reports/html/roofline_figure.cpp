// Rates of bytes as slopes, rates of operations as roofs.
#include "mmaudit/report/figures.hpp"
#include "svg_parts.hpp"

namespace mmaudit::report {
namespace {

using svg::kBottom, svg::kLeft, svg::kRight, svg::kTop;

/// Right ends of the legend's columns of numbers, its first line, and the height of a line.
constexpr double kRateEnd = 180, kFirstRidge = 275, kRidgeWide = 105, kLegendTop = kBottom + 62,
                 kLegendLine = 20;
/// Labels of roofs that are nearer than that are one label.
constexpr double kNear = 18;

/// Both axes, and where a slope and a roof meet.
struct Axes {
  svg::LogAxis x, y;

  /// Of roofs and slopes by falling value.
  explicit Axes(const Roofline& plot) {
    const double least = plot.roofs.back().value, most = plot.roofs.front().value,
                 slowest = plot.slopes.back().value, fastest = plot.slopes.front().value;
    // Room for labels around what is drawn.
    x = svg::axis_around(kLeft, kRight, least / fastest / 3, most / slowest * 3);
    y = svg::axis_around(kBottom, kTop, least / 2, most * 2);
  }

  /// Where a slope is at a height of the drawing.
  [[nodiscard]] double x_on(const Roofline::Slope& slope, double at) const {
    const double share = (at - y.from) / (y.to - y.from);
    return x.at(std::pow(10.0, y.low + share * (y.high - y.low)) / slope.value);
  }
  /// The height at which a slope is so far right.
  [[nodiscard]] double y_on(const Roofline::Slope& slope, double at) const {
    const double share = (at - x.from) / (x.to - x.from);
    return y.at(std::pow(10.0, x.low + share * (x.high - x.low)) * slope.value);
  }
};

std::string grid_of(const Axes& axes) {
  std::string out = svg::decades_up(axes.y);
  const int step = (axes.x.high - axes.x.low) / 8 + 1;
  for (int decade = axes.x.low; decade <= axes.x.high; decade += step) {
    const double value = std::pow(10.0, decade), at = axes.x.at(value);
    out += svg::line(at, kTop, at, kBottom, "grid") +
           svg::text(at, kBottom + 18, "soft middle", fmt::format("{:g}", value));
  }
  return out + svg::text((kLeft + kRight) / 2, kBottom + 35, "soft middle", "FLOP/s against FLOP per byte");
}

/// The lines of the slopes up to the highest roof; the steepest has its label on the left, others on the
/// right.
std::string slopes_of(const Roofline& plot, const Axes& axes, double highest) {
  std::string out;
  double label = kBottom - 8;
  for (std::size_t i = 0; i < plot.slopes.size(); ++i) {
    const Roofline::Slope& slope = plot.slopes[i];
    const double bottom = axes.y_on(slope, kLeft), foot = axes.x_on(slope, kBottom);
    const bool from_left = bottom < kBottom - 0.05;
    out += svg::hinted(fmt::format("{}: {}", slope.name, slope.rate),
                       svg::line(from_left ? kLeft : foot, from_left ? bottom : kBottom,
                                 axes.x.at(highest / slope.value), axes.y.at(highest), "total"));
    const std::string name = escaped_html(fmt::format("{} {}", slope.name, slope.rate));
    if (i == 0 && plot.slopes.size() > 1) {
      const double end = kLeft + 8 + svg::width_of(slope.name + slope.rate) + svg::kGlyph;
      out += svg::text(end, axes.y_on(slope, end + 8), "end", name);
    } else {
      out += svg::text(axes.x_on(slope, label - 12) + 8, label, "", name);
      label -= 16;
    }
  }
  return out;
}

/// Names of roofs at their right ends, one label for those that lie close together.
std::string names_of(const std::vector<Roofline::Roof>& roofs, const Axes& axes) {
  std::string out, names;
  double top = 0, last = 0;
  const auto print = [&] {
    if (!names.empty()) out += svg::text(kRight, top - 9, "end", escaped_html(names));
  };
  for (const Roofline::Roof& roof : roofs) {
    const double at = axes.y.at(roof.value);
    if (names.empty() || at - last > kNear) {
      print();
      names = roof.name;
      top = at;
    } else {
      names += ", " + roof.name;
    }
    last = at;
  }
  print();
  return out;
}

std::string ridge_text(const Roofline::Roof& roof, const Roofline::Slope& slope) {
  const double ridge = roof.value / slope.value;
  return fmt::format("{:.{}f}", ridge, ridge < 10 ? 1 : 0);
}

}  // namespace

std::string roofline(const Roofline& plot) {
  if (plot.slopes.empty() || plot.roofs.empty()) return "";
  Roofline sorted = plot;
  std::stable_sort(sorted.slopes.begin(), sorted.slopes.end(),
                   [](const auto& a, const auto& b) { return a.value > b.value; });
  std::stable_sort(sorted.roofs.begin(), sorted.roofs.end(),
                   [](const auto& a, const auto& b) { return a.value > b.value; });
  const Axes axes(sorted);
  std::string about, roofs, legend = svg::text(kRateEnd, kLegendTop, "soft end", "TFLOPS");
  const auto ridge_end = [](std::size_t slope) {
    return kFirstRidge + kRidgeWide * static_cast<double>(slope);
  };
  for (std::size_t i = 0; i < sorted.slopes.size(); ++i)
    legend += svg::text(ridge_end(i), kLegendTop, "soft end",
                        escaped_html(fmt::format("ridge, {}", sorted.slopes[i].name)));
  double line = kLegendTop;
  for (const Roofline::Roof& roof : sorted.roofs) {
    const double height = axes.y.at(roof.value), start = axes.x.at(roof.value / sorted.slopes.front().value);
    const std::string rate = fmt::format("{:.1f}", 1e-12 * roof.value),
                      cls = fmt::format("curve {}", name_of(roof.colour));
    about += fmt::format("{}: {} TFLOPS", roof.name, rate);
    roofs += svg::hinted(fmt::format("{}: {} TFLOPS", roof.name, rate),
                         svg::line(start, height, kRight, height, cls));
    line += kLegendLine;
    legend += svg::line(14, line - 4, 48, line - 4, cls) + svg::mark(roof.colour, false, 31, line - 4) +
              svg::text(56, line, "", escaped_html(roof.name)) + svg::text(kRateEnd, line, "end", rate);
    for (std::size_t i = 0; i < sorted.slopes.size(); ++i) {
      const Roofline::Slope& slope = sorted.slopes[i];
      const std::string ridge = ridge_text(roof, slope);
      const std::string meets = fmt::format("meets {} at {} FLOP per byte", slope.name, ridge);
      about += ", " + meets;
      roofs += svg::hinted(fmt::format("{} {}", roof.name, meets),
                           svg::mark(roof.colour, false, axes.x.at(roof.value / slope.value), height));
      legend += svg::text(ridge_end(i), line, "end", ridge);
    }
    about += ". ";
  }
  return svg::open_svg(svg::kPhone, line + 10, plot.id, plot.title, about) + grid_of(axes) +
         slopes_of(sorted, axes, sorted.roofs.front().value) + roofs + names_of(sorted.roofs, axes) + legend +
         "</svg>";
}

}  // namespace mmaudit::report
