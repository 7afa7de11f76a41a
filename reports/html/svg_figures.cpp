// Heat maps, points and curves of data that other libraries bring.
#include "mmaudit/report/figures.hpp"

#include "printed.hpp"
#include "svg_parts.hpp"

namespace mmaudit::report {
namespace {

constexpr svg::Grid kHeat{.left = 64, .top = 30, .wide = 50, .high = 26};

/// Of 0 to 1, so that text stays readable in light and dark.
double shade(double value, double most) { return most > 0 ? 0.04 + 0.46 * value / most : 0.04; }

/// 1, 2 or 5 times a power of ten: about five of them reach `most`.
double round_unit(double most) {
  const double rough = most / 5, power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power) return factor * power;
  return 10 * power;
}

/// Labels of points, each on a side where no other label is.
class Labels {
 public:
  std::string beside(double x, double y, const std::string& label) {
    const double wide = svg::width_of(label);
    constexpr std::pair<double, double> kSides[] = {{7, 4},   {7, -7},  {7, 15}, {-7, 4},
                                                    {-7, -7}, {-7, 15}, {0, -9}, {0, 18}};
    for (const auto& [right, down] : kSides) {
      const Box box{right < 0 ? x + right - wide : x + right, y + down, wide};
      if (std::any_of(taken_.begin(), taken_.end(), [&](const Box& other) { return box.meets(other); }))
        continue;
      taken_.push_back(box);
      return svg::text(box.x, box.y, "soft", label);
    }
    return "";  // the hover text and the legend have it
  }

 private:
  struct Box {
    double x = 0, y = 0, width = 0;
    [[nodiscard]] bool meets(const Box& other) const {
      constexpr double kHigh = 12, kGap = 3;
      return x < other.x + other.width + kGap && other.x < x + width + kGap && std::fabs(y - other.y) < kHigh;
    }
  };
  std::vector<Box> taken_;
};

bool drawable(const Scatter::Point& point) { return point.x > 0 && point.y > 0; }

/// Whether a logarithmic axis has a place for it.
bool positive(const std::optional<double>& value) { return value && *value > 0 && std::isfinite(*value); }

}  // namespace

std::string heat_map(const HeatMap& map) {
  double most = 0;
  std::size_t count = 0;
  for (const auto& row : map.values)
    for (const auto& value : row) {
      count += value ? 1 : 0;
      most = std::max(most, value.value_or(0));
    }
  if (count == 0) return "";
  const double right = kHeat.x(map.columns.size()), bottom = kHeat.y(map.rows.size());
  std::string out = svg::open_svg(
      std::max(right, kHeat.left + svg::width_of(map.title)) + 4, bottom + 44, map.id, map.title,
      fmt::format("{} against {}; most {:.{}f}.", map.y_title, map.x_title, most, map.digits));
  out += svg::text(kHeat.left, 16, "", escaped_html(map.title));
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = kHeat.y(r);
    out += svg::text(kHeat.left - 8, y + 17, "soft end", escaped_html(map.rows[r]));
    for (std::size_t c = 0; c < map.columns.size(); ++c) {
      const std::optional<double> value = map.values[r][c];
      if (!value) continue;
      out += svg::rect("heat", kHeat.x(c), y, kHeat.wide, kHeat.high, 0,
                       fmt::format(" fill-opacity=\"{:.2f}\"", shade(*value, most)));
      out += svg::text(kHeat.x(c, 0.5), y + 17, "middle", fmt::format("{:.{}f}", *value, map.digits));
    }
  }
  for (std::size_t c = 0; c < map.columns.size(); ++c)
    out += svg::text(kHeat.x(c, 0.5), bottom + 17, "soft middle", escaped_html(map.columns[c]));
  out += svg::text((kHeat.left + right) / 2, bottom + 35, "soft middle", escaped_html(map.x_title));
  out += svg::text(4, kHeat.top - 8, "soft", escaped_html(map.y_title));
  return out + "</svg>";
}

std::string scatter(const Scatter& plot) {
  double most_x = 0, least_y = 1e300, most_y = 0;
  std::size_t count = 0;
  for (const Scatter::Point& point : plot.points) {
    if (!drawable(point)) continue;
    ++count;
    most_x = std::max(most_x, point.x);
    least_y = std::min(least_y, point.y);
    most_y = std::max(most_y, point.y);
  }
  if (count == 0) return "";
  const double unit = round_unit(most_x), end = unit * std::ceil(most_x / unit);
  const auto x = [&](double value) { return svg::kLeft + value / end * (svg::kRight - svg::kLeft); };
  const svg::LogAxis y = svg::axis_around(svg::kBottom, svg::kTop, least_y, most_y);
  std::string about, marks, legend;
  std::size_t index = 0, longest = 0;
  for (const Scatter::Point& point : plot.points) longest = std::max(longest, point.name.size() + 3);
  const svg::Legend places{svg::kLeft - 34, 185, longest};
  Labels labels;
  for (const Scatter::Point& point : plot.points) {
    if (!drawable(point)) continue;
    ++index;
    about += fmt::format("{}: {:.4g}, {:.3g}. ", point.name, point.x, point.y);
    marks += svg::hinted(fmt::format("{}: {:.4g}, {:.3g}", point.name, point.x, point.y),
                         svg::mark(point.colour, point.hollow, x(point.x), y.at(point.y))) +
             labels.beside(x(point.x), y.at(point.y), std::to_string(index));
    const double left = places.x(index - 1), at = svg::kBottom + 56 + places.y(index - 1);
    legend += svg::mark(point.colour, point.hollow, left + 6, at) +
              svg::text(left + 16, at + 4, "", fmt::format("{} {}", index, escaped_html(point.name)));
  }
  std::string out = svg::open_svg(std::max(svg::kPhone, places.right()),
                                  svg::kBottom + 60 + places.height(count), plot.id, plot.title, about) +
                    svg::decades_up(y);
  for (double value = 0; value <= end + unit / 2; value += unit)
    out += svg::line(x(value), svg::kTop, x(value), svg::kBottom, "grid") +
           svg::text(x(value), svg::kBottom + 18, "soft middle", fmt::format("{:.6g}", value));
  out += svg::text((svg::kLeft + svg::kRight) / 2, svg::kBottom + 35, "soft middle",
                   escaped_html(plot.y_title + " against " + plot.x_title));
  return out + marks + legend + "</svg>";
}

std::string curves(const Curves& plot) {
  svg::Plot drawing{.id = plot.id,
                    .title = plot.title,
                    .x_title = plot.x_title,
                    .about = plot.title,
                    .x = {.last = static_cast<double>(plot.labels.size()) - 1}};
  for (std::size_t i = 0; i < plot.labels.size(); ++i) drawing.ticks.emplace_back(i, plot.labels[i]);
  for (const Curves::Curve& curve : plot.curves) {
    svg::PlotCurve one{curve.name, curve.colour, curve.hollow, curve.hollow};
    for (std::size_t i = 0; i < curve.values.size(); ++i)
      if (positive(curve.values[i])) one.points.emplace_back(i, *curve.values[i]);
    if (!one.points.empty()) drawing.curves.push_back(std::move(one));
  }
  return drawing.curves.empty() ? "" : svg::drawn(drawing);
}

std::string levels(const Levels& plot) {
  double least = 1e300, most = 0;
  std::size_t longest = 0, remark = 0;
  std::string about = fmt::format("{}, on a logarithmic axis.", plot.x_title);
  for (const Levels::Row& row : plot.rows) {
    longest = std::max(longest, row.label.size());
    remark = std::max(remark, row.remark.size());
    about += fmt::format(" {} {}:", row.label, row.remark);
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      if (row.values[i]) about += fmt::format(" {} {};", plot.names[i], error_text(*row.values[i]));
      if (!positive(row.values[i])) continue;
      least = std::min(least, *row.values[i]);
      most = std::max(most, *row.values[i]);
    }
  }
  if (most == 0) return "";
  if (plot.limit) least = std::min(least, *plot.limit), most = std::max(most, *plot.limit);

  constexpr double kRow = 24, kEdge = 20, kLeastWide = 190;
  const double remarks = svg::kGlyph * static_cast<double>(longest) + 10,
               left = std::max(140.0, remarks + svg::kGlyph * static_cast<double>(remark) + 10),
               right = std::max(svg::kPhone - kEdge, left + kLeastWide),
               top = 28 + 18 * static_cast<double>(plot.names.size()),
               bottom = top + kRow * static_cast<double>(plot.rows.size());
  const svg::ErrorAxis x{svg::axis_around(left + 44, right, least, most), left + 14};
  std::string out = svg::open_svg(std::max(right + kEdge, svg::width_of(plot.x_title) + 4), bottom + 42,
                                  plot.id, plot.title, about);
  for (std::size_t i = 0; i < plot.names.size(); ++i) {
    const double y = 12 + 18 * static_cast<double>(i);
    out += svg::mark(Format::tf32, i != 0, 4, y) + svg::text(14, y + 4, "", escaped_html(plot.names[i]));
  }
  out += x.grid(top - 8, bottom, x.decades.high - x.decades.low > 5 ? 2 : 1);
  out += svg::line(left, bottom, x.zero + 12, bottom, "axis") +
         svg::line(x.zero + 20, bottom, right, bottom, "axis");
  // The title stands in the middle where it can.
  const double half = svg::width_of(plot.x_title) / 2,
               middle = std::min((left + right) / 2, std::max(half, right + kEdge - half));
  out += svg::text(middle, bottom + 35, "soft middle", escaped_html(plot.x_title));
  if (plot.limit) {
    const double at = x.at(*plot.limit);
    out += svg::hinted("limit " + error_text(*plot.limit), svg::line(at, top - 8, at, bottom, "limit"));
  }
  double at = top + kRow / 2 - 4;
  for (const Levels::Row& row : plot.rows) {
    out += svg::text(0, at + 4, "", escaped_html(row.label)) +
           svg::text(remarks, at + 4, "soft", escaped_html(row.remark));
    std::string marks;
    std::vector<double> places;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
      const std::optional<double>& value = row.values[i];
      if (!value || !std::isfinite(*value) || *value < 0) continue;
      places.push_back(x.at(*value));
      marks += svg::hinted(fmt::format("{}: {} {}", row.label, plot.names[i], error_text(*value)),
                           svg::mark(row.colour, i != 0, places.back(), at));
    }
    if (places.size() > 1) out += svg::line(places.back(), at, places.front(), at, "grid");
    out += marks;
    at += kRow;
  }
  return out + "</svg>";
}

std::string drawn(const Figure& figure) {
  struct Drawing {
    std::string operator()(const Curves& plot) const { return curves(plot); }
    std::string operator()(const Scatter& plot) const { return scatter(plot); }
    std::string operator()(const Levels& plot) const { return levels(plot); }
  };
  return std::visit(Drawing(), figure);
}

}  // namespace mmaudit::report
