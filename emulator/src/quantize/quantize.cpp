#include "mmaudit/quantize.hpp"

#include <algorithm>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit {
namespace {

/// Scales, and factors where there are any, of one lane.
void scale_lane(const Quantization& work, std::uint64_t matrix, std::uint64_t lane) {
  const std::uint64_t row = matrix * work.lanes + lane, blocks = work.scale_blocks();
  const double of_tensor =
      work.factors != nullptr && work.rule.scaled() ? static_cast<double>(work.factors[0]) : 1.0;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    work.scales[work.scale_at(row, i)] =
        scale_byte(work.rule, static_cast<double>(work.largest[row * blocks + i]), of_tensor);
  }
  if (!work.rule.factor_per_lane) return;
  for (std::uint64_t i = 0; i < work.factor_blocks(); ++i) {
    const std::uint64_t at = row * work.factor_blocks() + i;
    work.factors[at] = factor_for(static_cast<double>(work.largest[at]), work.rule.most);
  }
}

void convert_lane(const Quantization& work, std::uint64_t matrix, std::uint64_t lane) {
  const std::uint64_t row = matrix * work.lanes + lane, blocks = work.scale_blocks();
  const std::size_t from_bytes = work.from.storage_bytes(), bytes = work.rule.element.storage_bytes();
  double by = 1, factor = work.rule.one_factor() ? static_cast<double>(work.factors[0]) : 1.0;
  for (std::uint64_t k = 0; k < work.k; ++k) {
    if (blocks != 0 && k % work.rule.scale_block == 0)
      by = decode_value(work.scales[work.scale_at(row, k / work.rule.scale_block)], work.rule.scale);
    if (work.rule.factor_per_lane) {
      const std::uint64_t i = work.rule.factor_block == 0 ? 0 : k / work.rule.factor_block;
      factor = static_cast<double>(work.factors[row * work.factor_blocks() + i]);
    }
    const std::uint64_t at = matrix * work.batch_stride + lane * work.lane_stride + k * work.k_stride;
    const double x = decode_value(load_word(work.x, from_bytes, at), work.from);
    const std::uint64_t bits = encode_value(scaled_down(x, by, factor), work.rule.element, work.rule.cast);
    store_word(work.elements, bytes,
               work.k_outside ? (matrix * work.k + k) * work.lanes + lane : row * work.k + k, bits);
  }
}

}  // namespace

QuantizeRule quantize_rule(const GemmDtype& dtype, Scaling scaling, bool of_b) {
  QuantizeRule rule;
  rule.element = spec_of(of_b ? dtype.element_b() : dtype.element);
  rule.scale = spec_of(dtype.scale);
  rule.cast = dtype.cast;
  rule.scale_block = static_cast<std::uint64_t>(dtype.scale_block);
  rule.round_up = scaling == Scaling::mx_ceil;
  rule.most = decode_value(rule.element.max_finite_bits(), rule.element);
  if (rule.scaled()) return rule;
  rule.per_tensor = scaling == Scaling::tensor;
  rule.factor_per_lane = scaling == Scaling::row || along_k(scaling);
  if (along_k(scaling)) rule.factor_block = kScaleBlock;
  return rule;
}

void quantize(const Quantization& work, unsigned threads) {
  if (work.rule.one_factor())
    work.factors[0] = factor_of_tensor(work.rule, static_cast<double>(*work.tensor_largest));
  // Lanes that lie beside each other in memory belong to one thread.
  constexpr std::uint64_t kLanes = 16;
  const std::uint64_t pieces = (work.lanes + kLanes - 1) / kLanes;
  detail::parallel_for(work.batch * pieces, threads, [&](std::uint64_t piece) {
    const std::uint64_t matrix = piece / pieces, first = piece % pieces * kLanes;
    for (std::uint64_t lane = first; lane < std::min(first + kLanes, work.lanes); ++lane) {
      scale_lane(work, matrix, lane);
      convert_lane(work, matrix, lane);
    }
  });
}

}  // namespace mmaudit
