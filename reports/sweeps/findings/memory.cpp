// Caches, memory, clusters and copies.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sweeps/findings.hpp"
#include "sweeps/memory_levels.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr std::string_view kAnyCache = "ld.relaxed.cta.global.u64",
                           kSecondLevel = "ld.relaxed.gpu.global.u64", kStream = "stream.ld.v4.u32",
                           kCluster = "ld.shared::cluster.u32",
                           kClusterStream = "stream.ld.shared::cluster.v4.u32", kCopy = "cp.async.bulk",
                           kCopies = "cp.async.bulk+inflight";
/// Footprints that stand for a level, in KiB: half of the least first-level cache there is, an eighth of a
/// second-level cache, far more than that.
constexpr std::string_view kFirstKib = "32", kSecondKib = "8192", kMemoryKib = "524288";

std::optional<double> chase(const SweepResult& result, std::string_view subject, std::string_view kib) {
  return value_at(result, {.subject = subject, .others = {{"kib", kib}}}, tag::kCycles);
}

void groups_apart(const SweepResult& result, Finding& out) {
  const std::vector<LoadGroup> found = load_groups(result);
  if (found.size() != 4) return;
  out.holds = found[1].median - found[0].median > found[0].spread &&
              found[3].median - found[2].median > found[2].spread;
  out.measured = fmt::format(
      "hits {:.0f} and {:.0f}, misses {:.0f} and {:.0f} cycles; spreads {:.0f} and {:.0f}", found[0].median,
      found[1].median, found[2].median, found[3].median, found[0].spread, found[2].spread);
}

std::optional<double> cluster_cycles(const SweepResult& result, std::string_view cluster,
                                     std::string_view peer) {
  return value_at(result, {.subject = kCluster, .others = {{"cluster", cluster}, {"peer", peer}}},
                  tag::kCycles);
}

/// Blocks of clusters, other than the own one: the one that takes least, the one that takes most, and whether
/// no two of a cluster were on one multiprocessor.
void other_blocks(const SweepResult& result, Finding& out) {
  double least = 0, longest = 0;
  bool distinct = true;
  for (const Point& point : result.points) {
    if (point.subject != kCluster || point.number("peer") == 0) continue;
    const auto found =
        numbers({point.get(tag::kLeastBlock), point.get(tag::kMostBlock), point.get(tag::kDistinct)});
    if (found.empty()) continue;
    least = longest == 0 ? found[0] : std::min(least, found[0]);
    longest = std::max(longest, found[1]);
    distinct = distinct && found[2] == point.number("cluster");
  }
  if (longest == 0) return;
  out.holds = distinct && least >= 0.95 * 181 && longest <= 1.05 * 213;
  out.measured = fmt::format(
      "{:.1f} to {:.1f} cycles{}", least, longest,
      distinct ? ", every block on a multiprocessor of its own" : ", blocks share multiprocessors");
}

std::optional<double> ring(const SweepResult& result, std::string_view reads, std::string_view cluster) {
  return most(result, kClusterStream, tag::kBytesPerSecond,
              {{"reads", reads}, {"cluster", cluster}, {"policy", "default"}});
}

}  // namespace

std::vector<Statement> statements_memory() {
  using Result = const SweepResult&;
  return {
      {"A hit of the first-level cache takes 32 cycles, within 3", "Luo III",
       [](Result result, Finding& out) {
         const auto cycles = chase(result, kAnyCache, kFirstKib);
         if (!cycles) return;
         out.holds = std::abs(*cycles - 32) <= 3;
         out.measured = fmt::format("{:.2f} cycles, {} KiB", *cycles, kFirstKib);
       }},
      {"An index that is loaded from shared memory comes 29 cycles after the one before, within 1", "Luo III",
       [](Result result, Finding& out) {
         const auto found = numbers(
             {value_at(result, {.subject = "ld.shared.u32+index"}, tag::kCycles),
              value_at(result, {.subject = "ld.shared.u32", .others = {{"ways", "1"}}}, tag::kCycles)});
         if (found.empty()) return;
         out.holds = std::abs(found[0] - 29) <= 1;
         out.measured = fmt::format("{:.2f} cycles; {:.2f} where the loaded word is the address itself",
                                    found[0], found[1]);
       }},
      {"The second-level cache takes at least 6 times as long as the first level, memory twice as long as "
       "that",
       "Luo 4",
       [](Result result, Finding& out) {
         const auto found =
             numbers({chase(result, kAnyCache, kFirstKib), chase(result, kSecondLevel, kSecondKib),
                      chase(result, kSecondLevel, kMemoryKib)});
         if (found.empty()) return;
         out.holds = found[1] >= 6 * found[0] && found[2] >= 2 * found[1];
         out.measured = fmt::format("{:.1f}, {:.1f} and {:.1f} cycles: {:.1f} and {:.1f} times", found[0],
                                    found[1], found[2], found[1] / found[0], found[2] / found[1]);
       }},
      {"Hits and misses of the near and of the far half of the second-level cache differ by more than their "
       "spread",
       "Luo IV", groups_apart},
      {"Streams of 16 bytes per lane read the first-level cache at 95% of 128 B/clk/SM", "Luo V",
       [](Result result, Finding& out) {
         const auto best = most(result, kStream, tag::kBytes, {{"level", "l1"}}, "sm");
         if (!best) return;
         out.holds = *best >= 0.95 * 128;
         out.measured = fmt::format("{:.1f} B/clk/SM", *best);
       }},
      {"Memory is read at 90% of what its clock and bus allow", "Luo V",
       [](Result result, Finding& out) {
         const auto found = numbers({most(result, kStream, tag::kBytesPerSecond, {{"level", "memory"}}),
                                     most(result, kStream, tag::kMemoryPeak, {{"level", "memory"}})});
         if (found.empty()) return;
         out.holds = found[0] >= 0.9 * found[1];
         out.measured = fmt::format("{:.0f} of {:.0f} GB/s, {:.1f}%", 1e-9 * found[0], 1e-9 * found[1],
                                    100 * found[0] / found[1]);
       }},
      {"The second-level cache is read at least four times as fast as memory", "Luo V",
       [](Result result, Finding& out) {
         const auto found = numbers({most(result, kStream, tag::kBytesPerSecond, {{"level", "l2"}}),
                                     most(result, kStream, tag::kBytesPerSecond, {{"level", "memory"}})});
         if (found.empty()) return;
         out.holds = found[0] >= 4 * found[1];
         out.measured = fmt::format("{:.0f} and {:.0f} GB/s, {:.2f} times", 1e-9 * found[0], 1e-9 * found[1],
                                    found[0] / found[1]);
       }},
      {"A bulk copy from the second-level cache takes at least 170 cycles longer than a load", "Luo 5",
       [](Result result, Finding& out) {
         const auto found =
             numbers({value_at(result, {.subject = kCopy, .others = {{"level", "l2"}, {"bytes", "128"}}},
                               tag::kCycles),
                      chase(result, kSecondLevel, kSecondKib)});
         if (found.empty()) return;
         out.holds = found[0] - found[1] >= 170;
         out.measured =
             fmt::format("{:.1f} and {:.1f} cycles, {:.1f} more", found[0], found[1], found[0] - found[1]);
       }},
      {"Bulk copies of 8 KiB and more read memory within 5% of loads", "Luo 5",
       [](Result result, Finding& out) {
         const auto found =
             numbers({most(result, kCopies, tag::kBytesPerSecond, {{"level", "memory"}, {"bytes", "16384"}}),
                      most(result, kStream, tag::kBytesPerSecond, {{"level", "memory"}})});
         if (found.empty()) return;
         out.holds = found[0] >= 0.95 * found[1];
         out.measured = fmt::format("{:.0f} and {:.0f} GB/s", 1e-9 * found[0], 1e-9 * found[1]);
       }},
      {"The own block's shared memory, through the cluster's addresses, takes 33 cycles, within 1", "Luo 7",
       [](Result result, Finding& out) {
         const auto cycles = cluster_cycles(result, "1", "0");
         if (!cycles) return;
         out.holds = std::abs(*cycles - 33) <= 1;
         out.measured = fmt::format("{:.2f} cycles", *cycles);
       }},
      {"Other blocks of a cluster are 181 to 213 cycles away, within 5%", "Luo 7", other_blocks},
      {"Another block's shared memory is a quarter nearer than the second-level cache", "Luo 7",
       [](Result result, Finding& out) {
         const auto found =
             numbers({cluster_cycles(result, "2", "1"), chase(result, kSecondLevel, kSecondKib)});
         if (found.empty()) return;
         out.holds = found[0] <= 0.75 * found[1];
         out.measured = fmt::format("{:.1f} and {:.1f} cycles, {:.0f}% less", found[0], found[1],
                                    100 - 100 * found[0] / found[1]);
       }},
      {"Rings of two blocks read more than rings of four", "Luo 7",
       [](Result result, Finding& out) {
         const auto found = numbers({ring(result, "ring", "2"), ring(result, "ring", "4")});
         if (found.empty()) return;
         out.holds = found[0] > 1.01 * found[1];
         out.measured = fmt::format("{:.2f} and {:.2f} TB/s", 1e-12 * found[0], 1e-12 * found[1]);
       }},
      {"Where all blocks read one block, larger clusters read less", "Luo 7",
       [](Result result, Finding& out) {
         const auto found = numbers({ring(result, "broadcast", "2"), ring(result, "broadcast", "4"),
                                     ring(result, "broadcast", "8")});
         if (found.empty()) return;
         out.holds = found[0] > found[1] && found[1] > found[2];
         out.measured = fmt::format("{:.2f}, {:.2f} and {:.2f} TB/s with 2, 4 and 8 blocks", 1e-12 * found[0],
                                    1e-12 * found[1], 1e-12 * found[2]);
       }},
  };
}

}  // namespace mmaudit::sweeps
