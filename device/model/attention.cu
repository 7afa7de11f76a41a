#define MMAUDIT_HARDWARE_FMA  // of binary32.hpp
#include "model/attention.hpp"

#include "check/load.cuh"
#include "mmaudit/convert.hpp"
#include "mmaudit/functions/lines.hpp"
#include "model/near_tables.cuh"
#include "run/cuda_check.hpp"

namespace mmaudit::device {
namespace {

using namespace attention_rows;

constexpr unsigned kThreads = 256, kLanes = 32;

/// In device memory: a constexpr table can't be indexed in device code.
__device__ const functions::FastUnit kFastUnit = {functions::kUnit, functions::folded_lines()};

template <typename Each>
__device__ void for_each(std::uint64_t count, const Each& each) {
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::uint64_t{gridDim.x} * kThreads)
    each(i);
}

__device__ std::uint64_t kv_head_of(const AttentionPart& part, std::uint64_t head) {
  return attention_rows::kv_head_of(head, part.heads, part.kv_heads);
}
__device__ float descale(const float* factors, std::uint64_t kv_head) {
  return factors == nullptr ? 1.0F : factors[kv_head];
}
__global__ void __launch_bounds__(kThreads) operands_kernel(const AttentionPart part) {
  const int bytes = part.type.storage_bits / 8;
  const std::uint64_t of_head = part.keys * part.depth;
  for_each(part.some_heads * of_head, [&](std::uint64_t at) {
    const std::uint64_t head = at / of_head, d = at % part.depth, key = at % of_head / part.depth;
    const std::uint64_t from = kv_head_of(part, part.first_head + head) * of_head + key * part.depth + d;
    store(part.columns, bytes, (head * part.depth + d) * part.keys + key, load(part.operands.k, bytes, from));
    const std::uint64_t slot = key / part.blocks.block_k, first = slot * part.blocks.block_k,
                        left = part.keys - first,
                        count = left < part.blocks.block_k ? left : part.blocks.block_k;
    store(part.v + slot * part.v_slot, bytes, (head * count + key - first) * part.depth + d,
          load(part.operands.v, bytes, from));
  });
}

/// P of a block beyond the last key is +0.
struct PaddedP {
  const float* p;
  std::uint64_t count;
  __device__ float operator[](std::uint64_t i) const { return i < count ? p[i] : 0.0F; }
};

/// A warp owns a row; its first lane adds P in the plan's order.
__global__ void __launch_bounds__(kThreads)
    softmax_kernel(const AttentionPart part, const std::uint64_t split) {
  __shared__ functions::FastUnit near;
  load_tables(near, kFastUnit);
  const unsigned lane = threadIdx.x % kLanes;
  const int type_bytes = part.type.storage_bits / 8, p_bytes = part.p_format.storage_bits / 8;
  const std::uint64_t all = part.all_rows();
  constexpr unsigned kWarps = kThreads / kLanes;
  for (std::uint64_t r = std::uint64_t{blockIdx.x} * kWarps + threadIdx.x / kLanes; r < all;
       r += std::uint64_t{gridDim.x} * kWarps) {
    const std::uint64_t head = part.first_head + r / part.rows, query = part.first_row + r % part.rows,
                        kv_head = kv_head_of(part, head);
    RowRule rule = part.rule;
    float of_qk =
        __fmul_rn(descale(part.operands.descale_q, kv_head), descale(part.operands.descale_k, kv_head));
    float* const scores = part.scores + r * part.keys;
    if (part.cap_factor != 0) {
      const float factor = __fmul_rn(part.cap_factor, of_qk);
      for (std::uint64_t key = lane; key < part.keys; key += kLanes)
        scores[key] = capped(scores[key], factor, near);
      __syncwarp();
      of_qk = 1;
    }
    rule.scale = __fmul_rn(rule.scale, of_qk), rule.scale2 = __fmul_rn(rule.scale2, of_qk);
    const functions::Id exponential = function_of(rule.exponential);
    const bool biased = part.operands.bias != nullptr;
    const std::uint64_t bias_row =
        (((part.operands.bias_batch == 1 ? 0 : head / part.heads) * part.operands.bias_heads +
          (part.operands.bias_heads == 1 ? 0 : head % part.heads)) *
             part.queries +
         query) *
        part.keys;
    const auto score_at = [&](ScoreRule score, std::uint64_t key) {
      const float bias = biased ? static_cast<float>(decode_value(
                                      load(part.operands.bias, type_bytes, bias_row + key), part.type))
                                : 0.0F;
      return prepared(score, scores[key], rule.scale, rule.scale2, biased, bias);
    };
    const Block row = within(part.mask.of(query), part.blocks.span());
    float old = kNoKey;
    RowTotal total;
    for (std::uint64_t b = 0; b < part.blocks.count; ++b) {
      const Block block = part.blocks.at(b), seen = within(row, block);
      const RowRule here = rule.of_block(part.blocks.is_whole(b));
      float rescale = 1;
      attention_rows::Operand operand{};
      if (seen.first < seen.last) {
        float most = kNoKey;
        for (std::uint64_t key = seen.first + lane; key < seen.last; key += kLanes) {
          const float x = score_at(here.score, key);
          most = x > most ? x : most;
        }
        for (unsigned other = kLanes / 2; other != 0; other /= 2) {
          const float theirs = __shfl_xor_sync(~0U, most, other);
          most = theirs > most ? theirs : most;
        }
        const Step step = step_of(here, most, old, near);
        rescale = step.rescale, old = step.now;
        operand = operand_of(here, step.base);
      }
      const std::uint64_t count = block.last - block.first;
      std::byte* const p = part.p + block.first / part.blocks.block_k * part.p_slot;
      for (std::uint64_t i = lane; i < count; i += kLanes) {
        const std::uint64_t key = block.first + i;
        float x = 0;
        if (key >= seen.first && key < seen.last)
          x = evaluated(exponential, operand.of(score_at(here.score, key)), near);
        scores[key] = x;
        const std::uint64_t bits = part.p_format.id == Format::f16 ? f16_of(x)
                                   : part.p_format.id == Format::bf16
                                       ? bf16_of(x)
                                       : encode_nearest_even(static_cast<double>(x), part.p_format, true);
        store(p, p_bytes, r * count + i, bits);
      }
      __syncwarp();
      if (lane != 0) continue;
      total.add(rule, PaddedP{scores + block.first, count}, part.blocks.block_k, rescale, b == 0);
      part.rescales[r * part.blocks.count + b] = rescale;
    }
    if (lane != 0) continue;
    RowEnd end{old, total.sum(rule)};
    if (part.operands.sinks != nullptr)
      end = with_sink(rule, end, part.operands.sinks[head % part.heads], near);
    part.factors[r] = __fmul_rn(factor_of(rule, end.sum, near), descale(part.operands.descale_v, kv_head));
    part.lse[split * all + r] = lse_of(rule, end.maximum, end.sum, part.splits > 1, near);
  }
}

__global__ void __launch_bounds__(kThreads)
    join_kernel(const AttentionPart part, const std::uint64_t split, const std::uint64_t b) {
  const std::uint64_t count = part.all_rows() * part.depth;
  for_each(count, [&](std::uint64_t at) {
    const std::uint64_t r = at / part.depth;
    const std::uint64_t strip = r % part.rows / kAttentionStrip * kAttentionStrip, left = part.rows - strip,
                        rows = left < kAttentionStrip ? left : kAttentionStrip;
    const Block blocks =
        part.blocks.seeing(part.mask.of_rows(part.first_row + strip, rows, part.blocks.span()));
    if (b < blocks.first || b >= blocks.last) return;
    const float* const rescales = part.rescales + r * part.blocks.count;
    const bool last = b + 1 == blocks.last;
    float& o = part.out[split * count + at];
    o = output_with(part.rule, part.product[at], o, rescales[b], part.factors[r], b > blocks.first, last);
    if (part.rule.output_sum == OutputSum::chain && !last)
      part.chain[at] = __fmul_rn(part.product[at], rescales[b + 1]);
  });
}

__global__ void __launch_bounds__(kThreads) combine_kernel(const AttentionPart part, float* lse) {
  __shared__ functions::FastUnit near;
  load_tables(near, kFastUnit);
  const std::uint64_t all = part.all_rows();
  for_each(all, [&](std::uint64_t r) {
    float parts[kMostCombineLanes];
    const float total = part.splits == 1 ? part.lse[r]
                                         : weigh(part.splits, part.combine_lanes, part.lse + r,
                                                 part.weights + r, all, parts, near);
    if (lse != nullptr) lse[part.first_head * part.queries + part.first_row + r] = total;
  });
}

__global__ void __launch_bounds__(kThreads) result_kernel(const AttentionPart part, void* o) {
  const std::uint64_t all = part.all_rows(), count = all * part.depth,
                      first = (part.first_head * part.queries + part.first_row) * part.depth;
  for_each(count, [&](std::uint64_t at) {
    float sum = part.splits == 1 ? part.out[at] : 0.0F;
    for (std::uint64_t s = 0; s < part.splits && part.splits > 1; ++s)
      sum = fused(part.weights[s * all + at / part.depth], part.out[s * count + at], sum);
    store(o, part.output.storage_bits / 8, first + at,
          encode_nearest_even(static_cast<double>(sum), part.output));
  });
}

}  // namespace

void launch_attention_operands(const AttentionPart& part, Stream stream) {
  operands_kernel<<<blocks_for(part.some_heads * part.keys * part.depth, kThreads), kThreads, 0, stream>>>(
      part);
  cuda_check(cudaGetLastError(), "starting attention's operands");
}

void launch_softmax(const AttentionPart& part, std::uint64_t split, Stream stream) {
  constexpr unsigned kMostBlocks = 2048;
  softmax_kernel<<<blocks_for(part.all_rows() * kLanes, kThreads, kMostBlocks), kThreads, 0, stream>>>(part,
                                                                                                       split);
  cuda_check(cudaGetLastError(), "starting attention's softmax");
}

void launch_join(const AttentionPart& part, std::uint64_t split, std::uint64_t b, Stream stream) {
  join_kernel<<<blocks_for(part.all_rows() * part.depth, kThreads), kThreads, 0, stream>>>(part, split, b);
  cuda_check(cudaGetLastError(), "starting attention's sums");
}

void launch_attention_result(const AttentionPart& part, void* o, float* lse, Stream stream) {
  combine_kernel<<<blocks_for(part.all_rows(), kThreads), kThreads, 0, stream>>>(part, lse);
  result_kernel<<<blocks_for(part.all_rows() * part.depth, kThreads), kThreads, 0, stream>>>(part, o);
  cuda_check(cudaGetLastError(), "starting attention's result");
}

void clear(void* data, std::uint64_t bytes, Stream stream) {
  cuda_check(cudaMemsetAsync(data, 0, bytes, stream), "clearing sums");
}

}  // namespace mmaudit::device
