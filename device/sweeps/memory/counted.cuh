#pragma once
// A number that a kernel counts.
#include <cstdint>

#include "run/cuda_check.hpp"

namespace mmaudit::sweeps {

/// What launch(count), with a count of 0 in device memory, has added to it.
template <typename Launch>
std::uint64_t counted(const Launch& launch) {
  unsigned long long found = 0;
  const device::Buffer count(sizeof(found));
  device::cuda_check(cudaMemset(count.data(), 0, sizeof(found)), "clearing a count");
  launch(count.data<unsigned long long>());
  device::cuda_check(cudaGetLastError(), "counting");
  device::copy_out(&found, count.data(), sizeof(found));
  return found;
}

}  // namespace mmaudit::sweeps
