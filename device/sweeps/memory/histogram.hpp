#pragma once
// What the histograms count, and what they must find.
#include <cstdint>
#include <span>
#include <vector>

#include "mmaudit/config.hpp"
#include "mmaudit/sweeps/bench_target.hpp"

namespace mmaudit::sweeps {

/// A warp counts a chunk per step, round and round; 16 bits per element, so that the second-level cache is
/// not the limit. A power of two each.
inline constexpr int kChunks = 512, kChunkElements = 256;
/// Clusters start at as many places.
inline constexpr int kClusterKinds = 8;

/// The first chunk of a warp of a cluster.
MMAUDIT_HD constexpr int first_chunk(int cluster, int warp) {
  return (cluster % kClusterKinds * (kChunks / kClusterKinds) + 5 * warp) % kChunks;
}

/// All chunks, made once, then kept.
const std::vector<std::uint16_t>& histogram_elements();

/// What: the counts of a cluster of so many warps after so many steps. Range: bins a power of two.
std::vector<std::uint32_t> right_counts(int cluster, int bins, int warps, int steps);

/// What: compares the counts of cluster after cluster, `bins` each.
void check_counts(std::span<const std::uint32_t> counts, int bins, int warps, int steps, Measurement& out);

}  // namespace mmaudit::sweeps
