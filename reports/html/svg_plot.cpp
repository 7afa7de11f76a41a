#include "html_assets.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/report/figures.hpp"
#include "printed.hpp"
#include "svg_parts.hpp"

namespace mmaudit::report::svg {
namespace {

/// "10" with a raised exponent.
std::string decade_text(int decade) {
  return fmt::format("10<tspan dy=\"-4\" font-size=\"11\">{}{}</tspan>", decade < 0 ? "\u2212" : "",
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

std::string ErrorAxis::grid(double top, double bottom, int step, bool both) const {
  const auto tick = [&](double x, const std::string& label) {
    return line(x, top, x, bottom, "grid") + text(x, bottom + 16, "soft middle", label) +
           (both ? text(x, top - 5, "soft middle", label) : "");
  };
  std::string out = tick(zero, "0");
  for (int decade = decades.low; decade <= decades.high; decade += step)
    out += tick(decades.at(std::pow(10.0, decade)), decade_text(decade));
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
  constexpr std::size_t kLongestName = 40;  // a phone shows it; the hover text has all of it
  std::vector<std::string> names;
  std::size_t longest = 0;
  for (const PlotCurve& curve : plot.curves) {
    names.push_back(printable(curve.name, kLongestName));
    longest = std::max(longest, names.back().size());
  }
  const Legend places{kLeft - 34, 185, longest};
  std::string out =
      open_svg(std::max({kPhone, (kLeft + kRight + width_of(plot.x_title)) / 2 + 4, places.right()}),
               kBottom + 50 + places.height(plot.curves.size()), plot.id, plot.title, description_of(plot)) +
      decades_up(y);
  const bool counted = std::any_of(plot.ticks.begin(), plot.ticks.end(), [](const auto& tick) {
    constexpr double kWidest = 90;
    return width_of(tick.second) > kWidest;
  });
  double taken = 0;  // up to the end of the last label
  std::size_t index = 0;
  for (const auto& [x, name] : plot.ticks) {
    const std::string label = counted ? std::to_string(++index) : name;
    const double at = plot.x.at(x), half = width_of(label) / 2;
    out += line(at, kBottom, at, kBottom + 4, "axis");
    if (at - half < taken || at + half > kPhone) continue;
    out += text(at, kBottom + 18, "soft middle", escaped_html(label));
    taken = at + half + 6;
  }
  out += line(kLeft, kBottom, kRight, kBottom, "axis");
  out += text((kLeft + kRight) / 2, kBottom + 35, "soft middle", escaped_html(plot.x_title));

  std::string legend;
  std::vector<std::string> layers;
  for (std::size_t i = 0; i < plot.curves.size(); ++i) {
    const PlotCurve& curve = plot.curves[i];
    const std::string classes = fmt::format("curve {}{}", name_of(curve.colour), curve.dashed ? " fp32" : "");
    std::string path, marks;
    for (const auto& [x, value] : curve.points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", plot.x.at(x), y.at(value));
      const auto tick = std::find_if(plot.ticks.begin(), plot.ticks.end(),
                                     [at = x](const auto& one) { return one.first == at; });
      const std::string where = tick == plot.ticks.end() ? fmt::format("{:.6g}", x) : tick->second;
      marks += hinted(fmt::format("{}: {} at {}", curve.name, error_text(value), where),
                      mark(curve.colour, curve.hollow, plot.x.at(x), y.at(value)));
    }
    layers.push_back(fmt::format("<path class=\"{}\" d=\"{}\"/>{}", classes, path, marks));
    const double left = places.x(i), at = kBottom + 56 + places.y(i);
    legend += line(left, at, left + 34, at, classes) + mark(curve.colour, curve.hollow, left + 17, at) +
              text(left + 42, at + 4, "", escaped_html(names[i]));
  }
  if (plot.first_on_top) std::reverse(layers.begin(), layers.end());
  for (const std::string& layer : layers) out += layer;
  return out.append(legend).append(extra) + "</svg>";
}

}  // namespace mmaudit::report::svg

namespace mmaudit::report {

std::string svg_document(std::string_view figure) {
  std::string out(figure);
  out.insert(out.find('>') + 1,
             fmt::format("<style>svg{{background:#fff}}@media screen and (prefers-color-scheme:dark)"
                         "{{svg{{background:#11151a}}}}\n{}</style>",
                         kPictureStyle));
  return out.insert(std::string_view("<svg").size(), " xmlns=\"http://www.w3.org/2000/svg\"") + "\n";
}

}  // namespace mmaudit::report
