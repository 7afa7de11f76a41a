// Plans of attention: words and back, dispatch, masks, threads, and the sums of one row against a second
// computation. Bits of the GPU: emulator/python/tests/test_attention.py.
#include "mmaudit/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit {
namespace {

AttentionProblem problem_of(std::uint64_t queries, std::uint64_t keys, std::uint64_t depth) {
  AttentionProblem x;
  x.heads = x.kv_heads = 2;
  x.queries = queries, x.keys = keys, x.depth = depth;
  return x;
}

std::vector<std::byte> numbers(std::uint64_t count, std::uint64_t seed) {
  std::vector<std::byte> out(count * 2);
  const PlacedDraws draws(seed);
  for (std::uint64_t i = 0; i < count; ++i)
    store_word(out.data(), 2, i, encode_nearest_even(6 * draws.uniform(i) - 3, spec_of(Format::f16)));
  return out;
}

TEST(AttentionPlan, WordsSayThePlan) {
  std::string why;
  for (const AttentionFamily& family : attention_families())
    for (const std::uint64_t depth : {32, 64, 96, 128, 200, 256})
      for (const std::uint64_t queries : {7, 300}) {
        AttentionProblem x = problem_of(queries, 3000, depth);
        if (family.name == "sageattention") x.type = Format::s8, x.depth = depth / 2;
        if (family.name == "modelopt") x.type = Format::f32;
        const auto plan = attention_plan_of(family.name, x, &why);
        ASSERT_TRUE(plan) << family.name << ' ' << why;
        EXPECT_EQ(attention_plan_in(text_of(*plan)), plan) << text_of(*plan);
        AttentionPlan other = *plan;
        other.splits += 3;
        EXPECT_EQ(change_of(*plan, other),
                  "splits " + std::to_string(plan->splits) + " -> " + std::to_string(other.splits));
      }
  EXPECT_FALSE(attention_plan_in("qk mma.m16n8k16.f32.f16.f16.f32, pv mma.m16n8k16.f32.f16.f16.f32, tile 3"));
  EXPECT_FALSE(attention_plan_in(""));
}

TEST(AttentionPlan, SizesDecideTheSplitsOfFlash) {
  std::string why;
  // flash_api.cpp: 256 keys per block at depth 64; 264 places for tiles.
  EXPECT_EQ(attention_plan_of("torch-flash", problem_of(100, 300, 64), &why)->splits, 2U);
  EXPECT_EQ(attention_plan_of("torch-flash", problem_of(100, 256, 64), &why)->splits, 1U);
  AttentionProblem many = problem_of(4096, 4096, 64);
  many.heads = many.kv_heads = 32;
  EXPECT_EQ(attention_plan_of("torch-flash", many, &why)->splits, 1U);
  EXPECT_EQ(attention_plan_of("torch-flash", many, &why)->block_k, 128U);
}

TEST(AttentionPlan, NamesOfKernelsSayTheBlocks) {
  std::string why;
  const AttentionProblem x = problem_of(500, 500, 100);
  const auto blocks = [&](const std::string& name) {
    const auto plan = attention_plan_of(x, {name}, &why);
    return plan ? std::pair(plan->block_q, plan->block_k) : std::pair<std::uint64_t, std::uint64_t>{0, 0};
  };
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(blocks("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false>"),
            Pair(128, 64));
  EXPECT_EQ(blocks("fmha_cutlassF_f16_aligned_64x128_rf_sm80(...)"), Pair(64, 128));
  EXPECT_EQ(blocks("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1"),
            Pair(64, 128));
  for (const char* unknown :
       {"", "sgemm", "fmha_cutlassF_f16", "flash_fwd_kernel<x>", "cudnn_sdpa_sm90_flash_fprop_wgmma",
        "cudnn_generated_fort_native_sdpa_sm80_flash_fprop_wmma_f16_knob_3_64x64x64"})  // no warps
    EXPECT_EQ(blocks(unknown), Pair(0, 0)) << unknown;
  EXPECT_NE(why.find("kernels: found cudnn"), std::string::npos) << why;
  AttentionProblem wide = x;
  wide.type = Format::f32;
  EXPECT_FALSE(attention_plan_of(wide, {"fmha_cutlassF_f32_aligned_64x64_rf_sm80"}, &why));
  EXPECT_EQ(why, "type: found f32, allowed: f16, bf16");
}

TEST(Attention, MasksOfRows) {
  AttentionProblem x = problem_of(4, 6, 8);
  using Pair = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(keys_of_row(x, 3), Pair(0, 6));
  x.causal = Causal::top_left;
  EXPECT_EQ(keys_of_row(x, 1), Pair(0, 2));
  x.causal = Causal::bottom_right;
  EXPECT_EQ(keys_of_row(x, 1), Pair(0, 4));
  x.left = 1;
  EXPECT_EQ(keys_of_row(x, 1), Pair(2, 4));
  x = problem_of(6, 2, 8);
  x.causal = Causal::bottom_right;
  EXPECT_EQ(keys_of_row(x, 0), Pair(0, 0));
  EXPECT_EQ(keys_of_row(x, 5), Pair(0, 2));
}

TEST(Attention, NoNumberOfThreadsChangesABit) {
  const AttentionProblem x = problem_of(300, 200, 40);
  const std::vector<std::byte> q = numbers(24000, 1), k = numbers(16000, 2), v = numbers(16000, 3);
  std::string why;
  for (const AttentionFamily& family : attention_families()) {
    if (!family.types.starts_with("f16")) continue;  // what recipes alone take
    const auto plan = attention_plan_of(family.name, x, &why);
    ASSERT_TRUE(plan) << why;
    const Architecture& architecture = *find_architecture(family.architecture);
    ASSERT_EQ(why_no_attention(x, *plan, architecture), "");
    std::vector<std::byte> one(48000), four(one.size());
    attention(x, *plan, {q.data(), k.data(), v.data()}, {one.data()}, 1, architecture);
    attention(x, *plan, {q.data(), k.data(), v.data()}, {four.data()}, 4, architecture);
    EXPECT_EQ(one, four) << family.name;
  }
}

TEST(Attention, OneKeyGivesItsValue) {
  const AttentionProblem x = problem_of(3, 1, 16);
  const std::vector<std::byte> q = numbers(96, 4), k = numbers(32, 5), v = numbers(32, 6);
  std::string why;
  const auto plan = attention_plan_of("torch-flash", x, &why);
  std::vector<std::byte> o(192);
  std::vector<float> lse(6);
  attention(x, *plan, {q.data(), k.data(), v.data()}, {o.data(), lse.data()});
  for (std::uint64_t i = 0; i < 96; ++i)
    EXPECT_EQ(load_word(o.data(), 2, i), load_word(v.data(), 2, i / 48 * 16 + i % 16)) << i;
}

TEST(Attention, Refusals) {
  std::string why;
  AttentionPlan plan = *attention_plan_of("torch-flash", problem_of(8, 8, 64), &why);
  AttentionProblem x = problem_of(8, 8, 300);
  EXPECT_EQ(why_no_attention(x, plan), "depth: found 300, allowed: 1 to 256");
  x = problem_of(8, 0, 64);
  EXPECT_EQ(why_no_attention(x, plan), "keys: found 0, allowed: 1 or more");
  x = problem_of(8, 8, 64);
  x.heads = 3;
  EXPECT_EQ(why_no_attention(x, plan), "heads: found 3, allowed: a multiple of 2, the heads of K");
  x = problem_of(8, 8, 64);
  plan.block_k = 24;
  EXPECT_NE(why_no_attention(x, plan).find("a k that divides block_k = 24"), std::string::npos);
  EXPECT_FALSE(attention_plan_of("flash", x, &why));
  EXPECT_EQ(
      why.rfind("like: found flash, allowed: torch-flash, torch-efficient, torch-cudnn, fa3, fa4, sage", 0),
      0U)
      << why;
  x.causal = Causal::top_left;
  EXPECT_TRUE(attention_plan_of("torch-flash", x, &why));
  x.keys = 9;
  EXPECT_FALSE(attention_plan_of("torch-flash", x, &why));
  EXPECT_NE(why.find("causal: found top_left with 8 queries and 9 keys"), std::string::npos) << why;
}

}  // namespace
}  // namespace mmaudit
