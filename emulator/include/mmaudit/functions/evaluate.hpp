#pragma once
// Every function by its number, so that a kernel can be told which one it runs.
#include "mmaudit/functions/chains.hpp"

namespace mmaudit::functions {

// clang-format off
/// In the order of the rows of functions.cpp.
enum class Id : std::uint8_t {
  ex2, ex2_ftz, lg2, lg2_ftz, rcp, rcp_ftz, rsqrt, rsqrt_ftz, sqrt, sqrt_ftz, sin, sin_ftz, cos, cos_ftz, tanh,
  ex2_f16, ex2_bf16, tanh_f16, tanh_bf16,
  expf, exp2f, exp10f, logf, log1pf, sqrtf, rsqrtf, erff, tanhf, divide,
  c_expf, c_exp10f, c_logf, c_log2f, c_log10f, c_sinf, c_cosf, c_fdividef,
  fast_expf, fast_exp2f, fast_exp10f, fast_logf, fast_log1pf, fast_sqrtf, fast_rsqrtf, fast_erff, fast_tanhf, fast_divide,
  count
};
// clang-format on

/// The bits of one result. Narrow functions take and give the low 16 bits; `y` is the divisor, and otherwise
/// not read.
MMAUDIT_HD constexpr std::uint32_t evaluate(Id id, std::uint32_t x, std::uint32_t y, const auto& tables) {
  constexpr float kLog2E = 1.4426950216293334961F, kLog2Of10 = 3.3219280242919921875F;
  constexpr float kLn2 = 0.69314718246459960938F, kLog10Of2 = 0.30103000998497009277F;
  // clang-format off
  switch (id) {
    case Id::exp2f: case Id::ex2: return approx(Op::ex2, x, kPlain, tables);
    case Id::fast_exp2f: case Id::ex2_ftz: return approx(Op::ex2, x, kFlush, tables);
    case Id::c_log2f: case Id::lg2: return approx(Op::lg2, x, kPlain, tables);
    case Id::lg2_ftz: return approx(Op::lg2, x, kFlush, tables);
    case Id::rcp: return approx(Op::rcp, x, kPlain, tables);
    case Id::rcp_ftz: return approx(Op::rcp, x, kFlush, tables);
    case Id::rsqrtf: case Id::rsqrt: return approx(Op::rsq, x, kPlain, tables);
    case Id::fast_rsqrtf: case Id::rsqrt_ftz: return approx(Op::rsq, x, kFlush, tables);
    case Id::sqrt: return approx(Op::sqrt, x, kPlain, tables);
    case Id::fast_sqrtf: case Id::sqrt_ftz: return approx(Op::sqrt, x, kFlush, tables);
    case Id::c_sinf: case Id::sin: case Id::sin_ftz: return sine(Op::sin, x, tables);
    case Id::c_cosf: case Id::cos: case Id::cos_ftz: return sine(Op::cos, x, tables);
    case Id::fast_tanhf: case Id::tanh: return mufu(Op::tanh, x, tables);
    case Id::ex2_f16: return mufu_f16(Op::ex2, x, tables);
    case Id::ex2_bf16: return mufu_bf16(Op::ex2, x, tables);
    case Id::tanh_f16: return mufu_f16(Op::tanh, x, tables);
    case Id::tanh_bf16: return mufu_bf16(Op::tanh, x, tables);
    case Id::expf: return exp_of(x, kExp, tables);
    case Id::exp10f: return exp_of(x, kExp10, tables);
    case Id::logf: return log_of(x);
    case Id::log1pf: return log1p_of(x, kPlain);
    case Id::fast_log1pf: return log1p_of(x, kFlush);
    case Id::sqrtf: return square_root(x);
    case Id::erff: return erf_of(x, kPlain, tables);
    case Id::tanhf: return tanh_of(x, tables);
    case Id::divide: return divided(x, y);
    case Id::c_expf: return fast_exp(x, kLog2E, kPlain, tables);
    case Id::fast_expf: return fast_exp(x, kLog2E, kFlush, tables);
    case Id::c_exp10f: return fast_exp(x, kLog2Of10, kPlain, tables);
    case Id::fast_exp10f: return fast_exp(x, kLog2Of10, kFlush, tables);
    case Id::c_logf: return fast_log(x, kLn2, kPlain, tables);
    case Id::fast_logf: return fast_log(x, kLn2, kFlush, tables);
    case Id::c_log10f: return fast_log(x, kLog10Of2, kPlain, tables);
    case Id::c_fdividef: return fast_divided(x, y, kPlain, tables);
    case Id::fast_divide: return fast_divided(x, y, kFlush, tables);
    case Id::fast_erff: return erf_of(x, kFlush, tables);
    case Id::count: break;
  }
  // clang-format on
  return kNan;
}

}  // namespace mmaudit::functions
