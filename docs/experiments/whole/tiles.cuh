#pragma once
// Products by mma and ldmatrix.
#include "whole.cuh"

namespace whole {

// ---- mma and ldmatrix
// ---------------------------------------------------------------------------------------
struct F16F32 {
  using T = __half;
  using Sum = float;
  static constexpr int kWords = 4;
  static __device__ __forceinline__ void mma(std::uint32_t (&d)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
struct Bf16F32 {
  using T = __nv_bfloat16;
  using Sum = float;
  static constexpr int kWords = 4;
  static __device__ __forceinline__ void mma(std::uint32_t (&d)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
struct F16F16 {
  using T = __half;
  using Sum = __half;
  static constexpr int kWords = 2;
  static __device__ __forceinline__ void mma(std::uint32_t (&d)[2], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
struct Tf32F32 {
  using T = float;
  using Sum = float;
  static constexpr int kWords = 4;
  static __device__ __forceinline__ void mma(std::uint32_t (&d)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};
struct S8S32 {
  using T = signed char;
  using Sum = int;
  static constexpr int kWords = 4;
  static __device__ __forceinline__ void mma(std::uint32_t (&d)[4], const std::uint32_t (&a)[4],
                                             std::uint32_t b0, std::uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

__device__ __forceinline__ void load_matrices(std::uint32_t (&r)[4], std::uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
__device__ __forceinline__ void copy_async(std::uint32_t to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(__cvta_generic_to_global(from))
               : "memory");
}

/// Tiles of kSide x kSide x 128 bytes, warps of kWarpM x kWarpN. kStages 1: copied through registers and
/// computed in turn; more: stages of cp.async. kPermuted: chunk c of row r lies at c ^ r % 8, so ldmatrix
/// meets no bank conflict; else eight ways.
template <typename Type, int kSide, int kWarpM, int kWarpN, int kStages, bool kPermuted>
__global__ void __launch_bounds__(32 * (kSide / kWarpM) * (kSide / kWarpN))
    mma_tiles(const typename Type::T* a, const typename Type::T* b, typename Type::Sum* d, Stamp* stamps,
              int n) {
  constexpr int kThreads = 32 * (kSide / kWarpM) * (kSide / kWarpN), kPartsM = kWarpM / 16,
                kPartsN = kWarpN / 8;
  constexpr int kTile = kSide * 128, kStage = 2 * kTile, kRows = kThreads / 8, kCopies = kSide / kRows;
  const Watch watch;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row = warp / (kSide / kWarpN) * kWarpM, column = warp % (kSide / kWarpN) * kWarpN;
  const int first = threadIdx.x / 8, chunk = threadIdx.x % 8;
  const std::size_t pitch = static_cast<std::size_t>(n) * sizeof(typename Type::T);
  const char* from_a = reinterpret_cast<const char*>(a) + (blockIdx.y * kSide + first) * pitch + 16 * chunk;
  const char* from_b = reinterpret_cast<const char*>(b) + (blockIdx.x * kSide + first) * pitch + 16 * chunk;
  const auto place = [](int r, int c) { return r * 128 + 16 * (kPermuted ? c ^ (r % 8) : c); };
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
  std::uint32_t sum[kPartsM][kPartsN][Type::kWords] = {};
  const int steps = static_cast<int>(pitch / 128);
  const auto fetch = [&](int stage) {
#pragma unroll
    for (int i = 0; i < kCopies; ++i) {
      const auto to = base + static_cast<std::uint32_t>(stage * kStage + place(first + i * kRows, chunk));
      copy_async(to, from_a + i * kRows * pitch);
      copy_async(to + kTile, from_b + i * kRows * pitch);
    }
    from_a += 128;
    from_b += 128;
  };
  const auto multiply = [&](int stage) {
    const std::uint32_t at = base + static_cast<std::uint32_t>(stage * kStage);
#pragma unroll
    for (int step = 0; step < 4; ++step) {
      std::uint32_t x[kPartsM][4], y[kPartsN / 2][4];
#pragma unroll
      for (int i = 0; i < kPartsM; ++i)
        load_matrices(x[i],
                      at + static_cast<std::uint32_t>(place(row + 16 * i + lane % 16, 2 * step + lane / 16)));
#pragma unroll
      for (int j = 0; j < kPartsN / 2; ++j)
        load_matrices(y[j], at + kTile +
                                static_cast<std::uint32_t>(place(column + 16 * j + lane % 8 + lane / 16 * 8,
                                                                 2 * step + lane / 8 % 2)));
#pragma unroll
      for (int i = 0; i < kPartsM; ++i)
#pragma unroll
        for (int j = 0; j < kPartsN; ++j)
          Type::mma(sum[i][j], x[i], y[j / 2][j % 2 * 2], y[j / 2][j % 2 * 2 + 1]);
    }
  };
  if constexpr (kStages > 1) {
#pragma unroll
    for (int i = 0; i < kStages - 1; ++i) {
      fetch(i);
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    int stage = 0, free = kStages - 1;
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
      __syncthreads();
      if (i + kStages - 1 < steps) fetch(free);
      asm volatile("cp.async.commit_group;" ::: "memory");
      multiply(stage);
      free = stage;
      stage = stage + 1 == kStages ? 0 : stage + 1;
    }
  } else {
#pragma unroll 1
    for (int i = 0; i < steps; ++i) {
      uint4 x[kCopies], y[kCopies];
#pragma unroll
      for (int c = 0; c < kCopies; ++c) {
        x[c] = *reinterpret_cast<const uint4*>(from_a + c * kRows * pitch);
        y[c] = *reinterpret_cast<const uint4*>(from_b + c * kRows * pitch);
      }
      from_a += 128;
      from_b += 128;
      __syncthreads();
#pragma unroll
      for (int c = 0; c < kCopies; ++c) {
        *reinterpret_cast<uint4*>(memory + place(first + c * kRows, chunk)) = x[c];
        *reinterpret_cast<uint4*>(memory + kTile + place(first + c * kRows, chunk)) = y[c];
      }
      __syncthreads();
      multiply(0);
    }
  }
  constexpr int kBytes = Type::kWords == 4 ? 8 : 4;  // of a store
#pragma unroll
  for (int i = 0; i < kPartsM; ++i)
#pragma unroll
    for (int j = 0; j < kPartsN; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const std::size_t at =
            static_cast<std::size_t>(blockIdx.y * kSide + row + 16 * i + 8 * half + lane / 4) * n +
            blockIdx.x * kSide + column + 8 * j + lane % 4 * 2;
        if constexpr (kBytes == 8)
          *reinterpret_cast<uint2*>(d + at) = make_uint2(sum[i][j][2 * half], sum[i][j][2 * half + 1]);
        else
          *reinterpret_cast<std::uint32_t*>(d + at) = sum[i][j][half];
      }
  watch.stop(stamps);
}

}  // namespace whole
