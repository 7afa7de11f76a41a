#include "model/attention.hpp"

#include <algorithm>

#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/gemm_plan.hpp"
#include "mmaudit/refusal.hpp"
#include "model/arena.hpp"

namespace mmaudit::device {
namespace {

using attention_rows::Block;
using attention_rows::BlockOrder;
using ::mmaudit::detail::quotient_up;

/// Scores that a part has room for: 256 MiB.
constexpr std::uint64_t kScores = std::uint64_t{1} << 26;

}  // namespace

DeviceAttention::DeviceAttention(const AttentionProblem& problem, const AttentionPlan& plan,
                                 const Architecture& architecture)
    : problem_(problem),
      plan_(plan),
      qk_(find_datapath(architecture, plan.qk)->datapath),
      pv_(find_datapath(architecture, plan.pv)->datapath) {
  const std::uint64_t rows = std::max<std::uint64_t>(1, kScores / problem.keys),
                      strips = std::max<std::uint64_t>(1, rows / kAttentionStrip);
  // The order of partial_first is a strip's own.
  rows_ = std::min(problem.queries,
                   plan.order == KeyOrder::partial_first ? kAttentionStrip : strips * kAttentionStrip);
  heads_ = rows_ < problem.queries
               ? 1
               : std::clamp<std::uint64_t>(rows / problem.queries, 1, problem.batch * problem.heads);
}

std::string DeviceAttention::why_not(const AttentionPlan& plan) {
  for (const Instruction& one : {plan.qk, plan.pv})
    if (one.d != Format::f32 || one == scalar_instruction(one.a, one.b))
      return refusal(
          "plan: found products of {} with sums of {}, allowed: tensor cores' sums of f32 on a GPU",
          name_of(one.a), name_of(one.d));
  if (plan.combine_lanes > kMostCombineLanes)
    return refusal("combine_lanes: found {}, allowed: at most {} on a GPU", plan.combine_lanes,
                   kMostCombineLanes);
  return {};
}

AttentionPart DeviceAttention::part_of(std::uint64_t heads, std::uint64_t rows, void* base,
                                       std::uint64_t* used, void** products) const {
  const BlockOrder blocks(plan_, problem_.keys, 0);
  AttentionPart part{.rule = attention_rows::rule_of(plan_, problem_),
                     .mask = attention_rows::KeyMask(problem_),
                     .blocks = blocks,
                     .type = spec_of(problem_.type),
                     .p_format = spec_of(plan_.p),
                     .output = spec_of(plan_.output),
                     .operands = {},
                     .queries = problem_.queries,
                     .keys = problem_.keys,
                     .depth = problem_.depth,
                     .heads = problem_.heads,
                     .kv_heads = problem_.kv_heads,
                     .splits = plan_.splits,
                     .combine_lanes = plan_.combine_lanes,
                     .cap_factor = problem_.softcap == 0 ? 0 : attention_rows::cap_factor_of(problem_)};
  part.some_heads = heads, part.rows = rows;
  const std::uint64_t all = part.all_rows(), bytes = part.type.storage_bytes(),
                      slots = quotient_up(part.keys, plan_.block_k), floats = sizeof(float),
                      of_slot = std::min(plan_.block_k, part.keys);
  part.p_slot = padded(all * of_slot * part.p_format.storage_bytes(), Arena::kAligned);
  part.v_slot = padded(heads * of_slot * part.depth * bytes, Arena::kAligned);
  Arena arena(base);
  part.columns = arena.take<std::byte>(heads * part.keys * part.depth * bytes);
  part.v = arena.take<std::byte>(slots * part.v_slot);
  part.scores = arena.take<float>(all * part.keys * floats);
  part.p = arena.take<std::byte>(slots * part.p_slot);
  part.rescales = arena.take<float>(all * blocks.count * floats);
  part.factors = arena.take<float>(all * floats);
  part.chain = arena.take<float>(all * part.depth * floats);
  part.product = arena.take<float>(all * part.depth * floats);
  part.out = arena.take<float>(plan_.splits * all * part.depth * floats);
  part.lse = arena.take<float>(plan_.splits * all * floats);
  part.weights = arena.take<float>(plan_.splits * all * floats);
  std::uint64_t space = scores_of(part).workspace();
  for (const std::uint64_t count : {of_slot, part.keys % plan_.block_k})
    if (count != 0) space = std::max(space, block_of(part, {0, count}).workspace());
  *products = arena.take<std::byte>(space);
  *used = arena.used();
  return part;
}

std::uint64_t DeviceAttention::workspace() const {
  std::uint64_t used = 0;
  void* products = nullptr;
  static_cast<void>(part_of(heads_, rows_, nullptr, &used, &products));
  return used;
}

DeviceProduct DeviceAttention::scores_of(const AttentionPart& part) const {
  Matmul x;
  x.batch = part.some_heads, x.m = part.rows, x.n = part.keys, x.k = part.depth;
  if (part.operands.q != nullptr)
    x.a = static_cast<const std::byte*>(part.operands.q) +
          (part.first_head * part.queries + part.first_row) * part.depth * part.type.storage_bytes();
  x.b = part.columns;
  x.d = part.scores;
  return {plan_.qk, qk_, x, {}, DeviceModel::fast};
}

DeviceProduct DeviceAttention::block_of(const AttentionPart& part, Block keys) const {
  const std::uint64_t slot = keys.first / plan_.block_k;
  Matmul x;
  x.batch = part.some_heads, x.m = part.rows, x.n = part.depth, x.k = keys.last - keys.first;
  if (part.p != nullptr) x.a = part.p + slot * part.p_slot, x.b = part.v + slot * part.v_slot;
  x.c = plan_.output_sum == OutputSum::chain ? part.chain : nullptr;
  x.d = part.product;
  return {plan_.pv, pv_, x, {}, DeviceModel::fast};
}

void DeviceAttention::run(AttentionPart part, const AttentionResult& result, void* products,
                          Stream stream) const {
  const std::uint64_t o_bytes = part.all_rows() * part.depth * sizeof(float);
  launch_attention_operands(part, stream);
  scores_of(part).launch(products, stream);
  clear(part.out, plan_.splits * o_bytes, stream);
  for (std::uint64_t split = 0; split < plan_.splits; ++split) {
    part.blocks = BlockOrder(plan_, part.keys, split, part.mask, part.first_row, part.rows);
    launch_softmax(part, split, stream);
    const Block numbers =
        part.blocks.seeing(part.mask.of_rows(part.first_row, part.rows, part.blocks.span()));
    if (numbers.first < numbers.last) clear(part.chain, o_bytes, stream);
    for (std::uint64_t b = numbers.first; b < numbers.last; ++b) {
      block_of(part, part.blocks.at(b)).launch(products, stream);
      launch_join(part, split, b, stream);
    }
  }
  launch_attention_result(part, result.o, result.lse, stream);
}

void DeviceAttention::launch(const AttentionOperands& operands, const AttentionResult& result,
                             void* workspace, Stream stream) const {
  const std::uint64_t all = problem_.batch * problem_.heads;
  for (std::uint64_t head = 0; head < all; head += heads_)
    for (std::uint64_t row = 0; row < problem_.queries; row += rows_) {
      std::uint64_t used = 0;
      void* products = nullptr;
      AttentionPart part = part_of(std::min(heads_, all - head), std::min(rows_, problem_.queries - row),
                                   workspace, &used, &products);
      part.operands = operands;
      part.first_head = head, part.first_row = row;
      run(part, result, products, stream);
    }
}

}  // namespace mmaudit::device
