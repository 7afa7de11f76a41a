#pragma once
// Tiles put side by side, and results compared, in device memory. Declarations without CUDA syntax.
#include <cstdint>

namespace mmaudit::device {

/// A matrix of `rows` by `columns` elements that consists of tiles of m by n.
struct WideMatrix {
  const void* tiles = nullptr;
  void* wide = nullptr;
  int bytes = 0;  ///< of an element
  std::uint32_t rows = 0, columns = 0, m = 0, n = 0;
  int side = 1;
  bool is_c = false;  ///< tiles by tile_of_c(); otherwise the tile's number is its column
};

void launch_widen(const WideMatrix& matrix);

/// Adds to `*total` how many of the `count` elements of `bytes` bytes differ.
void launch_count_differing(const void* x, const void* y, int bytes, std::uint64_t count,
                            unsigned long long* total);

}  // namespace mmaudit::device
