#pragma once
// A product by wgmma, every element in the order of its plan: a chain in the tensor core, or chains that are
// added in binary32. One warp feeds stages of shared memory through the copy engine, two warpgroups compute
// 64 rows each of a tile, and a block takes tile after tile.
#include <algorithm>
#include <cstdint>

#include "kernels/shared_layout.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "model/gemm.hpp"
#include "ptx/async_copy.cuh"
#include "ptx/tensor_copy.cuh"
#include "ptx/wgmma_float.cuh"
#include "run/tensor_map.hpp"

// d = A * B + (scale_d ? d : 0) from shared memory, in flight until waited for: a static member function.
#define MMAUDIT_WGMMA_MULTIPLY(N, R, TYPES, IMMEDIATES)                                                   \
  static __device__ __forceinline__ void multiply(std::uint32_t(&d)[R], std::uint64_t a, std::uint64_t b, \
                                                  int scale_d) {                                          \
    std::uint64_t high = 0;                                                                               \
    int unused = 0;                                                                                       \
    asm volatile("{\n.reg .pred accumulate;\nsetp.ne.b32 accumulate, %3, 0;\n" MMAUDIT_WGMMA_TEXT(        \
                     N, R, TYPES, "%0", IMMEDIATES) "}"                                                   \
                 : "+l"(a), "+l"(high), "+l"(b), "+r"(scale_d), "+r"(unused),                             \
                   "+r"(d[0])MMAUDIT_ACC_##R(MMAUDIT_ACC_OPERAND)                                         \
                 :                                                                                        \
                 : "memory");                                                                             \
  }

// Of a line with binary32 sums, the instruction with n = 128 and 256. The kernel reads both operands K-major.
#define MMAUDIT_IMMEDIATES_any_major ", 1, 1, 0, 0"
#define MMAUDIT_IMMEDIATES_k_major ", 1, 1"
#define MMAUDIT_CHAIN_f16(K, A, B, MAJORS)
#define MMAUDIT_CHAIN_f32(K, A, B, MAJORS)                                                       \
  struct Chain_##A##_##B {                                                                       \
    static constexpr Instruction kInstruction =                                                  \
        listed_instruction(Op::wgmma, 64, 0, K, Format::f32, Format::A, Format::B, Format::f32); \
    MMAUDIT_WGMMA_MULTIPLY(128, 64, "k" #K ".f32." #A "." #B, MMAUDIT_IMMEDIATES_##MAJORS)       \
    MMAUDIT_WGMMA_MULTIPLY(256, 128, "k" #K ".f32." #A "." #B, MMAUDIT_IMMEDIATES_##MAJORS)      \
  };
#define MMAUDIT_CHAIN_LINE(K, D, A, B, MAJORS) MMAUDIT_CHAIN_##D(K, A, B, MAJORS)
#define MMAUDIT_EVERY_CHAIN(X) MMAUDIT_WGMMA_F16(X) MMAUDIT_WGMMA_TF32(X) MMAUDIT_WGMMA_FP8(X)

namespace mmaudit::device {

MMAUDIT_EVERY_CHAIN(MMAUDIT_CHAIN_LINE)

/// What becomes of the sum of a chain: D, or it is added to a total, as it is or times factors of its block
/// of k.
enum class End : std::uint8_t { sum, total, scaled_total };

inline constexpr int kChainConsumers = 2, kChainThreads = (kChainConsumers + 1) * kWarpgroupLanes;
inline constexpr int kChainRows = 64, kChainTileRows = kChainConsumers * kChainRows;
inline constexpr int kStageSteps = 4;  ///< instructions
/// Rows of tiles that neighbouring blocks share, so that what one reads another finds in the second-level
/// cache.
inline constexpr std::uint64_t kRasterRows = 16;

/// The shared memory of a kernel with tiles of so many columns: stages, and two barriers of each.
template <int kColumns>
struct ChainShape {
  static constexpr int kBytesA = kChainTileRows * kStageRowBytes,
                       kStageBytes = kBytesA + kColumns * kStageRowBytes;
  static constexpr int kStages = 192 * 1024 / kStageBytes, kSums = kChainRows * kColumns / kWarpgroupLanes;
  static constexpr int kAlign = 1024, kShared = kStages * kStageBytes + kAlign + 2 * kStages * 8;
};

/// Which stage is next, the parity of its phase, and the addresses of the stages and their barriers.
template <int kColumns>
struct ChainRing {
  using Shape = ChainShape<kColumns>;
  std::uint32_t stages, stage = 0, parity = 0;
  __device__ __forceinline__ explicit ChainRing(const unsigned char* memory) {
    const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
    stages = (start + Shape::kAlign - 1) / Shape::kAlign * Shape::kAlign;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t at() const {
    return stages + stage * Shape::kStageBytes;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t full(std::uint32_t of) const {
    return stages + Shape::kStages * Shape::kStageBytes + 8 * of;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t empty(std::uint32_t of) const {
    return full(of) + 8 * Shape::kStages;
  }
  __device__ __forceinline__ void advance() {
    if (++stage == Shape::kStages) stage = 0, parity ^= 1;
  }
};

/// What the blocks walk through.
struct ChainWalk {
  std::uint64_t rows, columns, tiles;  ///< rows and columns of tiles; tiles of all matrices
  std::uint32_t stages, tail;          ///< whole stages of a tile, and instructions of one more
  std::uint32_t chain;                 ///< stages of a chain
  bool pairs;                          ///< neighbours of D can be written at once

  template <typename Chain, int kColumns>
  static ChainWalk of(const GemmArgs& args) {
    using detail::quotient_up;
    constexpr auto kDepth = static_cast<std::uint64_t>(Chain::kInstruction.k),
                   kSteps = std::uint64_t{kStageSteps};
    const std::uint64_t steps = quotient_up(args.k, kDepth),
                        rows = quotient_up(args.m, std::uint64_t{kChainTileRows}),
                        columns = quotient_up(args.n, std::uint64_t{kColumns});
    return {rows,
            columns,
            args.batch * rows * columns,
            static_cast<std::uint32_t>(steps / kSteps),
            static_cast<std::uint32_t>(steps % kSteps),
            static_cast<std::uint32_t>(args.stride / (kSteps * kDepth)),
            args.n % 2 == 0 && reinterpret_cast<std::uintptr_t>(args.d) % sizeof(uint2) == 0};
  }
};

struct ChainTile {
  std::uint64_t matrix, row, column;
};

/// Tile `index` of all: matrix after matrix, bands of kRasterRows rows of tiles, in a band column after
/// column.
template <int kColumns>
__device__ __forceinline__ ChainTile chain_tile(std::uint64_t index, const ChainWalk& walk) {
  const std::uint64_t of_matrix = walk.rows * walk.columns, matrix = index / of_matrix;
  index -= matrix * of_matrix;
  const std::uint64_t first = index / (kRasterRows * walk.columns) * kRasterRows;
  const std::uint64_t in_band = index - first * walk.columns, height = min(kRasterRows, walk.rows - first);
  return {matrix, (first + in_band % height) * kChainTileRows, in_band / height * kColumns};
}

template <typename Chain, int kColumns>
__device__ __forceinline__ void feed_chains(const unsigned char* memory, const CUtensorMap& map_a,
                                            const CUtensorMap& map_b, const ChainWalk& walk) {
  prefetch_map(&map_a);
  prefetch_map(&map_b);
  ChainRing<kColumns> ring(memory);
  for (std::uint64_t index = blockIdx.x; index < walk.tiles; index += gridDim.x) {
    const ChainTile tile = chain_tile<kColumns>(index, walk);
    const int row = static_cast<int>(tile.row), column = static_cast<int>(tile.column),
              matrix = static_cast<int>(tile.matrix);
    for (std::uint32_t s = 0; s < walk.stages + (walk.tail != 0 ? 1 : 0); ++s) {
      barrier_wait(ring.empty(ring.stage), ring.parity ^ 1);
      const std::uint32_t full = ring.full(ring.stage);
      const int k = static_cast<int>(s) * kStageSteps * Chain::kInstruction.k;
      barrier_expect(full, ChainShape<kColumns>::kStageBytes);
      copy_box(ring.at(), &map_a, {k, row, matrix}, full);
      copy_box(ring.at() + ChainShape<kColumns>::kBytesA, &map_b, {k, column, matrix}, full);
      ring.advance();
    }
  }
}

/// The pairs of neighbours in D that a thread has: (index of the first sum, row, column of the tile).
template <int kColumns, typename Pair>
__device__ __forceinline__ void for_pairs(const Pair& pair) {
  const unsigned lane = threadIdx.x % kWarpgroupLanes;
#pragma unroll
  for (unsigned half = 0; half < 2; ++half)
#pragma unroll
    for (unsigned j = 0; j < kColumns / 8; ++j)
      pair(4 * j + 2 * half, lane / 32 * 16 + lane % 32 / 4 + 8 * half, 8 * j + lane % 4 * 2);
}

/// A matrix K-major in rows of 128 bytes, swizzled over 128 bytes: eight rows are 1024 bytes. Source: PTX ISA
/// 9.0, "Matrix Descriptor Format" of wgmma.mma_async.
__device__ __forceinline__ std::uint64_t swizzled_descriptor(std::uint32_t address) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return shared_descriptor(address, kLineBytes, 8 * kStageRowBytes) | kSwizzle128;
}

__device__ __forceinline__ void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

template <typename Chain, int kColumns, End kEnd>
__device__ __forceinline__ void compute_chains(const unsigned char* memory, const GemmArgs& args,
                                               const ChainWalk& walk, unsigned consumer) {
  constexpr int kSums = ChainShape<kColumns>::kSums;
  constexpr bool kTotals = kEnd != End::sum;
  ChainRing<kColumns> ring(memory);
  const auto release = [&](std::uint32_t stage) {
    if (threadIdx.x % 32 == 0) barrier_arrive(ring.empty(stage));
  };
  // The sums, and the totals of promotion.
  std::uint32_t d[kSums], total[kTotals ? kSums : 1];
#pragma unroll
  for (int i = 0; i < kSums; ++i) d[i] = 0;
  for (std::uint64_t index = blockIdx.x; index < walk.tiles; index += gridDim.x) {
    ChainTile tile = chain_tile<kColumns>(index, walk);
    tile.row += consumer * kChainRows;
    // Where the tile lies in C and D, and how many rows and columns of it there are.
    const std::uint64_t first = (tile.matrix * args.m + tile.row) * args.n + tile.column;
    const auto rows = static_cast<unsigned>(args.m - min(tile.row, args.m)),
               columns = static_cast<unsigned>(args.n - tile.column);
    const auto begin = [&](std::uint32_t(&sums)[kSums]) {
      for_pairs<kColumns>([&](unsigned i, unsigned row, unsigned column) {
        const float* from = static_cast<const float*>(args.c) + first + row * args.n + column;
        const bool there = args.c != nullptr && row < rows;
        sums[i] = there && column < columns ? __float_as_uint(from[0]) : 0;
        sums[i + 1] = there && column + 1 < columns ? __float_as_uint(from[1]) : 0;
      });
    };
    const auto fold = [&](std::uint32_t stage) {
      if constexpr (kTotals)
        for_pairs<kColumns>([&](unsigned i, unsigned row, unsigned column) {
          for (unsigned e = 0; e < 2; ++e) {
            const float sum = __uint_as_float(d[i + e]), before = __uint_as_float(total[i + e]);
            float after = 0;
            if constexpr (kEnd == End::scaled_total) {
              const std::uint64_t block =
                  stage * std::uint64_t{kStageSteps * Chain::kInstruction.k} / args.factors.block;
              after = __fmaf_rn(
                  __fmul_rn(args.factors.a.at(tile.matrix, min(tile.row + row, args.m - 1), block),
                            args.factors.b.at(tile.matrix, min(tile.column + column + e, args.n - 1), block)),
                  sum, before);
            } else {
              after = __fadd_rn(before, sum);
            }
            total[i + e] = __float_as_uint(after);
          }
        });
    };
    const auto store = [&](const std::uint32_t(&sums)[kSums]) {
      for_pairs<kColumns>([&](unsigned i, unsigned row, unsigned column) {
        auto* to = static_cast<std::uint32_t*>(args.d) + first + row * args.n + column;
        if (row >= rows || column >= columns) return;
        if (walk.pairs) {
          *reinterpret_cast<uint2*>(to) = make_uint2(sums[i], sums[i + 1]);
          return;
        }
        to[0] = sums[i];
        if (column + 1 < columns) to[1] = sums[i + 1];
      });
    };
    // The stage's operands; A's rows are this warpgroup's.
    const auto a = [&] { return swizzled_descriptor(ring.at() + consumer * kChainRows * kStageRowBytes); };
    const auto b = [&] { return swizzled_descriptor(ring.at() + ChainShape<kColumns>::kBytesA); };
    if constexpr (kTotals)
      begin(total);
    else
      begin(d);
    int begun = kTotals ? 0 : 1;  // whether the next instruction has a sum to add to
    std::uint32_t last = ring.stage, in_chain = 0;
    for (std::uint32_t s = 0; s < walk.stages; ++s) {
      barrier_wait(ring.full(ring.stage), ring.parity);
      const std::uint64_t of_a = a(), of_b = b();
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < kStageSteps; ++step)  // 32 bytes on, in units of 16
        Chain::multiply(d, of_a + 2 * step, of_b + 2 * step, begun | step);
      wgmma_commit();
      begun = 1;
      if constexpr (kTotals) {
        wgmma_wait<0>();
        release(ring.stage);
        if (++in_chain == walk.chain) {
          fold(s);
          in_chain = 0, begun = 0;
        }
      } else if (s > 0) {
        wgmma_wait<1>();
        release(last);
      }
      last = ring.stage;
      ring.advance();
    }
    wgmma_wait<0>();
    if (!kTotals && walk.stages != 0) release(last);
    if (walk.tail != 0) {  // no instruction more than the plan has: one of zeros would round the sum again
      barrier_wait(ring.full(ring.stage), ring.parity);
#pragma unroll 1
      for (std::uint32_t step = 0; step < walk.tail; ++step) {
        wgmma_fence();
        Chain::multiply(d, a() + 2 * step, b() + 2 * step, begun);
        wgmma_commit();
        wgmma_wait<0>();
        begun = 1;
      }
      release(ring.stage);
      ring.advance();
    }
    if constexpr (kTotals) {
      if (begun != 0) fold(walk.stages - (walk.tail != 0 ? 0 : 1));
      store(total);
    } else {
      store(d);
    }
  }
}

/// The work of a block of kChainThreads, with ChainShape's shared memory. Of 65536 registers a thread starts
/// with 168; 64512 are used.
template <typename Chain, int kColumns, End kEnd>
__device__ __forceinline__ void run_chains(unsigned char* memory, const CUtensorMap& map_a,
                                           const CUtensorMap& map_b, const GemmArgs& args,
                                           const ChainWalk& walk) {
  const unsigned warpgroup = threadIdx.x / kWarpgroupLanes;
  if (threadIdx.x == 0) {
    const ChainRing<kColumns> ring(memory);
    for (std::uint32_t stage = 0; stage < ChainShape<kColumns>::kStages; ++stage) {
      barrier_init(ring.full(stage), 1);
      barrier_init(ring.empty(stage), kChainConsumers * kWarpgroupLanes / 32);
    }
    barrier_init_done();
  }
  __syncthreads();
  if (warpgroup == kChainConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x == kChainConsumers * kWarpgroupLanes)
      feed_chains<Chain, kColumns>(memory, map_a, map_b, walk);
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
    compute_chains<Chain, kColumns, kEnd>(memory, args, walk, warpgroup);
  }
}

}  // namespace mmaudit::device
