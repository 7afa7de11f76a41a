#pragma once
// Loads of words that wait for nothing, summed by chain, so that none can be left out.
#include <cstdint>

namespace mmaudit::sweeps {

template <int kChains, int kWords>
struct WordSums {
  std::uint32_t sum[kChains];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) sum[chain] = 0;
  }
  /// `steps` times access(words, number) in every chain: all of kTogether copies, then all their sums;
  /// without kSums (stores) the accesses alone.
  template <int kTurn, int kTogether, bool kSums, typename Access>
  __device__ __forceinline__ void run(int steps, const Access& access) {
#pragma unroll 1
    for (int i = 0; i < steps; i += kTurn)
#pragma unroll
      for (int j = 0; j < kTurn; j += kTogether) {
        std::uint32_t r[kTogether][kChains][kWords];
#pragma unroll
        for (int copy = 0; copy < kTogether; ++copy)
#pragma unroll
          for (int chain = 0; chain < kChains; ++chain) access(r[copy][chain], j + copy + chain);
        if constexpr (kSums)
#pragma unroll
          for (int copy = 0; copy < kTogether; ++copy)
#pragma unroll
            for (int chain = 0; chain < kChains; ++chain)
#pragma unroll
              for (int w = 0; w < kWords; ++w) sum[chain] += r[copy][chain][w];
      }
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t total() const {
    std::uint32_t all = 0;
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) all += sum[chain];
    return all;
  }
};

}  // namespace mmaudit::sweeps
