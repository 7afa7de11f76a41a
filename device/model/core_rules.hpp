#pragma once
// A datapath as the fast kernels need it. Plain data, passed to kernels by value.
#include <cstdint>
#include <optional>

#include "mmaudit/detail/stored_bits.hpp"
#include "mmaudit/dot.hpp"

namespace mmaudit::device {

/// Raw bits of one format -> the high word of the binary64 that is their magnitude (its low word is zero),
/// and the exponent that the datapath sees.
struct CoreDecode : detail::StoredBits {  // with at most 12 fraction bits
  std::int32_t rebias = 0;                ///< 1023 minus the format's bias
  std::int32_t least = 0;                 ///< exponent of the last bit of a subnormal
  bool nan_at_minus_zero = false;
};

inline constexpr int kCoreDepth = 64;  ///< most positions of one instruction

/// Datapaths of two stages, as AMD's CDNA3 has them: most products of a partial sum, F, bits of their sum
/// with C, and an exponent that no product is below.
inline constexpr int kStagedStep = 8, kStagedFraction = 24, kStagedSumFraction = 31, kStagedFloor = -253;

struct CoreRules {
  CoreDecode a, b;
  std::int32_t fraction_bits = 0;  ///< F
  std::int32_t floor = 0;
  std::int32_t addend_min_exponent = 0;  ///< of the sums' format
  std::uint32_t keep_mask = 0;           ///< bits of a binary32 result that stay
  /// E from which a sum has no place that the sums' format lacks near zero, and no C below its least exponent
  /// matters.
  std::int32_t least_tame = 0;
  float limit = 0;             ///< 2^(the largest exponent of the sums' format)
  std::int32_t most_tame = 0;  ///< E below which every sum is far below the largest of the sums' format
  bool may_carry = false;      ///< a step's sum may have 2^31 units of 2^(E - F)
  std::uint32_t nan = 0;       ///< of the sums' format
  std::int32_t depth = 0;      ///< positions of one instruction, a power of two
  std::int32_t products = 0;   ///< of one step: for a sparse instruction fewer than `step`
  std::int32_t step = 0;       ///< products of one step, divides `depth`
  bool half = false;           ///< sums are binary16, rounded to nearest even; else binary32, cut off
  bool c_half = false;         ///< C is binary16; its values are exact in the sums' format
  bool d_half = false;         ///< D is binary16: the last sum rounded to nearest even
  std::uint32_t d_nan = 0;     ///< of D's format
  bool two_stages = false;     ///< products are aligned by themselves, then their sum with C
  std::int32_t sums = 1;       ///< of two stages: partial sums, the positions of each behind one another
  bool drops_far = false;      ///< of two stages: a C below its last bit is 0
  bool addend_last = false;    ///< C is added after the steps of an instruction, by an ordinary add
  std::int8_t order[kCoreDepth] = {};  ///< position -> k
};

/// Positions of a sparse instruction count the whole depth, as if A had zeros where it stores nothing. Block
/// scales are no rule: an operand is unpacked with its scale.
/// nullopt when the fast kernels can't serve the datapath; the plain model serves every one. C and D need not
/// be of the sums' format (c_half, d_half).
std::optional<CoreRules> core_rules(const DotSpec& spec);

}  // namespace mmaudit::device
