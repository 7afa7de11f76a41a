// A block of threads computes kTile x kTile elements, a thread kOwn x kOwn of them, by the binary32
// operations that the datapath names: subnormals are flushed on the way in and by every operation.
#include "model/trees.hpp"
#include "model/words.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr int kOwn = 8, kTile = 128, kAcross = kTile / kOwn, kThreads = kAcross * kAcross;
constexpr int kSlab = 16;  ///< positions in shared memory at once, a multiple of every step
constexpr int kHalf = kOwn / 2,
              kSecond = kTile / 2;  ///< a thread's other four rows (columns) lie so far away

/// Positions of A and B. A's come along k, so those of one line stand in different banks.
struct Slab {
  float a[kSlab][kTile + 4], b[kSlab][kTile];
};

// As instructions, so that nothing is fused and subnormals are flushed.
__device__ float times(float x, float y) {
  float product = 0;
  asm("mul.rn.ftz.f32 %0, %1, %2;" : "=f"(product) : "f"(x), "f"(y));
  return product;
}
__device__ float plus(float x, float y) {
  float sum = 0;
  asm("add.rn.ftz.f32 %0, %1, %2;" : "=f"(sum) : "f"(x), "f"(y));
  return sum;
}

/// Zeros and what is below `least` become +0.
__device__ float flushed(float x, float least) { return fabsf(x) < least ? 0.0F : x; }

template <bool Half>
__device__ float element(const void* base, std::uint64_t at) {
  const std::uint16_t bits = static_cast<const std::uint16_t*>(base)[at];
  if constexpr (Half) return flushed(float_of_half(bits), 0x1p-14F);
  return flushed(__uint_as_float(std::uint32_t{bits} << 16), 0x1p-126F);
}

__device__ void load_own(float (&to)[kOwn], const float* from) {
  const float4 low = *reinterpret_cast<const float4*>(from),
               high = *reinterpret_cast<const float4*>(from + kSecond);
  to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
  to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

/// Of row (column) i among a thread's, which stands at `place` of kAcross.
__device__ unsigned line_of(unsigned place, int i) {
  return place * kHalf + static_cast<unsigned>(i % kHalf + i / kHalf * kSecond);
}

template <bool Half, int Step>
__global__ void __launch_bounds__(kThreads)
    tree_kernel(const TreeRules rules, const RawProduct product, const GemmArgs args) {
  __shared__ Slab slab;
  const unsigned thread = threadIdx.x, row = thread / kAcross, column = thread % kAcross;
  const std::uint64_t first_row = std::uint64_t{blockIdx.y} * kTile,
                      first_column = std::uint64_t{blockIdx.x} * kTile;
  const std::uint64_t end = padded(args.k, static_cast<unsigned>(rules.depth));
  for (std::uint64_t matrix = blockIdx.z; matrix < args.batch; matrix += gridDim.z) {
    const auto for_each = [&](const auto& call) {
#pragma unroll
      for (int i = 0; i < kOwn * kOwn; ++i) {
        const std::uint64_t m = first_row + line_of(row, i / kOwn),
                            n = first_column + line_of(column, i % kOwn);
        if (m < args.m && n < args.n) call(i, (matrix * args.m + m) * args.n + n);
      }
    };
    float sum[kOwn][kOwn] = {};
    if (args.c != nullptr)
      for_each([&](int i, std::uint64_t at) {
        sum[i / kOwn][i % kOwn] = flushed(static_cast<const float*>(args.c)[at], 0x1p-126F);
      });
    for (std::uint64_t k0 = 0; k0 < end; k0 += kSlab) {
      const std::uint64_t rest = end - k0;
      const int count = rest < kSlab ? static_cast<int>(rest) : kSlab;
      for (unsigned i = thread; i < kSlab * kTile; i += kThreads) {
        const unsigned k = i % kSlab, line = i / kSlab;
        const std::uint64_t m = first_row + line;
        slab.a[k][line] = m < args.m && k0 + k < args.k
                              ? element<Half>(product.a, (matrix * args.m + m) * args.k + k0 + k)
                              : 0.0F;
      }
      for (unsigned i = thread; i < kSlab * kTile; i += kThreads) {
        const unsigned k = i / kTile, line = i % kTile;
        const std::uint64_t n = first_column + line;
        slab.b[k][line] = n < args.n && k0 + k < args.k
                              ? element<Half>(product.b, (matrix * args.k + k0 + k) * args.n + n)
                              : 0.0F;
      }
      __syncthreads();
      for (int k = 0; k < count; k += Step) {
        // A sum that was flushed to -0 is a zero addend of the next instruction, which is +0.
        if (k0 + k != 0 && (k0 + k) % static_cast<unsigned>(rules.depth) == 0)
#pragma unroll
          for (int i = 0; i < kOwn * kOwn; ++i) sum[i / kOwn][i % kOwn] = plus(sum[i / kOwn][i % kOwn], 0.0F);
        float a[Step][kOwn], b[Step][kOwn];
#pragma unroll
        for (int p = 0; p < Step; ++p) {
          load_own(a[p], slab.a[k + p] + row * kHalf);
          load_own(b[p], slab.b[k + p] + column * kHalf);
        }
#pragma unroll
        for (int i = 0; i < kOwn; ++i)
#pragma unroll
          for (int j = 0; j < kOwn; ++j) {
            float part[Step];
#pragma unroll
            for (int p = 0; p < Step; ++p) part[p] = times(a[p][i], b[p][j]);
#pragma unroll
            for (int apart = 1; apart < Step; apart *= 2)
#pragma unroll
              for (int p = 0; p < Step; p += 2 * apart) part[p] = plus(part[p], part[p + apart]);
            sum[i][j] = plus(sum[i][j], part[0]);
          }
      }
      __syncthreads();
    }
    for_each([&](int i, std::uint64_t at) {
      const float x = sum[i / kOwn][i % kOwn];
      static_cast<std::uint32_t*>(args.d)[at] = x != x ? rules.nan : __float_as_uint(x);
    });
  }
}

}  // namespace

void launch_trees(const TreeRules& rules, const RawProduct& product, const GemmArgs& args) {
  constexpr std::uint64_t kMostMatrices = 65535;
  const dim3 grid(static_cast<unsigned>((args.n + kTile - 1) / kTile),
                  static_cast<unsigned>((args.m + kTile - 1) / kTile),
                  static_cast<unsigned>(args.batch < kMostMatrices ? args.batch : kMostMatrices));
  const auto kernel = rules.half ? (rules.step == 4 ? tree_kernel<true, 4> : tree_kernel<true, 2>)
                                 : (rules.step == 4 ? tree_kernel<false, 4> : tree_kernel<false, 2>);
  kernel<<<grid, kThreads, 0, args.stream>>>(rules, product, args);
  cuda_check(cudaGetLastError(), "launching the model");
}

}  // namespace mmaudit::device
