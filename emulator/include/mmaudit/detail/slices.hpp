#pragma once
// How a whole product is cut along K: the host's and the GPU's.
#include <cstdint>

#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/matmul.hpp"

namespace mmaudit::detail {

/// Elements of K that a slice of split-K takes, whole tiles of slice_tile or of the instruction's depth k;
/// the last slice may have fewer, and where there are fewer tiles than slices, some have none.
constexpr std::uint64_t slice_length(const Matmul& problem, std::uint64_t k) {
  const std::uint64_t tile = problem.slice_tile != 0 ? problem.slice_tile : k;
  const std::uint64_t tiles = quotient_up(problem.k, tile);
  if (problem.split_k >= tiles) return tiles == 0 ? 0 : tile;
  return quotient_up(tiles, problem.split_k) * tile;
}

}  // namespace mmaudit::detail
