#pragma once
// One stamp a block of a whole product.
#include "sweeps/engine/stopwatch.cuh"

namespace mmaudit::sweeps {

__device__ __forceinline__ void start_block(Stamp& stamp) {
  if (threadIdx.x != 0) return;
  stamp.time_begin = read_nanoseconds();
  stamp.clock_enter = stamp.clock_begin = read_clock();
}

/// Every thread of the block calls this.
__device__ __forceinline__ void stop_block(Stamp& stamp, Stamp* stamps) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  stop(stamp);
  stamps[blockIdx.y * gridDim.x + blockIdx.x] = stamp;
}

}  // namespace mmaudit::sweeps
