#pragma once
// The layout in which Blackwell's kernels read block scales, and the plain one, rows of scales.
// Source: cuBLAS 12.9, "1D Block Scaling Factors Layout"; torch._scaled_mm takes the same bytes.
#include <cstdint>
#include <vector>

#include "mmaudit/config.hpp"
#include "mmaudit/detail/quotient_up.hpp"

namespace mmaudit {

/// Rows and blocks of one tile of the blocked layout; 512 bytes.
inline constexpr std::uint64_t kScaleTileRows = 128, kScaleTileBlocks = 4;

/// Bytes of the blocked scales of `rows` rows, each of `blocks` blocks: whole tiles. The caller has checked
/// that the product fits 64 bits.
MMAUDIT_HD constexpr std::uint64_t blocked_scale_bytes(std::uint64_t rows, std::uint64_t blocks) {
  return detail::quotient_up(rows, kScaleTileRows) * kScaleTileRows *
         detail::quotient_up(blocks, kScaleTileBlocks) * kScaleTileBlocks;
}

/// Where the scale of (row, block) stands: tiles follow one another along the blocks, then along the rows. In
/// a tile rows 0, 32, 64 and 96 are neighbours, four blocks each, then rows 1, 33, 65, 97, and so on.
MMAUDIT_HD constexpr std::uint64_t blocked_scale_index(std::uint64_t row, std::uint64_t block,
                                                       std::uint64_t blocks) {
  constexpr std::uint64_t kQuarter = kScaleTileRows / 4;
  const std::uint64_t tile =
      row / kScaleTileRows * detail::quotient_up(blocks, kScaleTileBlocks) + block / kScaleTileBlocks;
  return tile * kScaleTileRows * kScaleTileBlocks + row % kQuarter * 16 +
         row % kScaleTileRows / kQuarter * kScaleTileBlocks + block % kScaleTileBlocks;
}

/// Scales of A, (rows, blocks), or of B, (blocks, columns): a row of the blocked layout is a row of A or a
/// column of B.
enum class ScaleOwner : std::uint8_t { a, b };

/// The index of the scale of (row, block) in rows of scales as Matmul has them.
constexpr std::uint64_t plain_scale_index(ScaleOwner owner, std::uint64_t row, std::uint64_t block,
                                          std::uint64_t rows, std::uint64_t blocks) {
  return owner == ScaleOwner::a ? row * blocks + block : block * rows + row;
}

/// `count` matrices of blocked scales as Matmul takes them. What lies beside the matrix in a tile is not
/// read.
inline std::vector<std::uint8_t> plain_scales(const std::uint8_t* blocked, ScaleOwner owner,
                                              std::uint64_t count, std::uint64_t rows, std::uint64_t blocks) {
  std::vector<std::uint8_t> out(count * rows * blocks);
  for (std::uint64_t x = 0; x < count; ++x)
    for (std::uint64_t row = 0; row < rows; ++row)
      for (std::uint64_t block = 0; block < blocks; ++block)
        out[x * rows * blocks + plain_scale_index(owner, row, block, rows, blocks)] =
            blocked[x * blocked_scale_bytes(rows, blocks) + blocked_scale_index(row, block, blocks)];
  return out;
}

/// The inverse; what lies beside the matrix in a tile is 0.
inline std::vector<std::uint8_t> blocked_scales(const std::uint8_t* plain, ScaleOwner owner,
                                                std::uint64_t count, std::uint64_t rows,
                                                std::uint64_t blocks) {
  std::vector<std::uint8_t> out(count * blocked_scale_bytes(rows, blocks));
  for (std::uint64_t x = 0; x < count; ++x)
    for (std::uint64_t row = 0; row < rows; ++row)
      for (std::uint64_t block = 0; block < blocks; ++block)
        out[x * blocked_scale_bytes(rows, blocks) + blocked_scale_index(row, block, blocks)] =
            plain[x * rows * blocks + plain_scale_index(owner, row, block, rows, blocks)];
  return out;
}

}  // namespace mmaudit
