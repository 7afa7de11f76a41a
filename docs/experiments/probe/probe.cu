// Small experiments behind the timing model: who gets a unit, how large L1 is, what loads, stores and
// barriers cost. Prints CSV: experiment, parameters, cycles. docs/results/h200-kernels/probe.csv. Compiles
// with nvcc alone:
//   nvcc -O3 -std=c++20 -gencode arch=compute_90a,code=sm_90a probe.cu -o probe
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "probe_memory.cuh"

extern __shared__ __align__(1024) unsigned char sm[];

// ---- who gets the unit. Every warp: kReps times (16 instructions, clock).
enum { kDmma, kHmma, kFfma, kLds, kAlu, kDmma1, kHmma1, kMix };
template <int kKind>
__global__ void share(unsigned* out, float* sink, int reps) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  double c[8][2] = {};
  double a = lane, b = 1;
  float h[8][4] = {};
  unsigned ha = 0, hb = 0;
  float f[16] = {};
  float x = lane, y = 1.0f;
  unsigned at = (unsigned)__cvta_generic_to_shared(sm) + lane * 16;
  unsigned w[4] = {};
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) ((unsigned*)sm)[i] = 0;
  unsigned* const to = out + ((size_t)(blockIdx.x * (blockDim.x / 32) + warp)) * (reps + 1);
  __syncthreads();
  if (lane == 0) to[0] = clk();
#pragma unroll 1
  for (int r = 0; r < reps; ++r) {
    if constexpr (kKind == kDmma || kKind == kDmma1) {
      constexpr int n = kKind == kDmma ? 8 : 1;
#pragma unroll
      for (int i = 0; i < 16; ++i)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(c[i % n][0]), "+d"(c[i % n][1])
                     : "d"(a), "d"(b));
    } else if constexpr (kKind == kHmma || kKind == kHmma1) {
      constexpr int n = kKind == kHmma ? 8 : 1;
#pragma unroll
      for (int i = 0; i < 16; ++i)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, "
            "{%0,%1,%2,%3};"
            : "+f"(h[i % n][0]), "+f"(h[i % n][1]), "+f"(h[i % n][2]), "+f"(h[i % n][3])
            : "r"(ha), "r"(hb));
    } else if constexpr (kKind == kFfma) {
#pragma unroll
      for (int i = 0; i < 64; ++i)
        asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(f[i % 16]) : "f"(x), "f"(y));
    } else if constexpr (kKind == kLds) {
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                     : "r"(at + (i & 3) * 512)
                     : "memory");
        x += __uint_as_float(w[0] ^ w[1] ^ w[2] ^ w[3]);
      }
    } else if constexpr (kKind == kAlu) {
#pragma unroll
      for (int i = 0; i < 32; ++i)
        asm volatile("shf.l.wrap.b32 %0, %0, %0, 3;" : "+r"(((unsigned*)f)[i % 16]));
    } else {  // a load phase, then a DMMA phase, as a block does
      unsigned v = at;
#pragma unroll 1
      for (int i = 0; i < 12; ++i) {
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w[0]) : "r"(v) : "memory");
        v += w[0];
      }
      x += v;
#pragma unroll
      for (int i = 0; i < 64; ++i)
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(c[i % 8][0]), "+d"(c[i % 8][1])
                     : "d"(a), "d"(b));
    }
    if (lane == 0) to[r + 1] = clk();
  }
  float s = x;
  for (int i = 0; i < 8; ++i) s += (float)c[i][0] + h[i][0] + f[i] + f[i + 8];
  if (s == 123.456f) *sink = s;
}
template <int kKind>
void run_share(const char* name, int warps_per_subcore, int blocks) {
  const int reps = 24, threads = 128 * warps_per_subcore;
  unsigned* out;
  float* sink;
  const int all = blocks * threads / 32;
  CK(cudaMalloc(&out, (size_t)all * 132 * (reps + 1) * 4));
  CK(cudaMalloc(&sink, 4));
  CK(cudaFuncSetAttribute((const void*)share<kKind>, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000));
  const int shared = blocks > 1 ? 60000 : 8192;
  const int grid = blocks > 1 ? 132 * blocks : 1;
  CK(cudaMalloc(&out, (size_t)grid * threads / 32 * (reps + 1) * 4));
  for (int i = 0; i < 2; ++i) {
    share<kKind><<<grid, threads, shared>>>(out, sink, reps);
    CK(cudaDeviceSynchronize());
  }
  std::vector<unsigned> v((size_t)grid * threads / 32 * (reps + 1));
  CK(cudaMemcpy(v.data(), out, v.size() * 4, cudaMemcpyDeviceToHost));
  const int per = threads / 32;
  for (int b = 0; b < (blocks > 1 ? 1 : 1); ++b)
    for (int w = 0; w < per; w += 4) {
      std::printf("share,%s,%d,%d,warp%d", name, warps_per_subcore, blocks, w);
      for (int r = 0; r <= reps; ++r) std::printf(",%u", v[(size_t)(b * per + w) * (reps + 1) + r] - v[0]);
      std::printf("\n");
    }
  CK(cudaFree(out));
  CK(cudaFree(sink));
}

// latency of a generic or global load chain
template <bool kGeneric>
__global__ void chain(unsigned long long* from, unsigned* out, unsigned long long* sink, int to_shared) {
  unsigned long long* p = to_shared ? (unsigned long long*)sm : from;
  if (threadIdx.x == 0) *p = (unsigned long long)p;
  __syncthreads();
  unsigned long long q = (unsigned long long)p;
  for (int i = 0; i < 4; ++i) {
    if (kGeneric)
      asm volatile("ld.b64 %0, [%0];" : "+l"(q)::"memory");
    else
      asm volatile("ld.global.b64 %0, [%0];" : "+l"(q)::"memory");
  }
  unsigned begin = clk();
#pragma unroll 16
  for (int i = 0; i < 64; ++i) {
    if (kGeneric)
      asm volatile("ld.b64 %0, [%0];" : "+l"(q)::"memory");
    else
      asm volatile("ld.global.b64 %0, [%0];" : "+l"(q)::"memory");
  }
  unsigned end = clk();
  if (threadIdx.x == 0) out[0] = end - begin;
  if (q == 1) *sink = q;
}

// ---- barriers
__global__ void barriers(unsigned* out, int reps) {
  __syncthreads();
  const unsigned begin = clk();
#pragma unroll 1
  for (int r = 0; r < reps; ++r) {
    __syncthreads();
    __syncthreads();
    __syncthreads();
    __syncthreads();
  }
  const unsigned end = clk();
  if (threadIdx.x == 0) out[0] = end - begin;
}

int main() {
  run_foot();
  for (int w : {2, 3, 4}) {
    run_share<kDmma>("dmma", w, 1);
    run_share<kDmma1>("dmma1", w, 1);
    run_share<kHmma>("hmma", w, 1);
    run_share<kHmma1>("hmma1", w, 1);
    run_share<kFfma>("ffma64", w, 1);
    run_share<kLds>("lds128", w, 1);
    run_share<kAlu>("alu32", w, 1);
    run_share<kMix>("loads12_dmma64", w, 1);
  }
  {
    unsigned long long* from;
    unsigned* out;
    CK(cudaMalloc(&from, 64));
    CK(cudaMalloc(&out, 64));
    unsigned v;
    for (int s = 0; s < 2; ++s)
      for (int i = 0; i < 2; ++i) {
        chain<true><<<1, 32, 1024>>>(from, out, from + 2, s);
        CK(cudaMemcpy(&v, out, 4, cudaMemcpyDeviceToHost));
        if (i) std::printf("chain,generic,%s,%.2f\n", s ? "shared" : "global", v / 64.0);
      }
    for (int i = 0; i < 2; ++i) {
      chain<false><<<1, 32, 1024>>>(from, out, from + 2, 0);
      CK(cudaMemcpy(&v, out, 4, cudaMemcpyDeviceToHost));
      if (i) std::printf("chain,global,global,%.2f\n", v / 64.0);
    }
    for (int warps : {1, 2, 4, 8, 16, 32})
      for (int i = 0; i < 2; ++i) {
        barriers<<<1, 32 * warps>>>(out, 64);
        CK(cudaMemcpy(&v, out, 4, cudaMemcpyDeviceToHost));
        if (i) std::printf("barrier,warps %d,%.2f\n", warps, v / 256.0);
      }
  }
  for (int blocks : {1, 132})
    for (int warps : {4, 8}) {
      for (int r : {1, 2, 4, 8, 16}) {
        run_stores<4>(blocks, warps, r, r == 1 ? 1024 : 4096, 32 / 1 * (128 / r > 32 ? 4 : 1));
        run_stores<8>(blocks, warps, r, 4096, 128);
        run_stores<16>(blocks, warps, r, 4096, 32);
      }
    }
  for (int blocks : {1, 2, 4, 16, 33, 66, 99, 132})
    for (int warps : {4, 16}) {
      run_l2(blocks, warps, 0, 4 << 20);
      run_l2(blocks, warps, 1, 32 << 20);
    }
  for (int blocks : {1, 132})
    for (int warps : {4, 16, 32})
      for (int r : {1, 4, 8, 16, 32})
        for (long stride : {2048L, 4096L, 5120L}) {
          run_sectors<4>(blocks, warps, r, stride, 32 / r * 4 < 32 ? 32 / r * 4 : 32);
          run_sectors<4>(blocks, warps, r, stride, 32 / r * 4 < 32 ? 32 : 128);
          run_sectors<16>(blocks, warps, r, stride, std::max(32, 32 / r * 16));
          if (r == 8 || r == 16) {
            run_sectors<4>(blocks, warps, r, stride, 16, 100);
            run_sectors<4>(blocks, warps, r, stride, 32, 100);
            run_sectors<4, true>(blocks, warps, r, stride, 32, 100);
            run_sectors<4, true>(blocks, warps, r, stride, 32, -1);
          }
        }
  return 0;
}
