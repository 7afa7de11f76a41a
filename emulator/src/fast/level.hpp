#pragma once
// What the vector code of one level is handed, and the one table of functions it offers. Plain data and no
// standard header with inline code: a level is compiled with its own target flags, and nothing that the
// linker could share with the rest of the program may come out of it.
#include <cstddef>
#include <cstdint>

#include "binary64_level.hpp"
#include "integer_level.hpp"
#include "mmaudit/detail/quantize_rows.hpp"
#include "mmaudit/detail/stored_bits.hpp"

namespace mmaudit::fast {

/// Columns of a panel of B, and rows that are multiplied at once: tiles are padded to multiples of these.
inline constexpr int kPanel = 32;
inline constexpr int kRows = 4;
inline constexpr int kMostGroups = 64;  ///< of kRows rows, of one call

/// Exponent of a zero: a sum of two still fits 16 bits and never wins a maximum.
inline constexpr int kZero = -8192;
inline constexpr int kFloatBias = 127, kFloatFraction = 23;

/// Raw bits of one format -> exact float and exponent.
struct Decode : detail::StoredBits {
  int sign_shift = 0;      ///< left, to bit 31
  int to_float_shift = 0;  ///< left, of the magnitude
  std::uint32_t rebias = 0;
  bool is_f16 = false;   ///< IEEE binary16, which processors convert
  int byte_top = 0;      ///< with Rules::pairs: the bytes are A's exponent + 127 + top, and top - B's
  bool limited = false;  ///< not all exponents of the format fit such bytes; those above `most_exponent`
                         ///< count as kBeyondBytes
  int most_exponent = 0;
  std::uint32_t zero_below = 0;    ///< smaller magnitudes are +0, whatever their sign
  bool nan_at_minus_zero = false;  ///< the code of -0 is a NaN
};

/// Positions [start, start + count) of the evaluation order of a chunk of K: one step of the hardware.
struct Step {
  std::int16_t start = 0, count = 0;
  bool closes = false;  ///< last of its instruction
};

/// A stretch of K as a run of steps; no instruction crosses its ends.
struct Chunk {
  const Step* steps = nullptr;
  int step_count = 0;
  int depth = 0;                        ///< positions
  const std::int32_t* order = nullptr;  ///< position -> k; null: they are the same
};

/// Range of the exponents of the non-zero operands of one step, over all rows or columns concerned.
/// Infinities and NaNs count as zeros; `special`: there are some, in some step of A. A scale that quick steps
/// can't apply makes `low` so small that no precondition holds.
struct Bounds {
  int low, high;
  bool special = false;
};
inline constexpr Bounds kNoOperand = {20000, -20000};
inline constexpr int kBeyondScale = -50000, kBeyondBytes = 20000;

struct PackSource {
  const void* base = nullptr;  ///< element (0, 0) of the part
  std::size_t stride = 0;      ///< elements from one row of the matrix to the next
  int element_bytes = 0;
  int rows = 0, columns = 0;  ///< that exist; everything beyond is +0
  Decode decode;
  bool pairs = false;
  bool general = false;  ///< operands of the general path, see General
};

/// Operands of the general path: significands, in A times 2^kLift, and exponents e as words of which A's,
/// (e + kTopA) << 7, minus B's, (kTopB - e) << 7, is the exponent of the product plus kTop, where a float has
/// its own in the upper half of 32 bits. Of zeros they are 0 and 0xFFFF: of their products a subtraction that
/// stops at 0 makes 0, and 1 or more of every other one.
inline constexpr int kLift = 60, kTopA = 380, kTopB = 127, kTop = kTopA - kTopB;
inline constexpr int kLeastE = -158;  ///< with a smaller E no step gives other than 0

/// One row of A: positions of a chunk, each exponent plus 127 twice in a word. With Rules::pairs a word has
/// two positions, four bytes: the even one, the odd one, and both again; 0 for a zero.
struct PackedA {
  float* value;
  std::int32_t* exponent;
};

/// One panel of B: (position, kPanel). Values stand in the level's own order of columns. With Rules::pairs
/// the exponents are (position / 2, kPanel), the even position in the low byte, the odd one in the high one;
/// 255 for a zero.
struct PackedB {
  float* value;
  std::int16_t* exponent;
};

/// Steps that are not one alignment: trees of rounded sums, and products aligned without C, in one sum or in
/// two that take them in turns.
enum class Staged : std::uint8_t { none, trees, one_sum, two_sums };

/// The row of the model, as the kernel needs it.
struct Rules {
  int fraction_bits = 0;                  ///< F
  int floor = 0;                          ///< of E, and never below `lowest`
  int least_top = 0;                      ///< of E plus kTop, on the general path
  int lowest = 0, highest = 0;            ///< of E: here every scaling is a normal float
  int product_low = 0, product_high = 0;  ///< of exponents of factors, added: products are exact floats
  int addend_min_exponent = 0;            ///< of the format of C and D
  int block = 0;                          ///< most products of one step
  int group = 0;                          ///< products whose sum can't leave 32 bits
  bool roomy = false;                     ///< no step's sum can leave 32 bits
  float most_sum = 0;                     ///< from here up a step's sum may have left 32 bits
  std::uint32_t keep_mask = 0;            ///< bits of the result that stay
  std::uint32_t nan = 0;
  int nearest_bits = 0;     ///< 0: toward zero; else fraction bits kept, to nearest even
  bool binary16 = false;    ///< with nearest_bits: results are binary16
  float overflow_from = 0;  ///< with nearest_bits: magnitudes from here up are infinite
  bool pairs = false;       ///< exponents of products are bytes, two positions in a lane of 16 bits
  bool scaled = false, sparse = false;
  bool addend_last = false;  ///< C is added after the steps of an instruction, by an ordinary add
  Staged staged = Staged::none;
  bool drops_far = false;  ///< of two stages: a C far below the products counts for nothing
};

/// Block scales of one step, all powers of two: what the products of a row and a column are multiplied by.
struct StepScalesA {
  const float* factor = nullptr;           ///< (kRows, stride), one per step
  const std::int32_t* exponent = nullptr;  ///< the same, each exponent twice in a word
  std::size_t stride = 0;
};
struct StepScalesB {
  const float* factor = nullptr;           ///< (steps, kPanel), columns in the level's own order
  const std::int16_t* exponent = nullptr;  ///< (steps, kPanel), columns in theirs
};
inline constexpr int kMostScale =
    60;  ///< magnitude of an exponent on the quick path: the factor of two scales is a normal float

/// Where the stored elements of a sparse A find their elements of B, (kRows, a_stride) in evaluation order.
struct Selection {
  const std::int32_t* value = nullptr;     ///< offset in b_value
  const std::int32_t* exponent = nullptr;  ///< offset in b_exponent: one per word of A's exponents
};

/// The operands of the general path. They are there after `prepare` for a group of kRows rows: most products
/// never need them.
struct General {
  const float* a_value = nullptr;  ///< as in Multiply
  const std::int32_t* a_exponent = nullptr;
  const float* b_value = nullptr;
  const std::int16_t* b_exponent = nullptr;
  void (*prepare)(void* context, int group, General& general) = nullptr;
  void* context = nullptr;
};

/// Some rows of A times one panel of B: `groups` times kRows rows.
struct Multiply {
  const Rules* rules = nullptr;
  Chunk chunk;
  const float* a_value = nullptr;  ///< (groups * kRows, a_stride)
  const std::int32_t* a_exponent = nullptr;
  std::size_t a_stride = 0;
  const Bounds* a_bounds = nullptr;  ///< (groups, bounds_stride), of each step of kRows rows together
  const float* b_value = nullptr;    ///< (depth, kPanel)
  const std::int16_t* b_exponent = nullptr;
  const Bounds* b_bounds = nullptr;  ///< (steps)
  StepScalesA a_scales;              ///< where the instruction has scales
  StepScalesB b_scales;
  Selection selection;   ///< where A is sparse
  float* sum = nullptr;  ///< (kRows, sum_stride), columns in the level's own order
  std::size_t sum_stride = 0;
  General general;
  int groups = 1;  ///< at most kMostGroups
  std::size_t bounds_stride = 0;
};

struct Level {
  /// kRows rows of A, (kRows, stride) out. `bounds`: (steps).
  void (*pack_a)(const PackSource& source, const Chunk& chunk, const PackedA& out, std::size_t stride,
                 Bounds* bounds);
  /// Panels of B, `stride` elements from one to the next. `bounds`: (panels, bounds_stride), one a step.
  void (*pack_b)(const PackSource& source, const Chunk& chunk, const PackedB& out, std::size_t stride,
                 int panels, Bounds* bounds, int bounds_stride);
  /// kRows * groups x kPanel sums through the steps of a chunk.
  void (*multiply)(const Multiply& work);
  /// total = total + sum to nearest even, sum = +0.
  void (*fold)(float* total, float* sum, std::size_t count, std::uint32_t nan);
  /// Where column `j` of a panel stands.
  int (*place)(int j);
  void (*multiply_integers)(const IntegerMultiply& work);
  void (*multiply_binary64)(const Binary64Multiply& work);
  detail::RowFunctions rows;
};

extern const Level kPortable, kAvx2, kAvx512;

}  // namespace mmaudit::fast
