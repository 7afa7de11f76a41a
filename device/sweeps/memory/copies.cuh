#pragma once
// What kernels of the copy engine have in common.
#include "sweeps/engine/timed.cuh"
#include "sweeps/memory/copies.hpp"

namespace mmaudit::sweeps {

#ifdef __CUDACC__

static __global__ void write_words(const TimedArgs args) {
  auto* words = static_cast<std::uint32_t*>(args.memory);
  for (std::uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < args.memory_bytes / 4;
       i += gridDim.x * blockDim.x)
    words[i] = copied_word(static_cast<std::uint32_t>(i));
}
static inline void fill_words(const TimedArgs& args) { write_words<<<1024, 256>>>(args); }

/// Shared memory: stages and the barriers that count their bytes.
extern __shared__ __align__(128) unsigned char copy_bytes[];

/// What a lane found in a stage: words compared, and words that differ.
struct LookedAt {
  std::uint32_t compared = 0, differing = 0;
  __device__ __forceinline__ void add_to(CopyResult& result) const {
    result.copied += compared;
    result.differing += differing;
  }
};

/// The sum over the warp; before sm_80 no instruction has it.
__device__ __forceinline__ std::uint32_t warp_sum(std::uint32_t x) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(~0U, x);
#else
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0U, x, step);
  return x;
#endif
}

/// The sum over the warp of what each lane looked at; its first lane writes the result of the slot.
__device__ __forceinline__ void write_result(CopyResult& result, const TimedArgs& args, const Place& at) {
  result.copied = warp_sum(result.copied);
  result.differing = warp_sum(result.differing);
  if (at.lane == 0) static_cast<CopyResult*>(args.d)[at.slot] = result;
}

#else
inline constexpr std::nullptr_t fill_words = nullptr;
#endif

}  // namespace mmaudit::sweeps
