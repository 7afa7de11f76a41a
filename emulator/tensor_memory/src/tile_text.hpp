#pragma once
// The PTX text of a tile kernel whose places are known, and numbers that text, places and images share.
#include <cstdint>
#include <string>
#include <string_view>

#include "mmaudit/scale_layout.hpp"
#include "mmaudit/tensor_memory/interpreter.hpp"
#include "mmaudit/tensor_memory/tile_kernel.hpp"

namespace mmaudit::tmem {

inline constexpr std::uint32_t kCoreBytes = 128;         // 8 rows of 16 bytes
inline constexpr std::uint32_t kCopied = 16 * kThreads;  // bytes of an image that all threads copy at once
inline constexpr std::uint32_t kScaleTile = kScaleTileRows * kScaleTileBlocks;  // bytes of one tile of scales

/// How scales of B reach the lanes that read them. Where D's columns are cut into `parts` parts, the lanes of
/// each part have the scales of its own columns: one copy takes a tile of scales per part.
struct ScaleCopy {
  int parts;
  std::string_view shape;
};
inline constexpr ScaleCopy kScaleCopies[] = {{1, "32x128b.warpx4"}, {2, "64x128b.warpx2::01_23"}};

/// Tiles of scales of B per part.
int scale_tiles_of_b(const TileKernel& kernel);

std::string text_of(const TileKernel& kernel, std::string_view target);

}  // namespace mmaudit::tmem
