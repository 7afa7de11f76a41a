#include "check/generate.hpp"

#include <algorithm>

#include "check/load.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr int kThreads = 128;

struct GenerateArgs {
  gen::GeneratorSpec generator;
  gen::InputClass input_class;
  gen::Matrix which;
  std::uint64_t seed, first_tile;
  unsigned tiles, tiles_of_shape;  ///< the former a multiple of the latter
  int rows, cols, bytes;
  void* out;
};

/// A block in y fills the tiles of one shape, and decides once what they share. Metadata share nothing.
template <bool kMetadata>
__global__ void __launch_bounds__(kThreads) generate_kernel(const GenerateArgs args) {
  [[maybe_unused]] __shared__ gen::detail::TileShape shape;
  const auto cols = static_cast<unsigned>(args.cols), of_tile = static_cast<unsigned>(args.rows) * cols;
  const unsigned of_shape = of_tile * args.tiles_of_shape;
  for (unsigned y = blockIdx.y; y < args.tiles / args.tiles_of_shape; y += gridDim.y) {
    const std::uint64_t index = args.first_tile / args.tiles_of_shape + y;
    if constexpr (!kMetadata) {
      __syncthreads();
      if (threadIdx.x == 0) shape = gen::tile_shape(args.generator, args.input_class, args.seed, index);
      __syncthreads();
    }
    for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < of_shape; i += gridDim.x * kThreads) {
      const std::uint64_t tile = index * args.tiles_of_shape + i / of_tile;
      const auto row = static_cast<int>(i % of_tile / cols), col = static_cast<int>(i % of_tile % cols);
      std::uint64_t bits = 0;
      if constexpr (kMetadata)
        bits = gen::generate_metadata(args.generator, args.input_class, args.seed, tile, row, col, index);
      else
        bits = gen::generate(args.generator, args.input_class, args.seed, args.which, tile, row, col, index,
                             shape);
      store(args.out, args.bytes, std::uint64_t{y} * of_shape + i, bits);
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    negate_kernel(void* elements, int bytes, std::uint64_t sign, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step)
    store(elements, bytes, i, load(elements, bytes, i) ^ sign);
}

}  // namespace

void launch_negate(const FormatSpec& format, void* elements, std::uint64_t count) {
  negate_kernel<<<blocks_for(count, kThreads), kThreads>>>(elements, format.storage_bits / 8,
                                                           format.sign_bit(), count);
  cuda_check(cudaGetLastError(), "launching the negation");
}

void launch_generate(const gen::GeneratorSpec& generator, const Instruction& instruction,
                     gen::InputClass input_class, std::uint64_t seed, std::uint64_t first_tile,
                     const GeneratedTiles& to) {
  constexpr unsigned kEach = 16;  // elements per thread: enough to be worth deciding a shape
  constexpr unsigned kMostShapes = 65535;
  const auto fill = [&](const auto& kernel, gen::Matrix which, int bits, int rows, int cols, void* out) {
    const unsigned of_shape = to.tiles_of_shape * static_cast<unsigned>(rows * cols);
    const dim3 grid((of_shape + kThreads * kEach - 1) / (kThreads * kEach),
                    std::min(to.tiles / to.tiles_of_shape, kMostShapes));
    kernel<<<grid, kThreads>>>({generator, input_class, which, seed, first_tile, to.tiles, to.tiles_of_shape,
                                rows, cols, bits / 8, out});
  };
  const int m = instruction.m, n = instruction.n, stored = instruction.stored_k();
  fill(generate_kernel<false>, gen::Matrix::a, generator.a.storage_bits, m, stored, to.a);
  fill(generate_kernel<false>, gen::Matrix::b, generator.b.storage_bits, instruction.k, n, to.b);
  fill(generate_kernel<false>, gen::Matrix::c, generator.c.storage_bits, m, n, to.c);
  if (to.metadata != nullptr) fill(generate_kernel<true>, gen::Matrix::a, 8, m, stored, to.metadata);
  const int blocks = scales_of(instruction);
  if (to.scale_a != nullptr) fill(generate_kernel<false>, gen::Matrix::scale_a, 8, m, blocks, to.scale_a);
  if (to.scale_b != nullptr) fill(generate_kernel<false>, gen::Matrix::scale_b, 8, blocks, n, to.scale_b);
  cuda_check(cudaGetLastError(), "launching the generator");
}

}  // namespace mmaudit::device
