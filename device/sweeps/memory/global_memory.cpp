#include "sweeps/memory/global_memory.hpp"

#include <algorithm>

#include "mmaudit/sweeps/groups.hpp"

namespace mmaudit::sweeps {

Level level_of(const Point& point) {
  return point.axis("level") == "l1"   ? Level::first
         : point.axis("level") == "l2" ? Level::second
                                       : Level::memory;
}

bool went_round(const ChaseResult& found, std::uint32_t lines, int steps) {
  const auto went = (std::uint64_t{found.start} + static_cast<std::uint64_t>(steps)) % lines;
  return found.start < lines && found.end == went;
}

void group_loads(const std::vector<double>& first, std::vector<double> again, bool resident,
                 Measurement& out) {
  std::sort(again.begin(), again.end());
  const double longest_hit = again[again.size() * 99 / 100];
  std::vector<double> near, rest;
  for (const double cycles : first) (cycles <= longest_hit ? near : rest).push_back(cycles);
  const std::vector<double> cuts = cuts_of(rest, 3);
  std::vector<double> groups[3];
  for (const double cycles : rest) groups[group_of(cycles, cuts)].push_back(cycles);
  const Statistics low = statistics_of(resident ? near : groups[0]),
                   high = statistics_of(groups[resident ? 0 : 1]);
  out.others = {
      {resident ? tag::kNearHit : tag::kNearMiss, low.median},
      {resident ? tag::kFarHit : tag::kFarMiss, high.median},
      {resident ? tag::kHitSpread : tag::kMissSpread,
       std::max(low.upper_quartile - low.lower_quartile, high.upper_quartile - high.lower_quartile)},
      {tag::kAgain, statistics_of(again).median},
      {tag::kFarShare, 1.0 * high.count / std::max(1, low.count + high.count)}};
}

}  // namespace mmaudit::sweeps
