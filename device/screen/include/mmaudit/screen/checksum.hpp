#pragma once
// The checksum that a thread makes of its accumulators and compares with the model's.
#include <cstdint>

#include "mmaudit/config.hpp"

namespace mmaudit::screen {

/// Words of 32 bits that one thread's checksum covers, at most.
inline constexpr int kMostWords = 128;

/// The factor of a word: odd, from 2^31 up to 2^32, and another one for each word.
MMAUDIT_HD constexpr std::uint32_t checksum_weight(int word) {
  return 0x80000001U | (static_cast<std::uint32_t>(word) * 0x9E3779B2U + 0x3C6EF372U);
}

/// What: the sum of words times weights modulo 2^64; one more word of it. Range: with a wrong word the sum
/// moves by less than 2^64 and not by 0, so every error in one word changes it. Two flipped bits in two words
/// change it too: 2^p w_i = 2^q w_j would make the odd weights equal, and w_i + w_j < 2^33 is no power of two
/// that 2^64 / 2^p could be. Of any two errors, the second has one value in 2^32 that hides the first.
MMAUDIT_HD constexpr std::uint64_t add_to_checksum(std::uint64_t sum, int word, std::uint32_t value) {
  return sum + std::uint64_t{value} * checksum_weight(word);
}

}  // namespace mmaudit::screen
