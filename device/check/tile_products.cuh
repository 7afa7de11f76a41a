#pragma once
// What the engines share: where elements of C and D lie, and the report of a difference.
#include "check/load.cuh"
#include "check/tile_products.hpp"

namespace mmaudit::device::tile_products {

struct Place {
  std::uint64_t c, d;  ///< elements
  std::uint64_t tile_a, tile_b;
  unsigned row, column;  ///< of those tiles
};

/// `row` and `column` count over the tiles of a block.
__device__ inline Place place_of(const TileProductArgs& args, std::uint64_t block, unsigned row,
                                 unsigned column) {
  const auto m = static_cast<unsigned>(args.m), n = static_cast<unsigned>(args.n);
  const TileIndices at = block_indices(args.side, block, row / m, column / n);
  const unsigned within = row % m * n + column % n;
  return {at.c * (m * n) + within, at.d * (m * n) + within, at.a, at.b, row % m, column % n};
}

__device__ inline void compare(const TileProductArgs& args, std::uint64_t element, std::uint64_t hardware,
                               std::uint64_t model) {
  if (hardware == model) return;
  const unsigned long long slot = atomicAdd(args.total, 1ULL);
  if (slot < args.most) args.found[slot] = {args.first_element + element, model};
}

}  // namespace mmaudit::device::tile_products
