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

/// Launches the rows "/fast" on `count` operands from `first` on.
void launch_fast_functions(functions::Id id, std::uint64_t first, std::uint32_t count, std::uint32_t* result);

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
__device__ inline std::uint32_t hardware_function(functions::Id, Pair, bool) { __trap(); }
#else
/// `fast`: whether this file was compiled with --use_fast_math.
__device__ inline std::uint32_t hardware_function(functions::Id id, Pair at, bool fast) {
  using functions::Id;
  const float x = __uint_as_float(at.x), y = __uint_as_float(at.y);
  const auto narrow = static_cast<std::uint16_t>(at.x);
  std::uint16_t half = 0;
  float r = 0;
#define MMAUDIT_ROW(row, text) \
  case Id::row: asm volatile(text " %0, %1;" : "=f"(r) : "f"(x)); return __float_as_uint(r);
#define MMAUDIT_NARROW(row, text) \
  case Id::row: asm volatile(text " %0, %1;" : "=h"(half) : "h"(narrow)); return half;
#define MMAUDIT_CUDA_ROW(row, call)                                          \
  case Id::row: return fast ? functions::kNan : __float_as_uint(call); \
  case Id::fast_##row: return fast ? __float_as_uint(call) : functions::kNan;
  switch (id) {
    MMAUDIT_ROW(ex2, "ex2.approx.f32")
    MMAUDIT_ROW(ex2_ftz, "ex2.approx.ftz.f32")
    MMAUDIT_ROW(lg2, "lg2.approx.f32")
    MMAUDIT_ROW(lg2_ftz, "lg2.approx.ftz.f32")
    MMAUDIT_ROW(rcp, "rcp.approx.f32")
    MMAUDIT_ROW(rcp_ftz, "rcp.approx.ftz.f32")
    MMAUDIT_ROW(rsqrt, "rsqrt.approx.f32")
    MMAUDIT_ROW(rsqrt_ftz, "rsqrt.approx.ftz.f32")
    MMAUDIT_ROW(sqrt, "sqrt.approx.f32")
    MMAUDIT_ROW(sqrt_ftz, "sqrt.approx.ftz.f32")
    MMAUDIT_ROW(sin, "sin.approx.f32")
    MMAUDIT_ROW(sin_ftz, "sin.approx.ftz.f32")
    MMAUDIT_ROW(cos, "cos.approx.f32")
    MMAUDIT_ROW(cos_ftz, "cos.approx.ftz.f32")
    MMAUDIT_ROW(tanh, "tanh.approx.f32")
    MMAUDIT_NARROW(ex2_f16, "ex2.approx.f16")
    MMAUDIT_NARROW(ex2_bf16, "ex2.approx.ftz.bf16")
    MMAUDIT_NARROW(tanh_f16, "tanh.approx.f16")
    MMAUDIT_NARROW(tanh_bf16, "tanh.approx.bf16")
    MMAUDIT_CUDA_ROW(expf, expf(x))
    MMAUDIT_CUDA_ROW(exp2f, exp2f(x))
    MMAUDIT_CUDA_ROW(exp10f, exp10f(x))
    MMAUDIT_CUDA_ROW(logf, logf(x))
    MMAUDIT_CUDA_ROW(sqrtf, sqrtf(x))
    MMAUDIT_CUDA_ROW(rsqrtf, rsqrtf(x))
    MMAUDIT_CUDA_ROW(erff, erff(x))
    MMAUDIT_CUDA_ROW(tanhf, tanhf(x))
    MMAUDIT_CUDA_ROW(divide, x / y)
    case Id::c_expf: return __float_as_uint(__expf(x));
    case Id::c_exp10f: return __float_as_uint(__exp10f(x));
    case Id::c_logf: return __float_as_uint(__logf(x));
    case Id::c_log2f: return __float_as_uint(__log2f(x));
    case Id::c_log10f: return __float_as_uint(__log10f(x));
    case Id::c_sinf: return __float_as_uint(__sinf(x));
    case Id::c_cosf: return __float_as_uint(__cosf(x));
    case Id::c_fdividef: return __float_as_uint(__fdividef(x, y));
    case Id::count: break;
  }
#undef MMAUDIT_ROW
#undef MMAUDIT_NARROW
#undef MMAUDIT_CUDA_ROW
  return functions::kNan;
}
#endif

}  // namespace mmaudit::device
