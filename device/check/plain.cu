#include "check/tile_products.cuh"
#include "mmaudit/tile_batch.hpp"
#include "model/words.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

using tile_products::Place;

constexpr unsigned kThreads = 128;

/// The scales of the row of A and the column of B of one element.
__device__ ScaleBytes scales_at(const DotSpec& spec, const TileProductArgs& args, const Place& at) {
  const auto m = static_cast<unsigned>(args.m), n = static_cast<unsigned>(args.n),
             blocks = static_cast<unsigned>(args.scale_blocks);
  const auto tile_of = [&](const std::uint8_t* scales, std::uint64_t tile, unsigned size, unsigned first) {
    return scales == nullptr ? nullptr : scales + tile * size + first;
  };
  return {{tile_of(args.scale_a, at.tile_a, m * blocks, at.row * blocks), 1},
          {tile_of(args.scale_b, at.tile_b, blocks * n, at.column), n},
          one_bits(spec.scale)};
}

/// Calls element(first element of the row of A, load of the row of A, load of the column of B, place), one
/// element per thread.
template <typename Element>
__device__ void for_each_element(const TileProductArgs& args, const Element& element) {
  const auto m = static_cast<unsigned>(args.m), n = static_cast<unsigned>(args.n),
             k = static_cast<unsigned>(args.k);
  const unsigned rows = args.side * m, columns = args.side * n, stored = static_cast<unsigned>(args.stored_k);
  const std::uint64_t work = std::uint64_t{args.blocks} * rows * columns;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < work;
       i += std::uint64_t{gridDim.x} * kThreads) {
    const std::uint64_t block = i / columns / rows;
    const auto row = static_cast<unsigned>(i / columns % rows), column = static_cast<unsigned>(i % columns);
    const std::uint64_t row_of_pool = block * rows + row;
    const LoadAt a{args.a, args.a_bytes, row_of_pool * stored, 1};
    const LoadAt b{args.b, args.b_bytes, (block * args.side + column / n) * (k * n) + column % n, args.n};
    element(row_of_pool * stored, a, b, tile_products::place_of(args, block, row, column));
  }
}

/// `first`: of the row of A in A and in the metadata.
template <bool kScaled>
__device__ std::uint64_t plain_dot(const DotSpec& spec, const TileProductArgs& args, std::uint64_t first,
                                   const LoadAt& a, const LoadAt& b, const Place& at, unsigned modifiers) {
  const bool read_c = args.c != nullptr && (modifiers & kScaleDZero) == 0;
  const std::uint64_t c = read_c ? load(args.c, args.c_bytes, at.c) : 0;
  const auto dot_with = [&](const auto& met) {
    if constexpr (kScaled) return dot(spec, a, met, c, modifiers, scales_at(spec, args, at));
    return dot(spec, a, met, c, modifiers);
  };
  if (args.metadata == nullptr) return dot_with(b);
  return dot_with(Gathered<LoadAt>{spec.sparsity, spec.datapath.metadata, spec.b, args.metadata + first, b});
}

template <bool kScaled>
__global__ void __launch_bounds__(kThreads) plain_kernel(const DotSpec spec, const TileProductArgs args) {
  for_each_element(args, [&](std::uint64_t first, const LoadAt& a, const LoadAt& b, const Place& at) {
    tile_products::compare(args, at.d, load(args.hardware, args.d_bytes, at.d),
                           plain_dot<kScaled>(spec, args, first, a, b, at, 0));
  });
}

template <bool kScaled>
__global__ void __launch_bounds__(kThreads)
    model_kernel(const DotSpec spec, const TileProductArgs args, const std::uint8_t* modifiers, void* d) {
  const auto elements = static_cast<unsigned>(args.m * args.n);
  for_each_element(args, [&](std::uint64_t first, const LoadAt& a, const LoadAt& b, const Place& at) {
    const unsigned of_tile = modifiers != nullptr ? modifiers[at.d / elements] : 0;
    store(d, args.d_bytes, at.d, plain_dot<kScaled>(spec, args, first, a, b, at, of_tile));
  });
}

__global__ void __launch_bounds__(kThreads) binary64_kernel(const DotSpec spec, const TileProductArgs args) {
  for_each_element(args, [&](std::uint64_t, const LoadAt& a, const LoadAt& b, const Place& at) {
    const std::uint64_t c = load(args.c, args.c_bytes, at.c);
    const auto number = [](std::uint64_t bits) { return __longlong_as_double(static_cast<long long>(bits)); };
    double sum = number(c);
    for (int i = 0; i < spec.k; ++i) {
      const int k = evaluation_k(spec.datapath.order, spec.k, i);
      sum = __fma_rn(number(a(k)), number(b(k)), sum);
    }
    const std::uint64_t d =
        sum != sum ? dot(spec, a, b, c, 0) : static_cast<std::uint64_t>(__double_as_longlong(sum));
    tile_products::compare(args, at.d, load(args.hardware, args.d_bytes, at.d), d);
  });
}

__global__ void __launch_bounds__(kThreads) binary32_kernel(const DotSpec spec, const TileProductArgs args) {
  const bool in_pairs = spec.datapath.products_per_step == 2, half_c = args.c_bytes == 2,
             half_d = args.d_bytes == 2;
  for_each_element(args, [&](std::uint64_t, const LoadAt& a, const LoadAt& b, const Place& at) {
    const auto number = [](bool half, std::uint64_t bits) {
      return half ? float_of_half(static_cast<std::uint16_t>(bits))
                  : __uint_as_float(static_cast<std::uint32_t>(bits));
    };
    const std::uint64_t c = load(args.c, args.c_bytes, at.c);
    const float addend = number(half_c, c);
    float sum = in_pairs ? addend : 0.0F;
    for (int k = 0; k < spec.k; k += in_pairs ? 2 : 1) {
      const float x = number(true, a(k)), y = number(true, b(k));
      // Products are exact, and so is one beside another wherever binary32 could tell.
      if (in_pairs)
        sum = __fadd_rn(sum, __double2float_rn(__fma_rn(number(true, a(k + 1)), number(true, b(k + 1)),
                                                        static_cast<double>(__fmul_rn(x, y)))));
      else
        sum = __fmaf_rn(x, y, sum);
    }
    if (!in_pairs) sum = __fadd_rn(sum, addend);
    std::uint64_t d = 0;
    if (sum != sum) {
      d = dot(spec, a, b, c, 0);
    } else if (half_d) {
      d = half_of_float(sum);
    } else {
      d = __float_as_uint(sum);
    }
    tile_products::compare(args, at.d, load(args.hardware, args.d_bytes, at.d), d);
  });
}

/// Starts a kernel of (spec, args, rest...) for every element.
template <typename... Rest>
void start(void (*kernel)(DotSpec, TileProductArgs, Rest...), const DotSpec& spec,
           const TileProductArgs& args, Rest... rest) {
  const std::uint64_t work =
      std::uint64_t{args.blocks} * args.side * args.side * static_cast<unsigned>(args.m * args.n);
  kernel<<<blocks_for(work, kThreads), kThreads>>>(spec, args, rest...);
  cuda_check(cudaGetLastError(), "launching the model");
}

}  // namespace

void launch_plain(const DotSpec& spec, const TileProductArgs& args) {
  start(spec.block_scaled() ? plain_kernel<true> : plain_kernel<false>, spec, args);
}

void launch_model(const DotSpec& spec, const TileProductArgs& args, const std::uint8_t* modifiers, void* d) {
  start(spec.block_scaled() ? model_kernel<true> : model_kernel<false>, spec, args, modifiers, d);
}

void launch_binary64(const DotSpec& spec, const TileProductArgs& args) { start(binary64_kernel, spec, args); }

void launch_binary32(const DotSpec& spec, const TileProductArgs& args) { start(binary32_kernel, spec, args); }

}  // namespace mmaudit::device
