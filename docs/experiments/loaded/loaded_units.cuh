#pragma once
// Copies beside loads of shared memory, and mma with changing operands: loaded.cu.
#include "../whole/tiles.cuh"
#include "loaded_curve.cuh"

namespace loaded {

// ---- who takes the pipe of shared memory
enum Feed { kNothing, kCopy, kCopyPadded, kLdg, kLdgSts, kSts, kLdgHit };
enum Read { kNone, kLdsm4, kLds128, kLds32, kLdsm4Waits };
constexpr const char* kFeedNames[] = {"nothing", "cp_async", "cp_async_padded", "ldg",
                                      "ldg_sts", "sts",      "ldg_hit"};
constexpr const char* kReadNames[] = {"none", "ldmatrix_x4", "lds128", "lds32", "ldmatrix_x4_waits"};

/// Warps 0 to `feeders` - 1 bring data, 16 loads of 512 bytes at once, then pause; the others read shared
/// memory. Everybody counts until `limit` cycles are over.
template <int kFeed, int kRead>
__global__ void __launch_bounds__(768) beside_kernel(const unsigned char* from, unsigned* out, int feeders,
                                                     int pause, unsigned limit, unsigned rows) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ unsigned fed, read;
  constexpr int kLoads = 8;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < kDynamic / 4; i += blockDim.x) ((unsigned*)memory)[i] = 0;
  if (threadIdx.x == 0) fed = read = 0;
  const unsigned base = (unsigned)__cvta_generic_to_shared(memory);
  __syncthreads();
  const unsigned begin = clk();
  unsigned now = begin, done = 0;
  if (warp < feeders) {
    const unsigned to =
        base + 32768 + warp * 8192 + (kFeed == kCopyPadded ? lane / 8 * 144 + lane % 8 * 16 : lane * 16);
    unsigned row = (blockIdx.x * 97 + warp * 32) % rows;
    if (kFeed != kNothing)
      while (now - begin < limit) {
        const unsigned char* p = from + (size_t)row * 6144 + lane / 8 * 6144 + lane % 8 * 16;
        for (int i = 0; i < 8 && now - begin < limit; ++i) {
          if constexpr (kFeed == kCopy || kFeed == kCopyPadded) {
#pragma unroll
            for (int j = 0; j < kLoads; ++j) copy16(to + j * 640, p + (size_t)j * 4 * 6144);
            asm volatile("cp.async.commit_group;\ncp.async.wait_group 1;" ::: "memory");
          } else if constexpr (kFeed == kSts) {
#pragma unroll
            for (int j = 0; j < kLoads; ++j)
              asm volatile("st.shared.v4.b32 [%0], {%1,%1,%1,%1};" ::"r"(to + j * 640), "r"(0) : "memory");
          } else {
            Loaded<16> v[kLoads];
#pragma unroll
            for (int j = 0; j < kLoads; ++j)
              v[j] = fetch<16>(kFeed == kLdgHit ? from + j * 512 + lane * 16 : p + (size_t)j * 4 * 6144);
            if constexpr (kFeed == kLdgSts) {
#pragma unroll
              for (int j = 0; j < kLoads; ++j)
                asm volatile("st.shared.v4.b32 [%0], {%1,%2,%3,%4};" ::"r"(to + j * 640), "r"(v[j].v[0]),
                             "r"(v[j].v[1]), "r"(v[j].v[2]), "r"(v[j].v[3])
                             : "memory");
            } else {
              wait_for_all(v);
            }
          }
          done += kLoads;
          p += 128;
          now = clk();
          if (pause) {
            while (clk() - now < (unsigned)pause) {
            }
            now = clk();
          }
        }
        row = (row + feeders * 32 + 4229) % rows;
      }
    if (lane == 0) atomicAdd(&fed, done);
  } else if (kRead != kNone) {
    const unsigned at = base + (warp - feeders) % 4 * 4096 + (kRead == kLds32 ? lane * 4 : lane * 16);
    unsigned x = 0, turn = 0;
    while (now - begin < limit) {
      turn ^= 8192;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        unsigned w[4] = {};
        const unsigned a = at + turn + i * 512;  // no two alike, or ptxas makes one of them
        if constexpr (kRead == kLdsm4 || kRead == kLdsm4Waits) {
          asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                       : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                       : "r"(a)
                       : "memory");
          if (kRead == kLdsm4Waits && i % 4 == 3) wait_for(w[0]);
        } else if constexpr (kRead == kLds128)
          asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                       : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                       : "r"(a)
                       : "memory");
        else
          asm volatile("ld.shared.u32 %0, [%1];" : "=r"(w[0]) : "r"(a) : "memory");
        x ^= w[0] ^ w[1] ^ w[2] ^ w[3];
      }
      wait_for(x);
      done += 16;
      now = clk();
    }
    if (lane == 0) atomicAdd(&read, done);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = fed;
    out[2 * blockIdx.x + 1] = read;
  }
}
template <int kFeed, int kRead>
void run_beside(int blocks, int feeders, int readers, int pause) {
  static unsigned* out = nullptr;
  if (!out) {
    CK(cudaMalloc(&out, 8 * 132));
    const auto f = (const void*)beside_kernel<kFeed, kRead>;
    CK(cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
    CK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, kDynamic));
  }
  const unsigned limit = 60000, rows = 1300;  // 8 MB
  std::vector<unsigned> v(2 * blocks);
  for (int i = 0; i < 2; ++i) {
    beside_kernel<kFeed, kRead>
        <<<blocks, 32 * (feeders + readers), kDynamic>>>(matrix(0), out, feeders, pause, limit, rows);
    CK(cudaGetLastError());
    CK(cudaMemcpy(v.data(), out, 8 * blocks, cudaMemcpyDeviceToHost));
  }
  double fed = 0, read = 0;
  for (int b = 0; b < blocks; ++b) {
    fed += v[2 * b];
    read += v[2 * b + 1];
  }
  const double wavefronts = kRead == kLds32 ? 1 : 4;
  std::printf("%s,%s,%d,%d,%d,%d,%.2f,%.4f,%.4f\n", kFeedNames[kFeed], kReadNames[kRead], blocks, feeders,
              readers, pause, fed * 512 / blocks / limit, fed / blocks / limit,
              wavefronts * read / blocks / limit);
}
template <int kFeed>
void run_feeds(int blocks, int feeders, int readers, int pause) {
  run_beside<kFeed, kNone>(blocks, feeders, readers, pause);
  run_beside<kFeed, kLdsm4>(blocks, feeders, readers, pause);
  run_beside<kFeed, kLdsm4Waits>(blocks, feeders, readers, pause);
  run_beside<kFeed, kLds128>(blocks, feeders, readers, pause);
  run_beside<kFeed, kLds32>(blocks, feeders, readers, pause);
}
inline void beside() {
  std::printf("feed,read,blocks,feeders,readers,pause,bytes_per_clk_sm,feeds_per_clk,wavefronts_per_clk\n");
  for (int blocks : {1, 132})
    for (int feeders : {4, 8, 12})
      for (int readers : {4, 8}) {
        if (feeders == 4) run_feeds<kNothing>(blocks, feeders, readers, 0);
        for (int pause : {0, 200, 600}) {
          run_feeds<kCopy>(blocks, feeders, readers, pause);
          run_feeds<kCopyPadded>(blocks, feeders, readers, pause);
          run_feeds<kLdg>(blocks, feeders, readers, pause);
          run_feeds<kLdgSts>(blocks, feeders, readers, pause);
          run_feeds<kSts>(blocks, feeders, readers, pause);
          run_feeds<kLdgHit>(blocks, feeders, readers, pause);
        }
      }
}

// ---- mma with changing operands, as mma_tiles multiplies
enum Mode { kRegisters, kMatrices, kOnlyMatrices, kBarriers, kSame };
constexpr const char* kModeNames[] = {"registers", "ldmatrix", "only_ldmatrix", "ldmatrix_barriers",
                                      "same_operands"};

template <typename Type, int kPartsM, int kPartsN, int kMode, int kThreads>
__global__ void __launch_bounds__(kThreads) multiply(unsigned* out, unsigned* sink, int trips) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ unsigned last;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 65536 / 4; i += blockDim.x) ((unsigned*)memory)[i] = 0;
  if (threadIdx.x == 0) last = 0;
  const auto place = [](int r, int c) { return r * 128 + 16 * (c ^ (r % 8)); };
  const unsigned base = (unsigned)__cvta_generic_to_shared(memory);
  std::uint32_t sum[kPartsM][kPartsN][Type::kWords] = {};
  std::uint32_t x[2][kPartsM][4], y[2][kPartsN / 2][4];
  __syncthreads();
  // Operands of two steps, from addresses that differ, or ptxas keeps them in one register.
#pragma unroll
  for (int s = 0; s < 2; ++s) {
#pragma unroll
    for (int i = 0; i < kPartsM; ++i)
      whole::load_matrices(x[s][i], base + (s * kPartsM + i) * 512 + lane * 16);
#pragma unroll
    for (int i = 0; i < kPartsN / 2; ++i)
      whole::load_matrices(y[s][i], base + 8192 + (s * kPartsN + i) * 512 + lane * 16);
  }
  const int row = warp % 2 * 16 * kPartsM % 128, column = warp / 2 % 2 * 8 * kPartsN % 128;
  __syncthreads();
  const unsigned begin = clk();
#pragma unroll 1
  for (int trip = 0; trip < trips; ++trip) {
    if (kMode == kBarriers) __syncthreads();
    const unsigned at = base + trip % 2 * 32768;
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      const int s = kMode == kSame ? 0 : step % 2;
      if constexpr (kMode == kMatrices || kMode == kOnlyMatrices || kMode == kBarriers) {
#pragma unroll
        for (int i = 0; i < kPartsM; ++i)
          whole::load_matrices(x[s][i], at + place(row + 16 * i + lane % 16, 2 * step + lane / 16));
#pragma unroll
        for (int j = 0; j < kPartsN / 2; ++j)
          whole::load_matrices(
              y[s][j],
              at + 16384 + place(column + 16 * j + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2));
      }
      if constexpr (kMode != kOnlyMatrices) {
#pragma unroll
        for (int i = 0; i < kPartsM; ++i)
#pragma unroll
          for (int j = 0; j < kPartsN; ++j)
            if constexpr (kMode == kSame)
              Type::mma(sum[i][j], x[0][0], y[0][0][0], y[0][0][1]);
            else
              Type::mma(sum[i][j], x[s][i], y[s][j / 2][j % 2 * 2], y[s][j / 2][j % 2 * 2 + 1]);
      } else {
#pragma unroll
        for (int i = 0; i < kPartsM; ++i) sum[i][0][0] ^= x[s][i][0];
#pragma unroll
        for (int j = 0; j < kPartsN / 2; ++j) sum[0][j][1] ^= y[s][j][0];
      }
    }
  }
  std::uint32_t all = 0;
#pragma unroll
  for (int i = 0; i < kPartsM; ++i)
#pragma unroll
    for (int j = 0; j < kPartsN; ++j)
#pragma unroll
      for (int w = 0; w < Type::kWords; ++w) all ^= sum[i][j][w];
  wait_for(all);
  if (lane == 0) atomicMax(&last, clk() - begin);
  if (all == 0x12345) *sink = all;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = last;
}
template <typename Type, int kPartsM, int kPartsN, int kMode>
void run_multiply(const char* type, int warps) {
  static unsigned* out = nullptr;
  if (!out) CK(cudaMalloc(&out, 4 * 140));
  constexpr int kThreads = kPartsM * kPartsN > 16 ? 256 : 512;
  if (32 * warps > kThreads) return;
  const auto f = (const void*)multiply<Type, kPartsM, kPartsN, kMode, kThreads>;
  CK(cudaFuncSetAttribute(f, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
  CK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  std::vector<unsigned> v(132);
  double cycles[2];
  const int trips[2] = {64, 192};
  for (int i = 0; i < 2; ++i) {
    for (int again = 0; again < 2; ++again) {
      multiply<Type, kPartsM, kPartsN, kMode, kThreads><<<132, 32 * warps, 65536>>>(out, out + 136, trips[i]);
      CK(cudaGetLastError());
      CK(cudaMemcpy(v.data(), out, 4 * 132, cudaMemcpyDeviceToHost));
    }
    std::sort(v.begin(), v.end());
    cycles[i] = v[66];
  }
  const double per_trip = (cycles[1] - cycles[0]) / (trips[1] - trips[0]),
               mmas = warps / 4.0 * 4 * kPartsM * kPartsN;
  std::printf("%s,%dx%d,%s,%d,%.1f,%.3f,%.3f\n", type, 16 * kPartsM, 8 * kPartsN, kModeNames[kMode], warps,
              per_trip, per_trip / mmas, per_trip / (warps * 4.0 * (kPartsM + kPartsN / 2) * 4));
}
template <typename Type, int kPartsM, int kPartsN>
void run_modes(const char* type) {
  for (int warps : {4, 8, 12, 16}) {
    run_multiply<Type, kPartsM, kPartsN, kRegisters>(type, warps);
    run_multiply<Type, kPartsM, kPartsN, kMatrices>(type, warps);
    run_multiply<Type, kPartsM, kPartsN, kOnlyMatrices>(type, warps);
    run_multiply<Type, kPartsM, kPartsN, kBarriers>(type, warps);
    run_multiply<Type, kPartsM, kPartsN, kSame>(type, warps);
  }
}
inline void multiplications() {
  std::printf("type,warp_tile,mode,warps,cycles_per_trip,cycles_per_mma_and_subcore,cycles_per_wavefront\n");
  run_modes<whole::F16F32, 2, 4>("f16_f32");
  run_modes<whole::F16F32, 4, 4>("f16_f32");
  run_modes<whole::F16F32, 4, 8>("f16_f32");
  run_modes<whole::F16F16, 2, 4>("f16_f16");
  run_modes<whole::F16F16, 4, 4>("f16_f16");
  run_modes<whole::F16F16, 4, 8>("f16_f16");
  run_modes<whole::S8S32, 2, 4>("s8_s32");
  run_modes<whole::S8S32, 4, 4>("s8_s32");
}

}  // namespace loaded
