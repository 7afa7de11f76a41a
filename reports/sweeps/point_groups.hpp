#pragma once
// Points of a sweep, chosen and put in groups, and the figures of a group.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mmaudit/sweeps/point.hpp"

namespace mmaudit::sweeps {

using Points = std::vector<const Point*>;

/// Points for which `wanted` holds.
template <typename Wanted>
Points points_with(const SweepResult& result, Wanted wanted) {
  Points points;
  for (const Point& point : result.points)
    if (wanted(point)) points.push_back(&point);
  return points;
}

/// The values that a point has on some axes.
using Coordinates = std::vector<std::pair<std::string_view, std::string_view>>;
inline bool is_at(const Point& point, const Coordinates& coordinates) {
  return std::all_of(coordinates.begin(), coordinates.end(),
                     [&](const auto& one) { return point.axis(one.first) == one.second; });
}

/// The first of the points of which a number is highest; null where none has it.
template <typename Of>
const Point* highest(const Points& points, Of number) {
  const Point* best = nullptr;
  std::optional<double> most;
  for (const Point* point : points)
    if (const std::optional<double> one = std::invoke(number, *point); one && (!most || *one > *most)) {
      best = point;
      most = one;
    }
  return best;
}

template <typename Of>
std::optional<double> highest_number(const Points& points, Of number) {
  const Point* best = highest(points, number);
  return best == nullptr ? std::nullopt : std::optional<double>(std::invoke(number, *best));
}

/// Points in groups of equal keys, groups and points in the order in which they were measured.
template <typename KeyOf>
std::vector<Points> grouped(const Points& points, KeyOf key_of) {
  std::map<decltype(key_of(*points.front())), std::size_t> numbers;
  std::vector<Points> groups;
  for (const Point* point : points) {
    const auto [at, fresh] = numbers.try_emplace(key_of(*point), groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].push_back(point);
  }
  return groups;
}

/// The key of a point without some axes.
inline auto key_without(std::span<const std::string_view> axes) {
  return [axes](const Point& point) { return point.key(axes); };
}

/// The axes of a grid of warps and chains.
inline constexpr std::string_view kGridAxes[] = {"scope", "warps", "ilp"};
/// True when the benchmarks have independent chains, the axis "ilp".
bool has_chains(const Points& points);
int least_warps(const Points& points);
/// What rate() of a point counts, per clock and multiprocessor.
std::string_view rate_unit(const Point& point);
/// Bytes per second over the memory's peak. What arrives in several blocks of a cluster is not read as often,
/// so it has none.
std::optional<double> share_of_memory(const Point& point);
/// "1 warp", "4 warps".
std::string warps_text(int warps);

/// Markup: with chains a heat map per benchmark, else curves of cycles.
std::vector<std::string> figures_of(std::string_view family, const Points& points);

}  // namespace mmaudit::sweeps
