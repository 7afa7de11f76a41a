#pragma once
// How a whole product is cut along K.
#include <cstdint>

#include "mmaudit/matmul.hpp"

namespace mmaudit::detail {

/// x / unit, rounded up.
constexpr std::uint64_t quotient_up(std::uint64_t x, std::uint64_t unit) { return (x + unit - 1) / unit; }

/// Elements of K that a slice of split-K takes, whole instructions of depth k; the last slice may have fewer.
constexpr std::uint64_t slice_length(const Matmul& problem, std::uint64_t k) {
  return quotient_up(quotient_up(problem.k, k), problem.split_k) * k;
}

}  // namespace mmaudit::detail
