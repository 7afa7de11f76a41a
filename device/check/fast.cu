#include <algorithm>

#include "check/tile_products.cuh"
#include "model/core.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

using namespace core;
using tile_products::Place;
using tile_products::place_of;

/// kColumns neighbours of C or D as raw bits; `first` is a multiple of kColumns.
__device__ inline void load_neighbours(const void* base, bool half, std::uint64_t first,
                                       std::uint32_t (&to)[kColumns]) {
  if (!half) {
    load_words(to, static_cast<const std::uint32_t*>(base) + first);
    return;
  }
  std::uint32_t pairs[kColumns / 2];
  load_words(pairs, static_cast<const std::uint16_t*>(base) + first);
#pragma unroll
  for (int i = 0; i < kColumns / 2; ++i) {
    to[2 * i] = pairs[i] & 0xFFFFU;
    to[2 * i + 1] = pairs[i] >> 16;
  }
}

/// A block of threads computes kBlockRows x kBlockColumns elements of a block of tile products. m and n are
/// multiples of 8, so what a thread owns lies in one tile.
template <Kind Of>
__global__ void __launch_bounds__(kThreads, spec(Of).blocks)
    fast_kernel(const __grid_constant__ CoreRules rules, const UnpackedPair words,
                const TileProductArgs args) {
  extern __shared__ uint4 memory[];
  const PanelShape shape_a = panel_shape(rules, false), shape_b = panel_shape(rules, true);
  const Panels panels(reinterpret_cast<std::uint32_t*>(memory), shape_a, shape_b);
  auto copy = panels.copy();
  const int chunk = shape_a.chunk, chunks = chunk_of(rules) / chunk;
  const auto rows = args.side * static_cast<unsigned>(args.m),
             columns = args.side * static_cast<unsigned>(args.n);
  const auto panels_of = [chunks](const std::uint32_t* base, std::uint64_t block, unsigned elements,
                                  unsigned panel, const PanelShape& of) {
    const std::uint64_t panels_across = padded(elements, kUnpackedPad) / kPanelElements;
    return base + (block * panels_across + panel) * static_cast<unsigned>(chunks * of.words());
  };
  const unsigned first_row = blockIdx.y * kBlockRows, first_column = blockIdx.x * kBlockColumns;
  const unsigned row = first_row + static_cast<unsigned>(thread_row()),
                 column = first_column + static_cast<unsigned>(thread_column());
  for (std::uint64_t block = blockIdx.z; block < args.blocks; block += gridDim.z) {
    const std::uint32_t* a = panels_of(words.a, block, rows, blockIdx.y, shape_a);
    const std::uint32_t* b = panels_of(words.b, block, columns, blockIdx.x, shape_b);
    const Place at = place_of(args, block, row, column);
    const auto n = static_cast<unsigned>(args.n);
    std::uint32_t bits[kColumns];
    Held<spec(Of).addend_last> sums;
    Codes codes;
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      load_neighbours(args.c, rules.c_half, at.c + r * n, bits);
#pragma unroll
      for (unsigned c = 0; c < kColumns; ++c)
        sums.of[r][c] =
            static_cast<std::remove_reference_t<decltype(sums.of[r][c])>>(to_sum(rules.c_half, bits[c]));
    }
    if constexpr (!spec(Of).addend_last) sums.look(codes);
    for (int k = 0; k < rules.depth; k += chunk) {
      const ChunkFacts facts = panels.stage(a, b, copy);
      a += shape_a.words();
      b += shape_b.words();
      run<Of>(rules, panels, facts, 0, min(chunk, rules.depth - k), sums, codes);
    }
    sums.settle(codes);
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r) {
      load_neighbours(args.hardware, rules.d_half, at.d + r * n, bits);
#pragma unroll
      for (unsigned c = 0; c < kColumns; ++c)
        tile_products::compare(args, at.d + r * n + c, bits[c],
                               from_sum(rules.d_half, static_cast<double>(sums.of[r][c]), rules));
    }
  }
}

template <Kind Of>
void start(const CoreRules& rules, const UnpackedPair& words, const TileProductArgs& args) {
  const auto kernel = fast_kernel<Of>;
  const std::size_t bytes = Panels::bytes(rules);
  cuda_check(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
      "making room in shared memory");
  constexpr unsigned kMostBlocksInZ = 65535;
  const auto blocks = [&](std::int32_t extent, unsigned of_block) {
    return (args.side * static_cast<unsigned>(extent)) / of_block;
  };
  const dim3 grid(blocks(args.n, kBlockColumns), blocks(args.m, kBlockRows),
                  std::min(args.blocks, kMostBlocksInZ));
  kernel<<<grid, kThreads, bytes>>>(rules, words, args);
  cuda_check(cudaGetLastError(), "launching the model");
}

}  // namespace

void launch_fast(const CoreRules& rules, const UnpackedPair& words, const TileProductArgs& args) {
  for_rules(rules, [&]<Kind Of>() { start<Of>(rules, words, args); });
}

}  // namespace mmaudit::device
