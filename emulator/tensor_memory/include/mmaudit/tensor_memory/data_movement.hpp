#pragma once
// Between registers, shared memory and tensor memory: which word of tensor memory a register of a thread
// holds (tcgen05.ld and .st), and which lanes a copy reaches (tcgen05.cp). Tables, no branches per shape.
// Sources: PTX ISA 9.0, 9.7.16.2.3, 9.7.16.8, 9.7.16.9; where the ISA shows a fragment as a figure alone,
// the layouts of CUTLASS 4 (copy_traits_sm100.hpp) say the same thing as numbers.
#include <cstdint>
#include <string_view>

namespace mmaudit::tmem {

/// One digit of a number: (number / divisor) % size, and how far it moves the lane and the column.
struct Digit {
  int divisor = 1, size = 1, lanes = 0, columns = 0;
};

/// A shape of tcgen05.ld and tcgen05.st. Thread t of a warp and its register r hold the word at lane and
/// column: sums of the digits of t and r; every `registers` of r are one unit, `columns` columns further.
struct LoadShape {
  std::string_view name;
  int lanes;  ///< that a warp reaches
  Digit thread[3];
  Digit reg[2];
  int registers, columns;  ///< of one unit
  bool split;              ///< 16x32bx2: threads 16 to 31 are at immHalfSplitoff
  int most;                ///< largest .num
};

inline constexpr LoadShape kLoadShapes[] = {
    {"32x32b", 32, {{1, 32, 1, 0}, {}, {}}, {}, 1, 1, false, 128},
    {"16x64b", 16, {{1, 2, 8, 0}, {2, 2, 0, 1}, {4, 8, 1, 0}}, {}, 1, 2, false, 128},
    {"16x128b", 16, {{1, 4, 0, 1}, {4, 8, 1, 0}, {}}, {{1, 2, 8, 0}, {}}, 2, 4, false, 64},
    {"16x256b", 16, {{1, 4, 0, 2}, {4, 8, 1, 0}, {}}, {{1, 2, 0, 1}, {2, 2, 8, 0}}, 4, 8, false, 32},
    {"16x32bx2", 16, {{1, 16, 1, 0}, {}, {}}, {}, 1, 1, true, 128},
};

struct Place {
  int lane = 0, column = 0;
};

/// Where register `reg` of thread `thread` lies, counted from the address of the instruction; `half` is
/// immHalfSplitoff. With packing, column c stands for columns 2c and 2c + 1, whose lower halves are used.
constexpr Place place_of(const LoadShape& shape, int thread, int reg, int half = 0) {
  Place place;
  for (const Digit& digit : shape.thread) {
    const int value = thread / digit.divisor % digit.size;
    place.lane += value * digit.lanes;
    place.column += value * digit.columns;
  }
  const int within = reg % shape.registers;
  for (const Digit& digit : shape.reg) {
    const int value = within / digit.divisor % digit.size;
    place.lane += value * digit.lanes;
    place.column += value * digit.columns;
  }
  place.column += reg / shape.registers * shape.columns;
  if (shape.split && thread >= 16) place.column += half;
  return place;
}

/// A shape of tcgen05.cp with its multicast: `rows` rows of `bytes` bytes; row r goes to lane r % modulus,
/// and to that lane plus every multiple of `copy_stride` below `copies` of them.
struct CopyShape {
  std::string_view name, multicast;
  int rows, bytes;
  int group;  ///< rows r / group lie `group_stride` lanes apart
  int group_stride;
  int copies, copy_stride;

  [[nodiscard]] constexpr int lane_of(int row, int copy) const {
    return row % group + row / group * group_stride + copy * copy_stride;
  }
};

inline constexpr CopyShape kCopyShapes[] = {
    {"128x256b", "", 128, 32, 128, 0, 1, 0},
    {"128x128b", "", 128, 16, 128, 0, 1, 0},
    // Rows 0 to 31 go to the first warp of each kind, rows 32 to 63 to the second: 02_13 names the warps that
    // get the same rows, and so does 01_23.
    {"64x128b", "warpx2::02_13", 64, 16, 32, 32, 2, 64},
    {"64x128b", "warpx2::01_23", 64, 16, 32, 64, 2, 32},
    {"32x128b", "warpx4", 32, 16, 32, 0, 4, 32},
};

}  // namespace mmaudit::tmem
