// wmma.mma: chains of one instruction in each warp. Which element a register holds is unspecified: operands
// come in by wmma.load from lines in shared memory, as images.hpp has them, and D goes out by wmma.store.
#include "ptx/wmma_lists.cuh"
#include "sweeps/engine/timed.cuh"
#include "sweeps/matrix/matrix_benchmark.hpp"
#ifdef __CUDACC__
#include "kernels/wmma_kernel.cuh"
#endif

// clang-format off
#define MMAUDIT_TIMED_HALF(X) \
  X(16, 16, 16, f32, f32) X(16, 16, 16, f16, f16) X(32, 8, 16, f32, f32) X(8, 32, 16, f32, f32)
#define MMAUDIT_TIMED_WIDE(X) \
  X(16, 16, 16, f32, bf16) X(16, 16, 8, f32, tf32) X(8, 8, 4, f64, f64)
#define MMAUDIT_TIMED_INT(X) X(16, 16, 16, wrapping, s8)
// clang-format on
#define MMAUDIT_HALF(...) wmma_benchmark<MMAUDIT_WMMA_HALF_NAME(__VA_ARGS__)>(),
#define MMAUDIT_WIDE(...) wmma_benchmark<MMAUDIT_WMMA_NAME(__VA_ARGS__)>(),
#define MMAUDIT_INT(...) wmma_benchmark<MMAUDIT_WMMA_INT_NAME(__VA_ARGS__)>(),

namespace mmaudit::sweeps {

using device::listed_instruction;
MMAUDIT_TIMED_HALF(MMAUDIT_WMMA_HALF_LINE)
MMAUDIT_TIMED_WIDE(MMAUDIT_WMMA_LINE)
MMAUDIT_TIMED_INT(MMAUDIT_WMMA_INT_LINE)

/// Body of a Line of ptx/.
template <typename Line>
struct Wmma;

#ifdef __CUDACC__

namespace {

constexpr int kMostWarps = 32;

template <int kBytes>
__device__ __forceinline__ void copy_lines(unsigned char* to, const void* from, int tile, int lane) {
  const auto* words = reinterpret_cast<const std::uint32_t*>(static_cast<const unsigned char*>(from) +
                                                             static_cast<std::size_t>(tile) * kBytes);
  __syncwarp();
  for (int i = lane; i < kBytes / 4; i += kWarpLanes) reinterpret_cast<std::uint32_t*>(to)[i] = words[i];
  __syncwarp();
}

/// Bytes of the lines: A in rows, B in columns, C and D in rows.
template <typename Line>
struct Lines {
  using W = device::Wmma<Line>;
  static constexpr int kA = W::kA.bytes(false), kB = W::kB.bytes(true), kC = W::kC.bytes(false),
                       kD = W::kD.bytes(false);
  static constexpr int kLarger = kA > kB ? kA : kB, kMost = kLarger > kC ? kLarger : kC;
  static_assert(kC == kD, "D of one step is C of the next");
};

}  // namespace

template <typename Line>
struct Wmma {
  static constexpr Instruction kIs = Line::kInstruction;
  static constexpr bool kExists = device::kTargetCapability >= kIs.min_compute_capability;
  static constexpr int kLanes = kWarpLanes, kMostThreads = 0;

  template <int kChains>
  struct Chains {
    using W = device::Wmma<Line>;
    using L = Lines<Line>;
    device::RegisterOf<kIs.a> a[W::kRegistersA];
    device::RegisterOf<kIs.b> b[W::kRegistersB];
    device::RegisterOf<kIs.c> d[kChains][W::kRegistersC];
    unsigned char* lines;

    __device__ __forceinline__ Chains(const TimedArgs& args, const Place& at) {
      constexpr device::WmmaMatrix kA = W::kA, kB = W::kB, kC = W::kC;
      __shared__ alignas(32) unsigned char of_block[kMostWarps][L::kMost];
      lines = of_block[at.in_block];
      const int tile = at.in_block % args.tiles;
      copy_lines<L::kA>(lines, args.a, tile, at.lane);
      device::load_operand<typename Line::LoadA, false, false>(a, lines, kA, false);
      copy_lines<L::kB>(lines, args.b, tile, at.lane);
      device::load_operand<typename Line::LoadB, false, true>(b, lines, kB, true);
      copy_lines<L::kC>(lines, args.c, tile, at.lane);
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain)
        device::load_operand<typename Line::LoadC, false, false>(d[chain], lines, kC, false);
    }
    template <int kCopies>
    __device__ __forceinline__ void run(int steps) {
      repeat<kChains, kCopies>(steps, [this](int, int chain) {
        device::wmma_mma<Line, device::RowMajor, device::ColumnMajor>(d[chain], a, b, d[chain]);
      });
    }
    __device__ __forceinline__ bool finish(const TimedArgs& args, const Place& at) {
      constexpr device::WmmaMatrix kD = W::kD;
      device::RegisterOf<kIs.c> differ = 0;
#pragma unroll
      for (int r = 0; r < W::kRegistersC; ++r)
#pragma unroll
        for (int chain = 1; chain < kChains; ++chain) differ |= d[chain][r] ^ d[0][r];
      auto* words = reinterpret_cast<std::uint32_t*>(lines);
      __syncwarp();
      for (int i = at.lane; i < L::kD / 4; i += kWarpLanes) words[i] = 0;  // between the lines there is zero
      __syncwarp();
      device::wmma_store<typename Line::StoreD, device::RowMajor>(
          d[0], static_cast<std::uint32_t>(__cvta_generic_to_shared(lines)), kD.pitch(false) * 8 / kD.bits);
      __syncwarp();
      auto* out = static_cast<std::uint32_t*>(args.d) + at.slot * (L::kD / 4);
      for (int i = at.lane; i < L::kD / 4; i += kWarpLanes) out[i] = words[i];
      return differ != 0;
    }
  };
};

#endif

template <typename Line>
Benchmark wmma_benchmark() {
  Benchmark benchmark = matrix_benchmark(Line::kInstruction);
  benchmark.family = "wmma";
  benchmark.place = 30;
  benchmark.axes = {kScopeAxis, kInitAxis, kWarpsAxis, kIlpAxis};
  benchmark.kernel = kernel_with_chains<Wmma<Line>, 4>;
  return benchmark;
}

std::vector<Benchmark> benchmark_wmma() {
  return {MMAUDIT_TIMED_HALF(MMAUDIT_HALF) MMAUDIT_TIMED_WIDE(MMAUDIT_WIDE) MMAUDIT_TIMED_INT(MMAUDIT_INT)};
}

}  // namespace mmaudit::sweeps
