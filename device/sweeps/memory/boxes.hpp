#pragma once
// A tensor in global memory cut into boxes, as the copy engine brings them: dimension 0 is the fastest.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "mmaudit/config.hpp"

namespace mmaudit::sweeps {

/// Elements of a box along each dimension, at most 256 of each: a limit of tensor maps (CUDA driver API,
/// "cuTensorMapEncodeTiled").
inline constexpr int kBoxRanks = 3, kBoxMost = 256;

struct Box {
  std::uint32_t size[kBoxRanks] = {1, 1, 1};
  [[nodiscard]] MMAUDIT_HD constexpr std::uint32_t elements() const { return size[0] * size[1] * size[2]; }
};

/// A box as the parameter of a kernel, and back.
MMAUDIT_HD constexpr int packed(const Box& box) {
  return static_cast<int>((box.size[0] - 1) | (box.size[1] - 1) << 8 | (box.size[2] - 1) << 16);
}
MMAUDIT_HD constexpr Box unpacked(int parameter) {
  const auto bits = static_cast<std::uint32_t>(parameter);
  return {{(bits & 255) + 1, (bits >> 8 & 255) + 1, (bits >> 16 & 255) + 1}};
}

/// How many words an element has: the paper's copies of one dimension are longer than 256 words.
MMAUDIT_HD constexpr std::uint32_t words_per_element(int rank) { return rank == 1 ? 2 : 1; }
MMAUDIT_HD constexpr int box_bytes(const Box& box, int rank) {
  return static_cast<int>(4 * words_per_element(rank) * box.elements());
}

/// Memory as a tensor of that many dimensions. What does not fill a box at the end of a dimension is in none.
struct Boxes {
  std::uint32_t extent[kBoxRanks];  ///< of the tensor, elements
  Box box;
  std::uint32_t words;  ///< of an element

  MMAUDIT_HD constexpr Boxes(int rank, std::size_t memory_bytes, const Box& of)
      : extent{1, 1, 1}, box(of), words(words_per_element(rank)) {
    constexpr std::uint32_t kRow = 16384, kWidth = 1024, kHeight = 512, kSmallWidth = 256, kSmallHeight = 64;
    const auto elements = static_cast<std::uint32_t>(memory_bytes / 4 / words);
    if (rank == 1) {
      extent[0] = elements;
    } else if (rank == 2) {
      extent[0] = kRow;
      extent[1] = elements / kRow;
    } else {
      const bool small = elements < kWidth * kHeight * static_cast<std::uint32_t>(kBoxMost);
      extent[0] = small ? kSmallWidth : kWidth;
      extent[1] = small ? kSmallHeight : kHeight;
      extent[2] = elements / (extent[0] * extent[1]);
    }
  }
  /// Boxes along a dimension.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint32_t along(int axis) const {
    return extent[axis] / box.size[axis];
  }
  [[nodiscard]] MMAUDIT_HD constexpr std::uint32_t count() const { return along(0) * along(1) * along(2); }
  /// Which box along a dimension the box `number` is.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint32_t place(std::uint32_t number, int axis) const {
    for (int i = 0; i < axis; ++i) number /= along(i);
    return number % along(axis);
  }
  /// The word of memory that is word `word` of the box `number`.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint32_t word_of(std::uint32_t number, std::uint32_t word) const {
    std::uint32_t element = word / words, index = 0, step = 1;
    for (int axis = 0; axis < kBoxRanks; ++axis) {
      index += (place(number, axis) * box.size[axis] + element % box.size[axis]) * step;
      element /= box.size[axis];
      step *= extent[axis];
    }
    return index * words + word % words;
  }
};

/// The words of one box in memory, a fixed number of words of the box after another, without a division for
/// each. Rows are whole 16 bytes, so four words from a multiple of four lie side by side.
struct BoxWords {
  std::uint32_t row, rows;      ///< words of a row; rows of a plane
  std::uint32_t by[kBoxRanks];  ///< words along the row, rows and planes from one place to the next
  std::uint32_t at[kBoxRanks];  ///< of this place, from the first word of the box
  std::uint32_t first, row_step, plane_step;

  MMAUDIT_HD constexpr BoxWords(const Boxes& tensor, std::uint32_t number, std::uint32_t word,
                                std::uint32_t step)
      : row(tensor.box.size[0] * tensor.words),
        rows(tensor.box.size[1]),
        by{step % row, step / row % rows, step / row / rows},
        at{word % row, word / row % rows, word / row / rows},
        first(tensor.word_of(number, 0)),
        row_step(tensor.extent[0] * tensor.words),
        plane_step(row_step * tensor.extent[1]) {}
  /// In memory.
  [[nodiscard]] MMAUDIT_HD constexpr std::uint32_t index() const {
    return first + at[2] * plane_step + at[1] * row_step + at[0];
  }
  MMAUDIT_HD constexpr void advance() {
    at[0] += by[0];
    const bool next_row = at[0] >= row;
    if (next_row) at[0] -= row;
    at[1] += by[1] + (next_row ? 1 : 0);
    const bool next_plane = at[1] >= rows;
    if (next_plane) at[1] -= rows;
    at[2] += by[2] + (next_plane ? 1 : 0);
  }
};

/// "16x16x12"; nullopt for what is none, or has a size that is not between 1 and 256.
std::optional<Box> parse_box(std::string_view text);
/// How many dimensions a box has as it is written.
int rank_of(std::string_view box);

}  // namespace mmaudit::sweeps
