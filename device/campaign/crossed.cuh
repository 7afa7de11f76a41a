#pragma once
// What the engines share: where an element of D and of C lies, and the report of a difference.
#include "campaign/crossed.hpp"

namespace mmaudit::device::crossed {

struct Place {
  std::uint64_t c, d;  ///< elements
};

/// Of row and column of a square, counted over its tiles.
__device__ inline Place place_of(const CrossedArgs& args, std::uint64_t square, unsigned row,
                                 unsigned column) {
  const auto m = static_cast<unsigned>(args.m), n = static_cast<unsigned>(args.n);
  KernelArgs tiles;
  tiles.cross = kSide;
  const std::uint64_t tile = (square * kSide + row / m) * kSide + column / n;
  const TileIndices at = tile_indices(tiles, tile);
  const unsigned within = row % m * n + column % n;
  return {at.c * (m * n) + within, at.d * (m * n) + within};
}

__device__ inline std::uint64_t load(const void* base, int bytes, std::uint64_t index) {
  switch (bytes) {
    case 2:
      return static_cast<const std::uint16_t*>(base)[index];
    case 4:
      return static_cast<const std::uint32_t*>(base)[index];
    case 8:
      return static_cast<const std::uint64_t*>(base)[index];
    default:
      return static_cast<const std::uint8_t*>(base)[index];
  }
}

__device__ inline void compare(const CrossedArgs& args, std::uint64_t element, std::uint64_t hardware,
                               std::uint64_t model) {
  if (hardware == model) return;
  const unsigned long long slot = atomicAdd(args.total, 1ULL);
  if (slot < args.most) args.found[slot] = {args.first_element + element, model};
}

}  // namespace mmaudit::device::crossed
