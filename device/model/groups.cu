// A block of threads computes kTileRows x kTileColumns elements, two warps down and two across. A group's sum
// comes from the integer tensor cores. Multiplied by the two scales, which are integers in units of the step,
// the groups of a step are added as 64-bit integers, and one binary64 operation adds C, exactly; a mask
// rounds toward zero.
//
// That is right while alignment cuts nothing off: no unit lies below the last place that the largest scales
// leave (the packing sees to that), C is a multiple of that place, which adding and subtracting 1.5 * 2^52 of
// it shows, and C is not so large that it cuts groups off. Elements that fail take the step of
// group_step.hpp.
#include "model/core.cuh"
#include "model/group_step.hpp"
#include "model/groups.hpp"
#include "model/totals.cuh"
#include "ptx/async_copy.cuh"
#include "ptx/mma_int.cuh"
#include "ptx/shared_memory.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace groups {
MMAUDIT_MMA_INT_LINE(8, 8, 16, wrapping, s8, s8)
MMAUDIT_MMA_INT_LINE(16, 8, 16, wrapping, s8, s8)
MMAUDIT_MMA_INT_LINE(16, 8, 32, wrapping, s8, s8)
}  // namespace groups

namespace {

using namespace groups;

constexpr int kRowTiles = 1, kColumnTiles = 4;  ///< of 16 x 8 elements, that a warp owns
constexpr int kWarpRows = 16 * kRowTiles, kWarpColumns = 8 * kColumnTiles;
constexpr int kTileRows = 2 * kWarpRows, kTileColumns = 2 * kWarpColumns;
constexpr int kOwn = 4 * kRowTiles * kColumnTiles;
constexpr int kThreads = 128, kBlocksOnMultiprocessor = 4;
constexpr unsigned kDepthBytes = kGroupDepth;
constexpr unsigned kAllLanes = 0xFFFFFFFFU;

/// What a kernel needs of its datapath besides AnyScales.
struct GroupNumbers {
  std::uint32_t nan;    ///< bits of D
  std::uint32_t limit;  ///< high word: C below this many units leaves them all
};

/// What a step reads, in shared memory.
struct Stage {
  uint4 a[kTileRows * kDepthBytes / 16], b[kTileColumns * kDepthBytes / 16];
  GroupSide a_side[kTileRows], b_side[kTileColumns];
};

__device__ std::uint32_t shared_address(const void* x) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(x));
}

/// `sides`: of the block's first row or column, in a step.
template <std::size_t Vectors, std::size_t Sides>
__device__ void copy_side(const uint4 (&to)[Vectors], const GroupSide (&to_sides)[Sides],
                          const PackedGroups& from, std::uint64_t side) {
  const auto copy = [](const void* to_base, const void* from_base, unsigned bytes) {
    for (unsigned i = threadIdx.x; i < bytes / 16; i += kThreads)
      copy_async(shared_address(to_base) + 16 * i, static_cast<const char*>(from_base) + 16 * i);
  };
  copy(to, from.bytes + side * kDepthBytes, sizeof to);
  copy(to_sides, from.sides + side, sizeof to_sides);
}

/// Four matrices of 8 lines x 16 bytes: of lane group i the lines from line(i) on and their group(i).
__device__ void load_groups(std::uint32_t (&to)[4], const uint4* lines, unsigned line, unsigned group) {
  load_matrices<false>(to, shared_address(lines + line * (kDepthBytes / 16) + group_place(line, group)));
}

/// Adds 16 rows of x times 8 columns of y, over 16 * Pieces of k. Before sm_80 in instructions of 8 rows.
template <int Pieces>
__device__ void multiply(std::uint32_t (&sum)[4], const std::uint32_t (&x)[2 * Pieces],
                         const std::uint32_t (&y)[Pieces]) {
#if __CUDA_ARCH__ >= 800
  if constexpr (Pieces == 1)
    mma<groups::Mma_m16n8k16_wrapping_s8_s8>(sum, x, y);
  else
    mma<groups::Mma_m16n8k32_wrapping_s8_s8>(sum, x, y);
#else
#pragma unroll
  for (int i = 0; i < 2 * Pieces; ++i) {
    const std::uint32_t rows[1] = {x[i]}, columns[1] = {y[i / 2]};
    std::uint32_t half[2] = {sum[i % 2 * 2], sum[i % 2 * 2 + 1]};
    mma<groups::Mma_m8n8k16_wrapping_s8_s8>(half, rows, columns);
    sum[i % 2 * 2] = half[0];
    sum[i % 2 * 2 + 1] = half[1];
  }
#endif
}

/// Sums of the groups that share scales: rows g and g + 8, columns 2t and 2t + 1 each.
template <int Scales>
__device__ void group_sums(std::uint32_t (&sum)[Scales][4], const std::uint32_t (&a)[8],
                           const std::uint32_t (&b)[4]) {
#pragma unroll
  for (int i = 0; i < Scales; ++i) {
    if constexpr (Scales == 4) {
      const std::uint32_t x[2] = {a[2 * i], a[2 * i + 1]}, y[1] = {b[i]};
      multiply<1>(sum[i], x, y);
    } else {
      const std::uint32_t x[4] = {a[4 * i], a[4 * i + 1], a[4 * i + 2], a[4 * i + 3]},
                          y[2] = {b[2 * i], b[2 * i + 1]};
      multiply<2>(sum[i], x, y);
    }
  }
}

/// total + x * y. As an instruction: the compiler makes 64-bit factors of what it reads more than once.
__device__ std::int64_t add_product(std::int32_t x, std::int32_t y, std::int64_t total) {
  asm("mad.wide.s32 %0, %1, %2, %0;" : "+l"(total) : "r"(x), "r"(y));
  return total;
}

/// One step of one element; false, and nothing done, where alignment might cut something off. Without a
/// branch, so that the elements of a thread overlap.
template <int Scales>
__device__ bool add_groups(double& sum, const std::uint32_t (&of_group)[Scales][4], int which,
                           const GroupSide& row, const GroupSide& column, double limit) {
  std::int64_t total = 0;
#pragma unroll
  for (int i = 0; i < Scales; ++i)
    total = add_product(static_cast<std::int32_t>(of_group[i][which]) * row.scale[i], column.scale[i], total);
  const double unit = double_of(row.unit) * double_of(column.unit), top = double_of(row.top),
               top_of_column = double_of(column.top);
  const double lifted = __fma_rn(top, top_of_column, sum);
  const bool whole = (__fma_rn(-top, top_of_column, lifted) == sum) & (fabs(sum) < unit * limit);
  const double exact = __fma_rn(static_cast<double>(total), unit, sum);
  const std::int32_t high = __double2hiint(exact), low = __double2loint(exact) & -(1 << 29);
  sum = __hiloint2double(whole ? high : __double2hiint(sum), whole ? low : __double2loint(sum));
  return whole;
}

/// Where a thread's element i stands in its block's tile.
struct Owned {
  unsigned row, column;
};
__device__ Owned owned(int i) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const auto index = static_cast<unsigned>(i);
  constexpr unsigned kOfRows = 4 * kColumnTiles;
  return {warp / 2 * kWarpRows + index / kOfRows * 16 + index / 2 % 2 * 8 + lane / 4,
          warp % 2 * kWarpColumns + index / 4 % kColumnTiles * 8 + lane % 4 * 2 + index % 2};
}

/// The same in D.
struct Place {
  std::uint64_t row, column;
};

/// Groups of rows g and g + 8: words of a thread as a product of 16 x 8 wants them.
__device__ void load_rows(std::uint32_t (&a)[8], const Stage& stage, int row_tile) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, matrix = lane / 8;
  for (unsigned half = 0; half < 2; ++half) {
    std::uint32_t part[4];
    load_groups(part, stage.a,
                warp / 2 * kWarpRows + static_cast<unsigned>(row_tile) * 16 + matrix % 2 * 8 + lane % 8,
                2 * half + matrix / 2);
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) a[4 * half + i] = part[i];
  }
}

/// Of an element that is not 0 some of the last four bits is set. Numbers without a sign.
template <int Count>
__device__ void make_marks(std::uint32_t (&marks)[Count], const std::uint32_t (&of)[Count]) {
#pragma unroll
  for (int i = 0; i < Count; ++i) marks[i] = of[i] & 0x0F0F0F0FU;
}

__device__ void load_codes(std::uint32_t (&to)[kGroups], const GroupSide& from, int scales) {
#pragma unroll
  for (int g = 0; g < kGroups; ++g) to[g] = from.code[g * scales / kGroups];
}

/// The elements whose bits are set in `which`, whatever scales and sums are. Called by whole warps; products
/// of 16 x 8 in which no bit is set are left out.
template <int Scales>
__device__ __noinline__ void any_groups(const AnyScales rules, const Stage& stage, std::uint32_t which,
                                        double* sums) {
  static_assert(kRowTiles == 1);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const double nan = double_of(kDoubleNan);
  for (int i = 0; i < kOwn; ++i)
    if (sums[i] != sums[i]) which &= ~(1U << i);
  const unsigned row = owned(0).row;
  std::uint32_t a[8], marks_a[8], codes_a[2][kGroups];
  load_rows(a, stage, 0);
  make_marks(marks_a, a);
  bool nan_row[2];
#pragma unroll
  for (unsigned i = 0; i < 2; ++i) {
    const GroupSide& side = stage.a_side[row + 8 * i];
    load_codes(codes_a[i], side, Scales);
    nan_row[i] = side.top == kDoubleNan;
  }
#pragma unroll 1
  for (unsigned tile = 0; tile < kColumnTiles; ++tile) {
    const std::uint32_t here = which >> (4 * tile) & 0xFU;
    if (__any_sync(kAllLanes, here != 0) == 0) continue;
    std::uint32_t b[4], marks_b[4], groups[kGroups][4] = {}, some[kGroups][4] = {};
    const unsigned column = warp % 2 * kWarpColumns + tile * 8;
    load_groups(b, stage.b, column + lane % 8, lane / 8);
    make_marks(marks_b, b);
    group_sums<kGroups>(groups, a, b);
    group_sums<kGroups>(some, marks_a, marks_b);
    std::uint32_t codes_b[2][kGroups];
    bool nan_column[2];
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
      const GroupSide& side = stage.b_side[column + lane % 4 * 2 + i];
      load_codes(codes_b[i], side, Scales);
      nan_column[i] = side.top == kDoubleNan;
    }
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      std::int32_t of_group[kGroups], some_of_group[kGroups];
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        of_group[g] = static_cast<std::int32_t>(groups[g][i]);
        some_of_group[g] = static_cast<std::int32_t>(some[g][i]);
      }
      double& sum = sums[4 * tile + i];
      const double next = add_any_groups(rules, of_group, some_of_group, codes_a[i / 2], codes_b[i % 2], sum);
      if ((here >> i & 1) != 0) sum = nan_row[i / 2] || nan_column[i % 2] ? nan : next;
    }
  }
}

/// A step from its stage. Returns the elements that it leaves as they were.
template <int Scales>
__device__ std::uint32_t one_step(const Stage& stage, double limit, double (&sums)[kOwn]) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const unsigned matrix = lane / 8;
  std::uint32_t failed = 0;
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
    const Owned first = owned(4 * kColumnTiles * r);
    std::uint32_t a[8];
    load_rows(a, stage, r);
    const GroupSide rows[2] = {stage.a_side[first.row], stage.a_side[first.row + 8]};
#pragma unroll
    for (int c = 0; c < kColumnTiles; ++c) {
      std::uint32_t b[4], groups[Scales][4] = {};
      const unsigned column = warp % 2 * kWarpColumns + static_cast<unsigned>(c) * 8;
      load_groups(b, stage.b, column + lane % 8, matrix);
      group_sums<Scales>(groups, a, b);
      const GroupSide columns[2] = {stage.b_side[column + lane % 4 * 2],
                                    stage.b_side[column + lane % 4 * 2 + 1]};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int own = 4 * (kColumnTiles * r + c) + i;
        const bool whole = add_groups<Scales>(sums[own], groups, i, rows[i / 2], columns[i % 2], limit);
        failed |= whole ? 0 : 1U << own;
      }
    }
  }
  return failed;
}

template <int Scales, bool Totals>
__global__ void __launch_bounds__(kThreads, kBlocksOnMultiprocessor)
    grouped_kernel(const AnyScales any, const GroupNumbers numbers, const PackedGroups a,
                   const PackedGroups b, const GemmArgs args) {
  __shared__ Stage stages[2];
  const std::uint64_t steps = padded(args.k, kGroupDepth) / kGroupDepth;
  const std::uint64_t a_pitch = padded(args.m, kUnpackedPad), b_pitch = padded(args.n, kUnpackedPad);
  const std::uint32_t nan = numbers.nan;
  const double limit = double_of(numbers.limit);
  for (std::uint64_t matrix = blockIdx.z; matrix < args.batch; matrix += gridDim.z) {
    const std::uint64_t tile_row = std::uint64_t{blockIdx.x} * kTileRows,
                        tile_column = std::uint64_t{blockIdx.y} * kTileColumns;
    const auto for_each = [&](const auto& element) {
#pragma unroll
      for (int i = 0; i < kOwn; ++i) {
        const Owned own = owned(i);
        const Place at{tile_row + own.row, tile_column + own.column};
        if (at.row < args.m && at.column < args.n)
          element(i, (matrix * args.m + at.row) * args.n + at.column);
      }
    };
    const auto copy_step = [&](std::uint64_t step) {
      Stage& to = stages[step % 2];
      copy_side(to.a, to.a_side, a, (matrix * steps + step) * a_pitch + tile_row);
      copy_side(to.b, to.b_side, b, (matrix * steps + step) * b_pitch + tile_column);
      commit_copies();
    };
    double sums[kOwn] = {};
    [[maybe_unused]] float total[Totals ? 2 : 1][kOwn] = {};
    if (args.c != nullptr)
      for_each([&](int i, std::uint64_t at) {
        // A step makes a zero +0.
        const float c = static_cast<const float*>(args.c)[at] + (steps != 0 ? 0.0F : -0.0F);
        if (Totals && args.stride != 0)
          total[0][i] = c;
        else
          sums[i] = static_cast<double>(c);
      });
    [[maybe_unused]] Cuts cuts(args);
    if (steps != 0) copy_step(0);
    for (std::uint64_t step = 0; step < steps; ++step) {
      if (step + 1 < steps) {
        copy_step(step + 1);
        wait_copies<1>();
      } else {
        wait_copies<0>();
      }
      __syncthreads();
      const std::uint32_t failed = one_step<Scales>(stages[step % 2], limit, sums);
      if (__any_sync(kAllLanes, failed != 0) != 0) {
        double copy[kOwn];
#pragma unroll
        for (int i = 0; i < kOwn; ++i) copy[i] = sums[i];
        any_groups<Scales>(any, stages[step % 2], failed, copy);
#pragma unroll
        for (int i = 0; i < kOwn; ++i) sums[i] = copy[i];
      }
      if constexpr (Totals)
        cuts.advance(
            kGroupDepth, step + 1 == steps,
            [&](int into) {
#pragma unroll
              for (int i = 0; i < kOwn; ++i) {
                total[into][i] = core::add_nearest<false>(total[into][i], static_cast<float>(sums[i]), nan);
                sums[i] = 0;
              }
            },
            [&] {
#pragma unroll
              for (int i = 0; i < kOwn; ++i) {
                total[1][i] = core::add_nearest<false>(total[1][i], total[0][i], nan);
                total[0][i] = 0;
              }
            });
      __syncthreads();
    }
    for_each([&](int i, std::uint64_t at) {
      float x = static_cast<float>(sums[i]);
      if constexpr (Totals) x = args.slice != 0 ? total[1][i] : total[0][i];
      static_cast<std::uint32_t*>(args.d)[at] = x != x ? nan : __float_as_uint(x);
    });
  }
}

template <int Scales, bool Totals>
void start(const GroupCore& core, const PackedGroups& a, const PackedGroups& b, const GemmArgs& args) {
  constexpr std::uint64_t kMostMatrices = 65535;
  const dim3 grid(static_cast<unsigned>((args.m + kTileRows - 1) / kTileRows),
                  static_cast<unsigned>((args.n + kTileColumns - 1) / kTileColumns),
                  static_cast<unsigned>(args.batch < kMostMatrices ? args.batch : kMostMatrices));
  const GroupNumbers numbers{static_cast<std::uint32_t>(nan_bits(core.spec.datapath.output, core.spec.d)),
                             power_of_two(core.spec.datapath.fraction_bits + 1)};
  grouped_kernel<Scales, Totals>
      <<<grid, kThreads, 0, args.stream>>>(AnyScales::of(core), numbers, a, b, args);
  cuda_check(cudaGetLastError(), "launching the model");
}

}  // namespace

void launch_grouped_gemm(const GroupCore& core, const PackedGroups& a, const PackedGroups& b,
                         const GemmArgs& args) {
  const bool totals = args.stride != 0 || args.slice != 0;
  const auto kernel = core.scales == 4 ? (totals ? start<4, true> : start<4, false>)
                                       : (totals ? start<2, true> : start<2, false>);
  kernel(core, a, b, args);
}

}  // namespace mmaudit::device
