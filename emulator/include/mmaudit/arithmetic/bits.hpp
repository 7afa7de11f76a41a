#pragma once
// Small integer helpers that compile for host and device (std::countl_zero does not in device code).
#include <cstdint>

#include "mmaudit/config.hpp"

namespace mmaudit {

/// Position of the highest set bit; x must not be zero.
MMAUDIT_HD constexpr int floor_log2(std::uint64_t x) {
  if (!__builtin_is_constant_evaluated()) return 63 - MMAUDIT_COUNT_LEADING_ZEROS(x);
  int position = 0;
  for (int step = 32; step > 0; step /= 2) {
    if ((x >> step) != 0) {
      x >>= step;
      position += step;
    }
  }
  return position;
}

/// x >> shift with every shift from 0 upwards defined.
MMAUDIT_HD constexpr std::uint64_t shift_right(std::uint64_t x, int shift) {
  return shift > 63 ? 0 : x >> shift;
}

/// x >> shift, with 1 OR-ed in when a set bit was shifted out ("jam"): keeps any later rounding correct.
MMAUDIT_HD constexpr std::uint64_t shift_right_jam(std::uint64_t x, int shift) {
  if (shift == 0) return x;
  if (shift > 63) return x != 0 ? 1 : 0;
  return (x >> shift) | ((x & ((std::uint64_t{1} << shift) - 1)) != 0 ? 1U : 0U);
}

MMAUDIT_HD constexpr std::uint64_t magnitude(std::int64_t x) {
  return x < 0 ? ~static_cast<std::uint64_t>(x) + 1 : static_cast<std::uint64_t>(x);
}

}  // namespace mmaudit
