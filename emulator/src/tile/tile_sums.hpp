#pragma once
// The running sums of one tile of D: what matmul() needs from the fast path and from the plain core alike.
#include <algorithm>
#include <cstdint>
#include <memory>

#include "mmaudit/dot.hpp"
#include "mmaudit/matmul.hpp"

namespace mmaudit {

/// Largest tile; a tile's rows and columns are multiplied as one piece by one thread.
inline constexpr std::uint64_t kTileRows = 256, kTileColumns = 256;
inline constexpr std::uint64_t kRowUnit = 4, kColumnUnit = 32;
/// Sums a tile keeps: the running sum, the total of `promote`, the total of `split_k`.
inline constexpr int kSums = 3;

struct TilePlace {
  std::uint64_t matrix = 0;  ///< of the batch
  std::uint64_t row = 0, column = 0;
  std::uint64_t rows = 0, columns = 0;
};

/// Sizes of the largest tile of a product, as multiples of what vectors need.
inline std::uint64_t tile_rows(const Matmul& problem) {
  return std::min(kTileRows, (problem.m + kRowUnit - 1) / kRowUnit * kRowUnit);
}
inline std::uint64_t tile_columns(const Matmul& problem) {
  return std::min(kTileColumns, (problem.n + kColumnUnit - 1) / kColumnUnit * kColumnUnit);
}

class TileSums {
 public:
  TileSums() = default;
  virtual ~TileSums() = default;
  TileSums(const TileSums&) = delete;
  TileSums& operator=(const TileSums&) = delete;

  /// Moves to another tile; every sum is +0.
  virtual void start(const TilePlace& tile) = 0;
  /// One row of a sum, raw bits in the instruction's format of D: as many as the tile has columns.
  virtual void set_row(int sum, std::uint64_t i, const std::uint64_t* bits) = 0;
  virtual void get_row(int sum, std::uint64_t i, std::uint64_t* bits) const = 0;
  /// The instructions of [first, last) of K on sum 0; `first` is a multiple of the instruction's k.
  virtual void run(std::uint64_t first, std::uint64_t last) = 0;
  /// sum `into` = sum `into` + sum `from` to nearest even, sum `from` = +0. Binary32 only.
  virtual void fold(int from, int into) = 0;
};

std::unique_ptr<TileSums> plain_tile(const Instruction& instruction, const Datapath& datapath,
                                     const Matmul& problem);
/// Requires fast_serves() and has_simd_level().
std::unique_ptr<TileSums> fast_tile(const Instruction& instruction, const Datapath& datapath,
                                    const Matmul& problem, SimdLevel level);

/// Bytes that either of them allocates at most.
inline constexpr std::uint64_t kTileBytes = std::uint64_t{4} << 20;

}  // namespace mmaudit
