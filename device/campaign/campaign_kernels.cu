#include "campaign/campaign_kernels.hpp"

#include <algorithm>

#include "campaign/load.cuh"

namespace mmaudit::device {
namespace {

constexpr int kThreads = 128;
constexpr std::uint64_t kMostBlocks = 1U << 16;

unsigned blocks_for(std::uint64_t work, std::uint64_t each) {
  return static_cast<unsigned>(std::min((work + each - 1) / each, kMostBlocks));
}

__device__ void store(void* base, int bytes, std::uint64_t index, std::uint64_t bits) {
  switch (bytes) {
    case 1:
      static_cast<std::uint8_t*>(base)[index] = static_cast<std::uint8_t>(bits);
      break;
    case 2:
      static_cast<std::uint16_t*>(base)[index] = static_cast<std::uint16_t>(bits);
      break;
    case 4:
      static_cast<std::uint32_t*>(base)[index] = static_cast<std::uint32_t>(bits);
      break;
    default:
      static_cast<std::uint64_t*>(base)[index] = bits;
  }
}

struct GenerateArgs {
  gen::GeneratorPlan plan;
  gen::Family family;
  gen::Matrix which;
  std::uint64_t seed, first_tile;
  unsigned tiles, tiles_of_shape;  ///< the former a multiple of the latter
  int rows, cols, bytes;
  void* out;
};

/// A block in y the tiles of one shape; what they share is made once a block.
__global__ void __launch_bounds__(kThreads) generate_kernel(const GenerateArgs args) {
  __shared__ gen::detail::TileShape shape;
  const auto cols = static_cast<unsigned>(args.cols), of_tile = static_cast<unsigned>(args.rows) * cols;
  const unsigned of_shape = of_tile * args.tiles_of_shape;
  for (unsigned y = blockIdx.y; y < args.tiles / args.tiles_of_shape; y += gridDim.y) {
    const std::uint64_t index = args.first_tile / args.tiles_of_shape + y;
    __syncthreads();
    if (threadIdx.x == 0) shape = gen::tile_shape(args.plan, args.family, args.seed, index);
    __syncthreads();
    for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < of_shape; i += gridDim.x * kThreads) {
      const unsigned tile = i / of_tile, within = i % of_tile;
      store(args.out, args.bytes, std::uint64_t{y} * of_shape + i,
            gen::generate(args.plan, args.family, args.seed, args.which, index * args.tiles_of_shape + tile,
                          static_cast<int>(within / cols), static_cast<int>(within % cols), index, shape));
    }
  }
}

__global__ void __launch_bounds__(kThreads) generate_metadata_kernel(const GenerateArgs args) {
  const auto cols = static_cast<unsigned>(args.cols), of_tile = static_cast<unsigned>(args.rows) * cols;
  const unsigned of_shape = of_tile * args.tiles_of_shape;
  for (unsigned y = blockIdx.y; y < args.tiles / args.tiles_of_shape; y += gridDim.y) {
    const std::uint64_t index = args.first_tile / args.tiles_of_shape + y;
    for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < of_shape; i += gridDim.x * kThreads) {
      const unsigned tile = i / of_tile, within = i % of_tile;
      static_cast<std::uint8_t*>(args.out)[std::uint64_t{y} * of_shape + i] =
          gen::generate_metadata(args.plan, args.family, args.seed, index * args.tiles_of_shape + tile,
                                 static_cast<int>(within / cols), static_cast<int>(within % cols), index);
    }
  }
}

/// The model of a sparse instruction, one thread a dot product: rows of A differ in what they read of B.
__global__ void __launch_bounds__(kThreads)
    sparse_model_kernel(const DotPlan plan, const TileExtents extents, const KernelArgs args,
                        const std::uint8_t* modifiers) {
  const int m = extents.m, n = extents.n, k = extents.k, stored = extents.stored_k;
  const int a_bytes = plan.a.storage_bits / 8, b_bytes = plan.b.storage_bits / 8;
  const int c_bytes = plan.step.addend.storage_bits / 8, d_bytes = plan.step.output.storage_bits / 8;
  const std::uint64_t step = std::uint64_t{gridDim.x} * kThreads;
  const std::uint64_t work = std::uint64_t{args.tiles} * static_cast<unsigned>(m * n);
  for (std::uint64_t at = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; at < work; at += step) {
    const std::uint64_t tile = at / static_cast<unsigned>(m * n), row = at / static_cast<unsigned>(n);
    const unsigned bits = modifiers != nullptr ? modifiers[tile] : args.modifiers;
    const std::uint64_t first = row * static_cast<unsigned>(stored);
    const LoadAt load_a{args.a, a_bytes, first, 1};
    const LoadAt load_b{args.b, b_bytes, tile * static_cast<unsigned>(k * n) + at % static_cast<unsigned>(n),
                        n};
    const Gathered<LoadAt> gathered{plan.sparsity, plan.datapath.metadata, plan.b, args.metadata + first,
                                    load_b};
    const bool read_c = args.c != nullptr && (bits & kScaleDZero) == 0;
    const std::uint64_t c = read_c ? load(args.c, c_bytes, at) : 0;
    store(args.d, d_bytes, at, dot(plan, load_a, gathered, c, bits));
  }
}

/// One block computes a slice of a tile's columns, so that the unpacked operands fit into shared memory.
constexpr int kSliceColumns = 32;
/// Rows of unpacked operands lie one operand further apart than they are long: neighbouring lanes read
/// neighbouring columns of B, and would otherwise meet in one bank.
constexpr int kPad = 1;

/// The model, one thread a dot product; operands are unpacked once a slice, not once a dot product.
__global__ void __launch_bounds__(kThreads)
    model_kernel(const DotPlan plan, const TileExtents extents, const KernelArgs args,
                 const std::uint8_t* modifiers) {
  extern __shared__ Operand operands[];
  const int m = extents.m, n = extents.n, k = extents.k, pitch = k + kPad;
  const int a_bytes = plan.a.storage_bits / 8, b_bytes = plan.b.storage_bits / 8;
  const int c_bytes = plan.step.addend.storage_bits / 8, d_bytes = plan.d.storage_bits / 8;
  Operand* shared_a = operands;
  Operand* shared_b = operands + m * pitch;
  const int slices = (n + kSliceColumns - 1) / kSliceColumns;
  const std::uint64_t work = std::uint64_t{args.tiles} * static_cast<unsigned>(slices);
  for (std::uint64_t item = blockIdx.x; item < work; item += gridDim.x) {
    const std::uint64_t tile = item / static_cast<unsigned>(slices);
    const int first = static_cast<int>(item % static_cast<unsigned>(slices)) * kSliceColumns;
    const int columns = min(kSliceColumns, n - first);
    const unsigned bits = modifiers != nullptr ? modifiers[tile] : args.modifiers;
    const std::uint64_t tile_a = tile * static_cast<unsigned>(m * k),
                        tile_b = tile * static_cast<unsigned>(k * n);
    const std::uint64_t tile_c = tile * static_cast<unsigned>(m * n);
    if (plan.unpacks()) {
      for (int i = static_cast<int>(threadIdx.x); i < m * k; i += kThreads) {
        const std::uint64_t at =
            tile_a + static_cast<unsigned>(i / k * k + evaluation_k(plan.datapath.order, k, i % k));
        shared_a[i / k * pitch + i % k] =
            unpack_factor(plan.a, plan, load(args.a, a_bytes, at), (bits & kNegateA) != 0);
      }
      for (int i = static_cast<int>(threadIdx.x); i < k * columns; i += kThreads) {
        const int position = i / columns, column = i % columns;
        const std::uint64_t at =
            tile_b +
            static_cast<unsigned>(evaluation_k(plan.datapath.order, k, position) * n + first + column);
        shared_b[column * pitch + position] =
            unpack_factor(plan.b, plan, load(args.b, b_bytes, at), (bits & kNegateB) != 0);
      }
    }
    __syncthreads();
    for (int i = static_cast<int>(threadIdx.x); i < m * columns; i += kThreads) {
      const int row = i / columns, column = i % columns;
      const std::uint64_t at = tile_c + static_cast<unsigned>(row * n + first + column);
      const bool read_c = args.c != nullptr && (bits & kScaleDZero) == 0;
      const std::uint64_t c = read_c ? load(args.c, c_bytes, at) : 0;
      std::uint64_t d = 0;
      if (plan.binary64) {
        const auto* a = static_cast<const std::uint64_t*>(args.a) + tile_a + static_cast<unsigned>(row * k);
        const auto* b =
            static_cast<const std::uint64_t*>(args.b) + tile_b + static_cast<unsigned>(first + column);
        d = dot(plan, Strided<std::uint64_t>{a, 1}, Strided<std::uint64_t>{b, n}, c, 0);
      } else if (plan.integer) {
        const auto* a = static_cast<const std::uint8_t*>(args.a) + tile_a + static_cast<unsigned>(row * k);
        const auto* b =
            static_cast<const std::uint8_t*>(args.b) + tile_b + static_cast<unsigned>(first + column);
        d = integer_dot(plan, Strided<std::uint8_t>{a, 1}, Strided<std::uint8_t>{b, n}, c);
      } else {
        d = chain(plan, shared_a + row * pitch, shared_b + column * pitch, c);
      }
      store(args.d, d_bytes, at, d);
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kThreads)
    compare_kernel(const void* x, const void* y, int bytes, std::uint64_t count, unsigned long long* total,
                   std::uint64_t* found, unsigned most) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step) {
    if (load(x, bytes, i) == load(y, bytes, i)) continue;
    const unsigned long long slot = atomicAdd(total, 1ULL);
    if (slot < most) found[slot] = i;
  }
}

}  // namespace

void launch_generate(const gen::GeneratorPlan& plan, gen::Family family, std::uint64_t seed,
                     std::uint64_t first_tile, const TileExtents& extents, const KernelArgs& args, void* a,
                     void* b, void* c, std::uint8_t* metadata, unsigned tiles_of_shape) {
  constexpr unsigned kEach = 16;  // elements of a thread, so that a shape is worth making
  constexpr unsigned kMostShapes = 65535;
  const auto fill = [&](const auto& kernel, gen::Matrix which, int bits, int rows, int cols, void* out) {
    const unsigned of_shape = tiles_of_shape * static_cast<unsigned>(rows * cols);
    const dim3 grid((of_shape + kThreads * kEach - 1) / (kThreads * kEach),
                    std::min(args.tiles / tiles_of_shape, kMostShapes));
    kernel<<<grid, kThreads>>>(
        {plan, family, which, seed, first_tile, args.tiles, tiles_of_shape, rows, cols, bits / 8, out});
  };
  fill(generate_kernel, gen::Matrix::a, plan.a.storage_bits, extents.m, extents.stored_k, a);
  fill(generate_kernel, gen::Matrix::b, plan.b.storage_bits, extents.k, extents.n, b);
  fill(generate_kernel, gen::Matrix::c, plan.c.storage_bits, extents.m, extents.n, c);
  if (metadata != nullptr) fill(generate_metadata_kernel, gen::Matrix::a, 8, extents.m, plan.k, metadata);
}

void launch_model(const DotPlan& plan, const TileExtents& extents, const KernelArgs& args,
                  const std::uint8_t* modifiers) {
  if (extents.stored_k != extents.k) {
    const auto dots =
        args.tiles * static_cast<std::uint64_t>(extents.m) * static_cast<std::uint64_t>(extents.n);
    sparse_model_kernel<<<blocks_for(dots, kThreads), kThreads>>>(plan, extents, args, modifiers);
    return;
  }
  const int columns = std::min(kSliceColumns, extents.n);
  const std::size_t shared =
      !plan.unpacks()
          ? 0
          : static_cast<std::size_t>((extents.m + columns) * (extents.k + kPad)) * sizeof(Operand);
  const auto slices = static_cast<std::uint64_t>((extents.n + kSliceColumns - 1) / kSliceColumns);
  model_kernel<<<blocks_for(args.tiles * slices, 1), kThreads, shared>>>(plan, extents, args, modifiers);
}

void launch_compare(const void* x, const void* y, int bytes, std::uint64_t count, unsigned long long* total,
                    std::uint64_t* found, unsigned most) {
  compare_kernel<<<blocks_for(count, kThreads), kThreads>>>(x, y, bytes, count, total, found, most);
}

}  // namespace mmaudit::device
