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

__global__ void __launch_bounds__(kThreads) epilogue_kernel(const EpilogueArgs args, std::uint64_t count) {
  const Epilogue& epilogue = args.epilogue;
  const int bytes = epilogue.output == Format::f32 ? 4 : 2;
  const bool factors = args.factors.any() && args.factors.block == 0;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * kThreads) {
    float sum = number(args.sum_format, load(args.sums, args.sum_format == Format::f16 ? 2 : 4, i));
    const float addend = args.c != nullptr ? number(epilogue.output, load(args.c, bytes, i)) : 0.0F;
    float alpha = epilogue.alpha;
    if (factors) {
      const std::uint64_t line = quotient(i, args.n), matrix = quotient(line, args.m);
      const ScaledSum scaled =
          scaled_sum(sum, args.factors.a.at(matrix, line - matrix * args.m, 0),
                     args.factors.b.at(matrix, i - line * args.n, 0), args.factors.order);
      sum = scaled.sum, alpha = scaled.factor;
    }
    // The rule rounds nothing on the way, so that D's format may be left out.
    const float result = combined(EpilogueRule::fused_sum, {}, alpha, sum, epilogue.beta, addend);
    store(args.d, bytes, i, rounded(epilogue.output, result));
  }
}

}  // namespace

void launch_epilogue(const EpilogueArgs& args, Stream stream) {
  const std::uint64_t count = args.batch * args.m * args.n;
  epilogue_kernel<<<blocks_for(count, kThreads), kThreads, 0, stream>>>(args, count);
  cuda_check(cudaGetLastError(), "launching the epilogue");
}

}  // namespace mmaudit::device
