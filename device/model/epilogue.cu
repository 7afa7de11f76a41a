#include <algorithm>

#include "check/load.cuh"
#include "model/epilogue.hpp"
#include "model/words.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

constexpr unsigned kThreads = 256;

__device__ float number(Format format, std::uint64_t bits) {
  if (format == Format::f16) return float_of_half(static_cast<std::uint16_t>(bits));
  return __uint_as_float(static_cast<std::uint32_t>(format == Format::bf16 ? bits << 16 : bits));
}

/// To nearest even; every NaN is the canonical one.
__device__ std::uint32_t rounded(Format format, float x) {
  if (format == Format::f16) return half_of_float(x);
  if (format == Format::f32) return x != x ? 0x7FFFFFFFU : __float_as_uint(x);
  std::uint16_t bits = 0;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}

__global__ void __launch_bounds__(kThreads)
    epilogue_kernel(const Epilogue epilogue, Format sum_format, const void* sums, const void* c, void* d,
                    std::uint64_t count) {
  const int bytes = epilogue.output == Format::f32 ? 4 : 2;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * kThreads) {
    const float sum = number(sum_format, load(sums, sum_format == Format::f16 ? 2 : 4, i));
    const float addend = c != nullptr ? number(epilogue.output, load(c, bytes, i)) : 0.0F;
    const float result = epilogue.beta == 0
                             ? __fmul_rn(epilogue.alpha, sum)
                             : __fmaf_rn(epilogue.alpha, sum, __fmul_rn(epilogue.beta, addend));
    store(d, bytes, i, rounded(epilogue.output, result));
  }
}

}  // namespace

void launch_epilogue(const Epilogue& epilogue, Format sum_format, const void* sums, const void* c, void* d,
                     std::uint64_t count) {
  constexpr std::uint64_t kMost = 1U << 16;
  const auto blocks = static_cast<unsigned>(std::min((count + kThreads - 1) / kThreads, kMost));
  epilogue_kernel<<<blocks, kThreads>>>(epilogue, sum_format, sums, c, d, count);
  cuda_check(cudaGetLastError(), "launching the epilogue");
}

}  // namespace mmaudit::device
