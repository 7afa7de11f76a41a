#pragma once
// What the engines share: where an element of D and of C lies, and the report of a difference.
#include "campaign/crossed.hpp"
#include "campaign/load.cuh"

namespace mmaudit::device::crossed {

struct Place {
  std::uint64_t c, d;  ///< elements
};

/// Of row and column of a square, counted over its tiles.
__device__ inline Place place_of(const CrossedArgs& args, std::uint64_t square, unsigned row,
                                 unsigned column) {
  const auto m = static_cast<unsigned>(args.m), n = static_cast<unsigned>(args.n);
  const TileIndices at = square_indices(args.side, square, row / m, column / n);
  const unsigned within = row % m * n + column % n;
  return {at.c * (m * n) + within, at.d * (m * n) + within};
}

__device__ inline void compare(const CrossedArgs& args, std::uint64_t element, std::uint64_t hardware,
                               std::uint64_t model) {
  if (hardware == model) return;
  const unsigned long long slot = atomicAdd(args.total, 1ULL);
  if (slot < args.most) args.found[slot] = {args.first_element + element, model};
}

}  // namespace mmaudit::device::crossed
