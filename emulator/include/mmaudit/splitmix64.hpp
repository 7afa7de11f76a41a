#pragma once
// Seeded 64-bit words, the same on host and device. Source: S. Vigna's splitmix64, public domain.
#include <cstdint>

#include "mmaudit/config.hpp"

namespace mmaudit {

/// A permutation of 64-bit words: finaliser of MurmurHash3, variant 13 of Stafford.
MMAUDIT_HD constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9U;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

/// The next word of the stream that `state` stands in.
MMAUDIT_HD constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  return mix(state += 0x9E3779B97F4A7C15U);
}

}  // namespace mmaudit
