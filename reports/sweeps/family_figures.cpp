#include "sweeps/point_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "mmaudit/report/figures.hpp"

namespace mmaudit::sweeps {
namespace {

/// Values of a number axis among the points, in order.
std::vector<std::string> values_of(const Points& points, std::string_view axis) {
  std::set<int> numbers;
  for (const Point* point : points) numbers.insert(point->number(axis));
  std::vector<std::string> values;
  values.reserve(numbers.size());
  for (const int number : numbers) values.push_back(std::to_string(number));
  return values;
}

/// Where values_of() has a point; the text of its axis may be another one, as "04" in a file.
std::size_t place_of(const std::vector<std::string>& values, const Point& point, std::string_view axis) {
  const std::string value = std::to_string(point.number(axis));
  return static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
}

/// Rates of one benchmark over its warps and chains.
std::string heat_map_of(const Points& points, std::string id) {
  report::HeatMap map;
  map.id = std::move(id);
  map.title = fmt::format("{}: {}", points.front()->key(kGridAxes), rate_unit(*points.front()));
  map.x_title = "independent chains per warp";
  map.y_title = "warps";
  map.columns = values_of(points, "ilp");
  map.rows = values_of(points, "warps");
  map.values.resize(map.rows.size(), std::vector<std::optional<double>>(map.columns.size()));
  for (const Point* point : points)
    map.values[place_of(map.rows, *point, "warps")][place_of(map.columns, *point, "ilp")] = point->rate();
  return report::heat_map(map);
}

/// The number axis with most values; empty when none has two.
std::string_view longest_axis(const Points& points) {
  std::string_view longest;
  std::size_t most = 1;
  for (const AxisSpec& spec : axis_specs()) {
    if (!spec.number || points.front()->axis(spec.name).empty()) continue;
    if (const std::size_t size = values_of(points, spec.name).size(); size > most) {
      longest = spec.name;
      most = size;
    }
  }
  return longest;
}

/// Cycles of one benchmark with its fewest warps over its longest axis; one curve per value of the others.
std::string curves_of(Points points, std::string id) {
  const int warps = least_warps(points);
  std::erase_if(points, [&](const Point* point) { return point->number("warps") != warps; });
  const std::string_view along = longest_axis(points);
  if (along.empty()) return "";
  const std::string& subject = points.front()->subject;
  report::Curves plot{std::move(id),
                      fmt::format("{}, cycles with {}", subject, warps_text(warps)),
                      fmt::format("{}: cycles against {}", subject, along),
                      values_of(points, along),
                      {}};
  // Cycles do not depend on the operands.
  const std::string_view without[] = {along, "scope", "init", "warps"};
  constexpr Format kColours[] = {Format::tf32, Format::bf16, Format::f16, Format::e4m3, Format::s8};
  for (const Points& group : grouped(points, key_without(without))) {
    report::Curves::Curve curve;
    curve.name = group.front()->key(without).substr(subject.size());
    curve.colour = kColours[plot.curves.size() % std::size(kColours)];
    curve.values.resize(plot.labels.size());
    for (const Point* point : group)
      curve.values[place_of(plot.labels, *point, along)] = point->get(tag::kCycles);
    plot.curves.push_back(std::move(curve));
  }
  return report::curves(plot);
}

}  // namespace

bool has_chains(const Points& points) { return !points.front()->axis("ilp").empty(); }

int least_warps(const Points& points) {
  int least = kWarpsAxis.most;
  for (const Point* point : points) least = std::min(least, point->number("warps"));
  return least;
}

std::string_view rate_unit(const Point& point) {
  if (point.get(tag::kBytes)) return "B/clk/SM";
  return point.get(tag::kOperations) ? "operations/clk/SM" : "FMA/clk/SM";
}

std::optional<double> share_of_memory(const Point& point) {
  const auto rate = point.get(tag::kBytesPerSecond), peak = point.get(tag::kMemoryPeak);
  const bool alone = point.axis("cluster").empty() || point.axis("cluster") == "1";
  if (!alone || point.axis("level") != "memory" || !rate || !peak) return std::nullopt;
  return *rate / *peak;
}

std::string warps_text(int warps) { return fmt::format("{} warp{}", warps, warps == 1 ? "" : "s"); }

std::vector<std::string> figures_of(std::string_view family, const Points& points) {
  std::vector<std::string_view> without(std::begin(kGridAxes), std::end(kGridAxes));
  if (!has_chains(points))
    for (const AxisSpec& spec : axis_specs()) without.push_back(spec.name);
  std::vector<std::string> figures;
  for (const Points& group : grouped(points, key_without(without))) {
    std::string id = fmt::format("{}{}", family, figures.size());
    std::erase_if(id, [](unsigned char c) { return std::isalnum(c) == 0; });
    std::string figure =
        has_chains(points) ? heat_map_of(group, std::move(id)) : curves_of(group, std::move(id));
    if (!figure.empty()) figures.push_back(std::move(figure));
  }
  return figures;
}

}  // namespace mmaudit::sweeps
