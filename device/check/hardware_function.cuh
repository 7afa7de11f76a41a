#pragma once
// The functions of the GPU itself. Compiled twice: with --use_fast_math CUDA's names mean the rows "/fast".
#include "mmaudit/functions.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::device {

struct Pair {
  std::uint32_t x, y;
};
/// Operand `i`; of a quotient, random words, every other one with exponents near one another.
__device__ inline Pair operands_of(bool quotient, std::uint64_t i) {
  if (!quotient) return {static_cast<std::uint32_t>(i), 0};
  const std::uint64_t random = mix(i);
  const auto x = static_cast<std::uint32_t>(random), y = static_cast<std::uint32_t>(random >> 32);
  return {x, i % 2 == 0 ? y : (y & 0x8FFFFFFFU) | (x & 0x70000000U)};
}

/// Launches the rows "/fast" on `count` operands: `given`, on the device; null: those from `first` on.
void launch_fast_functions(functions::Id id, const Pair* given, std::uint64_t first, std::uint32_t count,
                           std::uint32_t* result);

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
__device__ inline std::uint32_t hardware_function(functions::Id, Pair) { __trap(); }
#else
__device__ inline std::uint32_t hardware_function(functions::Id id, Pair at) {
  using functions::Id;
  const float x = __uint_as_float(at.x), y = __uint_as_float(at.y);
  const auto narrow = static_cast<std::uint16_t>(at.x);
  std::uint16_t half = 0;
  float r = 0;
  // clang-format off
#define MMAUDIT_PTX(row, text) case Id::row: asm volatile(text " %0, %1;" : "=f"(r) : "f"(x)); break;
#define MMAUDIT_APPROX(row, op) MMAUDIT_PTX(row, op ".approx.f32") MMAUDIT_PTX(row##_ftz, op ".approx.ftz.f32")
#define MMAUDIT_NARROW(row, text) case Id::row: asm volatile(text " %0, %1;" : "=h"(half) : "h"(narrow)); return half;
#define MMAUDIT_CUDA(row, call) case Id::row: r = call; break;
#define MMAUDIT_BOTH(row, call) case Id::row: case Id::fast_##row: r = call; break;
  switch (id) {
    MMAUDIT_APPROX(ex2, "ex2") MMAUDIT_APPROX(lg2, "lg2") MMAUDIT_APPROX(rcp, "rcp") MMAUDIT_APPROX(rsqrt, "rsqrt")
    MMAUDIT_APPROX(sqrt, "sqrt") MMAUDIT_APPROX(sin, "sin") MMAUDIT_APPROX(cos, "cos")
    MMAUDIT_PTX(tanh, "tanh.approx.f32")
    MMAUDIT_NARROW(ex2_f16, "ex2.approx.f16") MMAUDIT_NARROW(ex2_bf16, "ex2.approx.ftz.bf16")
    MMAUDIT_NARROW(tanh_f16, "tanh.approx.f16") MMAUDIT_NARROW(tanh_bf16, "tanh.approx.bf16")
    MMAUDIT_BOTH(expf, expf(x)) MMAUDIT_BOTH(exp2f, exp2f(x)) MMAUDIT_BOTH(exp10f, exp10f(x))
    MMAUDIT_BOTH(logf, logf(x)) MMAUDIT_BOTH(log1pf, log1pf(x))
    MMAUDIT_BOTH(sqrtf, sqrtf(x)) MMAUDIT_BOTH(rsqrtf, rsqrtf(x)) MMAUDIT_BOTH(erff, erff(x))
    MMAUDIT_BOTH(tanhf, tanhf(x))
    MMAUDIT_BOTH(divide, x / y)
    MMAUDIT_CUDA(c_expf, __expf(x)) MMAUDIT_CUDA(c_exp10f, __exp10f(x)) MMAUDIT_CUDA(c_logf, __logf(x))
    MMAUDIT_CUDA(c_log2f, __log2f(x)) MMAUDIT_CUDA(c_log10f, __log10f(x)) MMAUDIT_CUDA(c_sinf, __sinf(x))
    MMAUDIT_CUDA(c_cosf, __cosf(x)) MMAUDIT_CUDA(c_fdividef, __fdividef(x, y))
    case Id::count: break;
  }
  // clang-format on
#undef MMAUDIT_PTX
#undef MMAUDIT_APPROX
#undef MMAUDIT_NARROW
#undef MMAUDIT_CUDA
#undef MMAUDIT_BOTH
  return __float_as_uint(r);
}
#endif

}  // namespace mmaudit::device
