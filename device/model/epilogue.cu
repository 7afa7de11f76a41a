#include "check/load.cuh"
#include "model/epilogue.hpp"
#include "model/words.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr unsigned kThreads = 256;

__device__ float number(Format format, std::uint64_t bits) {
  if (format == Format::s32) return __int2float_rn(static_cast<int>(bits));
  if (format == Format::f16) return float_of_half(static_cast<std::uint16_t>(bits));
  return __uint_as_float(static_cast<std::uint32_t>(format == Format::bf16 ? bits << 16 : bits));
}

/// To nearest even; every NaN is the canonical one.
__device__ std::uint32_t rounded(Format format, float x) {
  if (format == Format::f16) return half_of_float(x);
  if (format == Format::f32) return x != x ? 0x7FFFFFFFU : __float_as_uint(x);
#if __CUDA_ARCH__ >= 800
  std::uint16_t bits = 0;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
#else
  if (x != x) return 0x7FFFU;
  const std::uint32_t bits = __float_as_uint(x);
  return (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
#endif
}

/// Much quicker where both have 32 bits.
__device__ std::uint64_t quotient(std::uint64_t x, std::uint64_t y) {
  return (x | y) >> 32 == 0 ? static_cast<std::uint32_t>(x) / static_cast<std::uint32_t>(y) : x / y;
}

/// kAtOnce neighbours of two or four bytes: one, or four whose place 4 divides.
template <unsigned kAtOnce>
__device__ void load_some(std::uint32_t (&to)[kAtOnce], const void* from, int bytes, std::uint64_t first) {
  if constexpr (kAtOnce == 1) {
    to[0] = static_cast<std::uint32_t>(load(from, bytes, first));
  } else if (bytes == 4) {
    load_words(to, static_cast<const std::uint32_t*>(from) + first);
  } else {
    const auto two = *reinterpret_cast<const uint2*>(static_cast<const std::uint16_t*>(from) + first);
    to[0] = two.x & 0xFFFFU, to[1] = two.x >> 16, to[2] = two.y & 0xFFFFU, to[3] = two.y >> 16;
  }
}
template <unsigned kAtOnce>
__device__ void store_some(void* to, int bytes, std::uint64_t first, const std::uint32_t (&bits)[kAtOnce]) {
  if constexpr (kAtOnce == 1)
    store(to, bytes, first, bits[0]);
  else if (bytes == 4)
    *reinterpret_cast<uint4*>(static_cast<std::uint32_t*>(to) + first) = {bits[0], bits[1], bits[2], bits[3]};
  else
    *reinterpret_cast<uint2*>(static_cast<std::uint16_t*>(to) + first) = {bits[0] | bits[1] << 16,
                                                                          bits[2] | bits[3] << 16};
}

/// Of a row's neighbours so many by one thread.
template <unsigned kAtOnce>
__global__ void __launch_bounds__(kThreads)
    epilogue_kernel(const __grid_constant__ EpilogueArgs args, std::uint64_t count) {
  const Epilogue& epilogue = args.epilogue;
  const int bytes = epilogue.output == Format::f32 ? 4 : 2,
            sum_bytes = args.sum_format == Format::f16 ? 2 : 4;
  const bool factors = args.factors.any() && args.factors.block == 0;
  for (std::uint64_t i = (std::uint64_t{blockIdx.x} * kThreads + threadIdx.x) * kAtOnce; i < count;
       i += std::uint64_t{gridDim.x} * kThreads * kAtOnce) {
    std::uint32_t sums[kAtOnce], addends[kAtOnce] = {};
    load_some(sums, args.sums, sum_bytes, i);
    if (args.c != nullptr) load_some(addends, args.c, bytes, i);
    float of_row = 1;
    std::uint64_t matrix = 0, column = 0;
    if (factors) {
      const std::uint64_t line = quotient(i, args.n);
      matrix = quotient(line, args.m), column = i - line * args.n;
      of_row = args.factors.a.at(matrix, line - matrix * args.m, 0);
    }
#pragma unroll
    for (unsigned e = 0; e < kAtOnce; ++e) {
      ScaledSum scaled{number(args.sum_format, sums[e]), epilogue.alpha};
      if (factors)
        scaled = scaled_sum(scaled.sum, of_row, args.factors.b.at(matrix, column + e, 0), args.factors.order);
      // The rule rounds nothing on the way, so that D's format may be left out.
      sums[e] = rounded(epilogue.output,
                        combined(EpilogueRule::fused_sum, {}, scaled.factor, scaled.sum, epilogue.beta,
                                 args.c != nullptr ? number(epilogue.output, addends[e]) : 0.0F));
    }
    store_some(args.d, bytes, i, sums);
  }
}

}  // namespace

void launch_epilogue(const EpilogueArgs& args, Stream stream) {
  const std::uint64_t count = args.batch * args.m * args.n;
  constexpr unsigned kFour = 4;
  const auto places = reinterpret_cast<std::uintptr_t>(args.sums) | reinterpret_cast<std::uintptr_t>(args.c) |
                      reinterpret_cast<std::uintptr_t>(args.d);
  if (args.n % kFour == 0 && places % (kFour * sizeof(float)) == 0)
    epilogue_kernel<kFour><<<blocks_for(count / kFour, kThreads), kThreads, 0, stream>>>(args, count);
  else
    epilogue_kernel<1><<<blocks_for(count, kThreads), kThreads, 0, stream>>>(args, count);
  cuda_check(cudaGetLastError(), "launching the epilogue");
}

}  // namespace mmaudit::device
