// O from a plan: strips of rows, each with all its scores, then all its P, then P V block by block.
#include "mmaudit/attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "attention/extras.hpp"
#include "attention/fma_tile.hpp"
#include "attention/p_blocks.hpp"
#include "mmaudit/detail/clones.hpp"
#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/matmul.hpp"
#include "mmaudit/refusal.hpp"
#include "text/plan_words.hpp"
#include "tile/tile_sums.hpp"

namespace mmaudit {
namespace {

using attention_rows::Block;
using attention_rows::BlockOrder;
using attention_rows::RowEnd;

constexpr std::uint64_t kStripRows = 128, kMostPBlock = 64;
constexpr std::uint64_t kMostBlock = 65536;  // rows of 4 bytes that no shared memory holds
using attention_rows::kMaskPiece;

MMAUDIT_CLONES void round_to_bf16(const float* x, std::uint16_t* y, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) y[i] = attention_rows::bf16_of(x[i]);
}
MMAUDIT_CLONES void round_to_f16(const float* x, std::uint16_t* y, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) y[i] = attention_rows::f16_of(x[i]);
}

/// Bits of a plan's P; of blocks with a scale the numbers in binary32.
class PCast {
 public:
  explicit PCast(const AttentionPlan& plan)
      : spec_(spec_of(plan.p)),
        cast_(spec_, {CastRounding::nearest_even, true}),
        block_(plan.p_block),
        before_(spec_of(Format::bf16), {CastRounding::nearest_even, false}),
        decode_(spec_of(Format::bf16)) {}
  [[nodiscard]] std::size_t bytes() const { return block_ != 0 ? sizeof(float) : spec_.storage_bytes(); }
  void operator()(const float* x, std::byte* y, std::uint64_t count) const {
    if (block_ != 0)
      for (std::uint64_t i = 0; i < count; i += block_) {
        float part[kMostPBlock];
        const std::uint64_t some = std::min(block_, count - i);
        for (std::uint64_t j = 0; j < some; ++j)
          part[j] = static_cast<float>(decode_(before_(static_cast<double>(x[i + j]))));
        attention_rows::scale_in_blocks(part, some, 1, 1);
        std::memcpy(y + i * sizeof(float), part, some * sizeof(float));
      }
    else if (spec_.id == Format::f16)
      round_to_f16(x, reinterpret_cast<std::uint16_t*>(y), count);
    else if (spec_.id == Format::bf16)
      round_to_bf16(x, reinterpret_cast<std::uint16_t*>(y), count);
    else
      for (std::uint64_t i = 0; i < count; ++i) store_word(y, bytes(), i, cast_(static_cast<double>(x[i])));
  }

 private:
  FormatSpec spec_;
  FastCast cast_;
  std::uint64_t block_;
  FastCast before_;
  FastDecode decode_;
};

Datapath datapath_of(const Architecture& architecture, const Instruction& instruction) {
  return plan_words::is_scalar(instruction) ? Datapath{} : find_datapath(architecture, instruction)->datapath;
}

std::unique_ptr<TileSums> tile_of(const Instruction& instruction, const Datapath& datapath,
                                  const Matmul& product) {
  if (plan_words::is_scalar(instruction)) return attention_rows::fma_tile(product);
  return fast_serves(instruction, datapath) ? fast_tile(instruction, datapath, product, best_simd_level())
                                            : plain_tile(instruction, datapath, product);
}

class Strips {
 public:
  Strips(const AttentionProblem& problem, const AttentionPlan& plan, const AttentionOperands& operands,
         const AttentionResult& result, const Architecture& architecture)
      : problem_(problem),
        plan_(plan),
        operands_(operands),
        result_(result),
        qk_(datapath_of(architecture, plan.qk)),
        pv_(datapath_of(architecture, plan.pv)),
        input_(spec_of(problem.type)),
        v_(spec_of(plan.pv.b)),
        output_(spec_of(plan.output)),
        cast_(plan),
        stores_(output_, {CastRounding::nearest_even, false}),
        strips_(detail::quotient_up(problem.queries, kStripRows)) {
    // K of a head as columns, once for all strips.
    const std::uint64_t d = problem.depth, n = problem.keys, bytes = input_.storage_bytes();
    transposed_.resize(problem.batch * problem.kv_heads * n * d * bytes);
    const auto* k = static_cast<const std::byte*>(operands.k);
    for (std::uint64_t head = 0; head < problem.batch * problem.kv_heads; ++head)
      for (std::uint64_t j = 0; j < n; ++j)
        for (std::uint64_t i = 0; i < d; ++i)
          std::memcpy(&transposed_[((head * d + i) * n + j) * bytes], k + ((head * n + j) * d + i) * bytes,
                      bytes);
  }
  [[nodiscard]] std::uint64_t count() const { return problem_.batch * problem_.heads * strips_; }
  void run(std::uint64_t index) const { Work(*this, index).run(); }

 private:
  struct Work {
    const Strips& all;
    const AttentionProblem& problem;
    const AttentionPlan& plan;
    std::uint64_t head, kv_head, first, rows, keys, depth, padded;
    attention_rows::RowRule rule;
    std::vector<float> scores, weights, bias, key_factors;
    std::vector<std::byte> p;

    Work(const Strips& strips, std::uint64_t index)
        : all(strips),
          problem(strips.problem_),
          plan(strips.plan_),
          head(index / strips.strips_),
          kv_head(attention_rows::kv_head_of(head, problem.heads, problem.kv_heads)),
          first(index % strips.strips_ * kStripRows),
          rows(std::min(kStripRows, problem.queries - first)),
          keys(problem.keys),
          depth(problem.depth),
          padded(detail::quotient_up(keys, plan.block_k) * plan.block_k),
          rule(attention_rows::rule_of(plan, problem)),
          scores(rows * keys),
          weights(rows * padded),
          p(rows * keys * strips.cast_.bytes()) {}

    [[nodiscard]] float descale(const float* factors) const {
      return factors == nullptr ? 1 : factors[kv_head];
    }
    [[nodiscard]] std::uint64_t row_at(std::uint64_t i) const { return head * problem.queries + first + i; }

    void run() {
      make_scores();
      // Descales of Q and K join the scale or the softcap's factor; V's the division.
      float of_qk = descale(all.operands_.descale_q) * descale(all.operands_.descale_k);
      if (problem.softcap != 0) {
        const float factor = attention_rows::cap_factor_of(problem) * of_qk;
        for (float& x : scores) x = attention_rows::capped(x, factor, functions::kUnit);
        of_qk = 1;
      }
      rule.scale *= of_qk, rule.scale2 *= of_qk;
      std::vector<float> out(rows * depth * plan.splits), lse(rows * plan.splits);
      for (std::uint64_t split = 0; split < plan.splits; ++split)
        one_split(split, &out[split * rows * depth], lse);
      finish(out, lse);
    }

    void make_scores() {
      Matmul product;
      product.m = rows, product.n = keys, product.k = depth;
      product.a =
          static_cast<const std::byte*>(all.operands_.q) + row_at(0) * depth * all.input_.storage_bytes();
      product.b = &all.transposed_[kv_head * depth * keys * all.input_.storage_bytes()];
      product.d = scores.data();
      if (plan_words::is_scalar(plan.qk)) {
        attention_rows::fma_product(product);
      } else {
        matmul(plan.qk, all.qk_, product);
      }
      for (float& x : scores)  // whole numbers below 2^24
        if (plan.qk.d == Format::s32) x = static_cast<float>(std::bit_cast<std::int32_t>(x));
      if (all.result_.scores != nullptr)
        std::copy(scores.begin(), scores.end(), all.result_.scores + row_at(0) * keys);
    }

    const float* bias_of(std::uint64_t i) {
      const AttentionOperands& operands = all.operands_;
      if (operands.bias == nullptr) return nullptr;
      const std::uint64_t b = operands.bias_batch == 1 ? 0 : head / problem.heads,
                          h = operands.bias_heads == 1 ? 0 : head % problem.heads;
      const std::uint64_t at = ((b * operands.bias_heads + h) * problem.queries + first + i) * keys;
      bias.resize(keys);
      const FastDecode decode(all.input_);
      for (std::uint64_t j = 0; j < keys; ++j) bias[j] = static_cast<float>(decode.at(operands.bias, at + j));
      return bias.data();
    }

    /// Scales of row i's scores.
    const float* factors_of(std::uint64_t i) {
      const AttentionOperands& operands = all.operands_;
      if (plan.score != ScoreRule::dequantized) return nullptr;
      key_factors.resize(keys);
      for (std::uint64_t j = 0; j < keys; ++j)
        key_factors[j] = operands.row_q[row_at(i)] * operands.key_k[kv_head * keys + j];
      return key_factors.data();
    }

    void one_split(std::uint64_t split, float* out, std::vector<float>& lse) {
      const attention_rows::KeyMask mask(problem);
      const BlockOrder blocks(plan, keys, split, mask, first, rows);
      std::vector<float> rescales(rows * blocks.count), bases(blocks.count), sums(rows);
      std::fill(weights.begin(), weights.end(), 0.0F);
      attention_rows::RowSoftmax softmax(rule);
      for (std::uint64_t i = 0; i < rows; ++i) {
        const Block seen = within(mask.of(first + i), blocks.span());
        RowEnd found = softmax.run({&scores[i * keys], bias_of(i), factors_of(i), seen.first, seen.last,
                                    &weights[i * padded], &rescales[i * blocks.count], bases.data()},
                                   blocks);
        if (all.operands_.sinks != nullptr)
          found = with_sink(rule, found, all.operands_.sinks[head % problem.heads], functions::kUnit);
        sums[i] = found.sum;
        all.cast_(&weights[i * padded], &p[i * keys * all.cast_.bytes()], keys);
        lse[split * rows + i] = lse_of(rule, found.maximum, found.sum, plan.splits > 1, functions::kUnit);
        if (all.result_.maxima != nullptr) all.result_.maxima[row_at(i)] = found.maximum;
        if (all.result_.sums != nullptr) all.result_.sums[row_at(i)] = found.sum;
        keep_details(i, blocks, &rescales[i * blocks.count], bases.data());
      }
      multiply(blocks, rescales, sums, mask.of_rows(first, rows, blocks.span()), out);
    }

    /// What studies ask of row i, block by block from the last one on.
    void keep_details(std::uint64_t i, const BlockOrder& blocks, const float* rescales,
                      const float* bases) const {
      const AttentionResult& result = all.result_;
      float later = 1;
      for (std::size_t b = blocks.count; b-- > 0; later *= rescales[b]) {
        const Block block = blocks.at(b);
        const std::uint64_t from = block.first, count = block.last - from, to = row_at(i) * keys + from;
        if (result.weights != nullptr) std::copy_n(&weights[i * padded + from], count, result.weights + to);
        if (result.bases != nullptr) std::fill_n(result.bases + to, count, bases[b]);
        if (result.later != nullptr) std::fill_n(result.later + to, count, later);
      }
    }

    void multiply(const BlockOrder& blocks, const std::vector<float>& rescales,
                  const std::vector<float>& sums, Block seen, float* out) const {
      Matmul product;
      product.m = rows, product.n = depth, product.k = keys;
      product.a = p.data();
      product.b =
          static_cast<const std::byte*>(all.operands_.v) + kv_head * keys * depth * all.v_.storage_bytes();
      const std::unique_ptr<TileSums> tile = tile_of(plan.pv, all.pv_, product);
      const TilePlace place{0, 0, 0, rows, depth};
      tile->start(place);
      std::vector<std::uint64_t> bits(kTileColumns);
      const bool chain = plan.output_sum == OutputSum::chain;
      bool any = false;
      const auto [begin, end] = blocks.seeing(seen);
      for (std::uint64_t b = begin; b < end; ++b) {
        const bool last = b + 1 == end;
        if (!chain && any) tile->start(place);
        for (std::uint64_t i = 0; i < rows && chain && any; ++i) {
          const float rescale = rescales[i * blocks.count + b];
          if (rescale == 1) continue;
          tile->get_row(0, i, bits.data());
          for (std::uint64_t j = 0; j < depth; ++j) bits[j] = bits_of(float_of(bits[j]) * rescale);
          tile->set_row(0, i, bits.data());
        }
        tile->run(blocks.at(b).first, blocks.at(b).last);
        for (std::uint64_t i = 0; i < rows && (!chain || last); ++i) {
          tile->get_row(0, i, bits.data());
          join_block(i, bits.data(), rescales[i * blocks.count + b], sums[i], any, last, out);
        }
        any = true;
      }
    }

    static float float_of(std::uint64_t bits) {
      return functions::as_float(static_cast<std::uint32_t>(bits));
    }
    static std::uint64_t bits_of(float x) { return functions::bits_of(x); }

    /// Row i of a block's chain into O, which the last block divides.
    void join_block(std::uint64_t i, const std::uint64_t* bits, float rescale, float sum, bool any, bool last,
                    float* out) const {
      const float factor = factor_of(rule, sum, functions::kUnit) * descale(all.operands_.descale_v);
      float* const o = out + i * depth;
      for (std::uint64_t j = 0; j < depth; ++j)
        o[j] = output_with(rule, float_of(bits[j]), o[j], rescale, factor, any, last);
      const float* const columns = all.operands_.column_v;
      for (std::uint64_t j = 0; j < depth && last && columns != nullptr; ++j)
        o[j] *= columns[kv_head * depth + j];
    }

    void finish(const std::vector<float>& out, const std::vector<float>& lse) const {
      std::vector<float> weights_of(plan.splits * rows), parts(plan.combine_lanes), sum(depth);
      for (std::uint64_t i = 0; i < rows; ++i) {
        float total = lse[i];
        std::copy_n(&out[i * depth], depth, sum.begin());
        if (plan.splits > 1) {
          total = attention_rows::weigh(plan.splits, plan.combine_lanes, &lse[i], &weights_of[i], rows,
                                        parts.data(), functions::kUnit);
          std::fill(sum.begin(), sum.end(), 0.0F);
          for (std::uint64_t s = 0; s < plan.splits; ++s)
            for (std::uint64_t j = 0; j < depth; ++j)
              sum[j] = std::fma(weights_of[s * rows + i], out[(s * rows + i) * depth + j], sum[j]);
        }
        if (all.result_.lse != nullptr) all.result_.lse[row_at(i)] = total;
        for (std::uint64_t j = 0; j < depth; ++j)
          store_word(all.result_.o, all.output_.storage_bytes(), row_at(i) * depth + j,
                     all.stores_(static_cast<double>(sum[j])));
      }
    }
  };

  const AttentionProblem& problem_;
  const AttentionPlan& plan_;
  const AttentionOperands& operands_;
  const AttentionResult& result_;
  Datapath qk_, pv_;
  FormatSpec input_, v_, output_;
  PCast cast_;
  FastCast stores_;
  std::uint64_t strips_;
  std::vector<std::byte> transposed_;
};

}  // namespace

std::pair<std::uint64_t, std::uint64_t> keys_of_row(const AttentionProblem& problem, std::uint64_t row) {
  const Block seen = attention_rows::KeyMask(problem).of(row);
  return {seen.first, seen.last};
}

std::string why_no_attention(const AttentionProblem& problem, const AttentionPlan& plan,
                             const Architecture& architecture) {
  for (const auto& [name, size] : {std::pair{"batch", problem.batch},
                                   {"heads", problem.heads},
                                   {"kv_heads", problem.kv_heads},
                                   {"queries", problem.queries},
                                   {"keys", problem.keys}})
    if (size == 0) return refusal("{}: found 0, allowed: 1 or more", name);
  for (const auto& [name, size] : {std::pair{"block_q", plan.block_q}, {"block_k", plan.block_k}})
    if (size == 0 || size > kMostBlock)
      return refusal("{}: found {}, allowed: 1 to {}", name, size, kMostBlock);
  if (problem.depth == 0 || problem.depth > kTileColumns)
    return refusal("depth: found {}, allowed: 1 to {}", problem.depth, kTileColumns);
  if (problem.heads % problem.kv_heads != 0)
    return refusal("heads: found {}, allowed: a multiple of {}, the heads of K", problem.heads,
                   problem.kv_heads);
  if (problem.bias && plan.score != ScoreRule::scaled)
    return refusal("bias: found a mask, allowed: none where the plan's score rule is {}",
                   name_in(names::kScoreRule, plan.score));
  const bool dequantized = plan.score == ScoreRule::dequantized;
  for (const Instruction& one : {plan.qk, plan.pv})
    if (one.d != (dequantized && one == plan.qk ? Format::s32 : Format::f32) || one.c != one.d ||
        plan.block_k % static_cast<std::uint64_t>(one.k) != 0)
      return refusal("instruction: found {}, allowed: sums of f32, and a k that divides block_k = {}",
                     plan_words::words_of(one), plan.block_k);
  for (const Instruction& one : {plan.qk, plan.pv})
    if (!plan_words::is_scalar(one) && find_datapath(architecture, one) == nullptr)
      return refusal("instruction: found {}, allowed: an instruction of {}", name_of(one), architecture.name);
  if (plan.p_block != 0 &&
      (plan.p_block > kMostPBlock || plan.block_k % plan.p_block != 0 || plan.p != Format::e2m1 ||
       plan.pv != scalar_instruction(Format::f32, Format::f32)))
    return refusal("p_block: found {}, allowed: a divisor of block_k up to {}, with P in e2m1 and fma of f32",
                   plan.p_block, kMostPBlock);
  if (plan.order == KeyOrder::partial_first && (plan.splits != 1 || kMaskPiece % plan.block_k != 0))
    return refusal("order: found partial_first, allowed: with splits 1 and block_k a divisor of {}",
                   kMaskPiece);
  if (plan.score == ScoreRule::scaled_masked && plan.order != KeyOrder::partial_first)
    return refusal("score: found scaled_masked, allowed: with order partial_first");
  if (plan.qk.a != problem.type || plan.qk.b != problem.type ||
      plan.pv.b != (dequantized ? plan.p : problem.type) ||
      plan.pv.a != (plan.p_block != 0 ? Format::f32 : plan.p))
    return refusal("instruction: found {} and {}, allowed: operands of {}, and P of {}", name_of(plan.qk),
                   name_of(plan.pv), name_of(problem.type), name_of(plan.p));
  if (plan.output_sum == OutputSum::blocks && plan.division == OutputDivision::quotient)
    return refusal(
        "division: found quotient, allowed: reciprocal, approximate, since the last block's fma has it");
  const std::uint64_t step = plan.row_sum == RowSum::quads ? 16 : 8;
  if (plan.block_k % step != 0)
    return refusal("block_k: found {}, allowed: a multiple of {}", plan.block_k, step);
  return attention_rows::why_no_extras(problem, plan);
}

void attention_p(const AttentionPlan& plan, const float* p, std::uint64_t count, double* kept) {
  const PCast cast(plan);
  std::vector<std::byte> bits(count * cast.bytes());
  cast(p, bits.data(), count);
  const FastDecode decode(spec_of(plan.p_block != 0 ? Format::f32 : plan.p));
  for (std::uint64_t i = 0; i < count; ++i) kept[i] = decode.at(bits.data(), i);
}

void attention(const AttentionProblem& problem, const AttentionPlan& plan, const AttentionOperands& operands,
               const AttentionResult& result, unsigned threads, const Architecture& architecture) {
  const Strips strips(problem, plan, operands, result, architecture);
  detail::parallel_for(strips.count(), threads, [&](std::uint64_t index) { strips.run(index); });
}

}  // namespace mmaudit
