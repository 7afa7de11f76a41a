#pragma once
// What the vector code for groups of 4-bit products is handed. Plain data, as in level.hpp.
#include <cstddef>
#include <cstdint>

namespace mmaudit::fast {

/// One scale byte; a zero has no significand, a NaN the mark below.
struct ScaleByte {
  std::int16_t exponent = 0, significand = 0;
};
inline constexpr std::int16_t kNanScale = INT16_MIN;

/// A grouped datapath, as the kernel needs it. All numbers of a step are multiples of its unit, which is
/// 2^(least exponent of two scales + unit): products of elements are small integers, and so are products of
/// significands of scales; scales of one step differ by at most `spread` binades, so sums of groups are
/// 32-bit integers.
struct GroupRules {
  std::int8_t element_a[16] = {}, element_b[16] = {};  ///< of a code, in units of the least number
  std::int8_t offset = 0;                              ///< A's elements plus this are not negative
  std::uint8_t code_mask = 15, magnitude_mask = 7;
  ScaleByte scale[256];
  int group = 16;  ///< products; even
  int unit = 0;
  int spread = 0;
  int quantum = 0;              ///< C has to be a multiple of the unit times 2^quantum
  int lowest = 0, highest = 0;  ///< sums of two scales' exponents that vectors can take
};

/// Exponents of the scales of one row of A, or of one panel of B, over the steps of a chunk. A NaN makes
/// `low` so small that no condition holds.
struct GroupBounds {
  int low = 20000, high = -20000;  ///< kNoOperand
  int spread = 0;                  ///< largest in one step of one row or column
};

/// A run of K: groups lie behind one another, and steps are whole groups.
struct GroupChunk {
  const std::int16_t* step_groups = nullptr;  ///< (steps): how many
  int steps = 0, groups = 0;
};

/// One row of A.
struct PackedGroupsA {
  std::uint32_t* pairs = nullptr;   ///< (groups, group / 2): two elements plus offset, both twice
  std::uint32_t* scales = nullptr;  ///< (groups): significand above the step's least exponent, twice
  double* units = nullptr;          ///< (steps): 2^(least exponent + unit)
};

/// One panel of B.
struct PackedGroupsB {
  std::int8_t* pairs = nullptr;     ///< (groups, group / 2, kPanel, 2)
  std::int16_t* offsets = nullptr;  ///< (groups, kPanel): what A's offset adds to a sum, negative
  std::int16_t* scales = nullptr;   ///< (groups, kPanel)
  double* units = nullptr;          ///< (steps, kPanel), columns in the level's own order: 2^least exponent
};

/// Raw operands: rows of A along K, or rows of B along the columns, one byte per element.
struct GroupSource {
  const std::uint8_t* elements = nullptr;
  std::size_t stride = 0;
  int there = 0, across = 0;  ///< positions of K, and columns of B, that exist; everything beyond is +0
  /// Scale of the first element of every group, (groups) or (groups, kPanel); beyond the matrix the code
  /// of 1.
  const std::uint8_t* scales = nullptr;
};

/// Some rows of A through the steps of a chunk, on one panel of B.
struct GroupMultiply {
  const GroupRules* rules = nullptr;
  GroupChunk chunk;
  int rows = 0;
  PackedGroupsA a;  ///< of the first row; the next one stands a whole chunk of the tile behind
  std::size_t pairs_stride = 0, scales_stride = 0, units_stride = 0;
  const GroupBounds* a_bounds = nullptr;  ///< (rows)
  PackedGroupsB b;
  GroupBounds b_bounds;
  float* sum = nullptr;  ///< (rows, sum_stride), columns in the level's own order
  std::size_t sum_stride = 0;
  float (*plain)(const void* context, int row, int column, int step, float sum) = nullptr;
  const void* context = nullptr;
  int column = 0;  ///< of the first element, for `plain`
};

}  // namespace mmaudit::fast
