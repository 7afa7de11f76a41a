#pragma once
// Random numbers by position: the same seed and place give the same number on every machine and in any order.
#include <cstdint>

#include "mmaudit/splitmix64.hpp"

namespace mmaudit::report {

/// One step of splitmix64() from `x`.
constexpr std::uint64_t mixed(std::uint64_t x) { return splitmix64(x); }

class Draws {
 public:
  explicit constexpr Draws(std::uint64_t seed) : seed_(mixed(seed)) {}

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

}  // namespace mmaudit::report
