#pragma once
// How a whole product is cut along K: the host's and the GPU's.
#include <cstdint>

#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/matmul.hpp"

namespace mmaudit::detail {

/// Elements of K that a slice of split-K takes, whole instructions of depth k; the last slice may have fewer,
/// and where there are fewer instructions than slices, some have none.
constexpr std::uint64_t slice_length(const Matmul& problem, std::uint64_t k) {
  const std::uint64_t instructions = quotient_up(problem.k, k);
  if (problem.split_k >= instructions) return instructions == 0 ? 0 : k;
  return quotient_up(instructions, problem.split_k) * k;
}

}  // namespace mmaudit::detail
