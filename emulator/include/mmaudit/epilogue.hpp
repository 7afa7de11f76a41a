#pragma once
// The end of a product: what a kernel (matmul()'s, a library's) makes of a finished sum. Host and device.
#include <cmath>
#include <cstdint>

#include "mmaudit/config.hpp"
#include "mmaudit/convert.hpp"

namespace mmaudit {

/// D = alpha * sum + beta * C as kernels write it: fma(alpha, sum, beta * C) in binary32, the product and the
/// fma each rounded to nearest even, then one rounding to nearest even to `output`. With beta = +-0, C is not
/// read and D is alpha * sum. NaN: the canonical one of `output`. The same for every architecture; the sum is
/// one of binary32 or binary16, however its steps add.
/// Source: the linear combination of CUTLASS (epilogue/thread/linear_combination.h); not measured on a GPU.
struct Epilogue {
  float alpha = 1;
  float beta = 0;
  Format output = Format::f32;  ///< f32, f16 or bf16; C has it too
};

/// How beta * C joins alpha * sum, in binary32.
enum class EpilogueRule : std::uint8_t {
  fused_sum,    ///< fma(alpha, sum, beta * C): as Epilogue
  fused_c,      ///< fma(beta, C, alpha * sum)
  rounded_sum,  ///< alpha * sum, with the bias, is rounded to D's format before beta * C is added
  fused_always  ///< as fused_sum, with +0 for beta * C where beta is 0: no zero has a minus
};

namespace detail {

// A device compiler may fuse a product and a sum that it sees; these it leaves alone.
MMAUDIT_HD inline float times(float x, float y) {
#ifdef __CUDA_ARCH__
  return __fmul_rn(x, y);
#else
  return x * y;
#endif
}
MMAUDIT_HD inline double times(double x, double y) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(x, y);
#else
  return x * y;
#endif
}

}  // namespace detail

/// What: alpha * sum joined with beta * c as `rule` says, every step in `Number`, binary32 or binary64, to
/// nearest even; with beta = +-0 c counts for nothing, or for +0. `output`: D's format. Range: any. Errors:
/// none.
template <typename Number>
MMAUDIT_HD Number combined(EpilogueRule rule, const FormatSpec& output, Number alpha, Number sum, Number beta,
                           Number c) {
  const Number scaled = detail::times(alpha, sum);
  if (rule == EpilogueRule::fused_always)
    return std::fma(alpha, sum, beta != 0 ? detail::times(beta, c) : Number{0});
  if (beta == 0) return scaled;
  if (rule == EpilogueRule::fused_sum) return std::fma(alpha, sum, detail::times(beta, c));
  if (rule == EpilogueRule::fused_c) return std::fma(beta, c, scaled);
  const double short_sum = decode_value(encode_nearest_even(static_cast<double>(scaled), output), output);
  const Number addend = detail::times(beta, c);
  return static_cast<Number>(short_sum) + addend;
}

}  // namespace mmaudit
