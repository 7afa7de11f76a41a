#include <algorithm>

#include "campaign/crossed.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr int kThreads = 256;
constexpr int kOwn = 4;     // rows and columns of a thread
constexpr int kBlock = 64;  // rows and columns of a block of threads
constexpr int kWords = 32;  // of depth, staged at once

/// Where the elements of a pool lie: as UnpackSource has it, a pool one matrix.
struct BytesSource {
  const std::uint8_t* base;
  const std::uint8_t* metadata;  ///< of a sparse A: positions in their groups, beside the stored elements
  int kept, group;               ///< k is then of the whole depth
  std::uint64_t elements;
  int depth, tile, tile_stride, element_stride, k_stride;
};

/// Low bits of each element as a byte, the sign carried through it; zero where a sparse A has none. Depth
/// becomes contiguous.
__global__ void __launch_bounds__(kThreads)
    bytes_kernel(const BytesSource source, const IntegerOperand rule, std::uint8_t* to, unsigned padded) {
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < source.elements * padded;
       i += std::uint64_t{gridDim.x} * kThreads) {
    const auto k = static_cast<int>(i % padded);
    const std::uint64_t element = i / padded;
    const auto tile = static_cast<unsigned>(source.tile);
    const std::uint64_t row = element / tile * static_cast<unsigned>(source.tile_stride) +
                              element % tile * static_cast<unsigned>(source.element_stride);
    std::uint8_t value = 0;
    if (k < source.depth && source.metadata == nullptr) {
      value = static_cast<std::uint8_t>(
          rule.value(source.base[row + static_cast<unsigned>(k * source.k_stride)]));
    } else if (k < source.depth) {
      for (int s = 0; s < source.kept; ++s) {
        const std::uint64_t at = row + static_cast<unsigned>(k / source.group * source.kept + s);
        if (source.metadata[at] == k % source.group)
          value = static_cast<std::uint8_t>(rule.value(source.base[at]));
      }
    }
    to[i] = value;
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

/// Exact sums: no step has so many products that 32 bits can't hold their sum without C.
template <bool SignedA, bool SignedB, bool Xor>
__global__ void __launch_bounds__(kThreads)
    integer_kernel(const CrossedBytes bytes, const CrossedArgs args, IntegerClamp clamp, int words_of_step) {
  __shared__ std::uint32_t a[kBlock][kWords + 1], b[kBlock][kWords + 1];
  const int words = padded_depth(args.k) / 4, thread = static_cast<int>(threadIdx.x);
  const unsigned rows = kSide * static_cast<unsigned>(args.m),
                 columns = kSide * static_cast<unsigned>(args.n);
  const int row = thread / (kBlock / kOwn), column = thread % (kBlock / kOwn);  // and every 16th after it
  constexpr int kApart = kBlock / kOwn;
  for (std::uint64_t square = blockIdx.z; square < args.squares; square += gridDim.z) {
    std::int64_t sum[kOwn][kOwn];
    std::int32_t part[kOwn][kOwn] = {};
    crossed::Place at[kOwn][kOwn];
    for (int r = 0; r < kOwn; ++r) {
      for (int c = 0; c < kOwn; ++c) {
        at[r][c] =
            crossed::place_of(args, square, blockIdx.y * kBlock + static_cast<unsigned>(row + r * kApart),
                              blockIdx.x * kBlock + static_cast<unsigned>(column + c * kApart));
        sum[r][c] = static_cast<const std::int32_t*>(args.c)[at[r][c].c];
      }
    }
    const auto close = [&] {
#pragma unroll
      for (int r = 0; r < kOwn; ++r) {
#pragma unroll
        for (int c = 0; c < kOwn; ++c) {
          sum[r][c] += part[r][c];
          part[r][c] = 0;
          if (clamp == IntegerClamp::every_step) sum[r][c] = clamp_to_s32(sum[r][c]);
        }
      }
    };
    for (int first = 0; first < words; first += kWords) {
      const int count = min(kWords, words - first);
      __syncthreads();
      for (int i = thread; i < kBlock * kWords; i += kThreads) {
        const int e = i / kWords, w = i % kWords;
        if (w >= count) continue;
        const std::uint64_t in_a = square * rows + blockIdx.y * kBlock + static_cast<unsigned>(e);
        const std::uint64_t in_b = square * columns + blockIdx.x * kBlock + static_cast<unsigned>(e);
        a[e][w] = reinterpret_cast<const std::uint32_t*>(
            bytes.a)[in_a * static_cast<unsigned>(words) + static_cast<unsigned>(first + w)];
        b[e][w] = reinterpret_cast<const std::uint32_t*>(
            bytes.b)[in_b * static_cast<unsigned>(words) + static_cast<unsigned>(first + w)];
      }
      __syncthreads();
      for (int w = 0; w < count; ++w) {
#pragma unroll
        for (int r = 0; r < kOwn; ++r) {
#pragma unroll
          for (int c = 0; c < kOwn; ++c) {
            const std::uint32_t x = a[row + r * kApart][w], y = b[column + c * kApart][w];
            part[r][c] = Xor ? dot_of_four<false, false>(x ^ y, 0x01010101U, part[r][c])
                             : dot_of_four<SignedA, SignedB>(x, y, part[r][c]);
          }
        }
        if ((first + w + 1) % words_of_step == 0) close();
      }
    }
    close();
    for (int r = 0; r < kOwn; ++r) {
      for (int c = 0; c < kOwn; ++c) {
        const std::int64_t d = clamp == IntegerClamp::at_end ? clamp_to_s32(sum[r][c]) : sum[r][c];
        crossed::compare(args, at[r][c].d, static_cast<const std::uint32_t*>(args.hardware)[at[r][c].d],
                         static_cast<std::uint32_t>(static_cast<std::uint64_t>(d)));
      }
    }
  }
}

}  // namespace

void launch_crossed_integer(const DotPlan& plan, const CrossedBytes& bytes, const CrossedArgs& args) {
  const int padded = padded_depth(args.k);
  const auto fill = [&](const BytesSource& source, const IntegerOperand& rule, std::uint8_t* to) {
    constexpr std::uint64_t kMost = 1U << 16;
    const std::uint64_t count = source.elements * static_cast<unsigned>(padded);
    bytes_kernel<<<static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMost)), kThreads>>>(
        source, rule, to, static_cast<unsigned>(padded));
  };
  const std::uint64_t tiles = std::uint64_t{args.squares} * kSide;
  fill({static_cast<const std::uint8_t*>(args.a), args.metadata, plan.sparsity.kept, plan.sparsity.group,
        tiles * static_cast<unsigned>(args.m), args.k, args.m, args.m * args.stored_k, args.stored_k, 1},
       plan.integers.a, bytes.a);
  fill({static_cast<const std::uint8_t*>(args.b), nullptr, 1, 1, tiles * static_cast<unsigned>(args.n),
        args.k, args.n, args.k * args.n, 1, args.n},
       plan.integers.b, bytes.b);
  const bool signed_a = plan.integers.a.sign != 0, signed_b = plan.integers.b.sign != 0;
  const auto kernel =
      plan.integers.exclusive_or ? integer_kernel<false, false, true>
      : signed_a ? (signed_b ? integer_kernel<true, true, false> : integer_kernel<true, false, false>)
                 : (signed_b ? integer_kernel<false, true, false> : integer_kernel<false, false, false>);
  constexpr unsigned kMostSquares = 65535;
  const dim3 grid(kSide * static_cast<unsigned>(args.n) / kBlock,
                  kSide * static_cast<unsigned>(args.m) / kBlock, std::min(args.squares, kMostSquares));
  const int step = plan.row.block / plan.sparsity.kept * plan.sparsity.group;
  const int words_of_step = plan.integers.clamp == IntegerClamp::every_step ? step / 4 : padded;
  kernel<<<grid, kThreads>>>(bytes, args, plan.integers.clamp, words_of_step);
  cuda_check(cudaGetLastError(), "launching the model");
}

}  // namespace mmaudit::device
