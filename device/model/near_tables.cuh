#pragma once
// The tables of the special function unit in shared memory, where every thread finds its segment.
#include "mmaudit/functions/segments.hpp"

namespace mmaudit::device {

/// Copied by all threads of a block, which then wait for one another.
template <typename Unit>
__device__ inline void load_tables(Unit& near, const Unit& tables) {
  static_assert(sizeof near % sizeof(std::uint32_t) == 0);
  for (std::uint32_t i = threadIdx.x; i < sizeof near / sizeof(std::uint32_t); i += blockDim.x)
    reinterpret_cast<std::uint32_t*>(&near)[i] = reinterpret_cast<const std::uint32_t*>(&tables)[i];
  __syncthreads();
}

}  // namespace mmaudit::device
