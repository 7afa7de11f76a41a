#pragma once
// wgmma: a chain of one instruction in each warpgroup. The instruction is the text of ptx/wgmma.cuh or
// ptx/wgmma_sp.cuh; the loop around it commits after a group of instructions, all on the same accumulators.
#include "ptx/wgmma_sp.cuh"
#include "sweeps/engine/timed.cuh"
#include "sweeps/matrix/matrix_benchmark.hpp"
#ifdef __CUDACC__
#include "kernels/shared_layout.hpp"
#endif

namespace mmaudit::sweeps {

inline constexpr AxisSpec kColumnsAxis = number_axis("n", 8, 256, "[8,16,32,64,128,256]", "[8,64,256]",
                                                     "columns of a wgmma", "8,16,32,64,128,256");
inline constexpr AxisSpec kSourceAxis = word_axis("a", "shared,registers", "[shared,registers]",
                                                  "[shared,registers]", "where A of a wgmma comes from");
inline constexpr AxisSpec kGroupAxis =
    number_axis("group", 1, 8, "[8]", "[8]", "wgmma between two commits", "1,8");

// k of the images is 32 bytes long whatever the type, and 64 of a sparse instruction's B. Source: PTX ISA
// 9.0, shapes of wgmma.mma_async.
inline constexpr int kBytesA = 64 * 32;
constexpr int bytes_per_column(bool sparse) { return sparse ? 64 : 32; }

/// Body of a Chain, which has kInstruction, registers of accumulators, and the loop from_shared<group>()
/// (with kRegistersA also from_registers<group>()) that commits after each group of instructions.
template <typename Chain, bool kRegistersA>
struct Wgmma;

#ifdef __CUDACC__

#define MMAUDIT_EIGHT(TEXT) TEXT TEXT TEXT TEXT TEXT TEXT TEXT TEXT

using device::WgmmaA;

constexpr Instruction with_n(Instruction instruction, int n) {
  instruction.n = static_cast<std::int16_t>(n);
  return instruction;
}

template <typename Chain, bool kRegistersA>
struct Wgmma {
  static constexpr bool kExists = device::kTargetHasWgmma;
  static constexpr bool kSparse = is_sparse(Chain::kInstruction.op);
  static constexpr int kLanes = kWarpgroupLanes;
  /// Of the warpgroups that have registers enough, with 40 beside the accumulators.
  static constexpr int kMostThreads = (Chain::kLive > 80 ? 2 : 4) * kWarpgroupLanes;
  static constexpr int kColumnBytes = bytes_per_column(kSparse);

  template <int kChains>
  struct Chains {
    static_assert(kChains == 1);
    static constexpr int kN = Chain::kInstruction.n, kRegisters = Chain::kRegisters;
    WgmmaA a;
    std::uint64_t b, metadata = 0;
    std::uint32_t d[kRegisters];

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      extern __shared__ __align__(128) unsigned char tiles[];
      const int tile = at.in_block % args.tiles, lane = at.lane;
      unsigned char* shared_a = tiles + at.in_block * (kBytesA + kN * kColumnBytes);
      unsigned char* shared_b = shared_a + kBytesA;
      const auto* image_a = static_cast<const unsigned char*>(args.a) + tile * kBytesA;
      const auto* image_b = static_cast<const unsigned char*>(args.b) + tile * kN * kColumnBytes;
      for (int i = 16 * lane; i < kBytesA; i += 16 * kWarpgroupLanes)
        *reinterpret_cast<uint4*>(shared_a + i) = *reinterpret_cast<const uint4*>(image_a + i);
      for (int i = 16 * lane; i < kN * kColumnBytes; i += 16 * kWarpgroupLanes)
        *reinterpret_cast<uint4*>(shared_b + i) = *reinterpret_cast<const uint4*>(image_b + i);
      // The reduction leaves its result in a uniform register, where wgmma wants it: else ptxas moves the
      // descriptors there before every single instruction, 16 to 20 cycles that N < 64 does not hide.
      const auto descriptor = [](const unsigned char* shared, int cores) {
        const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
        return device::shared_descriptor(__reduce_max_sync(~0U, address), device::kNextAlongK,
                                         device::next_along_mn(cores));
      };
      if constexpr (kRegistersA) {
        const auto* r = reinterpret_cast<const std::uint32_t*>(image_a) + lane;
        a.low = r[0] | std::uint64_t{r[kWarpgroupLanes]} << 32;
        a.high = r[2 * kWarpgroupLanes] | std::uint64_t{r[3 * kWarpgroupLanes]} << 32;
      } else {
        a.low = descriptor(shared_a, device::kDenseCores);
      }
      b = descriptor(shared_b, kColumnBytes / device::kLineBytes);
      if constexpr (kSparse)
        metadata =
            std::uint64_t{static_cast<const std::uint32_t*>(args.metadata)[tile * kWarpgroupLanes + lane]}
            << 32;
      const auto* image_c =
          static_cast<const std::uint32_t*>(args.c) + tile * kRegisters * kWarpgroupLanes + lane;
#pragma unroll
      for (int i = 0; i < kRegisters; ++i) d[i] = image_c[i * kWarpgroupLanes];
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    template <int kGroup>
    __device__ __forceinline__ void run(int steps) {
      const std::uint64_t steps_and_metadata = static_cast<std::uint32_t>(steps) | metadata;
      if constexpr (kRegistersA)
        Chain::template from_registers<kGroup>(d, a, b, steps_and_metadata);
      else
        Chain::template from_shared<kGroup>(d, a, b, steps_and_metadata);
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      auto* out = static_cast<std::uint32_t*>(args.d) + at.slot * kRegisters * kWarpgroupLanes + at.lane;
#pragma unroll
      for (int i = 0; i < kRegisters; ++i) out[i * kWarpgroupLanes] = d[i];
      return false;
    }
  };
};

#endif

/// Everything but family, place, the axes after n, kernel and published tables.
inline Benchmark wgmma_benchmark(const Instruction& instruction) {
  Benchmark benchmark = matrix_benchmark(instruction);
  benchmark.axes = {kScopeAxis, kInitAxis, kWarpsAxis, kColumnsAxis};
  benchmark.exists = [](const Point& point) {
    const int warps = point.number("warps");
    return warps % kWarpgroupWarps == 0 && warps <= 4 * kWarpgroupWarps;
  };
  benchmark.setup = [setup = benchmark.setup, sparse = is_sparse(instruction.op)](const Point& point,
                                                                                  Workbench* bench) {
    Setup with_tiles = setup(point, bench);
    with_tiles.shared_bytes =
        point.number("warps") / kWarpgroupWarps * (kBytesA + point.number("n") * bytes_per_column(sparse));
    return with_tiles;
  };
  return benchmark;
}

}  // namespace mmaudit::sweeps
