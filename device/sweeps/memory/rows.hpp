#pragma once
// What the rows of benchmarks that load, store and copy have in common: who can run them, and checks and
// observations of results that lie one behind the other.
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "mmaudit/config.hpp"
#include "mmaudit/sweeps/benchmark.hpp"

namespace mmaudit::sweeps {

inline constexpr AxisSpec kClusterAxis =
    number_axis("cluster", 1, 16, "[1,2,4,8,16]", "[1,2,16]", "blocks of a cluster", "1,2,4,8,16");

/// Benchmark::exists of a single warp per block.
inline bool one_warp(const Point& point) { return point.number("warps") == 1; }

/// Benchmark::why_not of what came with Hopper: "clusters need". `further`: asked of the GPUs that have it.
inline auto hopper_has(const char* what, std::string (*further)(const Point&) = nullptr) {
  return [=](const device::DeviceInfo& device, const Point& point) -> std::string {
    if (device.compute_capability < 90) return std::string(what) + " compute capability 9.0";
    return further == nullptr ? "" : further(point);
  };
}

/// What the kernels wrote, result after result.
template <typename Result>
std::vector<Result> results_in(const std::vector<std::byte>& seen) {
  std::vector<Result> results(seen.size() / sizeof(Result));
  std::memcpy(results.data(), seen.data(), results.size() * sizeof(Result));
  return results;
}

/// Setup::check of each result by itself: right(result, its number, steps).
template <typename Result, typename Right>
auto each_result(const Right& right) {
  return [right](const ReadResult& read, int, int steps, Measurement& out) {
    const std::vector<Result> results = results_in<Result>(read());
    for (std::size_t i = 0; i < results.size(); ++i) out.compare(right(results[i], i, steps));
  };
}

/// How many multiprocessors the stamps of blocks name.
double distinct_multiprocessors(std::span<const Stamp> stamps);

/// Adds that, and the blocks.
void observe_places(std::span<const Stamp> stamps, Measurement& out);

}  // namespace mmaudit::sweeps
