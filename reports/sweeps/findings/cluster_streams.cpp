// What blocks of a cluster read of one another's shared memory, and of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "sweeps/findings.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr std::string_view kStream = "stream.ld.shared::cluster.v4.u32",
                           kPolicies = "stream.ld.shared::cluster.v4.u32+policies",
                           kOrdinary = "ld.shared.v4.u32";
/// B/clk/SM: 32 banks of 4 bytes.
constexpr double kBanks = 128;
/// Policies that lie no further apart change nothing.
constexpr double kSame = 0.03;

bool any_of_whole_gpu(const SweepResult& result, std::string_view subject) {
  return std::any_of(result.points.begin(), result.points.end(), [&](const Point& point) {
    return point.subject == subject && point.axis("scope") == "gpu" && point.skipped.empty();
  });
}

/// Bytes per second of the whole GPU where the driver places the clusters.
Source whole_gpu(std::string_view reads, std::string_view cluster) {
  return most(kStream, tag::kBytesPerSecond, {{"reads", reads}, {"cluster", cluster}, {"policy", "default"}});
}

/// Of the largest clusters nothing is asked where the GPU does not hold them: then their points were skipped.
bool holds_none(const SweepResult& result, std::string_view subject, std::string_view cluster) {
  return cluster == "16" && gpu_lacks(result, subject, {{"scope", "gpu"}, {"cluster", cluster}});
}

void pairs_and_rings(const SweepResult& result, Finding& out) {
  bool holds = true;
  std::string measured;
  for (const std::string_view cluster : {"4", "8", "16"}) {
    const auto found = numbers(result, {whole_gpu("ring", cluster), whole_gpu("pair", cluster)});
    if (found.empty() && holds_none(result, kStream, cluster)) continue;
    if (found.empty()) {
      if (any_of_whole_gpu(result, kStream))
        out.needs =
            fmt::format("rings and pairs of {} blocks on the whole GPU, or that the GPU holds none", cluster);
      return;
    }
    holds = holds && std::abs(found[0] - found[1]) <= 0.05 * found[1];
    measured += fmt::format("{}{:.2f} and {:.2f} TB/s with {}", measured.empty() ? "" : ", ",
                            1e-12 * found[0], 1e-12 * found[1], cluster);
  }
  out.holds = holds;
  out.measured = measured + " blocks";
}

/// B/clk/SM in rings of two, of one block and its neighbour.
Source ring(std::string_view warps, std::string_view ilp) {
  return most(kStream, tag::kBytes, {{"warps", warps}, {"ilp", ilp}, {"reads", "ring"}, {"cluster", "2"}},
              "sm");
}

/// B/clk/SM of the own block: by ordinary loads, and through the addresses of the cluster.
std::vector<Source> own_block() {
  return {best_rate(kOrdinary, 1, 32), most(kStream, tag::kBytes, {{"reads", "own"}}, "sm")};
}

/// The policies of one stream: what most and least of them read.
struct Policies {
  double least = 0, most = 0;
  [[nodiscard]] double apart() const { return least > 0 ? most / least - 1 : 0; }
};

/// nullopt unless all were measured.
std::optional<Policies> policies(const SweepResult& result, std::string_view reads,
                                 std::string_view cluster) {
  std::vector<Source> rates;
  for (const std::string_view policy : {"default", "spread", "balance"})
    rates.push_back(
        most(kPolicies, tag::kBytesPerSecond, {{"reads", reads}, {"cluster", cluster}, {"policy", policy}}));
  const Values found = numbers(result, rates);
  if (found.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(found.begin(), found.end());
  return Policies{*least, *most};
}

/// The multiprocessors of each cluster of a point; empty where it did not say where its blocks ran.
std::set<std::set<std::uint32_t>> clusters_of(const Point& point) {
  std::set<std::set<std::uint32_t>> clusters;
  const auto places = point.numbers(list::kPlaces);
  const auto blocks = static_cast<std::size_t>(std::max(1, point.number("cluster")));
  for (std::size_t block = 0; block + blocks <= places.size(); block += blocks)
    clusters.emplace(places.begin() + static_cast<std::ptrdiff_t>(block),
                     places.begin() + static_cast<std::ptrdiff_t>(block + blocks));
  return clusters;
}

/// What the policies changed, as far as it can be seen: clusters that ran on the same multiprocessors as
/// under the default one.
std::string placed_alike(const SweepResult& result) {
  std::size_t same = 0, all = 0;
  for (const Point& point : result.points) {
    if (point.subject != kPolicies || point.axis("scope") != "gpu" || point.axis("policy") == "default")
      continue;
    Point by_default{.subject = point.subject, .axes = point.axes};
    by_default.set("policy", "default");
    const Point* other = result.find(by_default.key());
    if (other == nullptr || other->numbers(list::kPlaces).empty()) continue;
    const auto placed = clusters_of(point), placed_by_default = clusters_of(*other);
    all += placed.size();
    same += static_cast<std::size_t>(std::count_if(placed.begin(), placed.end(), [&](const auto& cluster) {
      return placed_by_default.contains(cluster);
    }));
  }
  if (all == 0) return "; where the clusters ran was not recorded, so the policies may have changed nothing";
  return fmt::format("; {} of {} clusters ran on the same multiprocessors as one under the default policy",
                     same, all);
}

void policies_are_alike(const SweepResult& result, Finding& out) {
  bool holds = true;
  std::string measured;
  for (const std::string_view reads : {"ring", "pair", "broadcast"}) {
    Policies widest;
    std::string_view at;
    for (const std::string_view cluster : {"2", "4", "8", "16"}) {
      if (reads == "pair" && cluster == "2") continue;  // a ring
      const std::optional<Policies> found = policies(result, reads, cluster);
      if (!found && holds_none(result, kPolicies, cluster)) continue;
      if (!found) {
        if (any_of_whole_gpu(result, kPolicies))
          out.needs = fmt::format("{} of {} blocks with each policy, or that the GPU holds no such cluster",
                                  reads == "broadcast" ? "broadcasts" : fmt::format("{}s", reads), cluster);
        return;
      }
      if (at.empty() || found->apart() > widest.apart()) widest = *found, at = cluster;
    }
    holds = holds && widest.apart() <= kSame;
    measured += fmt::format("{}{}: up to {:.1f}% apart, {:.2f} and {:.2f} TB/s with {} blocks",
                            measured.empty() ? "" : "; ", reads, 100 * widest.apart(), 1e-12 * widest.least,
                            1e-12 * widest.most, at);
  }
  out.holds = holds;
  out.measured = measured + placed_alike(result);
}

}  // namespace

std::vector<Statement> statements_cluster_streams() {
  return {
      {"Rings and pairs of blocks read as much, within 5%", "Luo 7", pairs_and_rings},
      {"More loads at once help small blocks alone: in rings of two, four chains per warp read 10% more than "
       "one with 64 threads, and less than 2% more with 1024",
       "Luo 7",
       judged(
           {ring("2", "1"), ring("2", "4"), ring("32", "1"), ring("32", "4")},
           [](Values& found) { return found[1] >= 1.1 * found[0] && found[3] <= 1.02 * found[2]; },
           "{:.1f} and {:.1f} B/clk/SM with 64 threads, {:.1f} and {:.1f} with 1024")},
      {"Blocks of 64 threads, in rings of two, read at most 90% of what larger blocks read", "Luo 7",
       judged(
           {ring("2", "1"),
            most(kStream, tag::kBytes, {{"reads", "ring"}, {"cluster", "2"}, {"warps", "2"}}, "sm"),
            ring("32", "1"), most(kStream, tag::kBytes, {{"reads", "ring"}, {"cluster", "2"}}, "sm")},
           [](Values& found) { return found[1] <= 0.9 * found[3]; },
           "{0:.1f} to {1:.1f} of {3:.1f} B/clk/SM")},
      {"Ordinary loads read the own block's shared memory at 99.8% of 128 B/clk/SM", "Luo 7",
       judged(
           own_block(),
           [](Values& found) {
             found[1] = 100 * found[0] / kBanks;
             return found[0] >= 0.998 * kBanks;
           },
           "{:.1f} B/clk/SM, {:.1f}%")},
      {"Through the cluster's addresses the own block's shared memory is read at no more than 95% of 128 "
       "B/clk/SM",
       "Luo 7",
       judged(
           own_block(),
           [](Values& found) {
             found[0] = 100 * found[1] / kBanks;
             return found[1] <= 0.95 * kBanks;
           },
           "{1:.1f} B/clk/SM, {0:.1f}% (H800: 205 of 225 GB/s, 91.1%)")},
      {"How clusters are put on multiprocessors does not change what rings, pairs and broadcasts read, "
       "within 3%",
       "mmaudit", policies_are_alike},
  };
}

}  // namespace mmaudit::sweeps
