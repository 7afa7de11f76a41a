#pragma once
#include <cstdint>

#include "mmaudit/config.hpp"

namespace mmaudit::detail {

/// x / unit, rounded up, for every x.
MMAUDIT_HD constexpr std::uint64_t quotient_up(std::uint64_t x, std::uint64_t unit) {
  return x / unit + (x % unit != 0 ? 1U : 0U);
}

}  // namespace mmaudit::detail
