// Bulk copies one at a time, against the footprint of all of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sweeps/findings.hpp"
#include "sweeps/memory_levels.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr std::string_view kCopy = "cp.async.bulk+footprint", kBytes = "128";
/// KiB that the least first-level cache there is holds, and a footprint of the second level.
constexpr int kFirstLevel = 128, kSecondLevel = 8192;
/// Levels lie further apart, in cycles; the plateaus of one level do not.
constexpr double kApart = 100;

/// Small copies, by their footprint.
std::vector<const Point*> copies(const SweepResult& result) {
  std::vector<const Point*> found;
  for (const Point& point : result.points)
    if (point.subject == kCopy && point.axis("bytes") == kBytes && point.get(tag::kCycles))
      found.push_back(&point);
  return found;
}

std::optional<double> cycles_at(const SweepResult& result, std::string_view subject, int kib) {
  return value_at(result, {.subject = subject, .others = {{"kib", std::to_string(kib)}, {"bytes", kBytes}}},
                  tag::kCycles);
}

void no_first_level(const SweepResult& result, Finding& out) {
  double least = 0, most = 0;
  for (const Point* point : copies(result)) {
    if (point->number("kib") > kFirstLevel) continue;
    const double cycles = *point->get(tag::kCycles);
    least = most == 0 ? cycles : std::min(least, cycles);
    most = std::max(most, cycles);
  }
  const auto found =
      numbers({cycles_at(result, kCopy, kSecondLevel), cycles_at(result, kChaseAnyCache, kFirstLevel),
               cycles_at(result, kChaseAnyCache, kSecondLevel)});
  if (found.empty() || most == 0) return;
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
  const std::vector<double> chased = levels(result, kChaseAnyCache, ""),
                            copied = levels(result, kCopy, kBytes);
  // A lone point is a plateau too.
  if (chased.size() < 2 || copied.size() < 2) return;
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
  if (!expect || !issue || !wait || points.size() < 2) return;
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
      {"The latency of bulk copies against footprint has one inflection fewer than the latency of loads",
       "Luo 5", one_inflection_fewer},
      {"Of the parts of a bulk copy only the wait depends on the footprint: issue and expect_tx stay within "
       "2 "
       "cycles",
       "mmaudit", the_wait_alone_grows},
  };
}

}  // namespace mmaudit::sweeps
