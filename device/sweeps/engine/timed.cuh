#pragma once
// The skeleton of every timed kernel: operands in, clocks, loop, clocks, result out. A benchmark brings a
// Body:
//   kExists        false where the target lacks the instruction
//   kLanes         lanes that share a stamp and a result: a warp or a warpgroup
//   kMostThreads   of a block; 0: as many as have registers
//   Chains<n>      registers of n independent chains: made from (args, at), then run<copies>(steps), then
//                  finish(args, at), which is true when the chains ended in different bits
// The host compiler sees declarations alone.
#include <iterator>

#include "mmaudit/sweeps/benchmark.hpp"
#include "mmaudit/sweeps/symbol.hpp"
#ifdef __CUDACC__
#include "ptx/line.cuh"
#include "sweeps/engine/stopwatch.cuh"
#endif

namespace mmaudit::sweeps {

/// Where a thread is.
struct Place {
  int lane;      ///< of its slot
  int in_block;  ///< its slot within the block
  int slot;      ///< its slot within the grid
};

#ifdef __CUDACC__

/// What most Bodies of warps say: whether the target has the instruction, and the threads of a block.
template <bool kHas, int kThreads>
struct WarpBody {
  static constexpr bool kExists = kHas;
  static constexpr int kLanes = 32, kMostThreads = kThreads;
};
/// Of what came with Hopper.
template <int kThreads>
using OnHopper = WarpBody<device::kTargetCapability >= 90, kThreads>;

/// The loop of a Body: kCopies steps of each chain without a branch between them; step(copy, chain).
template <int kChains, int kCopies, typename Step>
__device__ __forceinline__ void repeat(int steps, Step&& step) {
#pragma unroll 1
  for (int i = 0; i < steps; i += kCopies) {
#pragma unroll
    for (int j = 0; j < kCopies; ++j)
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) step(j, chain);
  }
}

template <typename Body, int kChains, int kCopies>
__global__ void __launch_bounds__(Body::kMostThreads) timed(const TimedArgs args) {
  if constexpr (!Body::kExists) {
    __trap();
  } else {
    constexpr int kLanes = Body::kLanes;
    const int in_block = static_cast<int>(threadIdx.x) / kLanes;
    const Place at = {.lane = static_cast<int>(threadIdx.x) % kLanes,
                      .in_block = in_block,
                      .slot = static_cast<int>(blockIdx.x * blockDim.x) / kLanes + in_block};
    typename Body::template Chains<kChains> chains(args, at);
    Stamp stamp;
    start(stamp);
    chains.template run<kCopies>(args.steps);
    stop(stamp);
    const bool differ = chains.finish(args, at);
    stamp.chains_differ = __any_sync(~0U, differ) != 0 ? 1 : 0;
    if (at.lane == 0) args.stamps[at.slot] = stamp;
  }
}

#endif

/// The kernel of a Body.
template <typename Body, int kChains, int kCopies>
TimedKernel timed_kernel() {
  const std::string symbol =
      type_text<Body>() + ", " + std::to_string(kChains) + ", " + std::to_string(kCopies);
#ifdef __CUDACC__
  return {.symbol = symbol,
          .launch = [](const TimedArgs& args, unsigned blocks, unsigned threads,
                       unsigned shared) { timed<Body, kChains, kCopies><<<blocks, threads, shared>>>(args); },
          .function = reinterpret_cast<const void*>(timed<Body, kChains, kCopies>)};
#else
  return {.symbol = symbol};
#endif
}

/// The kernel that make<number>() gives, where `number` is one of kNumbers; else none.
template <int... kNumbers, typename Make>
TimedKernel kernel_for(int number, const Make& make) {
  TimedKernel found;
  ((number == kNumbers ? void(found = make.template operator()<kNumbers>()) : void()), ...);
  return found;
}

/// The kernel with as many chains as the point's ilp says. The census of SASS takes a single chain.
template <typename Body, int kCopies, int kCopiesAlone = kCopies>
TimedKernel kernel_with_chains(const Point& point) {
  static const TimedKernel kKernels[] = {
      timed_kernel<Body, 1, kCopiesAlone>(),
#ifndef MMAUDIT_CENSUS
      timed_kernel<Body, 2, kCopies>(),      timed_kernel<Body, 3, kCopies>(),
      timed_kernel<Body, 4, kCopies>(),      timed_kernel<Body, 5, kCopies>(),
      timed_kernel<Body, 6, kCopies>(),
#endif
  };
  const auto ilp = static_cast<std::size_t>(point.number("ilp"));
  return ilp >= 1 && ilp <= std::size(kKernels) ? kKernels[ilp - 1] : TimedKernel{};
}

}  // namespace mmaudit::sweeps
