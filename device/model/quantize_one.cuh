#pragma once
// One number after another of an operand, as quantize.hpp's rules have it.
#include "check/load.cuh"
#include "mmaudit/quantize.hpp"

namespace mmaudit::device {

__device__ inline double number_at(const Quantization& work, std::uint64_t matrix, std::uint64_t lane,
                                   std::uint64_t k) {
  return decode_value(load(work.x, static_cast<int>(work.from.storage_bits / 8),
                           matrix * work.batch_stride + lane * work.lane_stride + k * work.k_stride),
                      work.from);
}

/// Lanes that share a factor of their own, or a scale.
__device__ inline std::uint64_t together_of(const QuantizeRule& rule) {
  return rule.factor_per_lane() || rule.scaled() ? rule.covers.lanes : 1;
}

/// Scale and factor of one number; 1 where there is none.
struct ScaleAndFactor {
  double scale = 1;
  float factor = 1;
  /// `of_tensor`: the one factor.
  __device__ ScaleAndFactor(const Quantization& work, float of_tensor, std::uint64_t row, std::uint64_t k)
      : factor(of_tensor) {
    const QuantizeRule& rule = work.rule;
    if (rule.scaled())
      scale = decode_value(work.scales[work.scale_at(row, k / rule.scale_block())], rule.scale);
    if (rule.factor_per_lane())
      factor =
          work.factors[row * work.factor_blocks() + (rule.factor_block() == 0 ? 0 : k / rule.factor_block())];
  }
};

__device__ inline float factor_of_tensor_at(const Quantization& work) {
  return work.rule.one_factor() ? *work.factors : 1.0F;
}

/// The bits of one element.
__device__ inline std::uint64_t element_at(const Quantization& work, float of_tensor, std::uint64_t matrix,
                                           std::uint64_t lane, std::uint64_t k) {
  const ScaleAndFactor by(work, of_tensor, matrix * work.lanes + lane, k);
  const double x = number_at(work, matrix, lane, k);
  const double scaled = work.rule.division == Division::exact
                            ? scaled_down(x, by.scale, static_cast<double>(by.factor))
                            : multiplied(work.rule, x, multiplier(work.rule, by.scale, by.factor));
  return encode_value(scaled, work.rule.element, work.rule.cast);
}

}  // namespace mmaudit::device
