#pragma once
// How a whole product is cut along K: the host's and the GPU's.
#include <algorithm>
#include <cstdint>

#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/matmul.hpp"

namespace mmaudit::detail {

/// Of slices as even as they can be but for the last ones; 1 where there are more of them than tiles.
constexpr std::uint64_t tiles_per_slice(std::uint64_t tiles, std::uint64_t slices) {
  return tiles == 0 ? 0 : quotient_up(tiles, std::min(slices, tiles));
}

/// Elements of K that a slice of split-K takes, whole tiles of slice_tile or of the instruction's depth k;
/// the last slice may have fewer, and where there are fewer tiles than slices, some have none.
constexpr std::uint64_t slice_length(const Matmul& problem, std::uint64_t k) {
  const std::uint64_t tile = problem.slice_tile != 0 ? problem.slice_tile : k;
  return tiles_per_slice(quotient_up(problem.k, tile), problem.split_k) * tile;
}

}  // namespace mmaudit::detail
