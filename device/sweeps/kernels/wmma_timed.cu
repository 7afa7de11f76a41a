// kIlp independent chains of one wmma.mma in every warp. Which element a register holds is unspecified:
// operands come in by wmma.load from lines in shared memory, as images.hpp has them, and D goes out by
// wmma.store.
#include "kernels/wmma_kernel.cuh"
#include "sweeps/kernels/stopwatch.cuh"

namespace mmaudit::sweeps {
namespace {

constexpr int kMostWarps = 32, kCopies = 4;

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

template <typename Line, int kIlp, int kUnroll>
__global__ void wmma_timed(const TimedArgs args) {
  constexpr Instruction kIs = Line::kInstruction;
  if constexpr (device::kTargetCapability < kIs.min_compute_capability) {
    __trap();
  } else {
    using W = device::Wmma<Line>;
    using L = Lines<Line>;
    constexpr device::WmmaMatrix kA = W::kA, kB = W::kB, kC = W::kC, kD = W::kD;
    __shared__ alignas(32) unsigned char shared[kMostWarps][L::kMost];
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
    const int slot = static_cast<int>(blockIdx.x * blockDim.x) / kWarpLanes + warp;
    const int tile = warp % args.tiles;
    device::RegisterOf<kIs.a> a[W::kRegistersA];
    device::RegisterOf<kIs.b> b[W::kRegistersB];
    device::RegisterOf<kIs.c> d[kIlp][W::kRegistersC];
    copy_lines<L::kA>(shared[warp], args.a, tile, lane);
    device::load_operand<typename Line::LoadA, false, false>(a, shared[warp], kA, false);
    copy_lines<L::kB>(shared[warp], args.b, tile, lane);
    device::load_operand<typename Line::LoadB, false, true>(b, shared[warp], kB, true);
    copy_lines<L::kC>(shared[warp], args.c, tile, lane);
#pragma unroll
    for (int chain = 0; chain < kIlp; ++chain)
      device::load_operand<typename Line::LoadC, false, false>(d[chain], shared[warp], kC, false);

    Stamp stamp;
    start(stamp);
#pragma unroll 1
    for (int i = 0; i < args.iterations; i += kUnroll) {
#pragma unroll
      for (int j = 0; j < kUnroll; ++j)
#pragma unroll
        for (int chain = 0; chain < kIlp; ++chain)
          device::wmma_mma<Line, device::RowMajor, device::ColumnMajor>(d[chain], a, b, d[chain]);
    }
    stop(stamp);

    device::RegisterOf<kIs.c> differ = 0;
#pragma unroll
    for (int r = 0; r < W::kRegistersC; ++r)
#pragma unroll
      for (int chain = 1; chain < kIlp; ++chain) differ |= d[chain][r] ^ d[0][r];
    stamp.chains_differ = __any_sync(~0U, differ != 0) != 0 ? 1 : 0;
    __syncwarp();
    for (int i = lane; i < L::kD / 4; i += kWarpLanes)  // what lies between the lines is zero
      reinterpret_cast<std::uint32_t*>(shared[warp])[i] = 0;
    __syncwarp();
    device::wmma_store<typename Line::StoreD, device::RowMajor>(
        d[0], static_cast<std::uint32_t>(__cvta_generic_to_shared(shared[warp])),
        kD.pitch(false) * 8 / kD.bits);
    __syncwarp();
    auto* out = static_cast<std::uint32_t*>(args.d) + slot * (L::kD / 4);
    for (int i = lane; i < L::kD / 4; i += kWarpLanes)
      out[i] = reinterpret_cast<const std::uint32_t*>(shared[warp])[i];
    if (lane == 0) args.stamps[slot] = stamp;
  }
}

template <typename Line, int kIlp, int kUnroll = kCopies>
TimedKernel wmma_timed_row() {
  return {
      .instruction = Line::kInstruction,
      .ilp = kIlp,
      .launch = [](const TimedArgs& args, unsigned blocks, unsigned threads,
                   unsigned shared) { wmma_timed<Line, kIlp, kUnroll><<<blocks, threads, shared>>>(args); },
      .function = reinterpret_cast<const void*>(wmma_timed<Line, kIlp, kUnroll>)};
}

// clang-format off
#define MMAUDIT_TIMED_WMMA_HALF(X) \
  X(16, 16, 16, f32, f32) X(16, 16, 16, f16, f16) X(32, 8, 16, f32, f32) X(8, 32, 16, f32, f32)
#define MMAUDIT_TIMED_WMMA_WIDE(X) \
  X(16, 16, 16, f32, bf16) X(16, 16, 8, f32, tf32) X(8, 8, 4, f64, f64)
#define MMAUDIT_TIMED_WMMA_INT(X) X(16, 16, 16, wrapping, s8)
// clang-format on
#ifdef MMAUDIT_CENSUS
#define MMAUDIT_EVERY_CHAIN(NAME) wmma_timed_row<NAME, 1>(),
#else
#define MMAUDIT_EVERY_CHAIN(NAME)                                                  \
  wmma_timed_row<NAME, 1>(), wmma_timed_row<NAME, 2>(), wmma_timed_row<NAME, 3>(), \
      wmma_timed_row<NAME, 4>(), wmma_timed_row<NAME, 5>(), wmma_timed_row<NAME, 6>(),
#endif
#define MMAUDIT_TIMED_HALF(...) MMAUDIT_EVERY_CHAIN(MMAUDIT_WMMA_HALF_NAME(__VA_ARGS__))
#define MMAUDIT_TIMED_WIDE(...) MMAUDIT_EVERY_CHAIN(MMAUDIT_WMMA_NAME(__VA_ARGS__))
#define MMAUDIT_TIMED_INT(...) MMAUDIT_EVERY_CHAIN(MMAUDIT_WMMA_INT_NAME(__VA_ARGS__))

using device::instruction_row;
MMAUDIT_TIMED_WMMA_HALF(MMAUDIT_WMMA_HALF_LINE)
MMAUDIT_TIMED_WMMA_WIDE(MMAUDIT_WMMA_LINE)
MMAUDIT_TIMED_WMMA_INT(MMAUDIT_WMMA_INT_LINE)

std::span<const TimedKernel> timed_wmma() {
  static const TimedKernel kRows[] = {MMAUDIT_TIMED_WMMA_HALF(MMAUDIT_TIMED_HALF) MMAUDIT_TIMED_WMMA_WIDE(
      MMAUDIT_TIMED_WIDE) MMAUDIT_TIMED_WMMA_INT(MMAUDIT_TIMED_INT)};
  return kRows;
}

}  // namespace mmaudit::sweeps
