#pragma once
// Copies to shared memory that a whole block of threads waits for: by the copy engine, which compute
// capability 9.0 brought, before it by all threads.
#include <cstdint>

#include "ptx/async_copy.cuh"
#include "ptx/bulk_copy.cuh"

namespace mmaudit::device {

/// `bytes`, a multiple of 16, both addresses too.
struct CopyPart {
  std::uint32_t to;  ///< an address of shared memory
  const void* from;
  std::uint32_t bytes;
};

/// All threads of a block make one and call it together.
template <int Threads>
class BlockCopy {
 public:
  static constexpr int kSharedWords = 4;  ///< what it needs for itself, aligned to 16 bytes

  __device__ explicit BlockCopy(const std::uint32_t* shared)
      : barrier_(static_cast<std::uint32_t>(__cvta_generic_to_shared(shared))) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x != 0) return;
    barrier_init(barrier_, 1);
    barrier_init_done();
#endif
  }

  /// Begins once every thread is here, and with that done with what stood there. Returns when every byte is
  /// there.
  template <int Parts>
  __device__ __forceinline__ void load(const CopyPart (&parts)[Parts]) {
    __syncthreads();
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
      std::uint32_t bytes = 0;
#pragma unroll
      for (const CopyPart& part : parts) bytes += part.bytes;
      barrier_expect(barrier_, static_cast<int>(bytes));
#pragma unroll
      for (const CopyPart& part : parts)
        copy_bulk(part.to, reinterpret_cast<std::uint64_t>(part.from), part.bytes, barrier_);
    }
    barrier_wait(barrier_, parity_);
    parity_ ^= 1;
#else
#pragma unroll
    for (const CopyPart& part : parts)
      for (std::uint32_t at = 16 * threadIdx.x; at < part.bytes; at += 16 * Threads)
        copy_async(part.to + at, static_cast<const char*>(part.from) + at);
    commit_copies();
    wait_copies<0>();
    __syncthreads();
#endif
  }

 private:
  std::uint32_t barrier_, parity_ = 0;
};

}  // namespace mmaudit::device
