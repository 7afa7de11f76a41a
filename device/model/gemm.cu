#include <algorithm>

#include "model/core.cuh"
#include "model/gemm.hpp"
#include "model/totals.cuh"
#include "model/unpacked.hpp"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

using namespace core;

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
template <Kind Of, Into Where>
__global__ void __launch_bounds__(kThreads, spec(Of).blocks)
    gemm_kernel(const __grid_constant__ CoreRules rules, const GemmArgs args) {
  constexpr bool kTotals = Where != Into::sums;
  extern __shared__ uint4 memory[];
  const auto shape = [&](bool of_b) {
    return spec(Of).step == 0 ? panel_shape(rules, of_b) : PanelShape{.chunk = kChunk, .of_b = of_b};
  };
  const PanelShape shape_a = shape(false), shape_b = shape(true);
  const auto chunk = static_cast<unsigned>(shape_a.chunk);
  const Panels panels(reinterpret_cast<std::uint32_t*>(memory), shape_a, shape_b);
  auto copy = panels.copy();
  const std::uint64_t first_row = std::uint64_t{blockIdx.y} * kBlockRows;
  const std::uint64_t first_column = std::uint64_t{blockIdx.x} * kBlockColumns;
  const std::uint64_t row = first_row + static_cast<unsigned>(thread_row());
  const std::uint64_t column = first_column + static_cast<unsigned>(thread_column());
  for (std::uint64_t matrix = blockIdx.z; matrix < args.batch; matrix += gridDim.z) {
    const std::uint64_t d0 = matrix * args.m * args.n;
    const auto there = [&](int r, int c) {
      return row + static_cast<unsigned>(r) < args.m && column + static_cast<unsigned>(c) < args.n;
    };
    const auto at = [&](int r, int c) {
      return d0 + (row + static_cast<unsigned>(r)) * args.n + column + static_cast<unsigned>(c);
    };
    Held<spec(Of).addend_last> sums;
    Codes codes;
    using Sum = std::remove_reference_t<decltype(sums.of[0][0])>;
    [[maybe_unused]] float total[kTotals ? 2 : 1][kRows][kColumns] = {};
    if (args.c != nullptr) {
      for_each([&](int r, int c) {
        const double x = there(r, c) ? to_sum(spec(Of).half, load_raw(args.c, spec(Of).half, at(r, c))) : 0.0;
        if (kTotals && args.stride != 0)
          total[0][r][c] = static_cast<float>(x);
        else
          sums.of[r][c] = static_cast<Sum>(x);
      });
      if constexpr (!spec(Of).addend_last) sums.look(codes);
    }
    const auto fold_sums = [&](float(&into)[kRows][kColumns]) {
      sums.settle(codes);
      for_each([&](int r, int c) {
        into[r][c] = add_nearest<false>(into[r][c], narrowed(sums.of[r][c]), rules.nan);
      });
      sums = {};
    };
    const auto fold_scaled = [&](float(&into)[kRows][kColumns], std::uint64_t block) {
      sums.settle(codes);
      for_each([&](int r, int c) {
        if (!there(r, c)) return;
        const float factor = __fmul_rn(args.factors.a.at(matrix, row + static_cast<unsigned>(r), block),
                                       args.factors.b.at(matrix, column + static_cast<unsigned>(c), block));
        into[r][c] = __fmaf_rn(factor, narrowed(sums.of[r][c]), into[r][c]);
      });
      sums = {};
    };
    const std::uint64_t chunks = padded(args.k, static_cast<unsigned>(chunk_of(rules))) / chunk;
    const std::uint64_t end = padded(args.k, static_cast<unsigned>(rules.depth));  // the padding is +0
    const auto panels_of = [&](const std::uint32_t* base, std::uint64_t elements, unsigned block,
                               const PanelShape& of) {
      const std::uint64_t blocks = padded(elements, kUnpackedPad) / kPanelElements;
      return base + (matrix * blocks + block) * chunks * static_cast<unsigned>(of.words());
    };
    const std::uint32_t* a = panels_of(args.a, args.m, blockIdx.y, shape_a);
    const std::uint32_t* b = panels_of(args.b, args.n, blockIdx.x, shape_b);
    [[maybe_unused]] Cuts cuts(args);
    for (std::uint64_t k0 = 0; k0 < end; k0 += chunk) {
      const ChunkFacts facts = panels.stage(a, b, copy);
      a += shape_a.words();
      b += shape_b.words();
      const std::uint64_t count = min(end - k0, std::uint64_t{chunk});
      if constexpr (!kTotals) {
        run<Of>(rules, panels, facts, 0, static_cast<int>(count), sums, codes);
      } else {
        for (std::uint64_t from = 0; from < count;) {
          const std::uint64_t some = cuts.before(count - from);
          run<Of>(rules, panels, facts, static_cast<int>(from), static_cast<int>(from + some), sums, codes);
          from += some;
          cuts.advance(
              some, k0 + from >= end,
              [&](int into) {
                if constexpr (Where == Into::scaled_totals)
                  fold_scaled(total[into], (k0 + from - 1) / args.factors.block);
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
      }
    }
    sums.settle(codes);
    for_each([&](int r, int c) {
      if (!there(r, c)) return;
      auto x = static_cast<double>(sums.of[r][c]);
      if constexpr (kTotals) x = static_cast<double>(args.slice != 0 ? total[1][r][c] : total[0][r][c]);
      const std::uint32_t bits = from_sum(spec(Of).half, x, rules);
      if constexpr (spec(Of).half)
        static_cast<std::uint16_t*>(args.d)[at(r, c)] = static_cast<std::uint16_t>(bits);
      else
        static_cast<std::uint32_t*>(args.d)[at(r, c)] = bits;
    });
  }
}

template <Kind Of, Into Where>
void start(const CoreRules& rules, const GemmArgs& args) {
  const auto kernel = gemm_kernel<Of, Where>;
  const std::size_t bytes = Panels::bytes(rules);
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "making room in shared memory");
  constexpr std::uint64_t kMostMatrices = 65535;
  const dim3 grid(static_cast<unsigned>((args.n + kBlockColumns - 1) / kBlockColumns),
                  static_cast<unsigned>((args.m + kBlockRows - 1) / kBlockRows),
                  static_cast<unsigned>(std::min(args.batch, kMostMatrices)));
  kernel<<<grid, kThreads, bytes, args.stream>>>(rules, args);
  cuda_check(cudaGetLastError(), "launching the model");
}

}  // namespace

void launch_gemm(const CoreRules& rules, const GemmArgs& args) {
  const bool totals = args.stride != 0 || args.slice != 0;
  for_rules(rules, [&]<Kind Of>() {
    if constexpr (!spec(Of).half) {
      constexpr Kind kAnyStep = spec(Of).two_stages    ? Of
                                : spec(Of).addend_last ? Kind::addend_last
                                                       : Kind::any_step;
      if (totals)
        return args.factors.block != 0 ? start<kAnyStep, Into::scaled_totals>(rules, args)
                                       : start<Of, Into::totals>(rules, args);
    }
    start<Of, Into::sums>(rules, args);
  });
}

}  // namespace mmaudit::device
