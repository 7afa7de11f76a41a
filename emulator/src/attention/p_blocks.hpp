#pragma once
// Numbers that a block of E2M1 elements and its E4M3 scale stand for: nvfp4_scalar_qdq() of ModelOpt's
// kernels/quantization/common/nvfp4_quant.py, quotients as IEEE has them.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "mmaudit/convert.hpp"

namespace mmaudit::attention_rows {

/// `x[i * stride]` of `count` become what is kept of them. `amax`: the tensor's largest magnitude. NaN stays
/// NaN, where the source keeps -6 scales, a number without a meaning.
inline void scale_in_blocks(float* x, std::uint64_t count, std::uint64_t stride, float amax) {
  const FormatSpec of_scale = spec_of(Format::e4m3), element = spec_of(Format::e2m1);
  constexpr float kLargestElement = 6, kLargestScale = 448;
  const float whole = amax / (kLargestElement * kLargestScale);
  float most = 0;
  for (std::uint64_t i = 0; i < count; ++i) most = std::max(most, std::abs(x[i * stride]));
  const float quotient = whole == 0 ? 0 : std::min(most / (kLargestElement * whole), kLargestScale);
  const float scale = static_cast<float>(decode_value(
                          encode_nearest_even(static_cast<double>(quotient), of_scale), of_scale)) *
                      whole;
  for (std::uint64_t i = 0; i < count; ++i) {
    float& y = x[i * stride];
    const double size =
        decode_value(encode_nearest_even(static_cast<double>(std::abs(y) / scale), element, true), element);
    y = y != y ? y : scale == 0 ? 0.0F : std::copysign(static_cast<float>(size) * scale, y);
  }
}

}  // namespace mmaudit::attention_rows
