#pragma once
// mma whose operands come from shared memory by ldmatrix before each step.
#include "screen/screen.cuh"
#include "sweeps/matrix/mma.cuh"

namespace mmaudit::screen {

/// One of the 8 x 8 matrices of ldmatrix: rows of 16 bytes, of which each lane gets a word, lane after lane.
/// So an image of registers, register after register, is one matrix after another.
inline constexpr int kMatrixBytes = 128, kMatrixRow = 16;

/// Body of a Line of ptx/ whose operands have registers of 32 bits.
template <typename Line>
struct LoadingMma;

#ifdef __CUDACC__

template <typename Line>
struct LoadingMma {
  static constexpr Instruction kIs = Line::kInstruction;
  static constexpr bool kExists = device::kTargetCapability >= kIs.min_compute_capability;
  static constexpr int kLanes = kWarpLanes, kMostThreads = 0;

  template <int kChains>
  struct Chains {
    using F = device::Fragments<Line>;
    static constexpr int kA = F::kRegistersA, kB = F::kRegistersB;
    struct Step {
      std::uint32_t a[kA], b[kB];
    };
    std::uint32_t of_a, of_b;  ///< shared addresses of the row that the lane names
    std::uint32_t metadata[1] = {};
    device::RegisterOf<kIs.c> d[kChains][F::kRegistersC];

    __device__ __forceinline__ Chains(const sweeps::TimedArgs& args, const sweeps::Place& at) {
      extern __shared__ __align__(128) unsigned char tiles[];
      if constexpr (F::kSparse) sweeps::read_image(args.metadata, 0, at.lane, metadata);
      unsigned char* const own = tiles + at.in_block * (kA + kB) * kMatrixBytes;
      of_a = keep<kA>(own, args.a, at.lane);
      of_b = keep<kB>(own + kA * kMatrixBytes, args.b, at.lane);
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      // Loaded one step ahead: its latency is not part of a step.
      static_assert(kCopies % 2 == 0);
      Step loaded[2];
      load(loaded[0]);
      sweeps::repeat<kChains, kCopies>(steps, [&](int copy, int chain) {
        if (chain == 0) load(loaded[(copy + 1) % 2]);
        const Step& now = loaded[copy % 2];
        if constexpr (F::kSparse)
          device::mma_sp<Line, 0>(d[chain], now.a, now.b, metadata[0]);
        else
          device::mma<Line>(d[chain], now.a, now.b);
      });
    }

   private:
    /// The image in shared memory; the address of the row that the lane names to ldmatrix.
    template <int kRegisters>
    static __device__ __forceinline__ std::uint32_t keep(unsigned char* shared, const void* image, int lane) {
      std::uint32_t words[kRegisters];
      sweeps::read_image(image, 0, lane, words);
#pragma unroll
      for (int r = 0; r < kRegisters; ++r)
        reinterpret_cast<std::uint32_t*>(shared)[r * kWarpLanes + lane] = words[r];
      return static_cast<std::uint32_t>(__cvta_generic_to_shared(shared)) +
             static_cast<std::uint32_t>(lane % (8 * kRegisters) * kMatrixRow);
    }
    __device__ __forceinline__ void load(Step& step) const {
      device::load_matrices<false>(step.a, of_a);
      device::load_matrices<false>(step.b, of_b);
    }
  };
};

#endif

}  // namespace mmaudit::screen
