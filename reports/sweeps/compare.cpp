#include "sweeps/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sweeps/fields.hpp"

namespace mmaudit::sweeps {
namespace {

/// The whole GPU picks its own warps and ilp: a point is the same with other ones.
std::string key_of(const Point& point) {
  constexpr std::string_view kPicked[] = {"warps", "ilp"};
  return point.axis("scope") == "sm" ? point.key() : point.key(kPicked);
}

struct Quantity {
  std::string_view name;
  double value = 0, noise = 0;
};

Quantity quantity_of(const Point& point) {
  if (point.axis("scope") == "sm")
    return {"cycles", point.get(tag::kCycles).value_or(0), point.get(tag::kCyclesNoise).value_or(0)};
  // Per multiply-add, byte or operation, since steps and warps may differ.
  for (const char* rate : {tag::kFlops, tag::kBytesPerSecond, tag::kOperationsPerSecond})
    if (const double found = point.get(rate).value_or(0); found > 0)
      return {"seconds", 1 / found, point.get(tag::kEventsNoise).value_or(0)};
  return {"cycles", point.get(tag::kCycles).value_or(0), point.get(tag::kCyclesNoise).value_or(0)};
}

}  // namespace

Change classify(double before, double noise_before, double after, double noise_after, bool throttled) {
  const double less = std::max(kLeastNoise, std::min(noise_before, noise_after));
  const double more = std::max(kLeastNoise, std::max(noise_before, noise_after));
  if (!(before > 0) || !(after > 0)) return Change::ambiguous;
  const double change = after / before - 1;
  if (std::abs(change) <= less) return Change::same;
  if (std::abs(change) <= more || throttled) return Change::ambiguous;
  return change < 0 ? Change::fast : Change::slow;
}

Compared compare(const SweepResult& before, const SweepResult& after) {
  std::map<std::string, const Point*> old;
  for (const Point& point : before.points)
    if (point.skipped.empty()) old[key_of(point)] = &point;
  Compared out;
  for (const Point& point : after.points) {
    if (!point.skipped.empty()) continue;
    const std::string key = key_of(point);
    const auto at = old.find(key);
    if (at == old.end()) {
      out.only_after.push_back(key);
      continue;
    }
    const Quantity was = quantity_of(*at->second), is = quantity_of(point);
    const bool throttled =
        point.get(tag::kThrottled).value_or(0) > 0 || at->second->get(tag::kThrottled).value_or(0) > 0;
    out.points.push_back({key, is.name, was.value, is.value, was.noise, is.noise,
                          classify(was.value, was.noise, is.value, is.noise, throttled)});
    old.erase(at);
  }
  for (const auto& [key, point] : old) out.only_before.push_back(key);
  return out;
}

int Compared::count(Change change) const {
  return static_cast<int>(std::count_if(points.begin(), points.end(),
                                        [&](const SweepComparison& one) { return one.change == change; }));
}

double Compared::share() const {
  const std::size_t all = points.size() + only_before.size();
  return all == 0 ? 0 : static_cast<double>(points.size()) / static_cast<double>(all);
}

std::string share_text(std::uint64_t seen, std::uint64_t all, std::string_view what, double least) {
  const double share = all == 0 ? 0 : static_cast<double>(seen) / static_cast<double>(all);
  return fmt::format("{} of {} {} ({:.1f}%{})", seen, all, what, 100 * share,
                     share < least ? fmt::format(", at least {:.3g}% are needed", 100 * least) : "");
}

std::string_view name_of(Change change) {
  constexpr std::string_view kNames[] = {"SAME", "FAST", "SLOW", "AMBIGUOUS"};
  return kNames[static_cast<int>(change)];
}

namespace {

/// Points that one sweep alone has are named up to this many, more are counted per benchmark.
constexpr std::size_t kMostNamed = 24;

/// A key starts with the name of its benchmark and a blank.
void add_alone(report::Table& table, std::string_view which, const std::vector<std::string>& keys) {
  std::map<std::string_view, int> points;
  for (const std::string_view key : keys)
    ++points[keys.size() <= kMostNamed ? key : key.substr(0, key.find(' '))];
  for (const auto& [what, count] : points) table.rows.push_back({which, std::to_string(count), what});
}

}  // namespace

report::Report report_of(const Compared& compared, double least) {
  using Row = const SweepComparison&;
  const int slow = compared.count(Change::slow);
  report::Report out{.title = "Two sweeps, point by point"};
  const std::size_t seen = compared.points.size();
  out.tone = slow == 0 && seen != 0 && compared.share() >= least ? report::Tone::good : report::Tone::bad;
  out.headline =
      fmt::format("{}: {} the same, {} faster, {} slower, {} ambiguous; {} gone, {} new",
                  share_text(seen, seen + compared.only_before.size(), "points of OLD", least),
                  compared.count(Change::same), compared.count(Change::fast), slow,
                  compared.count(Change::ambiguous), compared.only_before.size(), compared.only_after.size());
  out.headline_last = true;
  out.records = report::table_of<SweepComparison>(
      "Changes", compared.points,
      {{"change",
        [](Row one) {
          return report::Cell(name_of(one.change),
                              one.change == Change::slow ? report::Tone::bad : report::Tone::plain);
        }},
       {{"by", true}, [](Row one) { return fmt::format("{:+.2f}%", 100 * (one.after / one.before - 1)); }},
       {{"before", true}, [](Row one) { return fmt::format("{:.6g}", one.before); }},
       {{"after", true}, [](Row one) { return fmt::format("{:.6g}", one.after); }},
       {"of", &SweepComparison::quantity},
       share_column("noise before", &SweepComparison::noise_before, 2),
       share_column("noise after", &SweepComparison::noise_after, 2),
       {"point", &SweepComparison::key}});
  report::Table changes = out.records,
                alone{.title = "Points of one sweep alone", .columns = {"which", {"points", true}, "of"}};
  std::erase_if(changes.rows, [](const auto& row) { return row.front().text == name_of(Change::same); });
  add_alone(alone, "GONE", compared.only_before);
  add_alone(alone, "NEW", compared.only_after);
  out.sections = {section_of(std::move(changes)), section_of(std::move(alone))};
  return out;
}

}  // namespace mmaudit::sweeps
