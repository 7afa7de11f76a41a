#pragma once
// Bodies of kernels that time loads and stores of shared memory.
#include "sweeps/engine/timed.cuh"
#include "sweeps/memory/shared_memory.hpp"

namespace mmaudit::sweeps {

/// Steps without a branch between them.
inline constexpr int kAccessCopies = 8;

/// Loads that chase a pointer: the first word that a lane loads is the address from which it loads next. A
/// Load says kExists, kRegisters and kWords of a lane, how many of the words are addresses, fill(stride, at),
/// first(stride, lane) and load(r, address).
template <typename Load>
struct Chase;
/// Stores of the same words again and again. They have no result to wait for: what is timed is their issue. A
/// Store says kExists, kWords, kWarpBytes, word(w, lane), offset(stride, lane) and store(address, r).
template <typename Store>
struct Repeat;

#ifdef __CUDACC__

extern __shared__ __align__(32) unsigned char shared_bytes[];

__device__ __forceinline__ std::uint32_t base_address() {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared_bytes));
}
__device__ __forceinline__ std::uint32_t* shared_words() {
  return reinterpret_cast<std::uint32_t*>(shared_bytes);
}
/// Every thread of the block calls this: shared memory holds the pattern.
__device__ __forceinline__ void fill_pattern() {
  for (int word = static_cast<int>(threadIdx.x); word < kPatternBytes / 4;
       word += static_cast<int>(blockDim.x))
    shared_words()[word] = pattern_word(word);
  __syncthreads();
}
/// What loads of the pattern have in common: neighbouring lanes start `stride` bytes apart, and the first of
/// the words that a lane loads is an address.
template <int kLaneWords>
struct PatternLoad {
  static constexpr bool kExists = true;
  static constexpr int kWords = kLaneWords, kRegisters = kLaneWords, kAddresses = 1;

  static __device__ std::uint32_t first(int stride, int lane) {
    return static_cast<std::uint32_t>(stride * lane);
  }
};
__device__ __forceinline__ std::uint32_t* result_of(const TimedArgs& args, const Place& at) {
  return static_cast<std::uint32_t*>(args.d) + (at.slot * 32 + at.lane) * kResultWords;
}

template <typename Load>
struct Chase : WarpBody<Load::kExists, 0> {
  template <int kChains>
  struct Chains {
    std::uint32_t r[kChains][Load::kRegisters];

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      Load::fill(args.parameter, at.lane);
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain)
        r[chain][0] = base_address() + Load::first(args.parameter, at.lane);
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      repeat<kChains, kCopies>(steps, [this](int, int chain) { Load::load(r[chain], r[chain][0]); });
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      std::uint32_t differ = 0;
#pragma unroll
      for (int chain = 1; chain < kChains; ++chain)
#pragma unroll
        for (int w = 0; w < Load::kRegisters; ++w) differ |= r[chain][w] ^ r[0][w];
      std::uint32_t* out = result_of(args, at);
#pragma unroll
      for (int w = 0; w < Load::kWords; ++w) out[w] = r[0][w] - (w < Load::kAddresses ? base_address() : 0);
      return differ != 0;
    }
  };
};

template <typename Store>
struct Repeat : WarpBody<Store::kExists, 0> {
  template <int kChains>
  struct Chains {
    std::uint32_t r[Store::kWords], address;
    std::uint32_t* words;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      words = shared_words() + Store::kWarpBytes / 4 * at.in_block + at.lane;
#pragma unroll
      for (int w = 0; w < Store::kWords; ++w) {
        words[32 * w] = 0;
        r[w] = Store::word(w, at.lane);
      }
      address = base_address() + static_cast<std::uint32_t>(Store::kWarpBytes * at.in_block +
                                                            Store::offset(args.parameter, at.lane));
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      repeat<kChains, kCopies>(steps, [this](int, int) { Store::store(address, r); });
      __syncthreads();  // the stores have been taken
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      std::uint32_t* out = result_of(args, at);
#pragma unroll
      for (int w = 0; w < Store::kWords; ++w) out[w] = words[32 * w];
      return false;
    }
  };
};

#endif

}  // namespace mmaudit::sweeps
