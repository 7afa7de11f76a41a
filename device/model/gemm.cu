#include <algorithm>

#include "model/core.cuh"
#include "model/gemm.hpp"
#include "model/totals.cuh"
#include "model/unpacked.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

using namespace core;

constexpr int kRows = kRowsOfDeep;

__device__ std::uint32_t load_raw(const void* base, bool half, std::uint64_t index) {
  return half ? static_cast<const std::uint16_t*>(base)[index]
              : static_cast<const std::uint32_t*>(base)[index];
}

template <typename Element>
__device__ void for_each(const Element& element) {
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) element(r, c);
}

/// Where sums go during the product.
enum class Into { sums, totals, scaled_totals };

/// One block a tile of D. Totals: the sum goes to a binary32 total every `stride`, and that to another every
/// `slice`; scaled ones take it times its factors.
template <bool Half, bool AddendLast, Into Where, int Step>
__global__ void __launch_bounds__(kThreads<kRows>, kBlocksAtOnce)
    gemm_kernel(const CoreRules rules, const GemmArgs args) {
  constexpr bool kTotals = Where != Into::sums;
  extern __shared__ uint4 memory[];
  const int chunk = Step == 0 ? staged_of(rules) : kChunk;
  const Panels panels(reinterpret_cast<std::uint32_t*>(memory), chunk);
  const std::uint64_t first_row = std::uint64_t{blockIdx.y} * kBlockRows;
  const std::uint64_t first_column = std::uint64_t{blockIdx.x} * kBlockColumns;
  const std::uint64_t row = first_row + static_cast<unsigned>(thread_row<kRows>());
  const std::uint64_t column = first_column + static_cast<unsigned>(thread_column());
  for (std::uint64_t matrix = blockIdx.z; matrix < args.batch; matrix += gridDim.z) {
    const std::uint64_t d0 = matrix * args.m * args.n;
    const auto there = [&](int r, int c) {
      return row + static_cast<unsigned>(r) < args.m && column + static_cast<unsigned>(c) < args.n;
    };
    const auto at = [&](int r, int c) {
      return d0 + (row + static_cast<unsigned>(r)) * args.n + column + static_cast<unsigned>(c);
    };
    Sums<kRows> sums;
    [[maybe_unused]] float total[kTotals ? 2 : 1][kRows][kColumns] = {};
    if (args.c != nullptr) {
      for_each([&](int r, int c) {
        const double x = there(r, c) ? to_sum(Half, load_raw(args.c, Half, at(r, c))) : 0.0;
        if (kTotals && args.stride != 0)
          total[0][r][c] = static_cast<float>(x);
        else
          sums.of[r][c] = x;
      });
      sums.look_for_specials();
    }
    const auto fold_sums = [&](float(&into)[kRows][kColumns]) {
      for_each([&](int r, int c) {
        into[r][c] = add_nearest<false>(into[r][c], static_cast<float>(sums.of[r][c]), rules.nan);
      });
      sums = {};
    };
    const auto fold_scaled = [&](float(&into)[kRows][kColumns], std::uint64_t block) {
      for_each([&](int r, int c) {
        if (!there(r, c)) return;
        const float factor = __fmul_rn(args.factors.a.at(matrix, row + static_cast<unsigned>(r), block),
                                       args.factors.b.at(matrix, column + static_cast<unsigned>(c), block));
        into[r][c] = __fmaf_rn(factor, static_cast<float>(sums.of[r][c]), into[r][c]);
      });
      sums = {};
    };
    const std::uint64_t a_pitch = padded(args.m, kUnpackedPad), b_pitch = padded(args.n, kUnpackedPad);
    const std::uint64_t depth = padded(args.k, static_cast<unsigned>(chunk_of(rules)));
    const std::uint64_t end = padded(args.k, static_cast<unsigned>(rules.depth));  // the padding is +0
    const std::uint32_t* a = args.a + matrix * depth * a_pitch + first_row;
    const std::uint32_t* b = args.b + matrix * depth * b_pitch + first_column;
    [[maybe_unused]] Cuts cuts(args);
    for (std::uint64_t k0 = 0; k0 < end;) {
      std::uint64_t count = min(end - k0, static_cast<std::uint64_t>(chunk));
      if constexpr (kTotals) count = cuts.before(count);
      const auto positions = static_cast<int>(count);
      stage<kRows>(rules, panels, a + k0 * a_pitch, a_pitch, b + k0 * b_pitch, b_pitch, positions);
      k0 += count;
      run<Half, AddendLast, Step>(rules, panels, positions, sums);
      if constexpr (kTotals)
        cuts.advance(
            count, k0 >= end,
            [&](int into) {
              if constexpr (Where == Into::scaled_totals)
                fold_scaled(total[into], (k0 - 1) / args.factors.block);
              else
                fold_sums(total[into]);
            },
            [&] {
              for_each([&](int r, int c) {
                total[1][r][c] = add_nearest<false>(total[1][r][c], total[0][r][c], rules.nan);
                total[0][r][c] = 0;
              });
            });
    }
    for_each([&](int r, int c) {
      if (!there(r, c)) return;
      double x = sums.of[r][c];
      if constexpr (kTotals) x = static_cast<double>(args.slice != 0 ? total[1][r][c] : total[0][r][c]);
      const std::uint32_t bits = from_sum(Half, x, rules);
      if constexpr (Half)
        static_cast<std::uint16_t*>(args.d)[at(r, c)] = static_cast<std::uint16_t>(bits);
      else
        static_cast<std::uint32_t*>(args.d)[at(r, c)] = bits;
    });
  }
}

template <bool Half, bool AddendLast, Into Where, int Step = 0>
void start(const CoreRules& rules, const GemmArgs& args) {
  const auto kernel = gemm_kernel<Half, AddendLast, Where, Step>;
  const std::size_t bytes = static_cast<std::size_t>(Panels::words(staged_of(rules))) * sizeof(std::uint32_t);
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "making room in shared memory");
  constexpr std::uint64_t kMostMatrices = 65535;
  const dim3 grid(static_cast<unsigned>((args.n + kBlockColumns - 1) / kBlockColumns),
                  static_cast<unsigned>((args.m + kBlockRows - 1) / kBlockRows),
                  static_cast<unsigned>(std::min(args.batch, kMostMatrices)));
  kernel<<<grid, kThreads<kRows>, bytes, args.stream>>>(rules, args);
  cuda_check(cudaGetLastError(), "launching the model");
}

}  // namespace

void launch_gemm(const CoreRules& rules, const GemmArgs& args) {
  const bool totals = args.stride != 0 || args.slice != 0;
  for_rules(rules, [&]<bool Half, bool AddendLast, int Step>() {
    if constexpr (!Half)
      if (totals)
        return args.factors.block != 0 ? start<Half, AddendLast, Into::scaled_totals>(rules, args)
                                       : start<Half, AddendLast, Into::totals>(rules, args);
    start<Half, AddendLast, Into::sums, Step>(rules, args);
  });
}

}  // namespace mmaudit::device
