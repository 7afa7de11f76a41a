#pragma once
#include <cstdint>

#include "mmaudit/config.hpp"

namespace mmaudit::detail {

/// x / unit, rounded up.
MMAUDIT_HD constexpr std::uint64_t quotient_up(std::uint64_t x, std::uint64_t unit) {
  return (x + unit - 1) / unit;
}

}  // namespace mmaudit::detail
