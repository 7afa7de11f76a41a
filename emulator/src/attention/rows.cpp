#include "attention/rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "mmaudit/detail/clones.hpp"

namespace mmaudit::attention_rows {
namespace {

constexpr float kLog2E = 1.4426950408889634074F, kLn2 = 0.69314718246459960938F;
constexpr float kNoKey = -std::numeric_limits<float>::infinity();
constexpr std::uint64_t kWarpColumns = 32;

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
MMAUDIT_CLONES void scale_all(float* x, std::uint64_t count, float scale) {
  for (std::uint64_t i = 0; i < count; ++i) x[i] = x[i] * scale;
}
MMAUDIT_CLONES void add_all(float* x, std::uint64_t count, const float* y) {
  for (std::uint64_t i = 0; i < count; ++i) x[i] = x[i] + y[i];
}
MMAUDIT_CLONES void less_all(float* x, std::uint64_t count, float scale, float less) {
  for (std::uint64_t i = 0; i < count; ++i) x[i] = x[i] * scale - less;
}
MMAUDIT_CLONES void fused_all(float* x, std::uint64_t count, float scale, float less) {
  for (std::uint64_t i = 0; i < count; ++i) x[i] = __builtin_fmaf(x[i], scale, -less);
}

const functions::Function& function_of(Exponential exponential) {
  return *functions::find(name_in(names::kExponential, exponential));
}
float evaluated(functions::Id id, float x) {
  return functions::as_float(functions::evaluate(id, functions::bits_of(x), 0, functions::kUnit));
}
float joined(LaneJoin join, const float* lanes) {
  return join == LaneJoin::crossed ? (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
                                   : (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

}  // namespace

RowSoftmax::RowSoftmax(const RowRules& rules)
    : rules_(rules), exponential_(function_of(rules.plan.exponential)) {}

void RowSoftmax::sum_block(const float* p, std::uint64_t count, float rescale, bool first) {
  const AttentionPlan& plan = rules_.plan;
  if (plan.row_sum == RowSum::warps) {
    total_ *= rescale;
    for (std::uint64_t warp = 0; warp < count; warp += kWarpColumns) {
      float lanes[4] = {};
      const std::uint64_t end = std::min(count, warp + kWarpColumns);
      for (std::uint64_t i = warp; i < end; i += 8)
        for (std::size_t t = 0; t < 4; ++t) {
          lanes[t] += p[i + 2 * t];
          lanes[t] += p[i + 2 * t + 1];
        }
      total_ += joined(plan.join, lanes);
    }
    return;
  }
  if (plan.row_sum == RowSum::eighths) {
    float sums[8];
    std::copy_n(p, 8, sums);
    if (!first) sums[0] += total_ * rescale;
    for (std::uint64_t i = 8; i < count; ++i) sums[i % 8] += p[i];
    for (std::uint64_t i = 0; i < 8; i += 4)
      for (std::uint64_t j = i; j < i + 2; ++j) sums[j] += sums[j + 2];
    total_ = (sums[0] + sums[4]) + (sums[1] + sums[5]);
    return;
  }
  const bool fresh = plan.row_sum != RowSum::lanes;
  float sums[4];
  for (std::size_t t = 0; t < 4; ++t)
    sums[t] = first || fresh ? p[2 * t] : std::fma(lanes_[t], rescale, p[2 * t]);
  for (std::size_t t = 0; t < 4; ++t) sums[t] += p[2 * t + 1];
  for (std::uint64_t i = 8; i < count; i += 8)
    for (std::size_t t = 0; t < 4; ++t) {
      sums[t] += p[i + 2 * t];
      sums[t] += p[i + 2 * t + 1];
    }
  if (plan.row_sum == RowSum::joined) {
    const float sum = joined(plan.join, sums);
    total_ = first ? sum : std::fma(total_, rescale, sum);
    return;
  }
  for (int t = 0; t < 4; ++t) lanes_[t] = fresh && !first ? std::fma(lanes_[t], rescale, sums[t]) : sums[t];
}

RowEnd RowSoftmax::run(const Row& row, const std::vector<Block>& blocks) {
  const AttentionPlan& plan = rules_.plan;
  const float scale2 = rules_.scale2, offset = static_cast<float>(plan.offset);
  x_.resize(std::max<std::size_t>(x_.size(), row.last));
  float old = kNoKey;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::uint64_t first = std::max(row.first, blocks[b].first),
                        last = std::min(row.last, blocks[b].last);
    row.rescales[b] = 1;
    if (first >= last) continue;
    const std::uint64_t count = last - first;
    float* const x = x_.data() + first;
    std::copy_n(row.scores + first, count, x);
    if (plan.score == ScoreRule::scaled) {
      scale_all(x, count, rules_.scale);
      if (row.bias != nullptr) add_all(x, count, row.bias + first);
      scale_all(x, count, kLog2E);
    }
    if (plan.score == ScoreRule::scaled_once) scale_all(x, count, scale2);
    if (plan.score == ScoreRule::scaled_after) scale_all(x, count, rules_.scale);
    float most = most_of(x, count);
    if (plan.score == ScoreRule::fused_after) most *= scale2;
    if (plan.score == ScoreRule::scaled_after) most *= kLog2E;
    float now = most > old ? most : old;
    const bool of_scores = plan.score == ScoreRule::products || plan.score == ScoreRule::fused;
    const float unit = of_scores ? scale2 : 1;
    if (plan.threshold != 0 && (now - old) * unit <= static_cast<float>(plan.threshold)) now = old;
    const float base = now == kNoKey ? 0 : now;
    if (now > old) {
      const float down = of_scores ? (old - base) * scale2 : old - base;
      row.rescales[b] = evaluated(exponential_.id, down);
    }
    switch (plan.score) {
      case ScoreRule::products:
        less_all(x, count, scale2, base * scale2 - offset);
        break;
      case ScoreRule::fused:
        fused_all(x, count, scale2, std::fma(base, scale2, -offset));
        break;
      case ScoreRule::scaled:
      case ScoreRule::scaled_once:
        less_all(x, count, 1, base - offset);
        break;
      case ScoreRule::fused_after:
        fused_all(x, count, scale2, base - offset);
        break;
      case ScoreRule::scaled_after:
        fused_all(x, count, kLog2E, base - offset);
        break;
    }
    old = now;
    if (row.bases != nullptr) row.bases[b] = base;
  }
  if (row.first < row.last) {
    const std::uint64_t count = row.last - row.first;
    // Blocks that this run has not taken hold old numbers; their P is not read.
    functions::evaluate(exponential_, reinterpret_cast<const std::uint32_t*>(x_.data() + row.first), nullptr,
                        reinterpret_cast<std::uint32_t*>(row.weights + row.first), count);
  }
  std::fill_n(lanes_, 4, 0.0F);
  total_ = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b)
    sum_block(row.weights + blocks[b].first, plan.block_k, row.rescales[b], b == 0);
  return {old, plan.row_sum >= RowSum::warps ? total_ : joined(plan.join, lanes_)};
}

float factor_of(const AttentionPlan& plan, float sum) {
  if (sum == 0 || sum != sum) return 1;
  if (plan.division == OutputDivision::approximate) return evaluated(functions::Id::rcp, sum);
  return plan.division == OutputDivision::reciprocal ? 1 / sum : sum;
}

float lse_of(const RowRules& rules, const RowEnd& end, bool split) {
  const float sum = end.sum;
  if (sum == 0 || sum != sum) return rules.plan.lse == LseRule::log_scaled ? 0 : split ? kNoKey : -kNoKey;
  if (rules.plan.lse == LseRule::log_scaled)
    return end.maximum / kLog2E + evaluated(functions::Id::logf, sum);
  const float log = evaluated(functions::Id::lg2, sum) * kLn2;
  return std::fma(end.maximum, rules.plan.lse == LseRule::log2_sum ? kLn2 : rules.scale, log);
}

}  // namespace mmaudit::attention_rows
