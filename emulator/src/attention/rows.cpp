#include "attention/rows.hpp"

#include <algorithm>

#include "mmaudit/detail/clones.hpp"

namespace mmaudit::attention_rows {
namespace {

/// The largest of x, NaN left out.
MMAUDIT_CLONES float most_of(const float* x, std::uint64_t count) {
  float most[16];
  std::fill_n(most, 16, kNoKey);
  std::uint64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int j = 0; j < 16; ++j) most[j] = x[i + j] > most[j] ? x[i + j] : most[j];
  for (; i < count; ++i) most[0] = x[i] > most[0] ? x[i] : most[0];
  for (int j = 1; j < 16; ++j) most[0] = most[j] > most[0] ? most[j] : most[0];
  return most[0];
}
// A loop for each rule, so that none asks which inside.
MMAUDIT_CLONES void prepare_all(ScoreRule score, float* x, std::uint64_t count, float scale, float scale2,
                                const float* bias) {
  if (score == ScoreRule::scaled_once)
    for (std::uint64_t i = 0; i < count; ++i)
      x[i] = prepared(ScoreRule::scaled_once, x[i], scale, scale2, false, 0);
  if (score == ScoreRule::scaled_after)
    for (std::uint64_t i = 0; i < count; ++i)
      x[i] = prepared(ScoreRule::scaled_after, x[i], scale, scale2, false, 0);
  if (score == ScoreRule::scaled && bias == nullptr)
    for (std::uint64_t i = 0; i < count; ++i)
      x[i] = prepared(ScoreRule::scaled, x[i], scale, scale2, false, 0);
  if (score == ScoreRule::scaled && bias != nullptr)
    for (std::uint64_t i = 0; i < count; ++i)
      x[i] = prepared(ScoreRule::scaled, x[i], scale, scale2, true, bias[i]);
}
MMAUDIT_CLONES void less_all(float* x, std::uint64_t count, float scale, float less) {
  for (std::uint64_t i = 0; i < count; ++i) x[i] = Operand{false, scale, less}.of(x[i]);
}
MMAUDIT_CLONES void fused_all(float* x, std::uint64_t count, float scale, float less) {
  for (std::uint64_t i = 0; i < count; ++i) x[i] = Operand{true, scale, less}.of(x[i]);
}

}  // namespace

RowSoftmax::RowSoftmax(const RowRule& rule)
    : rule_(rule), exponential_(*functions::find(name_in(names::kExponential, rule.exponential))) {}

// update_mdo() of SageAttention's csrc/qattn/attn_utils.cuh, S_FP8_OFFSET.
Step RowSoftmax::dequantize(const Row& row, Block seen, bool is_last, float old) {
  constexpr float kOffset = 8.807F;
  float most = kNoKey;
  const auto terms = [&](std::uint64_t j) {
    return is_last ? std::pair(row.scores[j] * row.factors[j], rule_.scale2)
                   : std::pair(row.scores[j], rule_.scale2 * row.factors[j]);
  };
  for (std::uint64_t j = seen.first; j < seen.last; ++j) {
    const auto [x, scale] = terms(j);
    const float y = fused(x, scale, -kOffset);
    most = y > most ? y : most;
  }
  const float now = most > old ? most : old;
  for (std::uint64_t j = seen.first; j < seen.last; ++j) {
    const auto [x, scale] = terms(j);
    x_[j] = fused(x, scale, -now);
  }
  return {now, now, evaluated(function_of(rule_.exponential), old - now, functions::kUnit)};
}

RowEnd RowSoftmax::run(const Row& row, const BlockOrder& blocks) {
  x_.resize(std::max<std::size_t>(x_.size(), row.last));
  float old = kNoKey;
  for (std::uint64_t b = 0; b < blocks.count; ++b) {
    const Block block = blocks.at(b);
    const std::uint64_t first = std::max(row.first, block.first), last = std::min(row.last, block.last);
    row.rescales[b] = 1;
    if (first >= last) continue;
    const std::uint64_t count = last - first;
    float* const x = x_.data() + first;
    const RowRule rule = rule_.of_block(blocks.is_whole(b));
    Step step{};
    if (row.factors != nullptr) {
      step = dequantize(row, {first, last}, last == row.last, old);
    } else {
      std::copy_n(row.scores + first, count, x);
      prepare_all(rule.score, x, count, rule.scale, rule.scale2,
                  row.bias == nullptr ? nullptr : row.bias + first);
      step = step_of(rule, most_of(x, count), old, functions::kUnit);
      const Operand operand = operand_of(rule, step.base);
      (operand.is_fused ? fused_all : less_all)(x, count, operand.scale, operand.less);
    }
    row.rescales[b] = step.rescale;
    old = step.now;
    if (row.bases != nullptr) row.bases[b] = step.base;
  }
  if (row.first < row.last) {
    const std::uint64_t count = row.last - row.first;
    // Blocks that this run has not taken hold old numbers; their P is not read.
    functions::evaluate(exponential_, reinterpret_cast<const std::uint32_t*>(x_.data() + row.first), nullptr,
                        reinterpret_cast<std::uint32_t*>(row.weights + row.first), count);
  }
  RowTotal total;
  for (std::uint64_t b = 0; b < blocks.count; ++b)
    total.add(rule_, row.weights + blocks.at(b).first, blocks.block_k, row.rescales[b], b == 0);
  return {old, total.sum(rule_)};
}

}  // namespace mmaudit::attention_rows
