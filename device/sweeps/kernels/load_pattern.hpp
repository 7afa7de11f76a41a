#pragma once
// What shared memory holds while loads are timed, and what a lane must therefore end up with.
#include <cstdint>

#include "mmaudit/config.hpp"

namespace mmaudit::sweeps {

/// The widest access pattern: 32 lanes, 8 ways of 4 bytes apart; and 32 rows of 16 bytes.
inline constexpr int kPatternBytes = 32 * 32;
inline constexpr int kStoreBytesPerWarp = 32 * 16;
/// The largest matrix of wmma: 16 x 16 of 4 bytes.
inline constexpr int kFragmentBytes = 16 * 16 * 4;
static_assert(kFragmentBytes <= kPatternBytes);
/// Words that a lane writes out, used or not.
inline constexpr int kLoadWords = 8;

MMAUDIT_HD constexpr std::uint32_t pattern_word(int word) {
  return 0x9E3779B9U * (static_cast<std::uint32_t>(word) + 1);
}

/// Which 16-bit element of a transposed 8 x 8 matrix a lane gets in the low (0) or high (1) half of its
/// register. Source: PTX ISA 9.0, ldmatrix, ".trans".
MMAUDIT_HD constexpr int transposed_half(int lane, int half) {
  return 8 * (2 * (lane % 4) + half) + lane / 4;
}

/// Word w of a lane after any number of loads; `matrices` 0: ld.shared with `stride` bytes between lanes.
MMAUDIT_HD constexpr std::uint32_t expected_word(int matrices, bool trans, int stride, int lane, int w) {
  if (w == 0) return static_cast<std::uint32_t>(stride * lane);  // relative to the start of shared memory
  if (matrices == 0) return pattern_word(stride * lane / 4 + w);
  if (!trans) return pattern_word(32 * w + lane);
  const auto element = [w](int half) {
    const std::uint32_t word = pattern_word(32 * w + half / 2);
    return half % 2 == 0 ? word & 0xFFFFU : word >> 16;
  };
  return element(transposed_half(lane, 0)) | element(transposed_half(lane, 1)) << 16;
}

}  // namespace mmaudit::sweeps
