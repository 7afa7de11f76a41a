#pragma once
// Levels of memory, read off the points of a sweep: plateaus of chases, groups of single loads, the
// partitions of the second-level cache, and the groups of multiprocessors that clusters show.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/sweeps/point.hpp"

namespace mmaudit::sweeps {

inline constexpr std::string_view kChaseAnyCache = "ld.relaxed.cta.global.u64",
                                  kChaseSecondLevel = "ld.relaxed.gpu.global.u64",
                                  kEachLoad = "ld.relaxed.gpu.global.u64+each",
                                  kPartitionLoad = "ld.relaxed.gpu.global.u64+map",
                                  kPartitionAtom = "atom.relaxed.gpu.global.or.b64+map",
                                  kPlacedClusters = "ld.shared::cluster.u32+placed",
                                  kMessage = "message.global", kClusterMessage = "message.shared::cluster";

/// Longer accesses count as that long: k-means takes the square of how many different numbers there are.
inline constexpr std::uint32_t kMostCycles = 4095;

/// Footprints over which the latency of a chase stays the same, or climbs.
struct Plateau {
  std::string_view level;  ///< "L1", "near L2", "far L2" or "DRAM"
  bool flat = true;        ///< false: the latency climbs from `least` to `most`
  int from_kib = 0, to_kib = 0;
  std::size_t points = 0;
  double median = 0, least = 0, most = 0;  ///< cycles
  const Point* first = nullptr;
};

/// What: the plateaus of the chases, named, in rising order. A plateau is a longest run of points within 4%
/// over at least twice the footprint, or the largest footprint alone. L1 is a plateau of the chase through
/// all caches, below half of the second level; near L2 and DRAM are the first and the last plateau of the
/// chase past the first level; far L2 lies between, where it may climb. Range: empty without points.
std::vector<Plateau> plateaus_of(const SweepResult& result);

/// What: the same of the latency of any benchmark against `kib`, not named, in rising order; of the points
/// with this value of the axis `bytes` where there is one.
std::vector<Plateau> plateaus_of_footprints(const SweepResult& result, std::string_view subject,
                                            std::string_view bytes = {});

/// One group of single loads.
struct LoadGroup {
  std::string_view name;          ///< "near hit", "far hit", "near miss", "far miss"
  double median = 0, spread = 0;  ///< cycles; the larger quartile distance of the pair
  double share = 0;               ///< of the two groups of the pair
};

/// What: the groups that k-means finds among the loads that a sweep recorded one by one; of older sweeps the
/// medians that they kept. Empty where they were not measured.
std::vector<LoadGroup> load_groups(const SweepResult& result);

/// Latency of one access per multiprocessor and line.
struct PartitionMap {
  const Point* point = nullptr;
  std::vector<std::uint32_t> multiprocessors;      ///< of the rows, by side, then number
  std::vector<std::vector<std::uint32_t>> cycles;  ///< [row][line]; 0: not seen
  std::size_t first_side = 0;                      ///< rows of the side of the least multiprocessor
  double cut = 0, near = 0, far = 0, spread = 0;  ///< 2-means of all cells: medians, larger quartile distance
  double agreement = 0;                           ///< cells whose class is the one of most of their side
  /// Apart by more than their spread, and two sides see them the other way round.
  [[nodiscard]] bool two_classes() const {
    return far - near > spread && agreement >= 0.9 && 10 * first_side >= cycles.size() &&
           10 * first_side <= 9 * cycles.size();
  }
};

/// What: the map of a point that recorded one. nullopt where it has none, or numbers that do not fit
/// together.
std::optional<PartitionMap> partition_map(const Point& point);
/// The maps of all multiprocessors: of one benchmark, or of every one.
std::vector<PartitionMap> partition_maps(const SweepResult& result, std::string_view subject = {});

/// Multiprocessors that a cluster had in common, directly or through others.
std::vector<std::vector<std::uint32_t>> multiprocessor_groups(const SweepResult& result);

/// Points of all multiprocessors whose blocks said where they were.
std::vector<const Point*> placed_points(const SweepResult& result);

}  // namespace mmaudit::sweeps
