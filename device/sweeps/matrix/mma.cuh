#pragma once
// mma and mma.sp: chains of one instruction in each warp.
#include "sweeps/engine/timed.cuh"
#include "sweeps/matrix/matrix_benchmark.hpp"
#ifdef __CUDACC__
#include "kernels/fragments.cuh"
#include "ptx/mma_sp.cuh"
#endif

namespace mmaudit::sweeps {

/// Body of a Line of ptx/.
template <typename Line>
struct Mma;

#ifdef __CUDACC__

/// Register r of a lane lies at r * 32 + lane of its tile's image.
template <typename Register, int kRegisters>
__device__ __forceinline__ void read_image(const void* image, int tile, int lane, Register (&r)[kRegisters]) {
  const auto* from = static_cast<const Register*>(image) + tile * kRegisters * kWarpLanes + lane;
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) r[i] = from[i * kWarpLanes];
}

template <typename Line>
struct Mma {
  static constexpr Instruction kIs = Line::kInstruction;
  static constexpr bool kExists = device::kTargetCapability >= kIs.min_compute_capability;
  static constexpr bool kSparse = is_sparse(kIs.op);
  static constexpr int kLanes = kWarpLanes, kMostThreads = 0;

  template <int kChains>
  struct Chains {
    using F = device::Fragments<Line>;
    using C = device::RegisterOf<kIs.c>;
    device::RegisterOf<kIs.a> a[F::kRegistersA];
    device::RegisterOf<kIs.b> b[F::kRegistersB];
    C d[kChains][F::kRegistersC];
    std::uint32_t metadata[1] = {};

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      const int tile = at.in_block % args.tiles;
      if constexpr (kSparse) read_image(args.metadata, tile, at.lane, metadata);
      read_image(args.a, tile, at.lane, a);
      read_image(args.b, tile, at.lane, b);
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) read_image(args.c, tile, at.lane, d[chain]);
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      repeat<kChains, kCopies>(steps, [this](int chain) {
        if constexpr (kSparse)
          device::mma_sp<Line, 0>(d[chain], a, b, metadata[0]);
        else
          device::mma<Line>(d[chain], a, b);
      });
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      auto* out = static_cast<C*>(args.d) + at.slot * F::kRegistersC * kWarpLanes + at.lane;
      C differ = 0;
#pragma unroll
      for (int r = 0; r < F::kRegistersC; ++r) {
        out[r * kWarpLanes] = d[0][r];
#pragma unroll
        for (int chain = 1; chain < kChains; ++chain) differ |= d[chain][r] ^ d[0][r];
      }
      return differ != 0;
    }
  };
};

#endif

/// A lone chain is unrolled kCopies times more: nothing else hides the loop's branch, which costs 3 cycles.
template <typename Line, int kCopies>
Benchmark mma_benchmark() {
  Benchmark benchmark = matrix_benchmark(Line::kInstruction);
  benchmark.axes = {kScopeAxis, kInitAxis, kWarpsAxis, kIlpAxis};
  benchmark.kernel = kernel_with_chains<Mma<Line>, kCopies, kCopies * kCopies>;
  return benchmark;
}

}  // namespace mmaudit::sweeps
