#pragma once
// What the vector code for groups of 4-bit products is handed. Plain data, as in level.hpp.
#include "level.hpp"

namespace mmaudit::fast {

/// One scale byte; a zero has no significand, a NaN the mark below.
struct ScaleByte {
  std::int16_t exponent = 0, significand = 0;
  float factor = 0;  ///< significand * 2^exponent where scales are near; 0 of a NaN
};
inline constexpr std::int16_t kNanScale = INT16_MIN;

/// What the general kernel needs beyond the formats.
enum class GroupScales : std::uint8_t {
  unserved,  ///< the plain core takes what `spread` excludes
  near,      ///< numbers about 1: scaled sums are binary32 whatever the sum's exponent, and nothing overflows
  powers     ///< of two, any exponent
};

/// A grouped datapath, as the kernels need it. Products of elements are small integers, and so are products
/// of significands of scales. Where scales of one step differ by at most `spread` binades, all numbers of the
/// step are multiples of 2^(least exponent of two scales + unit) and sums of groups are 32-bit integers: that
/// is the quick kernel. The general one takes every scale.
struct GroupRules {
  std::int8_t element_a[16] = {}, element_b[16] = {};  ///< of a code, in units of the least number
  std::int8_t offset = 0;                              ///< A's elements plus this are not negative
  std::uint8_t code_mask = 15, magnitude_mask = 7;
  ScaleByte scale[256];
  int group = 16;  ///< products; even
  int unit = 0;
  int spread = 0;
  int quantum = 0;              ///< C has to be a multiple of the unit times 2^quantum
  int lowest = 0, highest = 0;  ///< sums of two scales' exponents that the quick kernel can take
  GroupScales scales = GroupScales::unserved;
  int fraction_bits = 0, floor = 0;  ///< F, and the least E
  std::uint32_t nan = 0;
};

/// Scales of one row of A, or of one panel of B, over the steps of a chunk.
struct GroupBounds {
  int low = 20000, high = -20000;  ///< exponents; kNoOperand
  int spread = 0;                  ///< largest in one step of one row or column
  bool nan = false;                ///< of the row, or of some column
};

/// A run of K: groups lie behind one another, and steps are whole groups.
struct GroupChunk {
  const std::int16_t* step_groups = nullptr;  ///< (steps): how many
  int steps = 0, groups = 0;
};

/// The general kernel's exponents: of A plus the first, of B plus the second, so that none is negative and a
/// binary32's own exponent field needs kFieldBias.
inline constexpr int kBiasA = 512, kFieldBias = 1024, kBiasB = kFieldBias - kBiasA + 127;

/// The scale of a group of A. 16-bit numbers stand twice in a word.
struct GroupScaleA {
  std::uint32_t above = 0;     ///< significand above the step's least exponent
  float factor = 0;            ///< significand * 2^exponent, of scales that are near
  std::uint32_t exponent = 0;  ///< kBiasA more
  std::uint32_t nonzero = 0;   ///< a bit per product: its element is no zero, nor is the scale
};

/// One row of A.
struct PackedGroupsA {
  std::uint8_t* elements = nullptr;  ///< (groups, group): plus offset
  GroupScaleA* scales = nullptr;     ///< (groups)
  double* units = nullptr;           ///< (steps): 2^(least exponent + unit)
};

/// One panel of B. Lanes of 32 bits are columns in the level's own order.
struct PackedGroupsB {
  std::int8_t* elements = nullptr;    ///< (groups, group / 4, kPanel, 4), columns in the level's own order
  std::int32_t* offsets = nullptr;    ///< (groups, kPanel): what A's offset adds to a sum, negative
  std::int32_t* above = nullptr;      ///< (groups, kPanel), for the level's products of groups and scales
  float* factors = nullptr;           ///< (groups, kPanel)
  std::int16_t* exponents = nullptr;  ///< (groups, kPanel), columns in their own order; kBiasB more
  std::uint16_t* nonzero = nullptr;   ///< (groups, kPanel), columns in their own order
  double* units = nullptr;            ///< (steps, kPanel), columns in the level's own order: 2^least exponent
  std::int32_t* nan = nullptr;        ///< (kPanel): -1 where a scale is NaN
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
  std::size_t elements_stride = 0, scales_stride = 0, units_stride = 0;
  const GroupBounds* a_bounds = nullptr;  ///< (rows)
  PackedGroupsB b;
  GroupBounds b_bounds;
  float* sum = nullptr;  ///< (rows, sum_stride), columns in the level's own order
  std::size_t sum_stride = 0;
  float (*plain)(const void* context, int row, int column, int step, float sum) = nullptr;
  const void* context = nullptr;
  int column = 0;  ///< of the first element, for `plain`
};

/// The functions of a level.
struct GroupLevel {
  /// One row of A, one panel of B; their groups multiplied.
  void (*pack_a)(const GroupSource& source, const GroupRules& rules, const GroupChunk& chunk,
                 const PackedGroupsA& out, GroupBounds& bounds);
  void (*pack_b)(const GroupSource& source, const GroupRules& rules, const GroupChunk& chunk,
                 const PackedGroupsB& out, GroupBounds& bounds);
  void (*multiply)(const GroupMultiply& work);
};

extern const GroupLevel kPortableGroups, kAvx2Groups, kAvx512Groups, kAvx512VnniGroups;

}  // namespace mmaudit::fast
