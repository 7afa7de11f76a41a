#include <algorithm>

#include "campaign/crossed.cuh"
#include "model/core.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

using namespace core;
using crossed::Place;
using crossed::place_of;

/// One block kBlockRows x kBlockColumns elements of a square.
template <bool Half, bool AddendLast, int Step>
__global__ void __launch_bounds__(kThreads, kBlocksAtOnce)
    fast_kernel(const CoreRules rules, const CrossedWords words, const CrossedArgs args) {
  extern __shared__ uint4 memory[];
  const int chunk = rules.depth > kChunk ? rules.depth : kChunk;
  const Panels panels(reinterpret_cast<std::uint32_t*>(memory), chunk);
  const auto rows = kSide * static_cast<unsigned>(args.m), columns = kSide * static_cast<unsigned>(args.n);
  const std::uint64_t a_pitch = padded(rows, kUnpackedPad), b_pitch = padded(columns, kUnpackedPad);
  const unsigned first_row = blockIdx.y * kBlockRows, first_column = blockIdx.x * kBlockColumns;
  const unsigned row = first_row + static_cast<unsigned>(thread_row()),
                 column = first_column + static_cast<unsigned>(thread_column());
  constexpr int kBytes = Half ? 2 : 4;
  for (std::uint64_t square = blockIdx.z; square < args.squares; square += gridDim.z) {
    stage(rules, panels, words.a + square * static_cast<unsigned>(chunk) * a_pitch + first_row, a_pitch,
          words.b + square * static_cast<unsigned>(chunk) * b_pitch + first_column, b_pitch, rules.depth);
    // Neither m nor n divides what a thread owns.
    const Place at = place_of(args, square, row, column);
    const auto n = static_cast<unsigned>(args.n);
    Sums sums;
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r)
#pragma unroll
      for (unsigned c = 0; c < kColumns; ++c)
        sums[r][c] =
            to_sum<Half>(static_cast<std::uint32_t>(crossed::load(args.c, kBytes, at.c + r * n + c)));
    run<Half, AddendLast, Step>(rules, panels, rules.depth, sums);
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r)
#pragma unroll
      for (unsigned c = 0; c < kColumns; ++c)
        crossed::compare(args, at.d + r * n + c, crossed::load(args.hardware, kBytes, at.d + r * n + c),
                         from_sum<Half>(sums[r][c], rules));
  }
}

template <bool Half, bool AddendLast, int Step = 0>
void start(const CoreRules& rules, const CrossedWords& words, const CrossedArgs& args) {
  const auto kernel = fast_kernel<Half, AddendLast, Step>;
  const std::size_t bytes =
      static_cast<std::size_t>(Panels::words(std::max(rules.depth, kChunk))) * sizeof(std::uint32_t);
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "making room in shared memory");
  constexpr unsigned kMostSquares = 65535;
  const auto blocks = [](std::int32_t extent, unsigned of_block) {
    return (kSide * static_cast<unsigned>(extent)) / of_block;
  };
  const dim3 grid(blocks(args.n, kBlockColumns), blocks(args.m, kBlockRows),
                  std::min(args.squares, kMostSquares));
  kernel<<<grid, kThreads, bytes>>>(rules, words, args);
  cuda_check(cudaGetLastError(), "launching the model");
}

}  // namespace

void launch_crossed_fast(const CoreRules& rules, const CrossedWords& words, const CrossedArgs& args) {
  if (rules.half) {
    rules.addend_last ? start<true, true>(rules, words, args) : start<true, false>(rules, words, args);
  } else if (rules.addend_last) {
    start<false, true>(rules, words, args);
  } else if (rules.step == 8) {
    start<false, false, 8>(rules, words, args);
  } else if (rules.step == 16) {
    start<false, false, 16>(rules, words, args);
  } else if (rules.step == 32) {
    start<false, false, 32>(rules, words, args);
  } else {
    start<false, false>(rules, words, args);
  }
}

}  // namespace mmaudit::device
