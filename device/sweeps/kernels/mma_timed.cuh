#pragma once
// kIlp independent chains of one mma in every warp of one block a multiprocessor.
#include <cstdint>
#include <utility>

#include "kernels/fragments.cuh"
#include "ptx/mma_sp.cuh"
#include "sweeps/kernels/stopwatch.cuh"

namespace mmaudit::sweeps {

/// Register r of a lane lies at r * 32 + lane of its tile's image.
template <typename Register, int kRegisters>
__device__ __forceinline__ void read_image(const void* image, int tile, int lane, Register (&r)[kRegisters]) {
  const auto* from = static_cast<const Register*>(image) + tile * kRegisters * kWarpLanes + lane;
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) r[i] = from[i * kWarpLanes];
}

/// Metadata is of the selector 0.
template <typename Line, typename D, typename A, typename B>
__device__ __forceinline__ void issue(D& d, const A& a, const B& b, std::uint32_t metadata) {
  if constexpr (kSparse<Line>)
    device::mma_sp<Line, 0>(d, a, b, metadata);
  else
    device::mma<Line>(d, a, b);
}

template <typename Line, int kIlp, int kUnroll>
__global__ void mma_timed(const TimedArgs args) {
  constexpr Instruction kIs = Line::kInstruction;
  if constexpr (device::kTargetCapability < kIs.min_compute_capability) {
    __trap();
  } else {
    using F = device::Fragments<Line>;
    using C = device::RegisterOf<kIs.c>;
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
    const int slot = static_cast<int>(blockIdx.x * blockDim.x) / kWarpLanes + warp;
    const int tile = warp % args.tiles;
    device::RegisterOf<kIs.a> a[F::kRegistersA];
    device::RegisterOf<kIs.b> b[F::kRegistersB];
    C d[kIlp][F::kRegistersC];
    std::uint32_t metadata[1] = {};
    if constexpr (kSparse<Line>) read_image(args.metadata, tile, lane, metadata);
    read_image(args.a, tile, lane, a);
    read_image(args.b, tile, lane, b);
#pragma unroll
    for (int chain = 0; chain < kIlp; ++chain) read_image(args.c, tile, lane, d[chain]);

    Stamp stamp;
    start(stamp);
#pragma unroll 1
    for (int i = 0; i < args.iterations; i += kUnroll) {
#pragma unroll
      for (int j = 0; j < kUnroll; ++j)
#pragma unroll
        for (int chain = 0; chain < kIlp; ++chain) issue<Line>(d[chain], a, b, metadata[0]);
    }
    stop(stamp);

    auto* out = static_cast<C*>(args.d) + slot * F::kRegistersC * kWarpLanes + lane;
    C differ = 0;
#pragma unroll
    for (int r = 0; r < F::kRegistersC; ++r) {
      out[r * kWarpLanes] = d[0][r];
#pragma unroll
      for (int chain = 1; chain < kIlp; ++chain) differ |= d[chain][r] ^ d[0][r];
    }
    stamp.chains_differ = __any_sync(~0U, differ != 0) != 0 ? 1 : 0;
    if (lane == 0) args.stamps[slot] = stamp;
  }
}

template <typename Line, int kIlp, int kUnroll>
TimedKernel mma_timed_row() {
  return {
      .instruction = Line::kInstruction,
      .ilp = kIlp,
      .launch = [](const TimedArgs& args, unsigned blocks, unsigned threads,
                   unsigned shared) { mma_timed<Line, kIlp, kUnroll><<<blocks, threads, shared>>>(args); },
      .function = reinterpret_cast<const void*>(mma_timed<Line, kIlp, kUnroll>)};
}

}  // namespace mmaudit::sweeps

// A lone chain is unrolled further: nothing else hides the loop's branch, which costs 3 cycles.
#define MMAUDIT_TIMED_LONE(NAME, UNROLL) mma_timed_row<NAME, 1, (UNROLL) * (UNROLL)>()

// X for a list of structs that the lines of ptx/ define: a row for every number of chains. The census looks
// at one chain only.
#ifdef MMAUDIT_CENSUS
#define MMAUDIT_TIMED_ROWS(NAME, UNROLL) MMAUDIT_TIMED_LONE(NAME, UNROLL),
#else
#define MMAUDIT_TIMED_ROWS(NAME, UNROLL)                                                                \
  MMAUDIT_TIMED_LONE(NAME, UNROLL), mma_timed_row<NAME, 2, UNROLL>(), mma_timed_row<NAME, 3, UNROLL>(), \
      mma_timed_row<NAME, 4, UNROLL>(), mma_timed_row<NAME, 5, UNROLL>(), mma_timed_row<NAME, 6, UNROLL>(),
#endif
#define MMAUDIT_TIMED(...) MMAUDIT_TIMED_ROWS(MMAUDIT_MMA_NAME(__VA_ARGS__), 4)
