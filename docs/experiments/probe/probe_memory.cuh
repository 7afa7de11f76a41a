#pragma once
// What loads and stores cost: probe.cu.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define CK(x)                                                         \
  do {                                                                \
    cudaError_t e_ = (x);                                             \
    if (e_ != cudaSuccess) {                                          \
      std::printf("error,%s,%d\n", cudaGetErrorString(e_), __LINE__); \
      std::exit(2);                                                   \
    }                                                                 \
  } while (0)
__device__ __forceinline__ unsigned clk() {
  unsigned v;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(v)::"memory");
  return v;
}
__device__ __forceinline__ unsigned smid() {
  unsigned v;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(v));
  return v;
}
// ---- loads of kWidth bytes per lane
template <int kWidth>
__device__ __forceinline__ unsigned load(const unsigned char* p) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if constexpr (kWidth == 4) asm volatile("ld.global.b32 %0, [%1];" : "=r"(a) : "l"(p) : "memory");
  if constexpr (kWidth == 8)
    asm volatile("ld.global.v2.b32 {%0,%1}, [%2];" : "=r"(a), "=r"(b) : "l"(p) : "memory");
  if constexpr (kWidth == 16)
    asm volatile("ld.global.v4.b32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "l"(p)
                 : "memory");
  return a ^ b ^ c ^ d;
}
// ---- stores, R rows per store
template <int kWidth>
__global__ void stores(unsigned char* base, unsigned* out, int row_count, long stride, int step, int reps) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, per = 32 / row_count;
  unsigned char* p = base + (size_t)blockIdx.x * (1 << 20) + (lane / per) * stride + (lane % per) * kWidth +
                     warp * row_count * stride;
  __syncthreads();
  const unsigned begin = clk();
#pragma unroll 1
  for (int r = 0; r < reps; ++r) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      unsigned char* q = p + i * step;
      if constexpr (kWidth == 4) asm volatile("st.global.b32 [%0], %1;" ::"l"(q), "r"(r) : "memory");
      if constexpr (kWidth == 8) asm volatile("st.global.v2.b32 [%0], {%1,%1};" ::"l"(q), "r"(r) : "memory");
      if constexpr (kWidth == 16)
        asm volatile("st.global.v4.b32 [%0], {%1,%1,%1,%1};" ::"l"(q), "r"(r) : "memory");
    }
  }
  __syncthreads();
  const unsigned last = clk();
  if (threadIdx.x == 0) out[blockIdx.x] = last - begin;
}
template <int kWidth>
void run_stores(int blocks, int warps, int row_count, long stride, int step) {
  static unsigned char* to = nullptr;
  static unsigned* out = nullptr;
  if (!to) {
    CK(cudaMalloc(&to, 256 << 20));
    CK(cudaMalloc(&out, 4 * 132));
  }
  for (int reps : {1, 16}) {
    std::vector<unsigned> v(blocks);
    for (int i = 0; i < 3; ++i) {
      stores<kWidth><<<blocks, 32 * warps>>>(to, out, row_count, stride, step, reps);
      CK(cudaDeviceSynchronize());
    }
    CK(cudaMemcpy(v.data(), out, 4 * blocks, cudaMemcpyDeviceToHost));
    std::sort(v.begin(), v.end());
    std::printf(
        "stores,blocks %d,width %d,rows %d,stride %ld,step %d,warps %d,reps %d,%.3f cycles per store\n",
        blocks, kWidth, row_count, stride, step, warps, reps, double(v[blocks / 2]) / (reps * 8.0 * warps));
  }
}

// ---- L2 reads, per multiprocessor, by how many are at work. 4 warps x 8 x 16 bytes; rows of `row` bytes.
__global__ void __launch_bounds__(512)
    l2_read(const uint4* from, unsigned* out, unsigned* sink, size_t words, int per_row, int reps, int own) {
  unsigned x = 0;
  const size_t start = own ? (size_t)blockIdx.x * (words / 132) : 0, mine = own ? words / 132 : words;
  size_t at = threadIdx.x;
  __syncthreads();
  const unsigned begin = clk();
#pragma unroll 1
  for (int r = 0; r < reps; ++r) {
    uint4 y[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      asm volatile("ld.global.cg.v4.b32 {%0,%1,%2,%3}, [%4];"
                   : "=r"(y[i].x), "=r"(y[i].y), "=r"(y[i].z), "=r"(y[i].w)
                   : "l"(from + start + (at % mine))
                   : "memory");
      at += blockDim.x;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) x ^= y[i].x ^ y[i].y ^ y[i].z ^ y[i].w;
  }
  __syncthreads();
  const unsigned end = clk();
  if (threadIdx.x == 0) out[blockIdx.x] = end - begin;
  if (x == 0x12345) *sink = x;
}
void run_l2(int blocks, int warps, int own, size_t bytes) {
  static uint4* from = nullptr;
  static unsigned* out = nullptr;
  if (!from) {
    CK(cudaMalloc(&from, 64 << 20));
    CK(cudaMemset(from, 0, 64 << 20));
    CK(cudaMalloc(&out, 4 * 200));
  }
  const int reps = 256;
  for (int i = 0; i < 3; ++i) {
    l2_read<<<blocks, 32 * warps>>>(from, out, out + 190, bytes / 16, 0, reps, own);
    CK(cudaDeviceSynchronize());
  }
  std::vector<unsigned> v(blocks);
  CK(cudaMemcpy(v.data(), out, 4 * blocks, cudaMemcpyDeviceToHost));
  std::sort(v.begin(), v.end());
  const double all = double(reps) * 4 * 512 * warps;
  std::printf("l2,blocks %d,warps %d,%s,%zu KiB,%.2f B/clk/SM median,%.2f least,%.2f most\n", blocks, warps,
              own ? "own" : "same", bytes >> 10, all / v[blocks / 2], all / v[blocks - 1], all / v[0]);
}
// ---- sectors: rows of 16 bytes (8 rows per load, new sectors each time) from L2, as wmma_global does
template <int kWidth, bool kPair>
__global__ void sectors(const unsigned char* from, unsigned* out, unsigned* sink, int row_count, long stride,
                        int steps, int step) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, per = 32 / row_count;
  const unsigned char* p = from + (size_t)(blockIdx.x * (blockDim.x / 32) + warp) * row_count * 4 * stride +
                           (lane / per) * stride + (lane % per) * kWidth;
  unsigned x = 0;
  __syncthreads();
  const unsigned begin = clk();
#pragma unroll 1
  for (int r = 0; r < steps; ++r) {
    unsigned y[8];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      y[i] = load<kWidth>(p + i * row_count * stride);
      if (kPair) y[i + 4] = load<kWidth>(p + i * row_count * stride + 16);
    }
    p += step;
#pragma unroll
    for (int i = 0; i < (kPair ? 8 : 4); ++i) x ^= y[i];
  }
  __syncthreads();
  const unsigned end = clk();
  if (threadIdx.x == 0) out[blockIdx.x] = end - begin;
  if (x == 0x12345) *sink = x;
}
template <int kWidth, bool kPair = false>
void run_sectors(int blocks, int warps, int row_count, long stride, int step, int carve = -1) {
  CK(cudaFuncSetAttribute((const void*)sectors<kWidth, kPair>, cudaFuncAttributePreferredSharedMemoryCarveout,
                          carve));
  static unsigned char* from = nullptr;
  static unsigned* out = nullptr;
  const size_t size = (size_t)1 << 30;
  if (!from) {
    CK(cudaMalloc(&from, size));
    CK(cudaMemset(from, 0, size));
    CK(cudaMalloc(&out, 4 * 200));
  }
  if ((size_t)blocks * warps * row_count * 4 * stride > size) return;
  const int steps = (int)std::min<long>(64, stride / step);
  for (int i = 0; i < 3; ++i) {
    sectors<kWidth, kPair><<<blocks, 32 * warps>>>(from, out, out + 190, row_count, stride, steps, step);
    CK(cudaDeviceSynchronize());
  }
  std::vector<unsigned> v(blocks);
  CK(cudaMemcpy(v.data(), out, 4 * blocks, cudaMemcpyDeviceToHost));
  std::sort(v.begin(), v.end());
  std::printf(
      "sectors,blocks %d,warps %d,width %d,rows %d,stride %ld,step %d,pair %d,carve %d,%.3f cycles per load "
      "and SM\n",
      blocks, warps, kWidth, row_count, stride, step, kPair, carve,
      double(v[blocks / 2]) / (steps * (kPair ? 8.0 : 4.0) * warps));
}

// ---- how large L1 is
__global__ void foot(const unsigned char* from, unsigned* out, unsigned* sink, int lines) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  unsigned x = 0, t = 0;
  for (int pass = 0; pass < 4; ++pass) {
    __syncthreads();
    const unsigned begin = clk();
    for (int l = warp; l < lines; l += warps) x ^= load<4>(from + (size_t)l * 128 + lane * 4);
    __syncthreads();
    t = clk() - begin;
  }
  if (threadIdx.x == 0) out[0] = t;
  if (x == 0x12345) *sink = x;
}
void run_foot() {
  unsigned char* from;
  unsigned* out;
  CK(cudaMalloc(&from, 1 << 20));
  CK(cudaMemset(from, 0, 1 << 20));
  CK(cudaMalloc(&out, 64));
  for (int carve : {-1, 0, 50, 100})
    for (int shared : {0, 16384})
      for (int kib : {16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 192, 224, 240, 256}) {
        CK(cudaFuncSetAttribute((const void*)foot, cudaFuncAttributePreferredSharedMemoryCarveout, carve));
        unsigned v;
        for (int i = 0; i < 2; ++i) {
          foot<<<1, 128, shared>>>(from, out, out + 4, kib * 8);
          CK(cudaMemcpy(&v, out, 4, cudaMemcpyDeviceToHost));
        }
        std::printf("foot,carve %d,shared %d,%d KiB,%.2f cycles per line\n", carve, shared, kib,
                    v / (kib * 8.0));
      }
}
