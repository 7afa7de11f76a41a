// A product by wgmma, every element in the order of its plan: a chain in the tensor core, or chains that are
// added in binary32. One warp feeds stages of shared memory through the copy engine, two warpgroups compute 64
// rows each of a tile, and a block takes tile after tile.
#include <algorithm>

#include "kernels/wgmma_pipeline.cuh"
#include "mmaudit/detail/quotient_up.hpp"
#include "ptx/tensor_copy.cuh"
#include "ptx/wgmma_float.cuh"
#include "run/cuda_check.hpp"
#include "run/hardware_gemm.hpp"
#include "run/tensor_map.hpp"

namespace mmaudit::device {
namespace {

// Of a line with binary32 sums, the instruction with n = 128 and 256. The kernel reads both operands K-major.
#define MMAUDIT_IMMEDIATES_any_major ", 1, 1, 0, 0"
#define MMAUDIT_IMMEDIATES_k_major ", 1, 1"
#define MMAUDIT_CHAIN_f16(K, A, B, MAJORS)
#define MMAUDIT_CHAIN_f32(K, A, B, MAJORS)                                                                  \
  struct Chain_##A##_##B {                                                                                  \
    static constexpr Instruction kInstruction =                                                             \
        listed_instruction(Op::wgmma, 64, 0, K, Format::f32, Format::A, Format::B, Format::f32);            \
    MMAUDIT_WGMMA_MULTIPLY(128, 64, "k" #K ".f32." #A "." #B, MMAUDIT_IMMEDIATES_##MAJORS)                  \
    MMAUDIT_WGMMA_MULTIPLY(256, 128, "k" #K ".f32." #A "." #B, MMAUDIT_IMMEDIATES_##MAJORS)                 \
  };
#define MMAUDIT_CHAIN_LINE(K, D, A, B, MAJORS) MMAUDIT_CHAIN_##D(K, A, B, MAJORS)
#define MMAUDIT_EVERY_CHAIN(X) MMAUDIT_WGMMA_F16(X) MMAUDIT_WGMMA_TF32(X) MMAUDIT_WGMMA_FP8(X)
MMAUDIT_EVERY_CHAIN(MMAUDIT_CHAIN_LINE)

constexpr int kConsumers = 2, kConsumerWarps = 4 * kConsumers, kThreads = (kConsumers + 1) * kWarpgroupLanes;
constexpr int kRows = 64, kTileRows = kConsumers * kRows, kSteps = 4;
/// Rows of tiles that neighbouring blocks share, so that what one reads another finds in the second-level cache.
constexpr std::uint64_t kRasterRows = 16;

/// What becomes of the sum of a chain.
enum class End : std::uint8_t { sum, total, scaled_total };

template <int kColumns>
struct Shape {
  static constexpr int kBytesA = kTileRows * kStageRowBytes, kBytesB = kColumns * kStageRowBytes;
  static constexpr int kStageBytes = kBytesA + kBytesB, kStages = 192 * 1024 / kStageBytes;
  static constexpr int kSums = kRows * kColumns / kWarpgroupLanes;
  using Memory = StageMemory<kStages, kStageBytes>;
  using StageRing = Ring<kStages>;
};

/// What the blocks walk through.
struct Walk {
  std::uint64_t rows, columns, tiles;  ///< rows and columns of tiles; tiles of all matrices
  std::uint32_t stages, tail;          ///< whole stages of a tile, and instructions of one more
  std::uint32_t chain;                 ///< stages of a chain
  bool pairs;                          ///< neighbours of D can be written at once
};

struct Tile {
  std::uint64_t matrix, row, column;
};

/// Tile `index` of all: matrix after matrix, bands of kRasterRows rows of tiles, in a band column after column.
template <int kColumns>
__device__ __forceinline__ Tile tile_of(std::uint64_t index, const Walk& walk) {
  const std::uint64_t of_matrix = walk.rows * walk.columns, matrix = index / of_matrix;
  index -= matrix * of_matrix;
  const std::uint64_t first = index / (kRasterRows * walk.columns) * kRasterRows;
  const std::uint64_t in_band = index - first * walk.columns, height = min(kRasterRows, walk.rows - first);
  return {matrix, (first + in_band % height) * kTileRows, in_band / height * kColumns};
}

extern __shared__ unsigned char memory[];

template <typename Chain, int kColumns>
__device__ __forceinline__ void feed(const CUtensorMap& map_a, const CUtensorMap& map_b, const Walk& walk) {
  using Of = Shape<kColumns>;
  const typename Of::Memory shared(memory);
  prefetch_map(&map_a);
  prefetch_map(&map_b);
  typename Of::StageRing ring;
  for (std::uint64_t index = blockIdx.x; index < walk.tiles; index += gridDim.x) {
    const Tile tile = tile_of<kColumns>(index, walk);
    const int row = static_cast<int>(tile.row), column = static_cast<int>(tile.column),
              matrix = static_cast<int>(tile.matrix);
    for (std::uint32_t s = 0; s < walk.stages + (walk.tail != 0 ? 1 : 0); ++s) {
      barrier_wait(shared.empty + 8 * ring.stage, ring.parity ^ 1);
      const std::uint32_t full = shared.full + 8 * ring.stage,
                          to = shared.stages + ring.stage * Of::kStageBytes;
      const int k = static_cast<int>(s) * kSteps * Chain::kInstruction.k;
      barrier_expect(full, Of::kStageBytes);
      copy_box(to, &map_a, {k, row, matrix}, full);
      copy_box(to + Of::kBytesA, &map_b, {k, column, matrix}, full);
      ring.advance();
    }
  }
}

/// The elements of D that a thread has, a pair at a time: (index of the first sum, row, column).
template <int kColumns, typename Pair>
__device__ __forceinline__ void for_pairs(const Pair& pair) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpgroupLanes;
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j)
      pair(4 * j + 2 * half, lane / 32 * 16 + lane % 32 / 4 + 8 * half, 8 * j + lane % 4 * 2);
}

template <int kColumns>
__device__ __forceinline__ void load_sums(std::uint32_t (&d)[Shape<kColumns>::kSums], const ChainArgs& args,
                                          const Tile& tile) {
  for_pairs<kColumns>([&](int i, int row, int column) {
    const std::uint64_t r = tile.row + static_cast<unsigned>(row),
                        c = tile.column + static_cast<unsigned>(column);
    const float* from = args.c + (tile.matrix * args.m + r) * args.n + c;
    const bool in_rows = args.c != nullptr && r < args.m;
    d[i] = in_rows && c < args.n ? __float_as_uint(from[0]) : 0;
    d[i + 1] = in_rows && c + 1 < args.n ? __float_as_uint(from[1]) : 0;
  });
}

template <int kColumns>
__device__ __forceinline__ void store_sums(const std::uint32_t (&d)[Shape<kColumns>::kSums],
                                           const ChainArgs& args, const Tile& tile, bool pairs) {
  for_pairs<kColumns>([&](int i, int row, int column) {
    const std::uint64_t r = tile.row + static_cast<unsigned>(row),
                        c = tile.column + static_cast<unsigned>(column);
    auto* to = reinterpret_cast<std::uint32_t*>(args.d + (tile.matrix * args.m + r) * args.n + c);
    if (r >= args.m || c >= args.n) return;
    if (pairs) {
      *reinterpret_cast<uint2*>(to) = make_uint2(d[i], d[i + 1]);
    } else {
      to[0] = d[i];
      if (c + 1 < args.n) to[1] = d[i + 1];
    }
  });
}

/// The factors of a chain: of the thread's two rows, and of the tile's columns in shared memory, which the
/// warpgroup's threads load for one another.
class Factors {
 public:
  __device__ __forceinline__ Factors(const ProductFactors& factors, float (*shared)[128], const Tile& tile,
                                     const ChainArgs& args)
      : factors_(factors), shared_(shared), matrix_(tile.matrix) {
    const unsigned lane = threadIdx.x % kWarpgroupLanes;
    row_ = tile.row + lane / 32 * 16 + lane % 32 / 4;
    last_row_ = args.m - 1;
    column_ = min(tile.column + lane, args.n - 1);
  }
  __device__ __forceinline__ void load(std::uint64_t block) {
    of_column_ = factors_.b.at(matrix_, column_, block);
    of_rows_[0] = factors_.a.at(matrix_, min(row_, last_row_), block);
    of_rows_[1] = factors_.a.at(matrix_, min(row_ + 8, last_row_), block);
  }
  /// All threads of warpgroup `which`; alternates between two arrays, so that none is written while it is read.
  __device__ __forceinline__ void share(int which) {
    current_ ^= 1;
    shared_[current_][threadIdx.x % kWarpgroupLanes] = of_column_;
    asm volatile("bar.sync %0, 128;" ::"r"(which + 1) : "memory");
  }
  [[nodiscard]] __device__ __forceinline__ float of(int half, int column) const {
    return __fmul_rn(of_rows_[half], shared_[current_][column]);
  }

 private:
  const ProductFactors& factors_;
  float (*shared_)[128];
  std::uint64_t matrix_, row_ = 0, last_row_ = 0, column_ = 0;
  float of_column_ = 1, of_rows_[2] = {1, 1};
  int current_ = 0;
};

template <typename Chain, int kColumns, End kEnd>
__device__ __forceinline__ void compute(const ChainArgs& args, const Walk& walk, int consumer,
                                        float (*shared_factors)[128]) {
  using Of = Shape<kColumns>;
  constexpr bool kTotals = kEnd != End::sum;
  const typename Of::Memory shared(memory);
  const auto release = [&](std::uint32_t stage) {
    if (threadIdx.x % 32 == 0) barrier_arrive(shared.empty + 8 * stage);
  };
  const auto a_of = [&](std::uint32_t stage) {
    const auto rows = static_cast<std::uint32_t>(consumer * kRows * kStageRowBytes);
    return swizzled_descriptor(shared.stages + stage * Of::kStageBytes + rows);
  };
  const auto b_of = [&](std::uint32_t stage) {
    return swizzled_descriptor(shared.stages + stage * Of::kStageBytes + Of::kBytesA);
  };
  std::uint32_t d[Of::kSums], total[kTotals ? Of::kSums : 1];
#pragma unroll
  for (int i = 0; i < Of::kSums; ++i) d[i] = 0;
  typename Of::StageRing ring;
  for (std::uint64_t index = blockIdx.x; index < walk.tiles; index += gridDim.x) {
    Tile tile = tile_of<kColumns>(index, walk);
    tile.row += static_cast<unsigned>(consumer * kRows);
    Factors factors(args.factors, shared_factors, tile, args);
    const auto load_factors = [&](std::uint32_t stage) {
      if constexpr (kEnd == End::scaled_total)
        factors.load(stage * std::uint64_t{kSteps * Chain::kInstruction.k} / args.factors.block);
    };
    const auto fold = [&] {
      if constexpr (kTotals)
        for_pairs<kColumns>([&](int i, int, int column) {
          for (int e = 0; e < 2; ++e) {
            const float sum = __uint_as_float(d[i + e]), before = __uint_as_float(total[i + e]);
            total[i + e] = __float_as_uint(kEnd == End::total
                                               ? __fadd_rn(before, sum)
                                               : __fmaf_rn(factors.of(i / 2 % 2, column + e), sum, before));
          }
        });
    };
    int begun = 0;  // whether the next instruction has a sum to add to
    if constexpr (kTotals) {
      load_sums<kColumns>(total, args, tile);
    } else {
      load_sums<kColumns>(d, args, tile);
      begun = 1;
    }
    std::uint32_t last = ring.stage, in_chain = 0;
    for (std::uint32_t s = 0; s < walk.stages; ++s) {
      if (kTotals && in_chain == 0) load_factors(s);
      barrier_wait(shared.full + 8 * ring.stage, ring.parity);
      const std::uint64_t a = a_of(ring.stage), b = b_of(ring.stage);
      wgmma_fence();
#pragma unroll
      for (int step = 0; step < kSteps; ++step)  // 32 bytes on, in units of 16
        Chain::multiply(d, a + 2 * step, b + 2 * step, begun | step);
      wgmma_commit();
      begun = 1;
      if constexpr (kTotals) {
        const bool ends = ++in_chain == walk.chain;
        if (kEnd == End::scaled_total && ends) factors.share(consumer);
        wgmma_wait<0>();
        release(ring.stage);
        if (ends) {
          fold();
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
      if (kTotals && in_chain == 0) load_factors(walk.stages);
      barrier_wait(shared.full + 8 * ring.stage, ring.parity);
#pragma unroll 1
      for (std::uint32_t step = 0; step < walk.tail; ++step) {
        wgmma_fence();
        Chain::multiply(d, a_of(ring.stage) + 2 * step, b_of(ring.stage) + 2 * step, begun);
        wgmma_commit();
        wgmma_wait<0>();
        begun = 1;
      }
      release(ring.stage);
      ring.advance();
    }
    if constexpr (kTotals) {
      if (begun != 0) {
        if (kEnd == End::scaled_total) factors.share(consumer);
        fold();
      }
      store_sums<kColumns>(total, args, tile, walk.pairs);
    } else {
      store_sums<kColumns>(d, args, tile, walk.pairs);
    }
  }
}

template <typename Chain, int kColumns, End kEnd>
__global__ void __launch_bounds__(kThreads, 1)
    chains(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
           const __grid_constant__ ChainArgs args, const __grid_constant__ Walk walk) {
  if constexpr (!kTargetHasWgmma) {
    __trap();
  } else {
    __shared__ float factors[kConsumers][2][128];
    const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroupLanes;
    if (threadIdx.x == 0) typename Shape<kColumns>::Memory(memory).init(kConsumerWarps);
    __syncthreads();
    if (warpgroup == kConsumers) {
      MMAUDIT_GIVE_REGISTERS();
      if (threadIdx.x == kConsumers * kWarpgroupLanes) feed<Chain, kColumns>(map_a, map_b, walk);
    } else {
      MMAUDIT_TAKE_REGISTERS();
      compute<Chain, kColumns, kEnd>(args, walk, warpgroup, factors[warpgroup]);
    }
  }
}

/// Boxes of `rows` rows, 128 bytes of each, swizzled; beyond the matrix they are zeros.
CUtensorMap map_of(void* matrix, int bytes, std::uint64_t pitch, std::uint64_t lanes, std::uint64_t batch,
                   int rows) {
  return tensor_map_of(matrix, {.type = bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                        : bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                     : CU_TENSOR_MAP_DATA_TYPE_UINT32,
                                .element_bytes = static_cast<std::uint32_t>(bytes),
                                .extents = {pitch, lanes, batch},
                                .box = {static_cast<cuuint32_t>(kStageRowBytes / bytes),
                                        static_cast<cuuint32_t>(rows), 1},
                                .swizzle = CU_TENSOR_MAP_SWIZZLE_128B,
                                .promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B});
}

int multiprocessors() {
  int device = 0, count = 0;
  cuda_check(cudaGetDevice(&device), "asking for the device");
  cuda_check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
             "asking for multiprocessors");
  return count;
}

template <typename Chain, int kColumns, End kEnd>
void start(const ChainArgs& args, std::uint64_t blocks, Stream stream) {
  constexpr auto kDepth = static_cast<std::uint64_t>(Chain::kInstruction.k);
  const int bytes = static_cast<int>(spec_of(Chain::kInstruction.a).storage_bytes());
  const std::uint64_t steps = detail::quotient_up(args.k, kDepth);
  Walk walk{};
  walk.rows = detail::quotient_up(args.m, std::uint64_t{kTileRows});
  walk.columns = detail::quotient_up(args.n, std::uint64_t{kColumns});
  walk.tiles = args.batch * walk.rows * walk.columns;
  walk.stages = static_cast<std::uint32_t>(steps / kSteps);
  walk.tail = static_cast<std::uint32_t>(steps % kSteps);
  walk.chain = static_cast<std::uint32_t>(args.promote / (kSteps * kDepth));
  walk.pairs = args.n % 2 == 0 && reinterpret_cast<std::uintptr_t>(args.d) % sizeof(uint2) == 0;
  const auto kernel = chains<Chain, kColumns, kEnd>;
  constexpr int kShared = Shape<kColumns>::Memory::kBytes;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared),
             "making room in shared memory");
  kernel<<<static_cast<unsigned>(std::min(walk.tiles, blocks)), kThreads, kShared, stream>>>(
      map_of(args.a, bytes, args.pitch, args.m, args.batch, kTileRows),
      map_of(args.b, bytes, args.pitch, args.n, args.batch, kColumns), args, walk);
  cuda_check(cudaGetLastError(), "launching chains of wgmma");
}

/// Work for the chain of the instruction's formats, if there is one.
template <typename Work>
void with_chain(const Instruction& instruction, const Work& work) {
#define MMAUDIT_TRY_f16(A, B)
#define MMAUDIT_TRY_f32(A, B)                                             \
  if (instruction.a == Format::A && instruction.b == Format::B) return work(Chain_##A##_##B{});
#define MMAUDIT_TRY(K, D, A, B, MAJORS) MMAUDIT_TRY_##D(A, B)
  MMAUDIT_EVERY_CHAIN(MMAUDIT_TRY)
}

constexpr int kCopyTile = 64, kCopyThreads = 256;

/// A tile of (rows, columns) is read along columns and, transposed, written along rows.
template <typename Element, bool kTransposed>
__global__ void __launch_bounds__(kCopyThreads)
    pitched_copy(const Element* from, Element* to, std::uint64_t rows, std::uint64_t columns,
                 std::uint64_t pitch) {
  __shared__ Element tile[kCopyTile][kCopyTile + 4 / sizeof(Element)];
  const std::uint64_t lanes = kTransposed ? columns : rows;
  const std::uint64_t first_row = std::uint64_t{blockIdx.y} * kCopyTile,
                      first_column = std::uint64_t{blockIdx.x} * kCopyTile;
  from += blockIdx.z * rows * columns;
  to += blockIdx.z * lanes * pitch;
  const unsigned across = threadIdx.x % kCopyTile, down = threadIdx.x / kCopyTile;
#pragma unroll
  for (unsigned i = down; i < kCopyTile; i += kCopyThreads / kCopyTile) {
    const std::uint64_t row = first_row + i, column = first_column + across;
    tile[i][across] = row < rows && column < columns ? from[row * columns + column] : Element{};
  }
  __syncthreads();
#pragma unroll
  for (unsigned i = down; i < kCopyTile; i += kCopyThreads / kCopyTile) {
    const std::uint64_t lane = (kTransposed ? first_column : first_row) + i,
                        k = (kTransposed ? first_row : first_column) + across;
    if (lane < lanes && k < pitch) to[lane * pitch + k] = kTransposed ? tile[across][i] : tile[i][across];
  }
}

}  // namespace

const void* chain_kernel(const Instruction& instruction) {
  const void* found = nullptr;
  with_chain(instruction, [&]<typename Chain>(Chain) {
    found = reinterpret_cast<const void*>(chains<Chain, 128, End::sum>);
  });
  return found;
}

void launch_chains(const Instruction& instruction, const ChainArgs& args, Stream stream) {
  with_chain(instruction, [&]<typename Chain>(Chain) {
    const auto blocks = static_cast<std::uint64_t>(multiprocessors());
    if (args.factors.block != 0) return start<Chain, 128, End::scaled_total>(args, blocks, stream);
    if (args.promote != 0) return start<Chain, 128, End::total>(args, blocks, stream);
    const std::uint64_t wide = args.batch * detail::quotient_up(args.m, std::uint64_t{kTileRows}) *
                               detail::quotient_up(args.n, std::uint64_t{256});
    if (args.n > 128 && wide >= blocks) return start<Chain, 256, End::sum>(args, blocks, stream);
    start<Chain, 128, End::sum>(args, blocks, stream);
  });
}

void launch_pitched_copy(const void* from, void* to, std::uint64_t batch, std::uint64_t rows,
                         std::uint64_t columns, std::uint64_t pitch, int bytes, bool transposed,
                         Stream stream) {
  const auto start_copy = [&]<typename Element>(Element) {
    const auto tiles = [](std::uint64_t count) {
      return static_cast<unsigned>(detail::quotient_up(count, std::uint64_t{kCopyTile}));
    };
    const auto kernel = transposed ? pitched_copy<Element, true> : pitched_copy<Element, false>;
    constexpr std::uint64_t kMostMatrices = 65535;
    for (std::uint64_t first = 0; first < batch; first += kMostMatrices) {
      const dim3 grid(tiles(transposed ? columns : pitch), tiles(transposed ? pitch : rows),
                      static_cast<unsigned>(std::min(batch - first, kMostMatrices)));
      kernel<<<grid, kCopyThreads, 0, stream>>>(
          static_cast<const Element*>(from) + first * rows * columns,
          static_cast<Element*>(to) + first * (transposed ? columns : rows) * pitch, rows, columns, pitch);
    }
  };
  if (bytes == 1)
    start_copy(std::uint8_t{});
  else if (bytes == 2)
    start_copy(std::uint16_t{});
  else
    start_copy(std::uint32_t{});
  cuda_check(cudaGetLastError(), "packing operands");
}

}  // namespace mmaudit::device
