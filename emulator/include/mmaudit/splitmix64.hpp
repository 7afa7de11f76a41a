#pragma once
// Seeded random numbers, the same on host and device: words of splitmix64 and what is drawn with them.
// Source: S. Vigna's splitmix64, public domain.
#include <cstddef>
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

/// The first word of the stream of `seed`.
MMAUDIT_HD constexpr std::uint64_t mixed(std::uint64_t seed) { return splitmix64(seed); }

/// A stream of independent words, one after another. Recordings and plan samples hold what came out of it.
struct Draws {
  std::uint64_t state = 0;

  MMAUDIT_HD constexpr std::uint64_t next() { return splitmix64(state); }
  // By the remainder of a word.
  MMAUDIT_HD constexpr std::uint64_t below(std::uint64_t count) { return next() % count; }
  /// Both included.
  MMAUDIT_HD constexpr int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  MMAUDIT_HD constexpr bool one_in(std::uint64_t count) { return below(count) == 0; }
  template <class Value, std::size_t Count>
  constexpr Value of(const Value (&values)[Count]) {
    return values[below(Count)];
  }
  // By the upper half of a word, scaled: what kGeneratorVersion fixes.
  /// Both included.
  MMAUDIT_HD constexpr int in(int low, int high) {
    const auto span = static_cast<std::uint64_t>(std::int64_t{high} - low + 1);
    return low + static_cast<int>(static_cast<std::int64_t>(((next() >> 32) * span) >> 32));
  }
  MMAUDIT_HD constexpr bool once_in(int count) { return in(1, count) == 1; }
};

/// Numbers by their place: the same seed and place give the same number in any order.
class PlacedDraws {
 public:
  explicit constexpr PlacedDraws(std::uint64_t seed) : seed_(mixed(seed)) {}

  /// In (0, 1).
  [[nodiscard]] constexpr double uniform(std::uint64_t place) const {
    return (static_cast<double>(mixed(seed_ ^ mixed(place)) >> 12) + 0.5) * 0x1p-52;
  }
  /// Below `count`; the bias is below count / 2^64.
  [[nodiscard]] constexpr std::uint64_t below(std::uint64_t count, std::uint64_t place) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(static_cast<Wide>(mixed(seed_ ^ mixed(place))) * count >> 64);
  }

 private:
  std::uint64_t seed_;
};

}  // namespace mmaudit
