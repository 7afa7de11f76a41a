#pragma once
// Whole products for the timing model: D = A * B, n x n x n, each kernel in the plainest form of its kind.
// The disassembly of these kernels is what `mmaudit time gemm` runs, so each is one loop over k without
// branches that depend on data. Operands are -1, 0 and 1: every sum is exact in every type.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

namespace whole {

/// What a block leaves: its multiprocessor, and when it began and ended by the clock of that multiprocessor
/// and by the timer of the GPU.
struct Stamp {
  unsigned long long clock_begin, clock_end, time_begin, time_end;
  unsigned sm, unused;
};

__device__ __forceinline__ unsigned long long now_cycles() {
  unsigned long long value;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(value)::"memory");
  return value;
}
__device__ __forceinline__ unsigned long long now_nanoseconds() {
  unsigned long long value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}
/// Thread 0 reads the clocks, behind a barrier at the end: all threads of the block have issued their stores.
struct Watch {
  unsigned long long clock, time;
  __device__ __forceinline__ Watch() : clock(now_cycles()), time(now_nanoseconds()) {}
  __device__ __forceinline__ void stop(Stamp* stamps) const {
    __syncthreads();
    if (threadIdx.x != 0) return;
    unsigned sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    stamps[blockIdx.y * gridDim.x + blockIdx.x] = {clock, now_cycles(), time, now_nanoseconds(), sm, 0};
  }
};

extern __shared__ __align__(1024) unsigned char memory[];

// ---- wmma straight from global memory
// -----------------------------------------------------------------------
template <typename T>
constexpr int kDepthOf = sizeof(T) == 4 ? 8 : 16;
template <typename T>
struct Wmma {
  using Element = T;
};
template <>
struct Wmma<float> {
  using Element = nvcuda::wmma::precision::tf32;
};

/// Two by two warps, each kParts x kParts tiles of 16 x 16. A and B have rows along k.
template <typename T, typename Sum, int kParts>
__global__ void __launch_bounds__(128) wmma_global(const T* a, const T* b, Sum* d, Stamp* stamps, int n) {
  using namespace nvcuda::wmma;
  constexpr int kDepth = kDepthOf<T>, kSide = 16 * kParts;
  using Element = typename Wmma<T>::Element;
  const Watch watch;
  const int warp = threadIdx.x / 32;
  const int row = (blockIdx.y * 2 + warp / 2) * kSide, column = (blockIdx.x * 2 + warp % 2) * kSide;
  fragment<accumulator, 16, 16, kDepth, Sum> sum[kParts][kParts];
  for (int i = 0; i < kParts; ++i)
    for (int j = 0; j < kParts; ++j) fill_fragment(sum[i][j], Sum(0));
#pragma unroll 1
  for (int k = 0; k < n; k += kDepth) {
    fragment<matrix_a, 16, 16, kDepth, Element, row_major> x[kParts];
    fragment<matrix_b, 16, 16, kDepth, Element, col_major> y[kParts];
#pragma unroll
    for (int i = 0; i < kParts; ++i) {
      load_matrix_sync(x[i], a + static_cast<std::size_t>(row + 16 * i) * n + k, n);
      load_matrix_sync(y[i], b + static_cast<std::size_t>(column + 16 * i) * n + k, n);
    }
#pragma unroll
    for (int i = 0; i < kParts; ++i)
#pragma unroll
      for (int j = 0; j < kParts; ++j) mma_sync(sum[i][j], x[i], y[j], sum[i][j]);
  }
  for (int i = 0; i < kParts; ++i)
    for (int j = 0; j < kParts; ++j)
      store_matrix_sync(d + static_cast<std::size_t>(row + 16 * i) * n + column + 16 * j, sum[i][j], n,
                        mem_row_major);
  watch.stop(stamps);
}

// ---- wmma through shared memory
// -----------------------------------------------------------------------------
/// Rows of 128 bytes along k and 16 bytes between them; four warps of kSide/2 each way.
template <typename T, typename Sum, int kSide>
__global__ void __launch_bounds__(128) wmma_shared(const T* a, const T* b, Sum* d, Stamp* stamps, int n) {
  using namespace nvcuda::wmma;
  constexpr int kStep = kDepthOf<T>, kDepth = 128 / sizeof(T), kRow = kDepth + 16 / sizeof(T);
  constexpr int kParts = kSide / 32, kCopies = kSide * 8 / 128;
  using Element = typename Wmma<T>::Element;
  const Watch watch;
  T* const tile_a = reinterpret_cast<T*>(memory);
  T* const tile_b = tile_a + kSide * kRow;
  const int warp = threadIdx.x / 32, row = warp / 2 * (kSide / 2), column = warp % 2 * (kSide / 2);
  fragment<accumulator, 16, 16, kStep, Sum> sum[kParts][kParts];
  for (int i = 0; i < kParts; ++i)
    for (int j = 0; j < kParts; ++j) fill_fragment(sum[i][j], Sum(0));
  const int chunk = threadIdx.x % 8 * (16 / sizeof(T)), first = threadIdx.x / 8;
#pragma unroll 1
  for (int k = 0; k < n; k += kDepth) {
    uint4 from_a[kCopies], from_b[kCopies];
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      from_a[i] = *reinterpret_cast<const uint4*>(
          a + static_cast<std::size_t>(blockIdx.y * kSide + first + 16 * i) * n + k + chunk);
      from_b[i] = *reinterpret_cast<const uint4*>(
          b + static_cast<std::size_t>(blockIdx.x * kSide + first + 16 * i) * n + k + chunk);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      *reinterpret_cast<uint4*>(tile_a + (first + 16 * i) * kRow + chunk) = from_a[i];
      *reinterpret_cast<uint4*>(tile_b + (first + 16 * i) * kRow + chunk) = from_b[i];
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kDepth; step += kStep) {
      fragment<matrix_a, 16, 16, kStep, Element, row_major> x[kParts];
      fragment<matrix_b, 16, 16, kStep, Element, col_major> y[kParts];
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        load_matrix_sync(x[i], tile_a + (row + 16 * i) * kRow + step, kRow);
        load_matrix_sync(y[i], tile_b + (column + 16 * i) * kRow + step, kRow);
      }
#pragma unroll
      for (int i = 0; i < kParts; ++i)
#pragma unroll
        for (int j = 0; j < kParts; ++j) mma_sync(sum[i][j], x[i], y[j], sum[i][j]);
    }
  }
  for (int i = 0; i < kParts; ++i)
    for (int j = 0; j < kParts; ++j)
      store_matrix_sync(d + static_cast<std::size_t>(blockIdx.y * kSide + row + 16 * i) * n +
                            blockIdx.x * kSide + column + 16 * j,
                        sum[i][j], n, mem_row_major);
  watch.stop(stamps);
}

// ---- binary64
// -----------------------------------------------------------------------------------------------
/// wmma m8n8k4 through shared memory: tiles of 64 x 64 x 16, four warps of 32 x 32.
static __global__ void __launch_bounds__(128)
    wmma_double(const double* a, const double* b, double* d, Stamp* stamps, int n) {
  using namespace nvcuda::wmma;
  constexpr int kSide = 64, kDepth = 16, kRow = kDepth + 2, kParts = 4, kCopies = kSide * 8 / 128;
  const Watch watch;
  double* const tile_a = reinterpret_cast<double*>(memory);
  double* const tile_b = tile_a + kSide * kRow;
  const int warp = threadIdx.x / 32, row = warp / 2 * 32, column = warp % 2 * 32;
  fragment<accumulator, 8, 8, 4, double> sum[kParts][kParts];
  for (int i = 0; i < kParts; ++i)
    for (int j = 0; j < kParts; ++j) fill_fragment(sum[i][j], 0.0);
  const int chunk = threadIdx.x % 8 * 2, first = threadIdx.x / 8;
#pragma unroll 1
  for (int k = 0; k < n; k += kDepth) {
    double2 from_a[kCopies], from_b[kCopies];
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      from_a[i] = *reinterpret_cast<const double2*>(
          a + static_cast<std::size_t>(blockIdx.y * kSide + first + 16 * i) * n + k + chunk);
      from_b[i] = *reinterpret_cast<const double2*>(
          b + static_cast<std::size_t>(blockIdx.x * kSide + first + 16 * i) * n + k + chunk);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      *reinterpret_cast<double2*>(tile_a + (first + 16 * i) * kRow + chunk) = from_a[i];
      *reinterpret_cast<double2*>(tile_b + (first + 16 * i) * kRow + chunk) = from_b[i];
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < kDepth; step += 4) {
      fragment<matrix_a, 8, 8, 4, double, row_major> x[kParts];
      fragment<matrix_b, 8, 8, 4, double, col_major> y[kParts];
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        load_matrix_sync(x[i], tile_a + (row + 8 * i) * kRow + step, kRow);
        load_matrix_sync(y[i], tile_b + (column + 8 * i) * kRow + step, kRow);
      }
#pragma unroll
      for (int i = 0; i < kParts; ++i)
#pragma unroll
        for (int j = 0; j < kParts; ++j) mma_sync(sum[i][j], x[i], y[j], sum[i][j]);
    }
  }
  for (int i = 0; i < kParts; ++i)
    for (int j = 0; j < kParts; ++j)
      store_matrix_sync(d + static_cast<std::size_t>(blockIdx.y * kSide + row + 8 * i) * n +
                            blockIdx.x * kSide + column + 8 * j,
                        sum[i][j], n, mem_row_major);
  watch.stop(stamps);
}

// ---- without tensor cores
// -----------------------------------------------------------------------------------
/// 128 x 128 x 8 (half: 16) tiles, 256 threads of 8 x 8. A and B have rows along m and n. kAhead: the next
/// tile is loaded from global memory while this one is multiplied.
template <bool kAhead>
__global__ void __launch_bounds__(256, 2)
    sgemm(const float* a, const float* b, float* d, Stamp* stamps, int n) {
  constexpr int kSide = 128, kDepth = 8;
  const Watch watch;
  float* const tile_a = reinterpret_cast<float*>(memory);
  float* const tile_b = tile_a + kDepth * kSide;
  const int line = threadIdx.x / 32, place = threadIdx.x % 32 * 4;
  const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;
  const float* from_a = a + static_cast<std::size_t>(line) * n + blockIdx.y * kSide + place;
  const float* from_b = b + static_cast<std::size_t>(line) * n + blockIdx.x * kSide + place;
  float sum[8][8] = {};
  float4 next_a, next_b;
  if (kAhead) {
    next_a = *reinterpret_cast<const float4*>(from_a);
    next_b = *reinterpret_cast<const float4*>(from_b);
  }
#pragma unroll 1
  for (int k = 0; k < n; k += kDepth) {
    if (!kAhead) {
      next_a = *reinterpret_cast<const float4*>(from_a);
      next_b = *reinterpret_cast<const float4*>(from_b);
      from_a += static_cast<std::size_t>(kDepth) * n;
      from_b += static_cast<std::size_t>(kDepth) * n;
    }
    __syncthreads();
    *reinterpret_cast<float4*>(tile_a + line * kSide + place) = next_a;
    *reinterpret_cast<float4*>(tile_b + line * kSide + place) = next_b;
    __syncthreads();
    if (kAhead) {
      // The last trip loads its own tile again.
      const std::size_t step = k + kDepth < n ? static_cast<std::size_t>(kDepth) * n : 0;
      from_a += step;
      from_b += step;
      next_a = *reinterpret_cast<const float4*>(from_a);
      next_b = *reinterpret_cast<const float4*>(from_b);
    }
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      float x[8], y[8];
      *reinterpret_cast<float4*>(x) = *reinterpret_cast<float4*>(tile_a + i * kSide + row);
      *reinterpret_cast<float4*>(x + 4) = *reinterpret_cast<float4*>(tile_a + i * kSide + 64 + row);
      *reinterpret_cast<float4*>(y) = *reinterpret_cast<float4*>(tile_b + i * kSide + column);
      *reinterpret_cast<float4*>(y + 4) = *reinterpret_cast<float4*>(tile_b + i * kSide + 64 + column);
#pragma unroll
      for (int p = 0; p < 8; ++p)
#pragma unroll
        for (int q = 0; q < 8; ++q) sum[p][q] = fmaf(x[p], y[q], sum[p][q]);
    }
  }
#pragma unroll
  for (int p = 0; p < 8; ++p) {
    float* const to = d + static_cast<std::size_t>(blockIdx.y * kSide + row + p % 4 + p / 4 * 64) * n +
                      blockIdx.x * kSide + column;
    *reinterpret_cast<float4*>(to) = make_float4(sum[p][0], sum[p][1], sum[p][2], sum[p][3]);
    *reinterpret_cast<float4*>(to + 64) = make_float4(sum[p][4], sum[p][5], sum[p][6], sum[p][7]);
  }
  watch.stop(stamps);
}

/// The same by HFMA2, 128 x 128 x 16.
template <bool kAhead>
__global__ void __launch_bounds__(256, 2)
    hgemm(const __half* a, const __half* b, __half* d, Stamp* stamps, int n) {
  constexpr int kSide = 128, kDepth = 16;
  const Watch watch;
  __half* const tile_a = reinterpret_cast<__half*>(memory);
  __half* const tile_b = tile_a + kDepth * kSide;
  const int line = threadIdx.x / 16, place = threadIdx.x % 16 * 8;
  const int row = threadIdx.x / 16 * 8, column = threadIdx.x % 16 * 8;
  const __half* from_a = a + static_cast<std::size_t>(line) * n + blockIdx.y * kSide + place;
  const __half* from_b = b + static_cast<std::size_t>(line) * n + blockIdx.x * kSide + place;
  __half2 sum[8][4] = {};
  uint4 next_a, next_b;
  if (kAhead) {
    next_a = *reinterpret_cast<const uint4*>(from_a);
    next_b = *reinterpret_cast<const uint4*>(from_b);
  }
#pragma unroll 1
  for (int k = 0; k < n; k += kDepth) {
    if (!kAhead) {
      next_a = *reinterpret_cast<const uint4*>(from_a);
      next_b = *reinterpret_cast<const uint4*>(from_b);
      from_a += static_cast<std::size_t>(kDepth) * n;
      from_b += static_cast<std::size_t>(kDepth) * n;
    }
    __syncthreads();
    *reinterpret_cast<uint4*>(tile_a + line * kSide + place) = next_a;
    *reinterpret_cast<uint4*>(tile_b + line * kSide + place) = next_b;
    __syncthreads();
    if (kAhead) {
      const std::size_t step = k + kDepth < n ? static_cast<std::size_t>(kDepth) * n : 0;
      from_a += step;
      from_b += step;
      next_a = *reinterpret_cast<const uint4*>(from_a);
      next_b = *reinterpret_cast<const uint4*>(from_b);
    }
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      __half x[8];
      __half2 y[4];
      *reinterpret_cast<uint4*>(x) = *reinterpret_cast<uint4*>(tile_a + i * kSide + row);
      *reinterpret_cast<uint4*>(y) = *reinterpret_cast<uint4*>(tile_b + i * kSide + column);
#pragma unroll
      for (int p = 0; p < 8; ++p)
#pragma unroll
        for (int q = 0; q < 4; ++q) sum[p][q] = __hfma2(__half2half2(x[p]), y[q], sum[p][q]);
    }
  }
#pragma unroll
  for (int p = 0; p < 8; ++p)
    *reinterpret_cast<uint4*>(d + static_cast<std::size_t>(blockIdx.y * kSide + row + p) * n +
                              blockIdx.x * kSide + column) = *reinterpret_cast<uint4*>(sum[p]);
  watch.stop(stamps);
}

}  // namespace whole
