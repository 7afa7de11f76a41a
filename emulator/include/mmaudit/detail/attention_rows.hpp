#pragma once
// The arithmetic of one row of attention, by a plan: host and device code, binary32, every operation rounded
// to nearest. `tables`: what functions::evaluate() takes.
#include <cmath>
#include <cstdint>
#include <limits>

#include "mmaudit/attention.hpp"
#include "mmaudit/config.hpp"
#include "mmaudit/epilogue.hpp"

namespace mmaudit::attention_rows {

using detail::times;

inline constexpr float kLog2E = 1.4426950408889634074F, kLn2 = 0.69314718246459960938F;
inline constexpr float kNoKey = -std::numeric_limits<float>::infinity();

/// A block of keys: [first, last).
struct Block {
  std::uint64_t first = 0, last = 0;
};

/// A plan's choices as every row takes them.
struct RowRule {
  ScoreRule score;
  Exponential exponential;
  RowSum row_sum;
  LaneJoin join;
  OutputSum output_sum;
  OutputDivision division;
  LseRule lse;
  float offset, threshold, scale, scale2;

  /// The rule of one block, which all rows see wholly or not.
  [[nodiscard]] MMAUDIT_HD RowRule of_block(bool whole) const {
    RowRule rule = *this;
    if (score == ScoreRule::scaled_masked) rule.score = whole ? ScoreRule::scaled_after : ScoreRule::scaled;
    return rule;
  }
};
inline RowRule rule_of(const AttentionPlan& plan, const AttentionProblem& problem) {
  return {plan.score,
          plan.exponential,
          plan.row_sum,
          plan.join,
          plan.output_sum,
          plan.division,
          plan.lse,
          static_cast<float>(plan.offset),
          static_cast<float>(plan.threshold),
          scales_of(problem).first,
          scales_of(problem, plan.log2e).second};
}

MMAUDIT_HD inline float fused(float x, float y, float z) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(x, y, z);
#else
  return __builtin_fmaf(x, y, z);
#endif
}
template <typename Tables>
MMAUDIT_HD float evaluated(functions::Id id, float x, const Tables& tables) {
  return functions::as_float(functions::evaluate(id, functions::bits_of(x), 0, tables));
}
MMAUDIT_HD constexpr functions::Id function_of(Exponential exponential) {
  return exponential == Exponential::exp2f ? functions::Id::exp2f
         : exponential == Exponential::ex2 ? functions::Id::ex2
                                           : functions::Id::ex2_ftz;
}

/// Of no key last is first.
MMAUDIT_HD inline Block within(Block seen, Block span) {
  const std::uint64_t first = seen.first > span.first ? seen.first : span.first,
                      last = seen.last < span.last ? seen.last : span.last;
  return {first, last > first ? last : first};
}

/// Which keys [first, last) a row sees.
struct KeyMask {
  std::int64_t keys, shift;
  bool causal;
  std::int64_t left, right;  ///< -1: all

  explicit KeyMask(const AttentionProblem& problem)
      : keys(static_cast<std::int64_t>(problem.keys)),
        shift(problem.causal == Causal::top_left ? 0 : keys - static_cast<std::int64_t>(problem.queries)),
        causal(problem.causal != Causal::none),
        left(problem.left ? static_cast<std::int64_t>(*problem.left) : -1),
        right(problem.right ? static_cast<std::int64_t>(*problem.right) : -1) {}
  [[nodiscard]] MMAUDIT_HD Block of(std::uint64_t row) const {
    const std::int64_t diagonal = static_cast<std::int64_t>(row) + shift;
    std::int64_t first = 0, last = keys;
    if (causal && diagonal + 1 < last) last = diagonal + 1;
    if (right >= 0 && diagonal + 1 + right < last) last = diagonal + 1 + right;
    if (left >= 0 && diagonal - left > 0) first = diagonal - left;
    if (last < 0) last = 0;
    if (first > last) first = last;
    return {static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(last)};
  }
  /// All that some of `rows` rows from `first` on see of `span`: neither end of what a row sees goes back.
  [[nodiscard]] MMAUDIT_HD Block of_rows(std::uint64_t first, std::uint64_t rows, Block span) const {
    return within({of(first).first, of(first + rows - 1).last}, span);
  }
};

/// A score before the maximum is taken from it.
MMAUDIT_HD inline float prepared(ScoreRule score, float s, float scale, float scale2, bool biased,
                                 float bias) {
  if (score == ScoreRule::scaled_once) return times(s, scale2);
  if (score == ScoreRule::scaled_after) return times(s, scale);
  if (score != ScoreRule::scaled) return s;
  const float x = times(s, scale);
  return times(biased ? x + bias : x, kLog2E);
}

/// What the running maximum is multiplied with to be in units of log2.
MMAUDIT_HD constexpr float unit_of(ScoreRule score, float scale2) {
  return score == ScoreRule::products || score == ScoreRule::fused ? scale2 : 1.0F;
}

/// The head of K and V that head `head` of all batches reads.
MMAUDIT_HD constexpr std::uint64_t kv_head_of(std::uint64_t head, std::uint64_t heads,
                                              std::uint64_t kv_heads) {
  return head / heads * kv_heads + head % heads / (heads / kv_heads);
}

/// What a block's scores do to the running maximum, and with it to what was summed before.
struct Step {
  float now, base, rescale;
};
template <typename Tables>
MMAUDIT_HD Step step_of(const RowRule& rule, float most, float old, const Tables& tables) {
  if (rule.score == ScoreRule::fused_after) most = times(most, rule.scale2);
  if (rule.score == ScoreRule::scaled_after) most = times(most, kLog2E);
  float now = most > old ? most : old;
  const float unit = unit_of(rule.score, rule.scale2);
  if (rule.threshold != 0 && times(now - old, unit) <= rule.threshold) now = old;
  const float base = now == kNoKey ? 0 : now;
  float rescale = 1;
  if (now > old) rescale = evaluated(function_of(rule.exponential), times(old - base, unit), tables);
  return {now, base, rescale};
}

/// The exponential's operand: x * scale - less, fused or not.
struct Operand {
  bool is_fused;
  float scale, less;
  [[nodiscard]] MMAUDIT_HD float of(float x) const {
    return is_fused ? fused(x, scale, -less) : times(x, scale) - less;
  }
};
MMAUDIT_HD inline Operand operand_of(const RowRule& rule, float base) {
  switch (rule.score) {
    case ScoreRule::products:
      return {false, rule.scale2, times(base, rule.scale2) - rule.offset};
    case ScoreRule::fused:
      return {true, rule.scale2, fused(base, rule.scale2, -rule.offset)};
    case ScoreRule::fused_after:
      return {true, rule.scale2, base - rule.offset};
    case ScoreRule::scaled_after:
      return {true, kLog2E, base - rule.offset};
    default:
      return {false, 1, base - rule.offset};
  }
}

MMAUDIT_HD inline float joined(LaneJoin join, const float* lanes) {
  return join == LaneJoin::crossed ? (lanes[0] + lanes[2]) + (lanes[1] + lanes[3])
                                   : (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

/// A row's sum of P over blocks.
struct RowTotal {
  float lanes[4] = {}, total = 0;

  /// `p[i]`: the block's P, `count` of them.
  template <typename P>
  MMAUDIT_HD void add(const RowRule& rule, const P& p, std::uint64_t count, float rescale, bool first) {
    constexpr std::uint64_t kWarpColumns = 32;
    if (rule.row_sum == RowSum::warps) {
      total = times(total, rescale);
      for (std::uint64_t warp = 0; warp < count; warp += kWarpColumns) {
        float sums[4] = {};
        const std::uint64_t end = warp + kWarpColumns < count ? warp + kWarpColumns : count;
        for (std::uint64_t i = warp; i < end; i += 8) add_pairs(sums, p, i);
        total += joined(rule.join, sums);
      }
      return;
    }
    if (rule.row_sum == RowSum::eighths) {
      float sums[8];
      for (std::uint64_t t = 0; t < 8; ++t) sums[t] = p[t];
      if (!first) sums[0] += times(total, rescale);
      for (std::uint64_t i = 8; i < count; i += 8)
        for (std::uint64_t t = 0; t < 8; ++t) sums[t] += p[i + t];
      for (int i = 0; i < 8; i += 4)
        for (int j = i; j < i + 2; ++j) sums[j] += sums[j + 2];
      total = (sums[0] + sums[4]) + (sums[1] + sums[5]);
      return;
    }
    if (rule.row_sum == RowSum::quads) {
      for (std::uint64_t t = 0; t < 4; ++t) {
        lanes[t] = times(lanes[t], rescale);
        for (std::uint64_t i = 2 * t; i < count; i += 16) lanes[t] += p[i] + p[i + 1] + p[i + 8] + p[i + 9];
      }
      return;
    }
    const bool fresh = rule.row_sum != RowSum::lanes;
    float sums[4];
    for (std::uint64_t t = 0; t < 4; ++t)
      sums[t] = first || fresh ? p[2 * t] : fused(lanes[t], rescale, p[2 * t]);
    for (std::uint64_t t = 0; t < 4; ++t) sums[t] += p[2 * t + 1];
    for (std::uint64_t i = 8; i < count; i += 8) add_pairs(sums, p, i);
    if (rule.row_sum == RowSum::joined) {
      const float sum = joined(rule.join, sums);
      total = first ? sum : fused(total, rescale, sum);
      return;
    }
    for (int t = 0; t < 4; ++t) lanes[t] = fresh && !first ? fused(lanes[t], rescale, sums[t]) : sums[t];
  }
  [[nodiscard]] MMAUDIT_HD float sum(const RowRule& rule) const {
    return rule.row_sum == RowSum::warps || rule.row_sum == RowSum::joined || rule.row_sum == RowSum::eighths
               ? total
               : joined(rule.join, lanes);
  }

 private:
  template <typename P>
  MMAUDIT_HD static void add_pairs(float* sums, const P& p, std::uint64_t i) {
    for (std::uint64_t t = 0; t < 4; ++t) {
      sums[t] += p[i + 2 * t];
      sums[t] += p[i + 2 * t + 1];
    }
  }
};

/// What a score is multiplied with before tanh.approx.f32, beside Q's descale times K's.
float cap_factor_of(const AttentionProblem& problem);
/// apply_softcap() of flash-attention's hopper/utils.h: cutlass::fast_tanh, which is tanh.approx.f32.
template <typename Tables>
MMAUDIT_HD float capped(float score, float factor, const Tables& tables) {
  return evaluated(functions::Id::tanh, times(score, factor), tables);
}

struct RowEnd {
  float maximum = kNoKey, sum = 0;
};
/// The end of a row whose sum has one more logit: the correction loop of flash_attn/cute/flash_fwd_sm100.py,
/// products rounded as they are written.
template <typename Tables>
MMAUDIT_HD RowEnd with_sink(const RowRule& rule, RowEnd end, float sink, const Tables& tables) {
  const float unit = unit_of(rule.score, rule.scale2);
  if (end.maximum == kNoKey) return {times(sink, kLog2E / unit), 1};
  end.sum += evaluated(function_of(rule.exponential), times(sink, kLog2E) - times(end.maximum, unit), tables);
  return end;
}

/// Division of O by the row's sum, and lse.
template <typename Tables>
MMAUDIT_HD float factor_of(const RowRule& rule, float sum, const Tables& tables) {
  if (sum == 0 || sum != sum) return 1;
  if (rule.division == OutputDivision::approximate) return evaluated(functions::Id::rcp, sum, tables);
  return rule.division == OutputDivision::reciprocal ? 1 / sum : sum;
}
template <typename Tables>
MMAUDIT_HD float lse_of(const RowRule& rule, float maximum, float sum, bool split, const Tables& tables) {
  if (rule.offset != 0) sum = ldexpf(sum, -static_cast<int>(rule.offset));  // softmax.h of hopper/: sum_scale
  if (rule.lse == LseRule::log2_whole)
    return times(maximum + functions::as_float(functions::log2_of(functions::bits_of(sum == 0 ? 1 : sum))),
                 kLn2);
  if (sum == 0 || sum != sum) return rule.lse == LseRule::log_scaled ? 0 : split ? kNoKey : -kNoKey;
  if (rule.lse == LseRule::log_scaled) return maximum / kLog2E + evaluated(functions::Id::logf, sum, tables);
  const float log2 = evaluated(functions::Id::lg2, sum, tables);
  if (rule.lse == LseRule::log2_first) return fused(log2, kLn2, times(maximum, kLn2));
  const float log = times(log2, kLn2);
  return fused(maximum, rule.lse == LseRule::log2_sum ? kLn2 : rule.scale, log);
}

/// An element of O with one block's chain `part` in it; `o` is the element before, where `any` block was.
MMAUDIT_HD inline float output_with(const RowRule& rule, float part, float o, float rescale, float factor,
                                    bool any, bool last) {
  if (rule.output_sum == OutputSum::blocks) {
    if (!last) return any ? fused(rescale, o, part) : part;
    return any ? fused(factor, part, times(times(factor, rescale), o)) : times(factor, part);
  }
  const float whole = rule.output_sum == OutputSum::two_level && any ? times(o, rescale) + part : part;
  return !last ? whole : rule.division == OutputDivision::quotient ? whole / factor : times(whole, factor);
}

/// Weighs the splits of a row as flash_fwd_splitkv_combine_kernel does; lse and `weights` are `stride` apart,
/// `parts` has room for the lanes. Returns lse of all.
template <typename Tables>
MMAUDIT_HD float weigh(std::uint64_t splits, std::uint64_t lanes, const float* lse, float* weights,
                       std::uint64_t stride, float* parts, const Tables& tables) {
  float most = kNoKey;
  for (std::uint64_t s = 0; s < splits; ++s) most = lse[s * stride] > most ? lse[s * stride] : most;
  if (most == kNoKey) most = 0;
  for (std::uint64_t i = 0; i < lanes; ++i) parts[i] = 0;
  for (std::uint64_t s = 0; s < splits; ++s)
    parts[s % lanes] += evaluated(functions::Id::expf, lse[s * stride] - most, tables);
  for (std::uint64_t half = lanes / 2; half != 0; half /= 2)
    for (std::uint64_t i = 0; i < half; ++i) parts[i] += parts[i + half];
  const float sum = parts[0];
  const bool none = sum == 0 || sum != sum;
  const float log = none ? -kNoKey : evaluated(functions::Id::logf, sum, tables) + most;
  for (std::uint64_t s = 0; s < splits; ++s)
    weights[s * stride] = evaluated(functions::Id::expf, lse[s * stride] - log, tables);
  return log;
}

/// P in 16 bits; NaN is 0x7FFF, and binary16 goes to infinity. Of numbers from 0 on, or NaN.
MMAUDIT_HD inline std::uint16_t bf16_of(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t near = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
  return static_cast<std::uint16_t>(bits > 0x7F800000U ? 0x7FFFU : near);
}
/// Adding 1/2 rounds a number below 2^-14 to a multiple of 2^-24.
MMAUDIT_HD inline std::uint16_t f16_of(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t normal = (bits + 0xFFFU + (bits >> 13 & 1U) - 0x38000000U) >> 13;
  const std::uint32_t small = __builtin_bit_cast(std::uint32_t, x + 0.5F) - 0x3F000000U;
  const std::uint32_t finite = bits < 0x38800000U ? small : bits < 0x477FF000U ? normal : 0x7C00U;
  return static_cast<std::uint16_t>(bits > 0x7F800000U ? 0x7FFFU : finite);
}

/// _DEFAULT_SPARSE_BLOCK_SIZE of torch's flex_attention.py, of rows and of keys.
inline constexpr std::uint64_t kMaskPiece = 128;

/// The blocks of one split, in the plan's order.
struct BlockOrder {
  std::uint64_t keys, block_k, first, count;  ///< numbers of blocks
  bool descending;
  Block whole = {};  ///< of partial_first: numbers of the blocks that come last

  BlockOrder(const AttentionPlan& plan, std::uint64_t all_keys, std::uint64_t split)
      : keys(all_keys), block_k(plan.block_k), descending(plan.order == KeyOrder::descending) {
    const std::uint64_t all = (keys + block_k - 1) / block_k, each = (all + plan.splits - 1) / plan.splits;
    first = split * each < all ? split * each : all;
    count = (first + each < all ? first + each : all) - first;
  }
  /// Of `rows` rows from `row` on, which partial_first sees alone.
  BlockOrder(const AttentionPlan& plan, std::uint64_t all_keys, std::uint64_t split, const KeyMask& mask,
             std::uint64_t row, std::uint64_t rows)
      : BlockOrder(plan, all_keys, split) {
    if (plan.order != KeyOrder::partial_first || count == 0) return;
    const auto pieces = [&](Block seen) {
      return Block{(seen.first + kMaskPiece - 1) / kMaskPiece * kMaskPiece,
                   seen.last / kMaskPiece * kMaskPiece};
    };
    const Block seen = mask.of_rows(row, rows, {0, keys}),
                inner = pieces({mask.of(row + rows - 1).first, mask.of(row).last});
    const std::uint64_t begin = seen.first / kMaskPiece * kMaskPiece / block_k;
    count = seen.first < seen.last ? (seen.last + block_k - 1) / block_k - begin : 0, first = begin;
    // A piece with fewer rows or keys counts as partly seen: create_block_mask() fills it up with unseen
    // ones.
    if (rows == kMaskPiece && inner.first < inner.last) whole = {inner.first / block_k, inner.last / block_k};
  }
  /// The number of the block that is run i-th.
  [[nodiscard]] MMAUDIT_HD std::uint64_t number(std::uint64_t i) const {
    if (descending) return first + count - 1 - i;
    const std::uint64_t block = first + i, others = count - (whole.last - whole.first);
    if (whole.first == whole.last || block < whole.first) return block;
    return i < others ? block + (whole.last - whole.first) : whole.first + i - others;
  }
  [[nodiscard]] MMAUDIT_HD bool is_whole(std::uint64_t i) const {
    return number(i) >= whole.first && number(i) < whole.last;
  }
  [[nodiscard]] MMAUDIT_HD Block at(std::uint64_t i) const {
    const std::uint64_t block = number(i), end = (block + 1) * block_k;
    return {block * block_k, end < keys ? end : keys};
  }
  /// All their keys; of no block [keys, 0).
  [[nodiscard]] MMAUDIT_HD Block span() const {
    if (count == 0) return {keys, 0};
    const std::uint64_t end = (first + count) * block_k;
    return {first * block_k, end < keys ? end : keys};
  }
  /// Turns [first, last) of the blocks that have some of these keys; partial_first has no others.
  [[nodiscard]] MMAUDIT_HD Block seeing(Block seen) const {
    if (seen.first >= seen.last || count == 0) return {0, 0};
    if (whole.first != whole.last) return {0, count};
    const std::uint64_t low = seen.first / block_k - first, high = (seen.last - 1) / block_k + 1 - first;
    return descending ? Block{count - high, count - low} : Block{low, high};
  }
};

}  // namespace mmaudit::attention_rows
