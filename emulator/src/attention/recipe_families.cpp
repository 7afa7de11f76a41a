#include "attention/recipe_families.hpp"

#include "mmaudit/gemm_plan.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {

using Found = std::optional<AttentionPlan>;

/// csrc/qattn/qk_int_sv_f8_cuda_sm90.cu, "fp32+fp32", compiled with --use_fast_math.
Found sage_plan(const AttentionProblem& problem, std::string* why) {
  constexpr std::uint64_t kMost = 128;
  AttentionPlan plan;
  if (problem.type != Format::s8)
    *why = refusal("type: found {}, allowed: s8", name_of(problem.type));
  else if (problem.depth > kMost)
    *why = refusal("depth: found {}, allowed: 1 to {}", problem.depth, kMost);
  else if (problem.bias)
    *why = refusal("mask: found one, allowed: causal alone with sageattention");
  else if (problem.causal != Causal::none && problem.queries != problem.keys)
    *why = refusal("causal: found {} queries and {} keys, allowed: equal numbers with sageattention",
                   problem.queries, problem.keys);
  if (!why->empty()) return std::nullopt;
  plan.qk = *find_instruction("wgmma.m64n64k32.s32.s8.s8");
  plan.pv = *find_instruction("wgmma.m64n64k32.f32.e4m3.e4m3");
  plan.block_q = 64;
  plan.score = ScoreRule::dequantized;
  plan.log2e = Log2eRule::binary32;
  plan.exponential = Exponential::ex2_ftz;
  plan.p = Format::e4m3;
  plan.row_sum = RowSum::quads;
  plan.join = LaneJoin::neighbours;
  plan.output_sum = OutputSum::two_level;
  plan.division = OutputDivision::approximate;
  plan.lse = LseRule::log2_sum;
  plan.output = Format::bf16;
  return plan;
}

/// _attn_fwd() of modelopt/torch/kernels/common/attention/triton_fa.py with P and V in NVFP4: products of
/// binary32 ("ieee"). The order of a block's row sum is Triton's, and a guess here.
Found modelopt_plan(const AttentionProblem& problem, std::string* why) {
  if (problem.type != Format::f32)
    *why = refusal("type: found {}, allowed: f32", name_of(problem.type));
  else if (problem.bias)
    *why = refusal("mask: found one, allowed: causal alone with modelopt");
  else if (problem.causal == Causal::top_left && problem.queries != problem.keys)
    *why = refusal("causal: found top_left with {} queries and {} keys, allowed: bottom_right with modelopt",
                   problem.queries, problem.keys);
  if (!why->empty()) return std::nullopt;
  AttentionPlan plan;
  plan.qk = plan.pv = scalar_instruction(Format::f32, Format::f32);
  plan.block_k = 32;
  plan.score = ScoreRule::scaled_once;
  plan.log2e = Log2eRule::once;  // a product of Python's numbers
  plan.exponential = Exponential::ex2_ftz;
  plan.p = Format::e2m1;
  plan.p_block = 16;
  plan.row_sum = RowSum::joined;
  plan.division = OutputDivision::quotient;
  plan.lse = LseRule::log2_sum;
  plan.output = Format::bf16;
  return plan;
}

}  // namespace mmaudit
