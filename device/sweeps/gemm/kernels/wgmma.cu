// A product by wgmma.m64n256k16. One warp feeds four stages of shared memory through the copy engine, two
// warpgroups compute 64 rows each of a 128 x 256 tile, and a block takes tile after tile of the product.
#include "kernels/shared_layout.hpp"
#include "ptx/async_copy.cuh"
#include "ptx/tensor_copy.cuh"
#include "ptx/wgmma.cuh"
#include "sweeps/gemm/kernel.hpp"
#include "sweeps/gemm/stamp.cuh"

namespace mmaudit::sweeps {
namespace {

struct Line {
  static constexpr Instruction kInstruction =
      device::listed_instruction(Op::wgmma, 64, 0, 16, Format::f32, Format::bf16, Format::bf16, Format::f32);
};

constexpr Instruction chain_of() {
  Instruction instruction = Line::kInstruction;
  instruction.n = kWgmmaTileN;
  return instruction;
}

constexpr int kConsumers = 2, kConsumerWarps = 4 * kConsumers, kThreads = (kConsumers + 1) * kWarpgroupLanes;
constexpr int kRows = 64, kStepK = 16, kAccumulators = kRows * kWgmmaTileN / kWarpgroupLanes;
constexpr int kRowBytes = 2 * kGemmDepth;
constexpr int kBytesA = kWgmmaTileM * kRowBytes, kBytesB = kWgmmaTileN * kRowBytes,
              kStageBytes = kBytesA + kBytesB;
constexpr int kStages = 4;
/// Swizzled boxes start at multiples of 1024 bytes.
constexpr int kAlign = 1024;
constexpr int kShared = kStages * kStageBytes + kAlign + 2 * kStages * 8;
/// Registers of a thread: of 168 at the start, 64512 of 65536 in all.
#define MMAUDIT_FEW_REGISTERS "24"
#define MMAUDIT_MANY_REGISTERS "240"
/// Rows of tiles that neighbouring blocks share, so that what one reads another finds in the second-level
/// cache.
constexpr int kRasterRows = 16;

extern __shared__ unsigned char memory[];

struct Shared {
  std::uint32_t stages, full, empty;
  __device__ __forceinline__ Shared() {
    const auto start = static_cast<std::uint32_t>(__cvta_generic_to_shared(memory));
    stages = (start + kAlign - 1) / kAlign * kAlign;
    full = stages + kStages * kStageBytes;
    empty = full + kStages * 8;
  }
};

/// Which stage is next, and the parity of its phase.
struct Ring {
  std::uint32_t stage = 0, parity = 0;
  __device__ __forceinline__ void advance() {
    if (++stage == kStages) {
      stage = 0;
      parity ^= 1;
    }
  }
};

struct Tile {
  int row, column;
};

/// Tile `index`: bands of kRasterRows rows of tiles, in a band column after column.
__device__ __forceinline__ Tile tile_of(int index, int size) {
  const int rows = size / kWgmmaTileM, columns = size / kWgmmaTileN;
  const int band = index / (kRasterRows * columns), first = band * kRasterRows;
  const int in_band = index - first * columns, height = min(kRasterRows, rows - first);
  return {(first + in_band % height) * kWgmmaTileM, in_band / height * kWgmmaTileN};
}

/// A matrix K-major in rows of 128 bytes, swizzled over 128 bytes: eight rows are 1024 bytes. Source: PTX ISA
/// 9.0, "Matrix Descriptor Format" of wgmma.mma_async.
__device__ __forceinline__ std::uint64_t descriptor_of(std::uint32_t address) {
  constexpr std::uint64_t kSwizzle128 = std::uint64_t{1} << 62;
  return device::shared_descriptor(address, 16, 8 * kRowBytes) | kSwizzle128;
}

/// d = A * B + (scale_d ? d : 0), in flight until waited for.
__device__ __forceinline__ void multiply(std::uint32_t (&d)[kAccumulators], std::uint64_t a, std::uint64_t b,
                                         int scale_d) {
  std::uint64_t high = 0;
  int unused = 0;
  // clang-format off
  asm volatile(
      "{\n"
      ".reg .pred accumulate;\n"
      "setp.ne.b32 accumulate, %3, 0;\n"
      MMAUDIT_WGMMA_TEXT(256, 128, "k16.f32.bf16.bf16", "%0", ", 1, 1, 0, 0")
      "}"
      : "+l"(a), "+l"(high), "+l"(b), "+r"(scale_d), "+r"(unused), "+r"(d[0]) MMAUDIT_ACC_128(MMAUDIT_ACC_OPERAND)
      :
      : "memory");
  // clang-format on
}

__device__ __forceinline__ void feed(const CUtensorMap& map_a, const CUtensorMap& map_b, int size) {
  const Shared shared;
  const int tiles = size / kWgmmaTileM * (size / kWgmmaTileN);
  device::prefetch_map(&map_a);
  device::prefetch_map(&map_b);
  Ring ring;
  for (int index = static_cast<int>(blockIdx.x); index < tiles; index += static_cast<int>(gridDim.x)) {
    const Tile tile = tile_of(index, size);
    for (int k = 0; k < size; k += kGemmDepth) {
      device::barrier_wait(shared.empty + 8 * ring.stage, ring.parity ^ 1);
      const std::uint32_t full = shared.full + 8 * ring.stage, to = shared.stages + ring.stage * kStageBytes;
      device::barrier_expect(full, kStageBytes);
      device::copy_box(to, &map_a, {k, tile.row}, full);
      device::copy_box(to + kBytesA, &map_b, {k, tile.column}, full);
      ring.advance();
    }
  }
}

__device__ __forceinline__ void store(const std::uint32_t (&d)[kAccumulators], float* to, int size,
                                      int lane) {
  to += static_cast<std::size_t>(lane / 32 * 16 + lane % 32 / 4) * static_cast<std::size_t>(size) +
        lane % 4 * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int j = 0; j < kWgmmaTileN / 8; ++j)
      *reinterpret_cast<uint2*>(to + static_cast<std::size_t>(8 * half) * static_cast<std::size_t>(size) +
                                8 * j) = make_uint2(d[4 * j + 2 * half], d[4 * j + 2 * half + 1]);
}

__device__ __forceinline__ void compute(const TimedGemmArgs& args, int consumer) {
  const Shared shared;
  const int size = args.size, tiles = size / kWgmmaTileM * (size / kWgmmaTileN);
  const int lane = static_cast<int>(threadIdx.x) % kWarpgroupLanes;
  const auto release = [&](std::uint32_t stage) {
    if (lane % 32 == 0) device::barrier_arrive(shared.empty + 8 * stage);
  };
  std::uint32_t d[kAccumulators];
#pragma unroll
  for (int i = 0; i < kAccumulators; ++i) d[i] = 0;
  Ring ring;
  for (int index = static_cast<int>(blockIdx.x); index < tiles; index += static_cast<int>(gridDim.x)) {
    std::uint32_t last = ring.stage;
    for (int k = 0; k < size; k += kGemmDepth) {
      device::barrier_wait(shared.full + 8 * ring.stage, ring.parity);
      const std::uint32_t at = shared.stages + ring.stage * kStageBytes;
      const std::uint64_t a = descriptor_of(at + static_cast<std::uint32_t>(consumer * kRows * kRowBytes)),
                          b = descriptor_of(at + kBytesA);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int step = 0; step < kGemmDepth / kStepK; ++step)  // 32 bytes on, in units of 16
        multiply(d, a + 2 * step, b + 2 * step, k + step > 0 ? 1 : 0);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      if (k > 0) {
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
        release(last);
      }
      last = ring.stage;
      ring.advance();
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    release(last);
    const Tile tile = tile_of(index, size);
    store(d,
          args.d + static_cast<std::size_t>(tile.row + consumer * kRows) * static_cast<std::size_t>(size) +
              tile.column,
          size, lane);
  }
}

__global__ void __launch_bounds__(kThreads, 1)
    gemm_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
               const TimedGemmArgs args) {
  if constexpr (!device::kTargetHasWgmma) {
    __trap();
  } else {
    Stamp stamp;
    start_block(stamp);
    const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroupLanes;
    if (threadIdx.x == 0) {
      const Shared shared;
      for (int stage = 0; stage < kStages; ++stage) {
        device::barrier_init(shared.full + static_cast<std::uint32_t>(8 * stage), 1);
        device::barrier_init(shared.empty + static_cast<std::uint32_t>(8 * stage), kConsumerWarps);
      }
      device::barrier_init_done();
    }
    __syncthreads();
    if (warpgroup == kConsumers) {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 " MMAUDIT_FEW_REGISTERS ";");
      if (threadIdx.x == kConsumers * kWarpgroupLanes) feed(map_a, map_b, args.size);
    } else {
      asm volatile("setmaxnreg.inc.sync.aligned.u32 " MMAUDIT_MANY_REGISTERS ";");
      compute(args, warpgroup);
    }
    stop_block(stamp, args.stamps);
  }
}

unsigned blocks_of(int size, int multiprocessors) {
  const int tiles = size / kWgmmaTileM * (size / kWgmmaTileN);
  return static_cast<unsigned>(tiles < multiprocessors ? tiles : multiprocessors);
}

}  // namespace

std::vector<GemmKernel> gemm_with_wgmma() {
  return {{.name = "wgmma TMA",
           .what = "wgmma.m64n256k16, 128 x 256 x 64 tiles, four stages filled by the copy engine",
           .instruction = chain_of(),
           .least_capability = 90,
           .most_capability = 90,
           .launch =
               [](const TimedGemm& problem) {
                 gemm_wgmma<<<blocks_of(problem.args.size, problem.multiprocessors), kThreads, kShared>>>(
                     problem.map_a, problem.map_b, problem.args);
               },
           .blocks = blocks_of,
           .function = reinterpret_cast<const void*>(gemm_wgmma),
           .shared_bytes = kShared}};
}

}  // namespace mmaudit::sweeps
