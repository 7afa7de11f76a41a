#include "sweeps/memory/histogram.hpp"

namespace mmaudit::sweeps {

const std::vector<std::uint16_t>& histogram_elements() {
  static const std::vector<std::uint16_t> all = [] {
    std::vector<std::uint16_t> elements(static_cast<std::size_t>(kChunks) * kChunkElements);
    std::uint32_t state = 1;
    for (std::uint16_t& element : elements) {
      state = state * 1664525U + 1013904223U;
      element = static_cast<std::uint16_t>(state >> 16);
    }
    return elements;
  }();
  return all;
}

std::vector<std::uint32_t> right_counts(int cluster, int bins, int warps, int steps) {
  // How often each chunk is counted: whole rounds, then the first steps of another one.
  std::vector<std::uint32_t> times(kChunks, static_cast<std::uint32_t>(steps / kChunks * warps));
  for (int warp = 0; warp < warps; ++warp)
    for (int step = 0; step < steps % kChunks; ++step)
      ++times[static_cast<std::size_t>((first_chunk(cluster, warp) + step) % kChunks)];
  std::vector<std::uint32_t> counts(static_cast<std::size_t>(bins));
  const std::vector<std::uint16_t>& elements = histogram_elements();
  for (std::size_t i = 0; i < elements.size(); ++i)
    counts[elements[i] % counts.size()] += times[i / kChunkElements];
  return counts;
}

void check_counts(std::span<const std::uint32_t> counts, int bins, int warps, int steps, Measurement& out) {
  std::vector<std::vector<std::uint32_t>> right;
  right.reserve(kClusterKinds);
  for (int kind = 0; kind < kClusterKinds; ++kind) right.push_back(right_counts(kind, bins, warps, steps));
  const auto each = static_cast<std::size_t>(bins);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    ++out.compared;
    out.differing += counts[i] != right[i / each % right.size()][i % each] ? 1 : 0;
  }
}

}  // namespace mmaudit::sweeps
