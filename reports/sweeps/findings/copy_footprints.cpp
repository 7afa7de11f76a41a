// Bulk copies one at a time, against the footprint of all of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "sweeps/findings.hpp"
#include "sweeps/memory_levels.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr std::string_view kCopy = "cp.async.bulk+footprint", kBytes = "128";
/// KiB that the least first-level cache there is holds, and a footprint of the second level.
constexpr int kFirstLevel = 128, kSecondLevel = 8192;
/// Levels lie at least so far apart, in cycles; the plateaus of one level do not. The statements say it.
constexpr double kApart = 100;

/// Footprints in KiB of which a curve needs two each: where the first-level cache, the second-level cache and
/// memory answer. Between points that lie further apart a level would not be seen.
struct Band {
  int least, most;
};
constexpr Band kBands[] = {{1, kFirstLevel}, {1024, 24576}, {131072, 1 << 21}};
constexpr std::string_view kBandsText =
    "two footprints each up to 128 KiB, from 1 to 24 MiB and from 128 MiB on";

bool covers_all_levels(const std::set<int>& footprints) {
  return std::all_of(std::begin(kBands), std::end(kBands), [&](const Band& band) {
    return std::distance(footprints.lower_bound(band.least), footprints.upper_bound(band.most)) >= 2;
  });
}

/// KiB of the points of one multiprocessor that have cycles.
std::set<int> footprints_of(const SweepResult& result, std::string_view subject, std::string_view bytes) {
  std::set<int> found;
  for (const Point& point : result.points)
    if (point.subject == subject && point.axis("bytes") == bytes && point.axis("scope") == "sm" &&
        point.get(tag::kCycles))
      found.insert(point.number("kib"));
  return found;
}

/// Small copies, by their footprint.
std::vector<const Point*> copies(const SweepResult& result) {
  std::vector<const Point*> found;
  for (const Point& point : result.points)
    if (point.subject == kCopy && point.axis("bytes") == kBytes && point.get(tag::kCycles))
      found.push_back(&point);
  return found;
}

Source cycles_at(std::string_view subject, int kib) {
  return [=, text = std::to_string(kib)](const SweepResult& result) {
    return value({.subject = subject, .others = {{"kib", text}, {"bytes", kBytes}}}, tag::kCycles)(result);
  };
}

void no_first_level(const SweepResult& result, Finding& out) {
  double least = 0, most = 0;
  int small = 0;
  for (const Point* point : copies(result)) {
    if (point->number("kib") > kFirstLevel) continue;
    const double cycles = *point->get(tag::kCycles);
    least = most == 0 ? cycles : std::min(least, cycles);
    most = std::max(most, cycles);
    ++small;
  }
  const auto found = numbers(result, {cycles_at(kCopy, kSecondLevel), cycles_at(kChaseAnyCache, kFirstLevel),
                                      cycles_at(kChaseAnyCache, kSecondLevel)});
  if (found.empty() || small < 2 || !cycles_at(kCopy, kFirstLevel)(result)) {
    if (!copies(result).empty())
      out.needs = fmt::format(
          "copies of {} bytes at {} KiB, at a smaller footprint and at {} MiB, and loads at {} KiB "
          "and {} MiB",
          kBytes, kFirstLevel, kSecondLevel / 1024, kFirstLevel, kSecondLevel / 1024);
    return;
  }
  out.holds = std::abs(least - found[0]) <= 0.05 * found[0] && std::abs(most - found[0]) <= 0.05 * found[0];
  out.measured = fmt::format(
      "{:.1f} to {:.1f} cycles up to {} KiB, {:.1f} at {} MiB; loads {:.1f} at {} KiB, {:.1f} at {} MiB",
      least, most, kFirstLevel, found[0], kSecondLevel / 1024, found[1], kFirstLevel, found[2],
      kSecondLevel / 1024);
}

/// The latencies of the levels that a curve shows.
std::vector<double> levels(const SweepResult& result, std::string_view subject, std::string_view bytes) {
  std::vector<double> found;
  for (const Plateau& plateau : plateaus_of_footprints(result, subject, bytes))
    if (found.empty() || plateau.median - found.back() >= kApart) found.push_back(plateau.median);
  return found;
}

void one_inflection_fewer(const SweepResult& result, Finding& out) {
  const std::set<int> loads = footprints_of(result, kChaseAnyCache, ""),
                      footprints = footprints_of(result, kCopy, kBytes);
  if (footprints.empty()) return;
  if (loads != footprints || !covers_all_levels(footprints)) {
    out.needs = fmt::format("loads and copies of {} bytes at the same footprints, {}", kBytes, kBandsText);
    return;
  }
  const std::vector<double> chased = levels(result, kChaseAnyCache, ""),
                            copied = levels(result, kCopy, kBytes);
  // A lone point is a plateau too.
  if (chased.size() < 2 || copied.size() < 2) {
    out.needs = fmt::format("curves with two levels at least, {:.0f} cycles apart", kApart);
    return;
  }
  out.holds = copied.size() + 1 == chased.size();
  const auto text = [](const std::vector<double>& cycles) {
    return fmt::format("{} inflection{} between levels of {:.0f} cycles", cycles.size() - 1,
                       cycles.size() == 2 ? "" : "s", fmt::join(cycles, ", "));
  };
  out.measured = fmt::format("loads: {}; copies: {}", text(chased), text(copied));
}

/// Least and most of a part over all footprints.
struct Range {
  double least = 0, most = 0;
};

std::optional<Range> range_of(const std::vector<const Point*>& points, const char* part) {
  std::optional<Range> range;
  for (const Point* point : points) {
    const auto cycles = point->get(part);
    if (!cycles) return std::nullopt;
    if (!range) range = {*cycles, *cycles};
    range->least = std::min(range->least, *cycles);
    range->most = std::max(range->most, *cycles);
  }
  return range;
}

void the_wait_alone_grows(const SweepResult& result, Finding& out) {
  const std::vector<const Point*> points = copies(result);
  const auto expect = range_of(points, tag::kExpect), issue = range_of(points, tag::kIssue),
             wait = range_of(points, tag::kWait);
  if (points.empty()) return;
  if (!expect || !issue || !wait || !covers_all_levels(footprints_of(result, kCopy, kBytes))) {
    out.needs = fmt::format("the parts of copies of {} bytes at {}", kBytes, kBandsText);
    return;
  }
  out.holds = expect->most - expect->least <= 2 && issue->most - issue->least <= 2 &&
              wait->most - wait->least > kApart;
  out.measured =
      fmt::format("expect_tx {:.1f} to {:.1f}, issue {:.1f} to {:.1f}, wait {:.1f} to {:.1f} cycles",
                  expect->least, expect->most, issue->least, issue->most, wait->least, wait->most);
}

}  // namespace

std::vector<Statement> statements_copy_footprints() {
  return {
      {"Bulk copies have no first-level cache: footprints up to 128 KiB take as long as 8 MiB, within 5%",
       "Luo 5", no_first_level},
      {"The latency of bulk copies against footprint has one inflection fewer than the latency of loads, "
       "counting "
       "levels that lie at least 100 cycles apart",
       "Luo 5", one_inflection_fewer},
      {"Of the parts of a bulk copy only the wait depends on the footprint: issue and expect_tx stay within "
       "2 cycles, the wait grows by more than 100",
       "mmaudit", the_wait_alone_grows},
  };
}

}  // namespace mmaudit::sweeps
