// Which plan a problem takes: the rules of dispatch of torch's kernels, and what their names say.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <span>

#include "attention/recipe_families.hpp"
#include "mmaudit/attention.hpp"
#include "mmaudit/detail/quotient_up.hpp"
#include "mmaudit/refusal.hpp"

namespace mmaudit {
namespace {

using detail::quotient_up;
using Found = std::optional<AttentionPlan>;

constexpr std::uint64_t kMultiprocessors = 132;  // of an H100 or H200
constexpr std::uint64_t kMostDepth = 256;
constexpr std::array kNarrow{Format::f16, Format::bf16};

Instruction mma_of(Format type, int k) {
  const std::string_view name = name_of(type);
  return *find_instruction(with_values("mma.m16n8k{}.f32.{}.{}.f32", {k, name, name}));
}

bool is_narrow(Format type) { return type == Format::f16 || type == Format::bf16; }

std::string why_not(const AttentionProblem& problem) {
  if (!is_narrow(problem.type))
    return refusal("type: found {}, allowed: {}", name_of(problem.type), names_of(kNarrow));
  if (problem.depth > kMostDepth)
    return refusal("depth: found {}, allowed: 1 to {}", problem.depth, kMostDepth);
  return {};
}

/// Flash kernels have the bottom right corner alone: check_flash_causal_non_square_seqlens() of torch's
/// sdp_utils.cpp, mask.h of hopper/, mask.py of flash_attn/cute.
std::string why_no_flash(const AttentionProblem& problem, std::span<const Format> types) {
  if (std::find(types.begin(), types.end(), problem.type) == types.end())
    return refusal("type: found {}, allowed: {}", name_of(problem.type), names_of(types));
  if (problem.causal != Causal::top_left || problem.queries == problem.keys) return {};
  return refusal(
      "causal: found top_left with {} queries and {} keys, allowed: bottom_right, or equal numbers, with "
      "flash kernels",
      problem.queries, problem.keys);
}

AttentionPlan flash_base(Format type) {
  AttentionPlan plan;
  plan.qk = plan.pv = mma_of(type, 16);
  plan.order = KeyOrder::descending;
  plan.p = plan.output = type;
  return plan;
}

/// num_splits_heuristic() of flash_api.cpp.
std::uint64_t flash_splits(std::uint64_t tiles, std::uint64_t blocks) {
  constexpr std::uint64_t kMost = 128, kPlaces = 2 * kMultiprocessors;
  if (static_cast<float>(tiles) >= 0.8F * static_cast<float>(kPlaces)) return 1;
  const std::uint64_t most = std::min({kMost, kPlaces, blocks});
  const auto eligible = [&](std::uint64_t splits) {
    return splits == 1 || quotient_up(blocks, splits) != quotient_up(blocks, splits - 1);
  };
  const auto efficiency = [&](std::uint64_t splits) {
    const float waves = static_cast<float>(tiles * splits) / static_cast<float>(kPlaces);
    return waves / std::ceil(waves);
  };
  float best = 0;
  for (std::uint64_t splits = 1; splits <= most; ++splits)
    if (eligible(splits)) best = std::max(best, efficiency(splits));
  for (std::uint64_t splits = 1; splits <= most; ++splits)
    if (eligible(splits) && efficiency(splits) >= 0.85F * best) return splits;
  return 1;
}

std::uint64_t flash_split_keys(std::uint64_t depth) { return depth <= 64 ? 256 : depth <= 128 ? 128 : 64; }

std::uint64_t flash_splits_of(const AttentionProblem& problem) {
  // One query of grouped heads: a group's heads become rows of one tile.
  const bool swapped =
      problem.queries == 1 && problem.heads > problem.kv_heads && !problem.left && !problem.right;
  const std::uint64_t rows = swapped ? problem.heads / problem.kv_heads : problem.queries,
                      heads = swapped ? problem.kv_heads : problem.heads;
  return flash_splits(problem.batch * heads * quotient_up(rows, 64),
                      quotient_up(problem.keys, flash_split_keys(problem.depth)));
}

/// HEADDIM_SWITCH of static_switch.h.
std::uint64_t flash_kernel_depth(std::uint64_t depth) {
  return depth <= 128 ? quotient_up(depth, 32) * 32 : depth <= 192 ? 192 : 256;
}

/// Of a split plan: the splits, and the threads that share a row's in combine_attn_seqk_parallel().
void split_flash(const AttentionProblem& problem, AttentionPlan& plan) {
  if (problem.packed != 0)
    return;  // mha_varlen_fwd() splits one query of grouped heads alone, which is refused
  plan.splits = flash_splits_of(problem);
  if (plan.splits == 1) return;
  constexpr std::uint64_t kThreads = 128;
  const std::uint64_t depth = flash_kernel_depth(problem.depth), rows = depth % 128 == 0  ? 4
                                                                        : depth % 64 == 0 ? 8
                                                                                          : 16;
  plan.combine_lanes = std::min(kThreads / rows, std::bit_ceil(plan.splits));
}

/// run_mha_fwd_hdim*() of flash_fwd_launch_template.h, of capability 9.0 without dropout.
Found flash_plan(const AttentionProblem& problem, std::string* why) {
  if (*why = why_not(problem); !why->empty()) return std::nullopt;
  if (problem.bias) {
    *why = refusal("bias: found a mask, allowed: none with torch-flash (torch-efficient takes masks)");
    return std::nullopt;
  }
  if (*why = why_no_flash(problem, kNarrow); !why->empty()) return std::nullopt;
  if (problem.packed == 1 && problem.heads > problem.kv_heads) {
    *why = refusal(
        "cu_seqlens: found 1 query at most of grouped heads, allowed: a sequence of 2, or as many heads of "
        "K");
    return std::nullopt;
  }
  AttentionPlan plan = flash_base(problem.type);
  split_flash(problem, plan);
  const std::uint64_t depth = problem.depth;
  plan.block_q = depth > 192 || plan.splits > 1 ? 64 : 128;
  plan.block_k = depth <= 64 ? 128 : 64;
  if (plan.splits > 1) plan.block_k = flash_split_keys(depth);
  return plan;
}

AttentionPlan efficient_base(Format type, std::uint64_t queries, std::uint64_t keys, bool in_registers) {
  AttentionPlan plan;
  plan.qk = plan.pv = mma_of(type, 8);
  plan.block_q = queries;
  plan.block_k = keys;
  plan.score = ScoreRule::scaled;
  plan.row_sum = RowSum::warps;
  plan.join = LaneJoin::neighbours;
  plan.output_sum = in_registers ? OutputSum::chain : OutputSum::blocks;
  plan.lse = LseRule::log_scaled;
  plan.p = plan.output = type;
  return plan;
}

/// A tile of queries that sees no key runs no block, and what would write O is part of the last block.
std::string why_unwritten(const AttentionProblem& problem, const AttentionPlan& plan) {
  const bool unseen =
      problem.causal == Causal::bottom_right && plan.block_q + problem.keys <= problem.queries;
  return !unseen ? ""
                 : refusal(
                       "queries: found {}, allowed: fewer than {} more than the keys: the kernel leaves rows "
                       "of tiles without a key unwritten",
                       problem.queries, plan.block_q);
}

/// The kernels of mem_eff_attention/kernels/cutlassF.h in their order: the first whose depth suffices.
Found efficient_plan(const AttentionProblem& problem, std::string* why) {
  if (*why = why_not(problem); !why->empty()) return std::nullopt;
  if (problem.heads != problem.kv_heads) {
    *why = refusal("kv_heads: found {}, allowed: {}, as many as Q has, with torch-efficient",
                   problem.kv_heads, problem.heads);
    return std::nullopt;
  }
  AttentionPlan plan = problem.depth <= 64    ? efficient_base(problem.type, 64, 64, true)
                       : problem.depth <= 128 ? efficient_base(problem.type, 64, 128, true)
                                              : efficient_base(problem.type, 32, 128, false);
  if (*why = why_unwritten(problem, plan); !why->empty()) return std::nullopt;
  return plan;
}

AttentionPlan cudnn_base(Format type, std::uint64_t keys) {
  AttentionPlan plan;
  const std::string_view name = name_of(type);
  plan.qk = plan.pv = *find_instruction(with_values("wgmma.m64n64k16.f32.{}.{}", {name, name}));
  plan.block_q = 64;
  plan.block_k = keys;
  plan.score = ScoreRule::scaled_once;
  plan.log2e = Log2eRule::binary32;
  plan.exponential = Exponential::ex2;
  plan.row_sum = RowSum::block_lanes;
  plan.join = LaneJoin::neighbours;
  plan.division = OutputDivision::approximate;
  plan.lse = LseRule::log2_sum;
  plan.p = plan.output = type;
  return plan;
}

/// The kernels of sm80, which one query takes. Where warps share a tile's keys (1x4x1), PV has a chain per
/// warp, and no one order of the warps' row sums gives every lse that was recorded.
AttentionPlan cudnn_sm80(Format type, std::uint64_t keys) {
  AttentionPlan plan = cudnn_base(type, keys);
  plan.qk = plan.pv = mma_of(type, 16);
  plan.score = ScoreRule::scaled;
  plan.log2e = Log2eRule::binary64;
  plan.lse = LseRule::log2_first;
  return plan;
}

/// The lower right corner of unequal lengths is one, too: CausalBias of torch/nn/attention/bias.py.
bool masked_for_cudnn(const AttentionProblem& problem) {
  return problem.bias || (problem.causal == Causal::bottom_right && problem.queries != problem.keys);
}

Found cudnn_plan(const AttentionProblem& problem, std::string* why) {
  if (*why = why_not(problem); !why->empty()) return std::nullopt;
  constexpr std::uint64_t kKeys = 128, kOneQueryKeys = 64, kMostOfOneQuery = 256;
  if (masked_for_cudnn(problem) || problem.heads != problem.kv_heads)
    *why = refusal("problem: found a mask, uneven bottom_right or grouped heads by cuDNN, allowed: none");
  else if (problem.queries == 1 && problem.keys > kMostOfOneQuery)
    *why = refusal("keys: found {}, allowed: up to {} with one query, beyond which warps share a tile's keys",
                   problem.keys, kMostOfOneQuery);
  else
    return problem.queries > 1 ? cudnn_base(problem.type, kKeys) : cudnn_sm80(problem.type, kOneQueryKeys);
  return std::nullopt;
}

Instruction fp8_of(std::string_view form, Format type) {
  const std::string_view name = name_of(type);
  return *find_instruction(with_values(form, {name, name}));
}

bool is_fp8(Format type) { return type == Format::e4m3 || type == Format::e5m2; }

/// tile_size_fwd_sm90() of hopper/tile_size.h, without paged keys. A window of keys to the left or the right
/// makes is_local; softcap matters to windows alone.
std::uint64_t fa3_keys(const AttentionProblem& problem) {
  const std::uint64_t depth = problem.depth;
  const bool only_right = problem.causal == Causal::none && !problem.left && problem.right == 0U;
  const bool local = (problem.left || problem.right) && !only_right, capped = local && problem.softcap != 0;
  const bool masked = local || only_right || problem.causal != Causal::none;
  if (is_fp8(problem.type)) {
    if (depth <= 96) return depth <= 64 ? 160 : 128;
    if (depth <= 192) return depth <= 128 ? (capped ? 192 : 224) : (capped ? 128 : 160);
    return local ? 64 : 128;
  }
  if (depth <= 64) return masked ? 128 : 192;
  if (depth <= 96) return local ? 128 : 144;
  if (depth <= 128) return masked ? 128 : 176;
  return depth <= 192 ? (local ? 96 : 112) : (local ? 64 : 80);
}

/// hopper/softmax.h; FP8 with Max_offset 8. Compiled with --use_fast_math (setup.py).
Found fa3_plan(const AttentionProblem& problem, std::string* why) {
  constexpr std::array kTypes{Format::f16, Format::bf16, Format::e4m3};
  if (*why = why_no_flash(problem, kTypes); !why->empty()) return std::nullopt;
  AttentionPlan plan;
  const bool fp8 = is_fp8(problem.type);
  plan.qk = plan.pv = fp8_of(fp8 ? "wgmma.m64n64k32.f32.{}.{}" : "wgmma.m64n64k16.f32.{}.{}", problem.type);
  plan.block_k = fa3_keys(problem);
  plan.order = KeyOrder::descending;
  plan.score = ScoreRule::fused;
  plan.exponential = Exponential::ex2_ftz;
  plan.offset = fp8 ? 8 : 0;
  plan.division = OutputDivision::approximate;
  plan.p = problem.type;
  plan.output = fp8 ? Format::bf16 : problem.type;
  return plan;
}

/// flash_attn/cute/flash_fwd_sm100.py and softmax.py: threshold 8 of 16 bits; of FP8 offset 8 and no
/// threshold.
Found fa4_plan(const AttentionProblem& problem, std::string* why) {
  constexpr std::array kTypes{Format::f16, Format::bf16, Format::e4m3, Format::e5m2};
  if (*why = why_no_flash(problem, kTypes); !why->empty()) return std::nullopt;
  AttentionPlan plan;
  const bool fp8 = is_fp8(problem.type);
  plan.qk = plan.pv =
      fp8_of(fp8 ? "tcgen05.m128n64k32.kind_f8f6f4.f32.{}.{}" : "tcgen05.m128n64k16.kind_f16.f32.{}.{}",
             problem.type);
  plan.order = KeyOrder::descending;
  plan.score = ScoreRule::fused;
  plan.exponential = Exponential::ex2_ftz;
  plan.offset = fp8 ? 8 : 0;
  plan.threshold = fp8 ? 0 : 8;
  plan.row_sum = RowSum::eighths;
  plan.division = OutputDivision::approximate;
  plan.p = problem.type;
  plan.output = fp8 ? Format::bf16 : problem.type;
  return plan;
}

constexpr AttentionFamily kFamilies[] = {
    {"torch-flash", "flash_fwd_kernel, flash_fwd_splitkv_kernel", "f16, bf16",
     "flash_fwd_kernel.h, softmax.h, flash_fwd_launch_template.h", "recorded on an H200, torch 2.11",
     "hopper", "window, cu_seqlens", flash_plan},
    {"torch-efficient", "fmha_cutlassF_*", "f16, bf16", "kernel_forward.h, epilogue_rescale_output.h",
     "recorded on an H200, torch 2.11", "hopper", "", efficient_plan},
    {"torch-cudnn", "cudnn_generated_fort_native_sdpa_sm90_*, sm80_*", "f16, bf16",
     "none: found from recordings", "recorded on an H200, torch 2.11", "hopper", "", cudnn_plan},
    {"fa3", "flash::FlashAttnFwdSm90", "f16, bf16, e4m3", "flash-attention: hopper/softmax.h, tile_size.h",
     "literature", "hopper", "window, softcap, cu_seqlens", fa3_plan},
    {"fa4", "FlashAttentionForwardSm100", "f16, bf16, e4m3, e5m2",
     "flash-attention: flash_attn/cute/flash_fwd_sm100.py, softmax.py", "literature", "blackwell",
     "window, sinks, cu_seqlens", fa4_plan},
    {"sageattention", "qk_int8_sv_f8_attn_kernel", "s8, of its recipes alone",
     "SageAttention d1a57a5: csrc/qattn/qk_int_sv_f8_cuda_sm90.cu, attn_utils.cuh", "literature", "hopper",
     "", sage_plan},
    {"modelopt", "_attn_fwd", "f32, of its recipe", "Model-Optimizer a2fbac7: triton_fa.py, bmm2_qdq.py",
     "literature", "hopper", "", modelopt_plan},
};

/// What a problem has and a kernel does not take, by name.
std::string why_not_taken(const AttentionProblem& problem, std::string_view family, std::string_view takes) {
  for (const auto& [has, word] : {std::pair{problem.softcap != 0, std::string_view("softcap")},
                                  {problem.sinks, "sinks"},
                                  {problem.left || problem.right, "window"},
                                  {problem.packed != 0, "cu_seqlens"}}) {
    if (!has || takes.find(word) != std::string_view::npos) continue;
    std::vector<std::string_view> others;
    for (const AttentionFamily& one : kFamilies)
      if (one.takes.find(word) != std::string_view::npos) others.push_back(one.name);
    return refusal("{}: found it with {}, allowed: {}, or a plan of your own", word, family,
                   names_of(others));
  }
  return {};
}

/// The numbers behind `before` in a name: "<64, 128, 128, 4" or "64x128".
std::vector<std::uint64_t> numbers_behind(std::string_view name, std::string_view before,
                                          std::string_view between) {
  std::vector<std::uint64_t> out;
  const std::size_t at = name.find(before);
  if (at == std::string_view::npos) return out;
  const char* next = name.data() + at + before.size();
  const char* const end = name.data() + name.size();
  for (;;) {
    std::uint64_t value = 0;
    const auto found = std::from_chars(next, end, value);
    if (found.ec != std::errc{}) return out;
    out.push_back(value);
    next = found.ptr;
    if (static_cast<std::size_t>(end - next) < between.size() ||
        std::string_view(next, between.size()) != between)
      return out;
    next += between.size();
  }
}

bool has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

Found plan_of_name(const AttentionProblem& problem, std::string_view name) {
  if (has(name, "flash_fwd_kernel") || has(name, "flash_fwd_splitkv_kernel")) {
    const auto sizes = numbers_behind(name, "kernel_traits<", ", ");
    if (sizes.size() < 3) return std::nullopt;
    AttentionPlan plan = flash_base(problem.type);
    plan.block_q = sizes[1], plan.block_k = sizes[2];
    if (has(name, "splitkv")) split_flash(problem, plan);
    return plan;
  }
  if (has(name, "fmha_cutlassF")) {
    auto sizes = numbers_behind(name, "aligned_", "x");
    if (sizes.size() != 2) return std::nullopt;
    AttentionPlan plan = efficient_base(problem.type, sizes[0], sizes[1], has(name, "_rf"));
    return why_unwritten(problem, plan).empty() ? std::optional(plan) : std::nullopt;
  }
  const bool sm80 = has(name, "_sdpa_sm80_flash_fprop_wmma") && has(name, "_4x1x1_");
  if ((sm80 || has(name, "_sdpa_sm90_flash_fprop_wgmma")) && !masked_for_cudnn(problem))
    if (const auto tile = numbers_behind(name, "_64x", "x"); !tile.empty())
      return (sm80 ? cudnn_sm80 : cudnn_base)(problem.type, tile[0]);
  return std::nullopt;
}

}  // namespace

std::span<const AttentionFamily> attention_families() { return kFamilies; }
const AttentionFamily* find_attention_family(std::string_view name) { return find_named(kFamilies, name); }

Found attention_plan_of(std::string_view family, const AttentionProblem& problem, std::string* why) {
  const AttentionFamily* found = find_attention_family(family);
  std::string unused;
  if (why == nullptr) why = &unused;
  if (found == nullptr) {
    std::vector<std::string_view> names;
    for (const AttentionFamily& one : kFamilies) names.push_back(one.name);
    const bool recipe = find_attention_recipe(family) != nullptr;  // what converts takes it, others do not
    for (const AttentionRecipe& one : attention_recipes())
      if (!recipe) names.push_back(one.name);
    *why = refusal("like: found {}{}, allowed: {}", family, recipe ? ", a recipe" : "", names_of(names));
    return std::nullopt;
  }
  if (*why = why_not_taken(problem, found->name, found->takes); !why->empty()) return std::nullopt;
  return found->plan(problem, why);
}

Found attention_plan_of(const AttentionProblem& problem, const std::vector<std::string>& kernels,
                        std::string* why) {
  std::string unused;
  if (why == nullptr) why = &unused;
  if (*why = why_not(problem); !why->empty()) return std::nullopt;
  if (*why = why_not_taken(problem, "names of kernels", "window, cu_seqlens"); !why->empty())
    return std::nullopt;
  for (const std::string& name : kernels)
    if (const Found plan = plan_of_name(problem, name)) return plan;
  *why = refusal("kernels: found {}, allowed: kernels of docs/attention.md",
                 kernels.empty() ? "none" : kernels[0]);
  return std::nullopt;
}

}  // namespace mmaudit
