#pragma once
// What timed loads and stores of shared memory have in common.
#include <cstdint>

#include "ptx/line.cuh"
#include "sweeps/kernels/load_pattern.hpp"
#include "sweeps/kernels/stopwatch.cuh"

namespace mmaudit::sweeps {
namespace {

constexpr int kUnroll = 8;
constexpr int kLanes = 32;

extern __shared__ __align__(32) unsigned char memory[];

__device__ __forceinline__ std::uint32_t base_address() {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
}

template <int kWords>
__device__ void finish(const TimedArgs& args, Stamp& stamp, int lane, int slot,
                       const std::uint32_t (&first)[kWords], std::uint32_t differ) {
  auto* out = static_cast<std::uint32_t*>(args.d) + (slot * kLanes + lane) * kLoadWords;
#pragma unroll
  for (int w = 0; w < kWords; ++w) out[w] = w == 0 ? first[0] - base_address() : first[w];
  stamp.chains_differ = __any_sync(~0U, differ != 0) != 0 ? 1 : 0;
  if (lane == 0) args.stamps[slot] = stamp;
}

}  // namespace
}  // namespace mmaudit::sweeps

// clang-format off
#define MMAUDIT_EVERY_ILP(ROW, NAME, ...) \
  ROW<__VA_ARGS__, 1>(NAME), ROW<__VA_ARGS__, 2>(NAME), ROW<__VA_ARGS__, 3>(NAME), \
  ROW<__VA_ARGS__, 4>(NAME), ROW<__VA_ARGS__, 5>(NAME), ROW<__VA_ARGS__, 6>(NAME),
// clang-format on
