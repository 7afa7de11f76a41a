#pragma once
// What benchmarks of global memory have in common.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sweeps/memory/rows.hpp"

namespace mmaudit::sweeps {

/// Where the words of a stream are: each block has a region of its own.
enum class Level : std::uint8_t { first, second, memory };
inline constexpr AxisSpec kLevelAxis =
    word_axis("level", "l1,l2,memory", "[l1,l2,memory]", "[l1,l2,memory]", "where the words of a stream are");

inline constexpr AxisSpec kFootprintAxis = number_axis(
    "kib", 1, 1 << 21,
    "[16,32,64,96,128,160,192,208,224,240,256,320,384,512,1024,2048,4096,8192,12288,16384,20480,"
    "24576,28672,32768,36864,40960,45056,49152,57344,65536,81920,98304,131072,262144,524288,1048576]",
    "[32,128,1024,8192,24576,49152,131072,524288]",
    "footprint in KiB of a chase, or of copies one at a time");

Level level_of(const Point& point);

/// What a launch adds to the words that it stores, so that no launch can pass for another.
MMAUDIT_HD constexpr std::uint32_t launch_mark(std::uint32_t launch) { return launch * 0xC2B2AE3DU; }

/// Footprints up to this one are read once before they are timed; larger ones fit into no cache.
inline constexpr std::size_t kWarmedBytes = std::size_t{96} << 20;

/// Runs of at most so many steps look at everything that they copied: the warm-up's.
inline constexpr int kLookedAtSteps = 128;

/// Loads of a chase whose cycles are kept one by one: the last ones.
inline constexpr int kRecorded = 1024;

/// What a chase of a ring writes.
struct ChaseResult {
  std::uint32_t start = 0, end = 0;  ///< places
};

/// What: the chase of a slot went as far round the ring of `lines` as it had steps.
bool went_round(const ChaseResult& found, std::uint32_t lines, int steps);

}  // namespace mmaudit::sweeps
