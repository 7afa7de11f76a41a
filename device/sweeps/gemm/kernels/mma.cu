// A product by mma.m16n8k16 in three steps: tiles copied and computed in turn; copies under way beside the
// computation; shared memory permuted so that ldmatrix finds its eight rows in different banks. In two
// configurations: ours, and that of Sun et al., appendix A.
#include "ptx/async_copy.cuh"
#include "ptx/mma_float.cuh"
#include "ptx/shared_memory.cuh"
#include "sweeps/gemm/kernel.hpp"
#include "sweeps/gemm/stamp.cuh"

namespace mmaudit::sweeps {
namespace {

using device::listed_instruction;
MMAUDIT_MMA_LINE(16, 8, 16, f32, bf16, bf16, f32)
using Line = MMAUDIT_MMA_NAME(16, 8, 16, f32, bf16, bf16, f32);

constexpr int kDepth = kGemmDepth;
constexpr int kChunk = 16, kRowBytes = 2 * kDepth, kChunks = kRowBytes / kChunk;  // of a row of a tile

/// Two by four warps, each 64 x 32 of D.
struct Ours {
  static constexpr int kTile = 128, kWarpM = 64, kWarpN = 32, kStages = 3;
  static constexpr bool kHoldsB = true;      ///< two ldmatrix.x4 bring B of a step, for all rows of A
  static constexpr bool kTimesStore = true;  ///< the clock stops after D is stored
  static constexpr int kLaunches = 0;        ///< see GemmKernel
};
/// Two by two warps, each 32 x 32 of D. Source: Sun et al., appendix A, and their programs
/// (microbench/appendix of DissectingTensorCores): an ldmatrix.x2 before each mma, the clock read before the
/// store.
struct Sun {
  static constexpr int kTile = 64, kWarpM = 32, kWarpN = 32, kStages = 2;
  static constexpr bool kHoldsB = false, kTimesStore = false;
  static constexpr int kLaunches = 1000;
};
template <typename Shape>
struct Sizes : Shape {
  static constexpr int kPartsM = Shape::kWarpM / 16, kPartsN = Shape::kWarpN / 8;
  static constexpr int kWarpsN = Shape::kTile / Shape::kWarpN;
  static constexpr int kThreads = 32 * kWarpsN * (Shape::kTile / Shape::kWarpM);
  static constexpr int kTileBytes = Shape::kTile * kRowBytes, kStageBytes = 2 * kTileBytes;
  static constexpr int kCopies = Shape::kTile * kChunks / kThreads;  ///< of a thread, per tile
};

extern __shared__ __align__(1024) unsigned char memory[];

template <bool kPermuted>
__device__ __forceinline__ int offset_of(int row, int chunk) {
  return row * kRowBytes + (kPermuted ? chunk ^ (row % kChunks) : chunk) * kChunk;
}

/// Rows `row` on of a matrix, k on: where a thread's chunk i comes from and goes to.
template <typename S, bool kPermuted>
struct Copy {
  const std::uint16_t* from;
  int to;
  __device__ __forceinline__ Copy(const std::uint16_t* matrix, int size, int row, int k, int i) {
    const int id = i * S::kThreads + static_cast<int>(threadIdx.x), in_tile = id / kChunks,
              chunk = id % kChunks;
    from = matrix + static_cast<std::size_t>(row + in_tile) * static_cast<std::size_t>(size) + k + chunk * 8;
    to = offset_of<kPermuted>(in_tile, chunk);
  }
};

/// One tile of each operand, through registers.
template <typename S, bool kPermuted>
__device__ __forceinline__ void fetch(const TimedGemmArgs& args, int row, int column, int k) {
  uint4 a[S::kCopies], b[S::kCopies];
#pragma unroll
  for (int i = 0; i < S::kCopies; ++i) {
    a[i] = *reinterpret_cast<const uint4*>(Copy<S, kPermuted>(args.a, args.size, row, k, i).from);
    b[i] = *reinterpret_cast<const uint4*>(Copy<S, kPermuted>(args.b, args.size, column, k, i).from);
  }
#pragma unroll
  for (int i = 0; i < S::kCopies; ++i) {
    const int to = Copy<S, kPermuted>(args.a, args.size, 0, 0, i).to;
    *reinterpret_cast<uint4*>(memory + to) = a[i];
    *reinterpret_cast<uint4*>(memory + S::kTileBytes + to) = b[i];
  }
}

template <typename S, bool kPermuted>
__device__ __forceinline__ void fetch_async(const TimedGemmArgs& args, int row, int column, int k,
                                            int stage) {
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory + stage * S::kStageBytes));
#pragma unroll
  for (int i = 0; i < S::kCopies; ++i) {
    const Copy<S, kPermuted> a(args.a, args.size, row, k, i), b(args.b, args.size, column, k, i);
    device::copy_async(base + static_cast<std::uint32_t>(a.to), a.from);
    device::copy_async(base + static_cast<std::uint32_t>(S::kTileBytes + b.to), b.from);
  }
}

template <typename S, bool kPermuted>
__device__ __forceinline__ void multiply(std::uint32_t (&d)[S::kPartsM][S::kPartsN][4], int stage) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / S::kWarpsN * S::kWarpM, column = warp % S::kWarpsN * S::kWarpN;
  const auto base_a = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory + stage * S::kStageBytes));
  const std::uint32_t base_b = base_a + S::kTileBytes;
  const auto load_a = [&](std::uint32_t(&r)[4], int i, int step) {
    device::load_matrices<false>(r, base_a + static_cast<std::uint32_t>(offset_of<kPermuted>(
                                                 row + 16 * i + lane % 16, 2 * step + lane / 16)));
  };
  // Eight columns of B, or twice eight.
  const auto load_b = [&]<int kWords>(std::uint32_t(&r)[kWords], int j, int step) {
    const int twice = kWords == 4 ? lane / 16 * 8 : 0;
    device::load_matrices<false>(
        r, base_b + static_cast<std::uint32_t>(
                        offset_of<kPermuted>(column + 8 * j + lane % 8 + twice, 2 * step + lane / 8 % 2)));
  };
#pragma unroll
  for (int step = 0; step < kDepth / 16; ++step) {
    if constexpr (S::kHoldsB) {
      std::uint32_t a[S::kPartsM][4], b[S::kPartsN / 2][4];
#pragma unroll
      for (int i = 0; i < S::kPartsM; ++i) load_a(a[i], i, step);
#pragma unroll
      for (int j = 0; j < S::kPartsN / 2; ++j) load_b(b[j], 2 * j, step);
#pragma unroll
      for (int i = 0; i < S::kPartsM; ++i)
#pragma unroll
        for (int j = 0; j < S::kPartsN; ++j) {
          const std::uint32_t b_of[2] = {b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]};
          if constexpr (device::kTargetHas<Line>) device::mma<Line>(d[i][j], a[i], b_of);
        }
    } else {
#pragma unroll
      for (int i = 0; i < S::kPartsM; ++i) {
        std::uint32_t a[4];
        load_a(a, i, step);
#pragma unroll
        for (int j = 0; j < S::kPartsN; ++j) {
          std::uint32_t b[2];
          load_b(b, j, step);
          if constexpr (device::kTargetHas<Line>) device::mma<Line>(d[i][j], a, b);
        }
      }
    }
  }
}

template <typename S, bool kAsync, bool kPermuted>
__global__ void __launch_bounds__(S::kThreads) gemm_mma(const TimedGemmArgs args) {
  Stamp stamp;
  start_block(stamp);
  const int row = static_cast<int>(blockIdx.y) * S::kTile, column = static_cast<int>(blockIdx.x) * S::kTile;
  std::uint32_t d[S::kPartsM][S::kPartsN][4] = {};
  const int steps = args.size / kDepth;
  if constexpr (kAsync) {
    for (int i = 0; i < S::kStages - 1; ++i) {
      if (i < steps) fetch_async<S, kPermuted>(args, row, column, i * kDepth, i);
      device::commit_copies();
    }
    for (int i = 0; i < steps; ++i) {
      device::wait_copies<S::kStages - 2>();
      __syncthreads();  // tile i is there for all, and no thread reads tile i - 1 any more
      const int next = i + S::kStages - 1;
      if (next < steps) fetch_async<S, kPermuted>(args, row, column, next * kDepth, next % S::kStages);
      device::commit_copies();
      multiply<S, kPermuted>(d, i % S::kStages);
    }
  } else {
    for (int i = 0; i < steps; ++i) {
      if (i > 0) __syncthreads();
      fetch<S, kPermuted>(args, row, column, i * kDepth);
      __syncthreads();
      multiply<S, kPermuted>(d, 0);
    }
  }
  if constexpr (!S::kTimesStore) stop_block(stamp, args.stamps);
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int i = 0; i < S::kPartsM; ++i)
#pragma unroll
    for (int j = 0; j < S::kPartsN; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int at_row = row + warp / S::kWarpsN * S::kWarpM + 16 * i + 8 * half + lane / 4;
        const int at_column = column + warp % S::kWarpsN * S::kWarpN + 8 * j + lane % 4 * 2;
        auto* to =
            reinterpret_cast<uint2*>(args.d + static_cast<std::size_t>(at_row) * args.size + at_column);
        *to = make_uint2(d[i][j][2 * half], d[i][j][2 * half + 1]);
      }
  if constexpr (S::kTimesStore) stop_block(stamp, args.stamps);
}

template <typename S>
unsigned blocks_of(int size, int) {
  return static_cast<unsigned>(size / S::kTile) * static_cast<unsigned>(size / S::kTile);
}

template <typename Shape, bool kAsync, bool kPermuted>
GemmKernel gemm_kernel(std::string_view name, std::string_view what) {
  using S = Sizes<Shape>;
  constexpr int kShared = (kAsync ? S::kStages : 1) * S::kStageBytes;
  return {.name = name,
          .what = what,
          .instruction = Line::kInstruction,
          .most_size = 4096,
          .launch =
              [](const TimedGemm& problem) {
                const auto tiles = static_cast<unsigned>(problem.args.size / S::kTile);
                gemm_mma<S, kAsync, kPermuted><<<dim3(tiles, tiles), S::kThreads, kShared>>>(problem.args);
              },
          .blocks = blocks_of<S>,
          .function = reinterpret_cast<const void*>(gemm_mma<S, kAsync, kPermuted>),
          .shared_bytes = kShared,
          .launches = S::kLaunches};
}

__global__ void gemm_fill(std::uint16_t* a, std::uint16_t* b, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) {
    a[i] = gemm_value(kGemmSeedA, i);
    b[i] = gemm_value(kGemmSeedB, i);
  }
}

}  // namespace

void launch_gemm_fill(std::uint16_t* a, std::uint16_t* b, int size) {
  gemm_fill<<<1024, 256>>>(a, b, static_cast<std::uint64_t>(size) * static_cast<std::uint64_t>(size));
}

std::vector<GemmKernel> gemm_with_mma() {
  return {
      gemm_kernel<Sun, false, false>("Sun baseline",
                                     "mma.m16n8k16, the paper's 64 x 64 x 64 tiles and 4 warps"),
      gemm_kernel<Sun, true, false>("Sun pipeline", "the same, two stages of cp.async"),
      gemm_kernel<Sun, false, true>("Sun permuted", "the paper's baseline, shared memory permuted"),
      gemm_kernel<Ours, false, false>("mma baseline",
                                      "mma.m16n8k16, 128 x 128 x 64 tiles, copied and computed in turn"),
      gemm_kernel<Ours, true, false>("mma pipeline", "the same, three stages of cp.async"),
      gemm_kernel<Ours, false, true>("mma permuted", "the baseline, shared memory permuted"),
      gemm_kernel<Ours, true, true>("mma pipeline permuted",
                                    "three stages of cp.async, shared memory permuted"),
  };
}

}  // namespace mmaudit::sweeps
