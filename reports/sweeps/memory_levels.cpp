#include "sweeps/memory_levels.hpp"

#include <algorithm>
#include <map>

#include "mmaudit/sweeps/groups.hpp"
#include "sweeps/findings.hpp"
#include "sweeps/point_groups.hpp"

namespace mmaudit::sweeps {
namespace {

/// Points within this are one plateau.
constexpr double kFlat = 1.04;

struct Step {
  int kib = 0;
  double cycles = 0;
  const Point* point = nullptr;
};

std::vector<Step> curve_of(const SweepResult& result, std::string_view subject, std::string_view bytes = {}) {
  std::vector<Step> curve;
  for (const Point& point : result.points)
    if (const auto cycles = point.get(tag::kCycles); cycles && point.subject == subject &&
                                                     point.axis("scope") == "sm" && point.number("kib") > 0 &&
                                                     point.axis("bytes") == bytes)
      curve.push_back({point.number("kib"), *cycles, &point});
  std::sort(curve.begin(), curve.end(), [](const Step& x, const Step& y) { return x.kib < y.kib; });
  return curve;
}

Plateau plateau_of(const std::vector<Step>& curve, std::size_t first, std::size_t last) {
  std::vector<double> cycles;
  for (std::size_t i = first; i <= last; ++i) cycles.push_back(curve[i].cycles);
  const Statistics all = statistics_of(std::move(cycles));
  return {.level = {},
          .flat = true,
          .from_kib = curve[first].kib,
          .to_kib = curve[last].kib,
          .points = last - first + 1,
          .median = all.median,
          .least = all.least,
          .most = all.most,
          .first = curve[first].point};
}

/// Runs of neighbours within kFlat, the longest footprints first come, in rising order.
std::vector<Plateau> flat_runs(const std::vector<Step>& curve) {
  struct Run {
    std::size_t first = 0, last = 0;
  };
  std::vector<Run> runs;
  for (std::size_t first = 0; first < curve.size(); ++first) {
    double least = curve[first].cycles, most = least;
    std::size_t last = first;
    while (last + 1 < curve.size()) {
      least = std::min(least, curve[last + 1].cycles);
      most = std::max(most, curve[last + 1].cycles);
      if (most > kFlat * least) break;
      ++last;
    }
    runs.push_back({first, last});
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const Run& x, const Run& y) { return x.last - x.first > y.last - y.first; });
  std::vector<bool> taken(curve.size());
  std::vector<Plateau> plateaus;
  for (const Run& run : runs) {
    if (std::any_of(taken.begin() + static_cast<std::ptrdiff_t>(run.first),
                    taken.begin() + static_cast<std::ptrdiff_t>(run.last) + 1, [](bool one) { return one; }))
      continue;
    const bool wide = curve[run.last].kib >= 2 * curve[run.first].kib;
    if (!wide && run.last + 1 != curve.size()) continue;
    std::fill(taken.begin() + static_cast<std::ptrdiff_t>(run.first),
              taken.begin() + static_cast<std::ptrdiff_t>(run.last) + 1, true);
    plateaus.push_back(plateau_of(curve, run.first, run.last));
  }
  std::sort(plateaus.begin(), plateaus.end(),
            [](const Plateau& x, const Plateau& y) { return x.from_kib < y.from_kib; });
  return plateaus;
}

/// The footprints between two plateaus of a curve, where the latency climbs.
std::optional<Plateau> climb(const std::vector<Step>& curve, const Plateau& below, const Plateau& above) {
  std::vector<Step> between;
  for (const Step& step : curve)
    if (step.kib > below.to_kib && step.kib < above.from_kib) between.push_back(step);
  if (between.empty()) return std::nullopt;
  Plateau out = plateau_of(between, 0, between.size() - 1);
  out.flat = false;
  return out;
}

std::vector<double> as_doubles(std::span<const std::uint32_t> numbers) {
  std::vector<double> cycles;
  for (const std::uint32_t number : numbers) cycles.push_back(std::min(number, kMostCycles));
  return cycles;
}

/// Numbers of the side on which most lie, of `rows` of classes.
std::vector<bool> majority(const std::vector<const std::vector<std::uint32_t>*>& rows, double cut) {
  std::vector<bool> far(rows.empty() ? 0 : rows.front()->size());
  for (std::size_t line = 0; line < far.size(); ++line)
    far[line] =
        2 * std::count_if(rows.begin(), rows.end(), [&](const auto* row) { return (*row)[line] > cut; }) >
        static_cast<std::ptrdiff_t>(rows.size());
  return far;
}

std::size_t same(const std::vector<std::uint32_t>& row, const std::vector<bool>& far, double cut) {
  std::size_t count = 0;
  for (std::size_t line = 0; line < row.size(); ++line) count += (row[line] > cut) == far[line] ? 1 : 0;
  return count;
}

/// Splits the rows into two sides by whether their classes are more like the first row's or the opposite,
/// then counts how many cells agree with the majority of their side.
void find_sides(PartitionMap& map) {
  struct Row {
    std::uint32_t place = 0;
    std::vector<std::uint32_t> cycles;
    bool other = false;
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < map.cycles.size(); ++i) rows.push_back({map.multiprocessors[i], map.cycles[i]});
  std::sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) { return x.place < y.place; });
  std::vector<bool> like = majority({&rows.front().cycles}, map.cut);
  std::size_t agreeing = 0, cells = 0;
  // Twice: the first row may be an odd one; then the majority of its side speaks for it.
  for (int round = 0; round < 2; ++round) {
    for (Row& row : rows) row.other = 2 * same(row.cycles, like, map.cut) < row.cycles.size();
    std::vector<const std::vector<std::uint32_t>*> sides[2];
    for (const Row& row : rows) sides[row.other ? 1 : 0].push_back(&row.cycles);
    agreeing = cells = 0;
    for (const auto& side : sides) {
      const std::vector<bool> far = majority(side, map.cut);
      for (const auto* row : side) agreeing += same(*row, far, map.cut), cells += row->size();
    }
    if (!sides[0].empty()) like = majority(sides[0], map.cut);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& x, const Row& y) { return x.other < y.other; });
  map.agreement = cells > 0 ? static_cast<double>(agreeing) / static_cast<double>(cells) : 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    map.multiprocessors[i] = rows[i].place;
    map.cycles[i] = rows[i].cycles;
    map.first_side += rows[i].other ? 0 : 1;
  }
}

}  // namespace

std::vector<Plateau> plateaus_of(const SweepResult& result) {
  const std::vector<Step> past = curve_of(result, kChaseSecondLevel);
  std::vector<Plateau> second = flat_runs(past), named;
  const double below = second.empty() ? 0 : second.front().median / 2;
  for (Plateau one : flat_runs(curve_of(result, kChaseAnyCache)))
    if (second.empty() ? named.empty() : one.median < below) {
      one.level = "L1";
      named.push_back(one);
      break;
    }
  if (second.empty()) return named;
  second.front().level = "near L2";
  named.push_back(second.front());
  if (second.size() == 1) return named;
  Plateau last = second.back();
  last.level = "DRAM";
  bool found = false;
  for (std::size_t i = 1; i + 1 < second.size(); ++i) {
    second[i].level = "far L2";
    named.push_back(second[i]);
    found = true;
  }
  if (!found)
    if (std::optional<Plateau> between = climb(past, second.front(), last)) {
      between->level = "far L2";
      named.push_back(*between);
    }
  named.push_back(last);
  return named;
}

std::vector<Plateau> plateaus_of_footprints(const SweepResult& result, std::string_view subject,
                                            std::string_view bytes) {
  return flat_runs(curve_of(result, subject, bytes));
}

std::vector<LoadGroup> load_groups(const SweepResult& result) {
  std::vector<LoadGroup> groups;
  for (const bool resident : {true, false}) {
    const Point* point =
        find_point(result, {.subject = kEachLoad, .others = {{"level", resident ? "l2" : "memory"}}});
    if (point == nullptr) continue;
    Measurement out;
    out.others = point->summaries;
    if (const auto first = point->numbers(list::kFirst), again = point->numbers(list::kAgain);
        !first.empty() && !again.empty())
      group_loads(as_doubles(first), as_doubles(again), resident, out);
    const auto found = [&](const char* tag) {
      const auto at = out.others.find(tag);
      return at == out.others.end() ? std::nullopt : std::optional(at->second);
    };
    const auto numbers_found = numbers({found(resident ? tag::kNearHit : tag::kNearMiss),
                                        found(resident ? tag::kFarHit : tag::kFarMiss),
                                        found(resident ? tag::kHitSpread : tag::kMissSpread)});
    if (numbers_found.empty()) continue;
    const double far = found(tag::kFarShare).value_or(0);
    groups.push_back({resident ? "near hit" : "near miss", numbers_found[0], numbers_found[2], 1 - far});
    groups.push_back({resident ? "far hit" : "far miss", numbers_found[1], numbers_found[2], far});
  }
  return groups;
}

std::optional<PartitionMap> partition_map(const Point& point) {
  const auto cells = point.numbers(list::kMap), places = point.numbers(list::kMapPlaces);
  if (places.empty() || cells.empty() || cells.size() % places.size() != 0) return std::nullopt;
  const std::size_t lines = cells.size() / places.size();
  PartitionMap map{.point = &point, .multiprocessors = {places.begin(), places.end()}, .cycles = {}};
  std::vector<std::uint64_t> seen(kMostCycles + 1);
  for (std::size_t row = 0; row < places.size(); ++row) {
    const auto of_row = cells.subspan(row * lines, lines);
    for (std::uint32_t& cycles : map.cycles.emplace_back(of_row.begin(), of_row.end())) {
      cycles = std::min(cycles, kMostCycles);
      ++seen[cycles];
    }
  }
  seen[0] = 0;  // not seen
  const std::vector<double> cuts = cuts_of_counts(seen, 2);
  if (cuts.empty()) return std::nullopt;
  map.cut = cuts.front();
  const auto above = static_cast<std::size_t>(map.cut) + 1;
  const Statistics near = statistics_of_counts(std::span(seen).first(above)),
                   far = statistics_of_counts(seen, above);
  map.near = near.median;
  map.far = far.median;
  map.spread = std::max(near.upper_quartile - near.lower_quartile, far.upper_quartile - far.lower_quartile);
  find_sides(map);
  return map;
}

std::vector<PartitionMap> partition_maps(const SweepResult& result, std::string_view subject) {
  std::vector<PartitionMap> maps;
  for (const Point& point : result.points)
    if (point.axis("scope") == "gpu" && (subject.empty() || point.subject == subject))
      if (std::optional<PartitionMap> map = partition_map(point)) maps.push_back(std::move(*map));
  return maps;
}

std::vector<const Point*> placed_points(const SweepResult& result) {
  return points_with(result, [](const Point& point) {
    return point.axis("scope") == "gpu" && !point.numbers(list::kPlaces).empty() && point.number("width") > 0;
  });
}

std::vector<std::vector<std::uint32_t>> multiprocessor_groups(const SweepResult& result) {
  std::map<std::uint32_t, std::uint32_t> parent;
  const auto root = [&](std::uint32_t one) {
    parent.try_emplace(one, one);
    while (parent[one] != one) one = parent[one] = parent[parent[one]];  // each search shortens the next
    return one;
  };
  for (const Point* point : placed_points(result)) {
    const auto places = point->numbers(list::kPlaces);
    const auto width = static_cast<std::size_t>(point->number("width"));
    for (std::size_t block = 0; block < places.size(); ++block) {
      const std::uint32_t mine = root(places[block]), first = root(places[block / width * width]);
      parent[std::max(mine, first)] = std::min(mine, first);
    }
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> groups;
  for (const auto& [one, above] : parent) groups[root(one)].push_back(one);
  std::vector<std::vector<std::uint32_t>> out;
  out.reserve(groups.size());
  for (auto& [least, group] : groups) out.push_back(std::move(group));
  return out;
}

}  // namespace mmaudit::sweeps
