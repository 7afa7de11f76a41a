#pragma once
// The clock around single wmma operations.
#include "whole.cuh"

namespace whole {

// ---- profiles of single wmma operations
// ---------------------------------------------------------------------
__device__ __forceinline__ unsigned cycles() {
  unsigned value;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(value)::"memory");
  return value;
}
/// Waits until a word is there: a comparison reads it.
__device__ __forceinline__ void wait_for(std::uint32_t word) {
  asm volatile("{.reg .pred p; setp.eq.u32 p, %0, 0x7fc01234; @p trap;}" ::"r"(word) : "memory");
}
template <typename Fragment>
__device__ __forceinline__ void wait_for_all(Fragment& fragment) {
  std::uint32_t all = 0;
  constexpr int kWords = sizeof(fragment.x) / 4;
#pragma unroll
  for (int i = 0; i < kWords; ++i) all |= reinterpret_cast<std::uint32_t*>(fragment.x)[i];
  wait_for(all);
}

/// Raihan et al., section V-C: the clock around each wmma.load of A and B, mma and store. One warp has 16 x
/// 16 of D, a block four by four warps; with kShared the tiles of 64 x 64 x 16 go through shared memory.
/// `records`: of every 8th block, four words of 16 bits per warp and step: load A, load B, mma, and store.
template <bool kShared>
__global__ void __launch_bounds__(512)
    profile(const __half* a, const __half* b, float* d, unsigned* records, int n, int every) {
  using namespace nvcuda::wmma;
  constexpr int kRow = 16 + 8;
  __half* const tile_a = reinterpret_cast<__half*>(memory);
  __half* const tile_b = tile_a + 64 * kRow;
  const int warp = threadIdx.x / 32, row = warp / 4 * 16, column = warp % 4 * 16;
  const int block = blockIdx.y * gridDim.x + blockIdx.x, steps = n / 16;
  const bool recorded = block % every == 0 && threadIdx.x % 32 == 0;
  unsigned* to = records + (static_cast<std::size_t>(block / every) * 16 + warp) * (steps * 3 + 1);
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
#pragma unroll 1
  for (int k = 0; k < n; k += 16) {
    fragment<matrix_a, 16, 16, 16, __half, row_major> x;
    fragment<matrix_b, 16, 16, 16, __half, col_major> y;
    const __half *at_a = a + static_cast<std::size_t>(blockIdx.y * 64 + row) * n + k,
                 *at_b = b + static_cast<std::size_t>(blockIdx.x * 64 + column) * n + k;
    int pitch = n;
    if (kShared) {
      __syncthreads();
      if (threadIdx.x < 256) {
        const bool is_b = threadIdx.x >= 128;
        const int r = threadIdx.x % 128 / 2, c = threadIdx.x % 2 * 8;
        const __half* from = (is_b ? b + static_cast<std::size_t>(blockIdx.x * 64 + r) * n
                                   : a + static_cast<std::size_t>(blockIdx.y * 64 + r) * n) +
                             k + c;
        *reinterpret_cast<uint4*>((is_b ? tile_b : tile_a) + r * kRow + c) =
            *reinterpret_cast<const uint4*>(from);
      }
      __syncthreads();
      at_a = tile_a + row * kRow;
      at_b = tile_b + column * kRow;
      pitch = kRow;
    }
    const unsigned t0 = cycles();
    if (kShared)
      load_matrix_sync(x, tile_a + row * kRow, kRow);
    else
      load_matrix_sync(x, at_a, pitch);
    wait_for_all(x);
    const unsigned t1 = cycles();
    if (kShared)
      load_matrix_sync(y, tile_b + column * kRow, kRow);
    else
      load_matrix_sync(y, at_b, pitch);
    wait_for_all(y);
    const unsigned t2 = cycles();
    mma_sync(sum, x, y, sum);
    wait_for_all(sum);
    const unsigned t3 = cycles();
    if (recorded) {
      to[0] = t1 - t0;
      to[1] = t2 - t1;
      to[2] = t3 - t2;
      to += 3;
    }
  }
  const unsigned t4 = cycles();
  store_matrix_sync(d + static_cast<std::size_t>(blockIdx.y * 64 + row) * n + blockIdx.x * 64 + column, sum,
                    n, mem_row_major);
  const unsigned t5 = cycles();
  if (recorded) to[0] = t5 - t4;
}

}  // namespace whole
