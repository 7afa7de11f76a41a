#pragma once
// Reading the clocks around a loop.
#include <cstdint>

#include "mmaudit/sweeps/timed_kernel.hpp"

namespace mmaudit::sweeps {

__device__ __forceinline__ std::int64_t read_clock() {
  std::int64_t now = 0;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
  return now;
}

__device__ __forceinline__ std::uint64_t read_nanoseconds() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

__device__ __forceinline__ std::uint32_t read_multiprocessor() {
  std::uint32_t id = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

/// All warps of the block start together. The timer is read before they wait: it is slow.
__device__ __forceinline__ void start(Stamp& stamp) {
  stamp.multiprocessor = read_multiprocessor();
  stamp.time_begin = read_nanoseconds();
  stamp.clock_enter = read_clock();
  __syncthreads();
  stamp.clock_begin = read_clock();
}

__device__ __forceinline__ void stop(Stamp& stamp) {
  stamp.clock_end = read_clock();
  stamp.time_end = read_nanoseconds();
}

}  // namespace mmaudit::sweeps
