#pragma once
// Points of a sweep, chosen and put in groups.
#include <algorithm>
#include <span>
#include <string_view>
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

/// Points in groups of equal keys, groups and points in the order in which they were measured.
template <typename KeyOf>
std::vector<Points> grouped(const Points& points, KeyOf key_of) {
  std::vector<decltype(key_of(*points.front()))> keys;
  std::vector<Points> groups;
  for (const Point* point : points) {
    const auto key = key_of(*point);
    const auto at = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
    if (at == keys.size()) {
      keys.push_back(key);
      groups.emplace_back();
    }
    groups[at].push_back(point);
  }
  return groups;
}

/// The key of a point without some axes.
inline auto key_without(std::span<const std::string_view> axes) {
  return [axes](const Point& point) { return point.key(axes); };
}

}  // namespace mmaudit::sweeps
