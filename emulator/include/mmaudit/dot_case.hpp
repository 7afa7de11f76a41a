#pragma once
// One dot product of a batch: the inputs of one element of D, and where it came from.
#include <cstdint>
#include <string>
#include <vector>

#include "mmaudit/tile_batch.hpp"

namespace mmaudit {

/// Raw bits in storage width throughout.
struct DotCase {
  std::vector<std::uint64_t> a{};  ///< the stored elements of the row of A
  std::vector<std::uint64_t> b{};  ///< all k elements of the column of B
  std::uint64_t c = 0;
  std::uint8_t modifiers = 0;
  std::vector<std::uint8_t> metadata{};            ///< of the row of A; empty: dense
  std::vector<std::uint8_t> scale_a{}, scale_b{};  ///< a byte per block; empty unless block-scaled

  std::string input_class{};  ///< of the generator or the recording; empty: given by the user
  std::uint64_t tile = 0;     ///< number of the tile within its input class
  int row = 0, column = 0;    ///< element of D

  bool operator==(const DotCase&) const = default;
};

/// A dot product on which two backends differ.
struct Mismatch {
  DotCase dot;
  std::uint64_t expected = 0;  ///< D of the first backend: the hardware or the recording
  std::uint64_t found = 0;     ///< D of the second one: the model
};

/// The inputs of element (row, column) of D of one tile of `batch`. `tile` counts within the batch and is
/// copied to the result.
DotCase dot_at(const Instruction& instruction, const TileView& batch, std::size_t tile, int row, int column);

/// What: why `dot` can't be a dot product of `instruction`, for one from outside: counts, widths, metadata,
/// scales, place in D; empty: it can.
std::string why_bad_dot(const Instruction& instruction, const DotCase& dot);

/// D of that element, as raw bits.
std::uint64_t d_at(const Instruction& instruction, const TileView& batch, std::size_t tile, int row,
                   int column);
void store_d_at(const Instruction& instruction, const TileView& batch, std::size_t tile, int row, int column,
                std::uint64_t bits);

}  // namespace mmaudit
