#include <algorithm>

#include "check/tile_products.cuh"
#include "model/words.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr int kThreads = 256;
constexpr int kOwn = 4;     // rows and columns of a thread
constexpr int kBlock = 64;  // rows and columns of a block of threads
constexpr int kWords = 32;  // of depth, staged at once
constexpr int kPitch = kBlock + 4;

/// Where the elements of a batch lie, described as in UnpackSource, with the batch as one matrix.
struct ElementSource {
  const std::uint8_t* base;
  const std::uint8_t* metadata;  ///< of a sparse A: positions in their groups, beside the stored elements
  int kept, group;               ///< k is then of the whole depth
  std::uint32_t elements;
  int depth, tile, tile_stride, element_stride, k_stride;
};

/// The value of element k of the row that begins at `row`, its low bits and the sign carried through; zero
/// where a sparse A has none.
__device__ std::uint32_t value_at(const ElementSource& source, const IntegerOperand& rule, std::uint64_t row,
                                  int k) {
  if (source.metadata == nullptr)
    return static_cast<std::uint32_t>(
        rule.value(source.base[row + static_cast<unsigned>(k * source.k_stride)]));
  for (int s = 0; s < source.kept; ++s) {
    const std::uint64_t at = row + static_cast<unsigned>(k / source.group * source.kept + s);
    if (source.metadata[at] == k % source.group)
      return static_cast<std::uint32_t>(rule.value(source.base[at]));
  }
  return 0;
}

/// One word per thread, Each elements of depth in it; depth becomes contiguous.
template <int Each>
__global__ void __launch_bounds__(kThreads)
    pack_kernel(const ElementSource source, const IntegerOperand rule, std::uint32_t* to, unsigned words) {
  constexpr int kBits = 32 / Each;
  const unsigned work = source.elements * words, tile = static_cast<unsigned>(source.tile);
  for (unsigned i = blockIdx.x * kThreads + threadIdx.x; i < work; i += gridDim.x * kThreads) {
    // Neighbours read neighbours: along the depth of A, along the columns of B.
    const unsigned element = source.k_stride == 1 ? i / words : i % source.elements,
                   word = source.k_stride == 1 ? i % words : i / source.elements;
    const std::uint64_t row = std::uint64_t{element / tile} * static_cast<unsigned>(source.tile_stride) +
                              element % tile * static_cast<unsigned>(source.element_stride);
    std::uint32_t packed = 0;
#pragma unroll
    for (int e = 0; e < Each; ++e) {
      const int k = static_cast<int>(word) * Each + e;
      if (k < source.depth) packed |= (value_at(source, rule, row, k) & ((1U << kBits) - 1)) << (kBits * e);
    }
    to[element * std::uint64_t{words} + word] = packed;
  }
}

template <bool SignedA, bool SignedB>
__device__ std::int32_t dot_of_four(std::uint32_t a, std::uint32_t b, std::int32_t sum) {
  std::int32_t result = 0;
  if constexpr (SignedA && SignedB)
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  else if constexpr (SignedA)
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  else if constexpr (SignedB)
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  else
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
}

enum class Products : std::uint8_t { s8s8, s8u8, u8s8, u8u8, bits_and, bits_xor };

template <Products P>
__device__ std::int32_t dot_of_word(std::uint32_t a, std::uint32_t b, std::int32_t sum) {
  if constexpr (P == Products::bits_and)
    return sum + __popc(a & b);
  else if constexpr (P == Products::bits_xor)
    return sum + __popc(a ^ b);
  else
    return dot_of_four < P == Products::s8s8 || P == Products::s8u8,
           P == Products::s8s8 || P == Products::u8s8 > (a, b, sum);
}

using Words = std::uint32_t[kOwn];

/// A block of threads computes kBlock x kBlock elements, each thread kOwn x kOwn neighbours of one tile.
/// Exact sums: no step has so many products that 32 bits can't hold their sum without C.
template <Products P>
__global__ void __launch_bounds__(kThreads)
    integer_kernel(const PackedPair packed, const TileProductArgs args, IntegerClamp clamp, int words,
                   int words_of_step) {
  __shared__ alignas(16) std::uint32_t a[kWords][kPitch], b[kWords][kPitch];
  const int thread = static_cast<int>(threadIdx.x);
  const unsigned rows = args.side * static_cast<unsigned>(args.m),
                 columns = args.side * static_cast<unsigned>(args.n);
  const int row = thread / (kBlock / kOwn) * kOwn, column = thread % (kBlock / kOwn) * kOwn;
  const auto n = static_cast<unsigned>(args.n);
  for (std::uint64_t block = blockIdx.z; block < args.blocks; block += gridDim.z) {
    const tile_products::Place at =
        tile_products::place_of(args, block, blockIdx.y * kBlock + static_cast<unsigned>(row),
                                blockIdx.x * kBlock + static_cast<unsigned>(column));
    Words sum[kOwn];
    std::int32_t part[kOwn][kOwn] = {};
#pragma unroll
    for (unsigned r = 0; r < kOwn; ++r)
      load_words(sum[r], static_cast<const std::uint32_t*>(args.c) + at.c + r * n);
    const auto close = [&] {
#pragma unroll
      for (int r = 0; r < kOwn; ++r) {
#pragma unroll
        for (int c = 0; c < kOwn; ++c) {
          const std::int64_t total = std::int64_t{static_cast<std::int32_t>(sum[r][c])} + part[r][c];
          sum[r][c] = static_cast<std::uint32_t>(
              static_cast<std::uint64_t>(clamp == IntegerClamp::never ? total : clamp_to_s32(total)));
          part[r][c] = 0;
        }
      }
    };
    for (int first = 0; first < words; first += kWords) {
      const int count = min(kWords, words - first);
      __syncthreads();
      for (int i = thread; i < kBlock * count; i += kThreads) {
        const int e = i / count, w = i % count;
        const std::uint64_t in_a = block * rows + blockIdx.y * kBlock + static_cast<unsigned>(e);
        const std::uint64_t in_b = block * columns + blockIdx.x * kBlock + static_cast<unsigned>(e);
        a[w][e] = packed.a[in_a * static_cast<unsigned>(words) + static_cast<unsigned>(first + w)];
        b[w][e] = packed.b[in_b * static_cast<unsigned>(words) + static_cast<unsigned>(first + w)];
      }
      __syncthreads();
      for (int w = 0; w < count; ++w) {
        Words x, y;
        load_words(x, &a[w][row]);
        load_words(y, &b[w][column]);
#pragma unroll
        for (int r = 0; r < kOwn; ++r)
#pragma unroll
          for (int c = 0; c < kOwn; ++c) part[r][c] = dot_of_word<P>(x[r], y[c], part[r][c]);
        if ((first + w + 1) % words_of_step == 0) close();
      }
    }
#pragma unroll
    for (unsigned r = 0; r < kOwn; ++r) {
      Words hardware;
      load_words(hardware, static_cast<const std::uint32_t*>(args.hardware) + at.d + r * n);
#pragma unroll
      for (unsigned c = 0; c < kOwn; ++c)
        tile_products::compare(args, at.d + r * n + c, hardware[c], sum[r][c]);
    }
  }
}

}  // namespace

void launch_integer(const DotSpec& spec, const PackedPair& packed, const TileProductArgs& args) {
  const IntegerSpec& rules = spec.integers;
  const bool bits = spec.a.id == Format::b1;
  const int words = packed_words(bits, args.k);
  const auto fill = [&](const ElementSource& source, const IntegerOperand& rule, std::uint32_t* to) {
    const auto each = static_cast<unsigned>(words);
    const auto kernel = bits ? pack_kernel<32> : pack_kernel<4>;
    kernel<<<blocks_for(source.elements * each, kThreads), kThreads>>>(source, rule, to, each);
  };
  const std::uint32_t tiles = args.blocks * args.side;
  fill({static_cast<const std::uint8_t*>(args.a), args.metadata, spec.sparsity.kept, spec.sparsity.group,
        tiles * static_cast<unsigned>(args.m), args.k, args.m, args.m * args.stored_k, args.stored_k, 1},
       rules.a, packed.a);
  fill({static_cast<const std::uint8_t*>(args.b), nullptr, 1, 1, tiles * static_cast<unsigned>(args.n),
        args.k, args.n, args.k * args.n, 1, args.n},
       rules.b, packed.b);
  const bool signed_a = rules.a.sign != 0, signed_b = rules.b.sign != 0;
  const auto kernel =
      bits ? (rules.exclusive_or ? integer_kernel<Products::bits_xor> : integer_kernel<Products::bits_and>)
      : signed_a ? (signed_b ? integer_kernel<Products::s8s8> : integer_kernel<Products::s8u8>)
                 : (signed_b ? integer_kernel<Products::u8s8> : integer_kernel<Products::u8u8>);
  constexpr unsigned kMostBlocksInZ = 65535;
  const dim3 grid(args.side * static_cast<unsigned>(args.n) / kBlock,
                  args.side * static_cast<unsigned>(args.m) / kBlock, std::min(args.blocks, kMostBlocksInZ));
  const int step = spec.datapath.products_per_step / spec.sparsity.kept * spec.sparsity.group;
  const int words_of_step = rules.clamp == IntegerClamp::every_step ? packed_words(bits, step) : words;
  kernel<<<grid, kThreads>>>(packed, args, rules.clamp, words, words_of_step);
  cuda_check(cudaGetLastError(), "launching the model");
}

}  // namespace mmaudit::device
