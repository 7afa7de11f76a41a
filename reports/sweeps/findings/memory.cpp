// Caches, memory, clusters and copies.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mmaudit/sweeps/axes.hpp"
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

Source chase(std::string_view subject, std::string_view kib) {
  return value({.subject = subject, .others = {{"kib", kib}}}, tag::kCycles);
}

constexpr std::string_view kClusterSizes = "2,4,8,16";

void groups_apart(const SweepResult& result, Finding& out) {
  const std::vector<LoadGroup> found = load_groups(result);
  if (found.size() != 4) return;
  out.holds = found[1].median - found[0].median > found[0].spread &&
              found[3].median - found[2].median > found[2].spread;
  out.measured = fmt::format(
      "hits {:.0f} and {:.0f}, misses {:.0f} and {:.0f} cycles; spreads {:.0f} and {:.0f}", found[0].median,
      found[1].median, found[2].median, found[3].median, found[0].spread, found[2].spread);
}

Source cluster_cycles(std::string_view cluster, std::string_view peer) {
  return value({.subject = kCluster, .others = {{"cluster", cluster}, {"peer", peer}}}, tag::kCycles);
}

/// Blocks of the clusters of one size, other than the own one.
struct OtherBlocks {
  std::string_view cluster;
  double least = 0, most = 0;  ///< cycles of the block that takes least, and longest
  bool distinct = true;        ///< no two of a cluster were on one multiprocessor

  void add(const OtherBlocks& other) {
    least = most == 0 ? other.least : std::min(least, other.least);
    most = std::max(most, other.most);
    distinct = distinct && other.distinct;
  }
};

/// nullopt where a size of clusters was neither measured nor skipped: the others do not speak for it.
std::optional<std::vector<OtherBlocks>> other_blocks_by_size(const SweepResult& result) {
  std::vector<OtherBlocks> sizes;
  for (const std::string_view cluster : split(kClusterSizes, ',')) {
    OtherBlocks size{cluster};
    bool tried = false;
    for (const Point& point : result.points) {
      if (point.subject != kCluster || point.axis("cluster") != cluster || point.number("peer") == 0)
        continue;
      tried = true;
      const auto found =
          numbers({point.get(tag::kLeastBlock), point.get(tag::kMostBlock), point.get(tag::kDistinct)});
      if (!found.empty()) size.add({cluster, found[0], found[1], found[2] == point.number("cluster")});
    }
    if (!tried) return std::nullopt;
    if (size.most > 0) sizes.push_back(size);
  }
  return sizes;
}

void other_blocks(const SweepResult& result, Finding& out) {
  const auto sizes = other_blocks_by_size(result);
  if (!sizes || sizes->empty()) return;
  OtherBlocks all;
  double apart = 0;
  std::string text;
  for (const OtherBlocks& size : *sizes) {
    all.add(size);
    apart = std::max(apart, size.most - size.least);
    text += fmt::format("{}{:.1f} to {:.1f} with {}", text.empty() ? "" : ", ", size.least, size.most,
                        size.cluster);
  }
  out.holds = all.distinct && all.least >= 0.95 * 181 && all.most <= 1.05 * 213;
  const std::string_view decides = 2 * apart >= all.most - all.least
                                       ? "where blocks run decides, more than how many"
                                       : "how many blocks there are decides";
  out.measured = fmt::format(
      "{} blocks (H800: 181 with 2, 184 to 213 with up to 16): pairs of one size lie up to {:.1f} cycles "
      "apart, "
      "of all sizes {:.1f}, so {}; {}",
      text, apart, all.most - all.least, decides,
      all.distinct ? "every block on a multiprocessor of its own" : "blocks share multiprocessors");
}

Source ring(std::string_view reads, std::string_view cluster) {
  return tera(most(kClusterStream, tag::kBytesPerSecond,
                   {{"reads", reads}, {"cluster", cluster}, {"policy", "default"}}));
}

/// The best reads of a level.
Source gigabytes(std::string_view level) {
  return giga(most(kStream, tag::kBytesPerSecond, {{"level", level}}));
}

}  // namespace

std::vector<Statement> statements_memory() {
  return {
      {"A hit of the first-level cache takes 32 cycles, within 3", "Luo III",
       judged(
           {chase(kAnyCache, kFirstKib)}, [](Values& found) { return std::abs(found[0] - 32) <= 3; },
           fmt::format("{{:.2f}} cycles, {} KiB", kFirstKib))},
      {"An index that is loaded from shared memory comes 29 cycles after the one before, within 1", "Luo III",
       judged(
           {value({.subject = "ld.shared.u32+index"}, tag::kCycles),
            value({.subject = "ld.shared.u32", .others = {{"ways", "1"}}}, tag::kCycles)},
           [](Values& found) { return std::abs(found[0] - 29) <= 1; },
           "{:.2f} cycles; {:.2f} where the loaded word is the address itself")},
      {"The second-level cache takes at least 6 times as long as the first level, memory twice as long as "
       "that",
       "Luo 4",
       judged(
           {chase(kAnyCache, kFirstKib), chase(kSecondLevel, kSecondKib), chase(kSecondLevel, kMemoryKib)},
           [](Values& found) {
             found.insert(found.end(), {found[1] / found[0], found[2] / found[1]});
             return found[3] >= 6 && found[4] >= 2;
           },
           "{:.1f}, {:.1f} and {:.1f} cycles: {:.1f} and {:.1f} times")},
      {"Hits and misses of the near and of the far half of the second-level cache differ by more than their "
       "spread",
       "Luo IV", groups_apart},
      {"Streams of 16 bytes per lane read the first-level cache at 95% of 128 B/clk/SM", "Luo V",
       judged(
           {most(kStream, tag::kBytes, {{"level", "l1"}}, "sm")},
           [](Values& found) { return found[0] >= 0.95 * 128; }, "{:.1f} B/clk/SM")},
      {"Memory is read at 90% of what its clock and bus allow", "Luo V",
       judged(
           {gigabytes("memory"), giga(most(kStream, tag::kMemoryPeak, {{"level", "memory"}}))},
           [](Values& found) {
             found.push_back(100 * found[0] / found[1]);
             return found[0] >= 0.9 * found[1];
           },
           "{:.0f} of {:.0f} GB/s, {:.1f}%")},
      {"The second-level cache is read at least four times as fast as memory", "Luo V",
       judged(
           {gigabytes("l2"), gigabytes("memory")},
           [](Values& found) {
             found.push_back(found[0] / found[1]);
             return found[2] >= 4;
           },
           "{:.0f} and {:.0f} GB/s, {:.2f} times")},
      {"A bulk copy from the second-level cache takes at least 170 cycles longer than a load", "Luo 5",
       judged(
           {value({.subject = kCopy, .others = {{"level", "l2"}, {"bytes", "128"}}}, tag::kCycles),
            chase(kSecondLevel, kSecondKib)},
           [](Values& found) {
             found.push_back(found[0] - found[1]);
             return found[2] >= 170;
           },
           "{:.1f} and {:.1f} cycles, {:.1f} more")},
      {"Bulk copies of 8 KiB and more read memory within 5% of loads", "Luo 5",
       judged(
           {giga(most(kCopies, tag::kBytesPerSecond, {{"level", "memory"}, {"bytes", "16384"}})),
            gigabytes("memory")},
           [](Values& found) { return found[0] >= 0.95 * found[1]; }, "{:.0f} and {:.0f} GB/s")},
      {"The own block's shared memory, through the cluster's addresses, takes 33 cycles, within 1", "Luo 7",
       judged(
           {cluster_cycles("1", "0")}, [](Values& found) { return std::abs(found[0] - 33) <= 1; },
           "{:.2f} cycles")},
      {"Other blocks of clusters of 2 to 16 are 181 to 213 cycles away, within 5%", "Luo 7", other_blocks},
      {"Another block's shared memory, in clusters of two, is a quarter nearer than the second-level cache",
       "Luo 7",
       judged(
           {cluster_cycles("2", "1"), chase(kSecondLevel, kSecondKib)},
           [](Values& found) {
             found.push_back(100 - 100 * found[0] / found[1]);
             return found[0] <= 0.75 * found[1];
           },
           "{:.1f} and {:.1f} cycles, {:.0f}% less")},
      {"Rings of two blocks read more than rings of four", "Luo 7",
       judged(
           {ring("ring", "2"), ring("ring", "4")}, [](Values& found) { return found[0] > 1.01 * found[1]; },
           "{:.2f} and {:.2f} TB/s")},
      {"Where all blocks read one block, larger clusters read less", "Luo 7",
       judged(
           {ring("broadcast", "2"), ring("broadcast", "4"), ring("broadcast", "8")},
           [](Values& found) { return found[0] > found[1] && found[1] > found[2]; },
           "{:.2f}, {:.2f} and {:.2f} TB/s with 2, 4 and 8 blocks")},
  };
}

}  // namespace mmaudit::sweeps
