// A product by mma.m16n8k16 in three steps: tiles copied and computed in turn; copies under way beside the
// computation; shared memory permuted so that ldmatrix finds its eight rows in different banks.
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

constexpr int kTile = 128, kThreads = 256, kDepth = kGemmDepth;
constexpr int kChunk = 16, kRowBytes = 2 * kDepth, kChunks = kRowBytes / kChunk;  // of a row of a tile
constexpr int kTileBytes = kTile * kRowBytes, kStageBytes = 2 * kTileBytes;
constexpr int kCopies = kTile * kChunks / kThreads;  // a thread, a tile
constexpr int kStages = 3;
// Two by four warps, each 64 x 32 of D.
constexpr int kWarpM = 64, kWarpN = 32, kPartsM = kWarpM / 16, kPartsN = kWarpN / 8, kWarpsN = kTile / kWarpN;

extern __shared__ __align__(1024) unsigned char memory[];

template <bool kPermuted>
__device__ __forceinline__ int offset_of(int row, int chunk) {
  return row * kRowBytes + (kPermuted ? chunk ^ (row % kChunks) : chunk) * kChunk;
}

/// Rows `row` on of a matrix, k on: where a thread's chunk i comes from and goes to.
template <bool kPermuted>
struct Copy {
  const std::uint16_t* from;
  int to;
  __device__ __forceinline__ Copy(const std::uint16_t* matrix, int size, int row, int k, int i) {
    const int id = i * kThreads + static_cast<int>(threadIdx.x), in_tile = id / kChunks, chunk = id % kChunks;
    from = matrix + static_cast<std::size_t>(row + in_tile) * static_cast<std::size_t>(size) + k + chunk * 8;
    to = offset_of<kPermuted>(in_tile, chunk);
  }
};

/// One tile of each operand, through registers.
template <bool kPermuted>
__device__ __forceinline__ void fetch(const GemmArgs& args, int row, int column, int k) {
  uint4 a[kCopies], b[kCopies];
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    a[i] = *reinterpret_cast<const uint4*>(Copy<kPermuted>(args.a, args.size, row, k, i).from);
    b[i] = *reinterpret_cast<const uint4*>(Copy<kPermuted>(args.b, args.size, column, k, i).from);
  }
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    const int to = Copy<kPermuted>(args.a, args.size, 0, 0, i).to;
    *reinterpret_cast<uint4*>(memory + to) = a[i];
    *reinterpret_cast<uint4*>(memory + kTileBytes + to) = b[i];
  }
}

template <bool kPermuted>
__device__ __forceinline__ void fetch_async(const GemmArgs& args, int row, int column, int k, int stage) {
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory + stage * kStageBytes));
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    const Copy<kPermuted> a(args.a, args.size, row, k, i), b(args.b, args.size, column, k, i);
    device::copy_async(base + static_cast<std::uint32_t>(a.to), a.from);
    device::copy_async(base + static_cast<std::uint32_t>(kTileBytes + b.to), b.from);
  }
}

template <bool kPermuted>
__device__ __forceinline__ void multiply(std::uint32_t (&d)[kPartsM][kPartsN][4], int stage) {
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int row = warp / kWarpsN * kWarpM, column = warp % kWarpsN * kWarpN;
  const auto base_a = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory + stage * kStageBytes));
  const std::uint32_t base_b = base_a + kTileBytes;
#pragma unroll
  for (int step = 0; step < kDepth / 16; ++step) {
    std::uint32_t a[kPartsM][4], b[kPartsN / 2][4];
#pragma unroll
    for (int i = 0; i < kPartsM; ++i)
      device::load_matrices<false>(a[i], base_a + static_cast<std::uint32_t>(offset_of<kPermuted>(
                                                      row + 16 * i + lane % 16, 2 * step + lane / 16)));
#pragma unroll
    for (int j = 0; j < kPartsN / 2; ++j)
      device::load_matrices<false>(
          b[j], base_b + static_cast<std::uint32_t>(offset_of<kPermuted>(
                             column + 16 * j + lane % 8 + lane / 16 * 8, 2 * step + lane / 8 % 2)));
#pragma unroll
    for (int i = 0; i < kPartsM; ++i)
#pragma unroll
      for (int j = 0; j < kPartsN; ++j) {
        const std::uint32_t b_of[2] = {b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]};
        device::mma<Line>(d[i][j], a[i], b_of);
      }
  }
}

template <bool kAsync, bool kPermuted>
__global__ void __launch_bounds__(kThreads) gemm_mma(const GemmArgs args) {
  Stamp stamp;
  start_block(stamp);
  const int row = static_cast<int>(blockIdx.y) * kTile, column = static_cast<int>(blockIdx.x) * kTile;
  std::uint32_t d[kPartsM][kPartsN][4] = {};
  const int steps = args.size / kDepth;
  if constexpr (kAsync) {
    for (int i = 0; i < kStages - 1; ++i) {
      if (i < steps) fetch_async<kPermuted>(args, row, column, i * kDepth, i);
      device::commit_copies();
    }
    for (int i = 0; i < steps; ++i) {
      device::wait_copies<kStages - 2>();
      __syncthreads();  // tile i is there for all, and no thread reads tile i - 1 any more
      const int next = i + kStages - 1;
      if (next < steps) fetch_async<kPermuted>(args, row, column, next * kDepth, next % kStages);
      device::commit_copies();
      multiply<kPermuted>(d, i % kStages);
    }
  } else {
    for (int i = 0; i < steps; ++i) {
      if (i > 0) __syncthreads();
      fetch<kPermuted>(args, row, column, i * kDepth);
      __syncthreads();
      multiply<kPermuted>(d, 0);
    }
  }
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int i = 0; i < kPartsM; ++i)
#pragma unroll
    for (int j = 0; j < kPartsN; ++j)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int at_row = row + warp / kWarpsN * kWarpM + 16 * i + 8 * half + lane / 4;
        const int at_column = column + warp % kWarpsN * kWarpN + 8 * j + lane % 4 * 2;
        auto* to =
            reinterpret_cast<uint2*>(args.d + static_cast<std::size_t>(at_row) * args.size + at_column);
        *to = make_uint2(d[i][j][2 * half], d[i][j][2 * half + 1]);
      }
  stop_block(stamp, args.stamps);
}

unsigned blocks_of(int size, int) {
  return static_cast<unsigned>(size / kTile) * static_cast<unsigned>(size / kTile);
}

template <bool kAsync, bool kPermuted>
GemmKernel gemm_kernel(std::string_view name, std::string_view what) {
  constexpr int kShared = (kAsync ? kStages : 1) * kStageBytes;
  return {.name = name,
          .what = what,
          .instruction = Line::kInstruction,
          .most_size = 4096,
          .launch =
              [](const GemmProblem& problem) {
                const auto tiles = static_cast<unsigned>(problem.args.size / kTile);
                gemm_mma<kAsync, kPermuted><<<dim3(tiles, tiles), kThreads, kShared>>>(problem.args);
              },
          .blocks = blocks_of,
          .function = reinterpret_cast<const void*>(gemm_mma<kAsync, kPermuted>),
          .shared_bytes = kShared};
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
      gemm_kernel<false, false>("mma baseline",
                                "mma.m16n8k16, 128 x 128 x 64 tiles, copied and computed in turn"),
      gemm_kernel<true, false>("mma pipeline", "the same, three stages of cp.async"),
      gemm_kernel<false, true>("mma permuted", "the baseline, shared memory permuted"),
      gemm_kernel<true, true>("mma pipeline permuted", "three stages of cp.async, shared memory permuted"),
  };
}

}  // namespace mmaudit::sweeps
