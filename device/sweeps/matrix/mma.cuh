#pragma once
// mma and mma.sp: chains of one instruction in each warp.
#include "ptx/mma_sp.cuh"
#include "sweeps/engine/timed.cuh"
#include "sweeps/matrix/matrix_benchmark.hpp"
#include "sweeps/matrix/rotation.hpp"
#ifdef __CUDACC__
#include "kernels/fragments.cuh"
#include "ptx/shared_memory.cuh"

namespace mmaudit::sweeps {

/// Register r of a lane lies at r * 32 + lane of its tile's image.
template <typename Register, int kRegisters>
__device__ __forceinline__ void read_image(const void* image, int tile, int lane, Register (&r)[kRegisters]) {
  const auto* from = static_cast<const Register*>(image) + tile * kRegisters * kWarpLanes + lane;
#pragma unroll
  for (int i = 0; i < kRegisters; ++i) r[i] = from[i * kWarpLanes];
}

/// Operands that stay in registers.
template <typename Line>
struct HeldOperands {
  using F = device::Fragments<Line>;
  device::RegisterOf<Line::kInstruction.a> a[F::kRegistersA];
  device::RegisterOf<Line::kInstruction.b> b[F::kRegistersB];
  std::uint32_t metadata[1] = {};

  __device__ __forceinline__ HeldOperands(const TimedArgs& args, int tile, int lane) {
    if constexpr (F::kSparse) read_image(args.metadata, tile, lane, metadata);
    read_image(args.a, tile, lane, a);
    read_image(args.b, tile, lane, b);
  }
};

/// Operands in shared memory, tile after tile: what rotation.hpp asks for.
template <typename Line>
struct RotatingOperands {
  using F = device::Fragments<Line>;
  static constexpr int kA = F::kRegistersA, kB = F::kRegistersB, kMetadata = F::kSparse ? 1 : 0;
  static constexpr int kHeld = 2 * kRotation - 1;  // wherever a warp begins, kRotation tiles lie in a row
  static constexpr int kLanesHeld = kHeld * kWarpLanes;
  struct Step {
    std::uint32_t a[kA], b[kB], metadata[1];
  };
  std::uint32_t of_a, of_b, of_metadata;  ///< shared addresses of the lane's words of its first tile

  __device__ __forceinline__ RotatingOperands(const TimedArgs& args, int tile, int lane) {
    __shared__ alignas(16) std::uint32_t words[kLanesHeld * (kA + kB + kMetadata)];
    of_a = copy<kA>(words, args.a, tile * kWarpLanes + lane);
    of_b = copy<kB>(words + kLanesHeld * kA, args.b, tile * kWarpLanes + lane);
    if constexpr (kMetadata > 0)
      of_metadata = copy<1>(words + kLanesHeld * (kA + kB), args.metadata, tile * kWarpLanes + lane);
    __syncthreads();
  }
  /// The operands of the tile that comes `later`.
  __device__ __forceinline__ void load(Step& step, int later) const {
    const std::uint32_t bytes = 4U * kWarpLanes * static_cast<std::uint32_t>(later);
    device::load_all_words(step.a, of_a + kA * bytes);
    device::load_all_words(step.b, of_b + kB * bytes);
    if constexpr (kMetadata > 0) device::load_all_words(step.metadata, of_metadata + bytes);
  }

 private:
  /// The image of an operand, each lane's registers side by side; the address of what `lane` holds.
  template <int kRegisters>
  static __device__ std::uint32_t copy(std::uint32_t* to, const void* image, int lane) {
    for (int i = static_cast<int>(threadIdx.x); i < kLanesHeld * kRegisters;
         i += static_cast<int>(blockDim.x)) {
      const int at = i / kRegisters, tile = at / kWarpLanes % kRotation;
      to[i] = static_cast<const std::uint32_t*>(
          image)[(tile * kRegisters + i % kRegisters) * kWarpLanes + at % kWarpLanes];
    }
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(to + lane * kRegisters));
  }
};

/// Body of a Line of ptx/. `kRotates`: its operands change at every step.
template <typename Line, bool kRotates>
struct MmaBody {
  static constexpr Instruction kIs = Line::kInstruction;
  static constexpr bool kExists = device::kTargetCapability >= kIs.min_compute_capability;
  static constexpr bool kSparse = is_sparse(kIs.op);
  static constexpr int kLanes = kWarpLanes, kMostThreads = 0;

  template <int kChains>
  struct Chains {
    using F = device::Fragments<Line>;
    using C = device::RegisterOf<kIs.c>;
    std::conditional_t<kRotates, RotatingOperands<Line>, HeldOperands<Line>> operands;
    C d[kChains][F::kRegistersC];

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at)
        : operands(args, at.in_block % args.tiles, at.lane) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain)
        read_image(args.c, at.in_block % args.tiles, at.lane, d[chain]);
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      if constexpr (kRotates) {
        // Loaded one instruction ahead: its latency is not part of a step.
        static_assert(kCopies % kRotation == 0 && kCopies % 2 == 0);
        typename RotatingOperands<Line>::Step loaded[2];
        operands.load(loaded[0], 0);
        repeat<kChains, kCopies>(steps, [&](int copy, int chain) {
          const int instruction = copy * kChains + chain;
          operands.load(loaded[(instruction + 1) % 2], (instruction + 1) / kChains % kRotation);
          multiply(d[chain], loaded[instruction % 2]);
        });
      } else {
        repeat<kChains, kCopies>(steps, [this](int, int chain) { multiply(d[chain], operands); });
      }
    }
    template <typename Held>
    static __device__ __forceinline__ void multiply(C (&sum)[F::kRegistersC], const Held& held) {
      if constexpr (kSparse)
        device::mma_sp<Line, 0>(sum, held.a, held.b, held.metadata[0]);
      else
        device::mma<Line>(sum, held.a, held.b);
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

}  // namespace mmaudit::sweeps

#endif
