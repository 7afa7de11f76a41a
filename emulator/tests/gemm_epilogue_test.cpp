// What cuBLASLt and cublasGemmEx made of sums of one product each on an H200 (driver 580.159.04, cuBLAS
// 13.1.0.3, 2026-11-24): elements of D on which the rules differ.
#include "mmaudit/gemm_epilogue.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/raw_words.hpp"

namespace mmaudit::test {
namespace {

struct Recorded {
  Format type, d;
  EpilogueRule rule;
  float alpha, beta, scale_a, scale_b;
  bool bias, relu;
  float sum, c, of_bias;
  std::uint32_t bits;
};
constexpr Recorded kRecorded[] = {
    {Format::f16, Format::f16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1, 1, false, false, 0x1.b2fb2p-8F,
     0x1.efp-7F, 0, 0x2637},
    {Format::f16, Format::f16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1, 1, false, false, 0x1.c7f97p-5F,
     -0x1.184p-5F, 0, 0x9DA5},
    {Format::f16, Format::f16, EpilogueRule::fused_sum, 1, 0, 1, 1, true, false, 0x1.b2fb2p-8F, 0,
     0x1.f3cp-4F, 0x301E},
    {Format::f16, Format::f16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1, 1, true, false, 0x1.1b7e1p-3F,
     0x1.38cp-4F, 0x1.238p-8F, 0x326B},
    {Format::f16, Format::f16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1, 1, true, false, 0x1.d577p-5F,
     -0x1.cdp-6F, -0x1.8ecp-6F, 0xA553},
    {Format::f16, Format::f16, EpilogueRule::fused_sum, 1, 0, 1, 1, false, true, 0x1.b2fb2p-8F, 0, 0, 0x1ECC},
    {Format::f16, Format::f16, EpilogueRule::fused_sum, 0.7F, 0, 1, 1, true, true, 0x1.b2fb2p-8F, 0,
     0x1.f3cp-4F, 0x300E},
    {Format::f16, Format::f16, EpilogueRule::fused_c, 0.7F, 1.3F, 1, 1, false, false, 0x1.b2fb2p-8F,
     0x1.efp-7F, 0, 0x2637},
    {Format::f16, Format::f16, EpilogueRule::fused_c, 0.7F, 1.3F, 1, 1, false, false, 0x1.c7f97p-5F,
     -0x1.184p-5F, 0, 0x9DA5},
    {Format::f16, Format::f16, EpilogueRule::fused_c, 1, 0, 1, 1, true, false, 0x1.b2fb2p-8F, 0, 0x1.f3cp-4F,
     0x301E},
    {Format::f16, Format::f16, EpilogueRule::fused_c, 0.7F, 1.3F, 1, 1, true, false, 0x1.1b7e1p-3F,
     0x1.38cp-4F, 0x1.238p-8F, 0x326B},
    {Format::f16, Format::f16, EpilogueRule::fused_c, 0.7F, 1.3F, 1, 1, true, false, 0x1.d577p-5F,
     -0x1.cdp-6F, -0x1.8ecp-6F, 0xA553},
    {Format::bf16, Format::bf16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1, 1, false, false, 0x1.2ecp-5F,
     -0x1.2ep-6F, 0, 0x3AFA},
    {Format::bf16, Format::bf16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1, 1, false, false, 0x1.9ce8p-5F,
     -0x1.8p-8F, 0, 0x3CE3},
    {Format::bf16, Format::bf16, EpilogueRule::fused_sum, 1, 0, 1, 1, true, false, 0x1.1104p-5F, 0,
     -0x1.d8p-2F, 0xBEDB},
    {Format::bf16, Format::bf16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1, 1, true, false, 0x1.574cp-3F,
     -0x1.3p-3F, -0x1.0ep-5F, 0xBDDE},
    {Format::bf16, Format::bf16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1, 1, true, false, -0x1.6302p-9F,
     -0x1.56p-8F, 0x1.b8p-7F, 0x3B9C},
    {Format::bf16, Format::bf16, EpilogueRule::fused_sum, 1, 0, 1, 1, false, true, 0x1.1104p-5F, 0, 0,
     0x3D09},
    {Format::bf16, Format::bf16, EpilogueRule::fused_sum, 0.7F, 0, 1, 1, true, true, 0x1.1104p-5F, 0,
     -0x1.d8p-2F, 0x0},
    {Format::bf16, Format::bf16, EpilogueRule::fused_c, 0.7F, 1.3F, 1, 1, false, false, 0x1.2ecp-5F,
     -0x1.2ep-6F, 0, 0x3AFA},
    {Format::bf16, Format::bf16, EpilogueRule::fused_c, 0.7F, 1.3F, 1, 1, false, false, 0x1.9ce8p-5F,
     -0x1.8p-8F, 0, 0x3CE3},
    {Format::bf16, Format::bf16, EpilogueRule::fused_c, 1, 0, 1, 1, true, false, 0x1.1104p-5F, 0, -0x1.d8p-2F,
     0xBEDB},
    {Format::bf16, Format::bf16, EpilogueRule::fused_c, 0.7F, 1.3F, 1, 1, true, false, 0x1.574cp-3F,
     -0x1.3p-3F, -0x1.0ep-5F, 0xBDDE},
    {Format::bf16, Format::bf16, EpilogueRule::fused_c, 0.7F, 1.3F, 1, 1, true, false, -0x1.6302p-9F,
     -0x1.56p-8F, 0x1.b8p-7F, 0x3B9C},
    {Format::f16, Format::f32, EpilogueRule::fused_sum, 0.7F, 1.3F, 1, 1, false, false, 0x1.b2fb2p-8F,
     0x1.4637p-10F, 0, 0x3BCD40D5},
    {Format::f16, Format::f32, EpilogueRule::fused_sum, 1, 0, 1, 1, true, false, 0x1.b2fb2p-8F, 0,
     -0x1.e0555cp0F, 0xBFEF5130},
    {Format::f16, Format::f32, EpilogueRule::fused_sum, 0.7F, 1.3F, 1, 1, true, false, -0x1.2d92ap-7F,
     0x1.1e6ca8p-5F, -0x1.34fb7p-2F, 0xBE86847F},
    {Format::f16, Format::f32, EpilogueRule::fused_sum, 1, 0, 1, 1, false, true, 0x1.b2fb2p-8F, 0, 0,
     0x3BD97D90},
    {Format::f16, Format::f32, EpilogueRule::fused_sum, 0.7F, 0, 1, 1, true, true, 0x1.b2fb2p-8F, 0,
     -0x1.e0555cp0F, 0x0},
    {Format::f16, Format::f32, EpilogueRule::fused_c, 0.7F, 1.3F, 1, 1, false, false, 0x1.b2fb2p-8F,
     0x1.4637p-10F, 0, 0x3BCD40D4},
    {Format::f16, Format::f32, EpilogueRule::fused_c, 1, 0, 1, 1, true, false, 0x1.b2fb2p-8F, 0,
     -0x1.e0555cp0F, 0xBFEF5130},
    {Format::f16, Format::f32, EpilogueRule::fused_c, 0.7F, 1.3F, 1, 1, true, false, -0x1.2d92ap-7F,
     0x1.1e6ca8p-5F, -0x1.34fb7p-2F, 0xBE86847E},
    {Format::tf32, Format::f32, EpilogueRule::fused_c, 1, 0, 1, 1, false, true, 0x1.07cf4p-6F, 0, 0,
     0x3C83E7A0},
    {Format::tf32, Format::f32, EpilogueRule::fused_c, 0.7F, 0, 1, 1, true, true, 0x1.07cf4p-6F, 0,
     -0x1.e0555cp0F, 0x0},
    {Format::e4m3, Format::bf16, EpilogueRule::fused_sum, 1, 0, 1.7F, 0.3F, false, false, -0x1.d4p-1F, 0, 0,
     0xBEEF},
    {Format::e4m3, Format::bf16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1.7F, 0.3F, true, false, 0x1.68p0F,
     0x1.1cp-3F, -0x1.a6p-2F, 0x3E8A},
    {Format::e4m3, Format::bf16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1.7F, 0.3F, true, false, 0x1.04p-4F,
     -0x1.e8p-6F, 0x1.3p-9F, 0xBC61},
    {Format::e4m3, Format::bf16, EpilogueRule::fused_c, 1, 0, 1.7F, 0.3F, false, false, -0x1.d4p-1F, 0, 0,
     0xBEEF},
    {Format::e4m3, Format::bf16, EpilogueRule::fused_c, 0.7F, 1.3F, 1.7F, 0.3F, true, false, 0x1.68p0F,
     0x1.1cp-3F, -0x1.a6p-2F, 0x3E8A},
    {Format::e4m3, Format::bf16, EpilogueRule::fused_c, 0.7F, 1.3F, 1.7F, 0.3F, true, false, 0x1.04p-4F,
     -0x1.e8p-6F, 0x1.3p-9F, 0xBC61},
    {Format::e4m3, Format::f32, EpilogueRule::fused_sum, 1, 0, 1.7F, 0.3F, false, false, -0x1.d4p-1F, 0, 0,
     0xBEEEAE16},
    {Format::e4m3, Format::f32, EpilogueRule::fused_sum, 0.7F, 1.3F, 1.7F, 0.3F, true, false, -0x1.bp-4F,
     0x1.c1258cp-7F, -0x1.58p-7F, 0xBCF879B1},
    {Format::e4m3, Format::f32, EpilogueRule::fused_c, 1, 0, 1.7F, 0.3F, false, false, -0x1.d4p-1F, 0, 0,
     0xBEEEAE16},
    {Format::e4m3, Format::f32, EpilogueRule::fused_c, 0.7F, 1.3F, 1.7F, 0.3F, true, false, -0x1.bp-4F,
     0x1.c1258cp-7F, -0x1.58p-7F, 0xBCF879B2},
    {Format::e4m3, Format::f16, EpilogueRule::fused_sum, 1, 0, 1.7F, 0.3F, false, false, -0x1.d4p-1F, 0, 0,
     0xB775},
    {Format::e4m3, Format::f16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1.7F, 0.3F, true, false, -0x1.d4p-1F,
     0x1.efp-7F, 0x1.f3cp-4F, 0xB1E9},
    {Format::e4m3, Format::f16, EpilogueRule::fused_sum, 0.7F, 1.3F, 1.7F, 0.3F, true, false, 0x1.52p-4F,
     -0x1.7ecp0F, -0x1.57cp-8F, 0xBFAE},
    {Format::e4m3, Format::f16, EpilogueRule::fused_c, 1, 0, 1.7F, 0.3F, false, false, -0x1.d4p-1F, 0, 0,
     0xB775},
    {Format::e4m3, Format::f16, EpilogueRule::fused_c, 0.7F, 1.3F, 1.7F, 0.3F, true, false, -0x1.d4p-1F,
     0x1.efp-7F, 0x1.f3cp-4F, 0xB1E9},
    {Format::e4m3, Format::f16, EpilogueRule::fused_c, 0.7F, 1.3F, 1.7F, 0.3F, true, false, 0x1.52p-4F,
     -0x1.7ecp0F, -0x1.57cp-8F, 0xBFAE},
    {Format::f16, Format::f16, EpilogueRule::rounded_sum, 1, 1, 1, 1, false, false, -0x1.37941p-3F,
     -0x1.1acp-6F, 0, 0xB16B},
    {Format::f16, Format::f16, EpilogueRule::rounded_sum, 1, 1, 1, 1, false, false, 0x1.33f728p-7F,
     0x1.77p-10F, 0, 0x218C},
    {Format::bf16, Format::bf16, EpilogueRule::rounded_sum, 1, 1, 1, 1, false, false, 0x1.1104p-5F,
     -0x1.3cp-9F, 0, 0x3CFE},
    {Format::bf16, Format::bf16, EpilogueRule::rounded_sum, 1, 1, 1, 1, false, false, 0x1.7f74p-3F,
     0x1.46p-9F, 0, 0x3E43},
    {Format::f32, Format::f32, EpilogueRule::fused_c, 0x1.3a19cep-1F, 0x1.393b0ep-1F, 1, 1, false, false,
     -0x1.1a2a5p+1F, 0x1.5d44p-1F, 0, 0xBF6F5E2B},
    {Format::tf32, Format::f32, EpilogueRule::fused_c, 0x1p+0F, 0x1.515908p+0F, 1, 1, false, false,
     0x1.8bb5fp+0F, -0x1.03956cp+0F, 0, 0x3E568FD7},
    {Format::f32, Format::f32, EpilogueRule::fused_sum, 0x1.d2f852p-1F, 0x1.104988p-1F, 1, 1, true, true,
     0x1.882bp+0F, -0x1.f123b6p-1F, -0x1.27abdep-3F, 0x3F3C86AC},
    {Format::tf32, Format::f32, EpilogueRule::fused_sum, 0x1.3a7854p+0F, 0x1.e84708p-1F, 1, 1, true, true,
     0x1.6b92ap+0F, -0x1.86cd12p+0F, 0x1.15c66p-4F, 0x3EB68EED},
    {Format::tf32, Format::f32, EpilogueRule::fused_sum, 0x1.6416fp+0F, 0x1.68046ep-1F, 1, 1, false, false,
     0x1.3d3f1p+1F, -0x1.c99572p-3F, 0, 0x40529607},
    {Format::tf32, Format::f32, EpilogueRule::fused_sum, 0x1.d7a9ecp+0F, 0x1.0d1164p+0F, 1, 1, false, false,
     -0x1.2bfabp+1F, 0x1.fd082cp+0F, 0, 0xC00E97A0},
    {Format::tf32, Format::f32, EpilogueRule::fused_sum, 0x1.976376p-1F, 0x1.cd21e4p+0F, 1, 1, true, true,
     0x1.4a83ep+1F, -0x1.5ebcdp-5F, -0x1.7d86f8p-1F, 0x3F9DBB29},
    {Format::e4m3, Format::f32, EpilogueRule::fused_sum, 0x1.a9ae9cp+0F, 0x1.3eae3p+0F, 0x1.5531a4p+0F,
     0x1.eaf0ep+0F, false, false, -0x1.f8p+0F, 0x1.023a24p+1F, 0, 0xC0BB6420},
    {Format::e4m3, Format::f32, EpilogueRule::fused_c, 0x1.b7cd68p-1F, 0, 0x1.716eb2p+0F, 0x1.48f67p+0F,
     false, false, 0x1.5p+1F, 0, 0, 0x4085CDC7},
};

std::uint64_t bits_of(float value, Format format) {
  return cast_bits(std::bit_cast<std::uint32_t>(value), spec_of(Format::f32), spec_of(format), {});
}

std::uint64_t finished(const Recorded& x, EpilogueRule rule) {
  GemmProblem problem;
  problem.type = x.type;
  problem.d = x.d;
  problem.alpha = x.alpha;
  problem.beta = x.beta;
  problem.scale_a = x.scale_a;
  problem.scale_b = x.scale_b;
  problem.bias = x.bias;
  problem.activation = x.relu ? GemmActivation::relu : GemmActivation::none;
  GemmPlan plan;
  plan.output = x.d;
  plan.epilogue = rule;
  std::uint64_t c = 0, bias = 0, d = 0;
  store_word(&c, spec_of(x.d).storage_bytes(), 0, bits_of(x.c, x.d));
  store_word(&bias, spec_of(bias_type_of(problem)).storage_bytes(), 0,
             bits_of(x.of_bias, bias_type_of(problem)));
  finish_gemm(problem, plan, 1, 1, &x.sum, &c, &bias, &d);
  return load_word(&d, spec_of(x.d).storage_bytes(), 0);
}

TEST(GemmEpilogue, gives_the_recorded_bits) {
  for (const Recorded& each : kRecorded)
    EXPECT_EQ(finished(each, each.rule), each.bits) << &each - kRecorded << ": " << each.sum;
}

TEST(GemmEpilogue, beta_of_0_does_not_read_c) {
  for (const EpilogueRule rule : {EpilogueRule::fused_sum, EpilogueRule::fused_c, EpilogueRule::rounded_sum,
                                  EpilogueRule::fused_always})
    for (const float sum : {1.0F, -3.25F, 0x1p-126F})
      for (const float c : {INFINITY, -INFINITY, NAN, 1.0F})
        EXPECT_EQ(combined(rule, spec_of(Format::f32), 2.0F, sum, 0.0F, c), 2 * sum)
            << static_cast<int>(rule);
}

TEST(GemmEpilogue, every_column_has_a_bias_of_its_own) {
  GemmProblem problem;
  problem.type = problem.d = Format::f32;
  problem.bias = true;
  GemmPlan plan;
  plan.output = Format::f32;
  const std::vector<float> sums = {1, 2, 3, 4, 5, 6}, bias = {10, 20, 30};
  std::vector<float> d(6);
  finish_gemm(problem, plan, 2, 3, sums.data(), nullptr, bias.data(), d.data());
  EXPECT_EQ(d, (std::vector<float>{11, 22, 33, 14, 25, 36}));
}

struct WideRecorded {
  EpilogueRule rule;
  double alpha, beta;
  bool bias, relu;
  double sum, c, of_bias;
  std::uint64_t bits;
};
/// Of binary64, on an H100 with the same libraries: xmma, splitKreduce_kernel behind CUTLASS, gemvx.
constexpr WideRecorded kWideRecorded[] = {
    {EpilogueRule::fused_sum, 1, 0x1.01c3899641a15p-1, false, false, 0x1.147541c7e4e66p+1,
     -0x1.3a1774faaa984p-1, 0, 0x3FFD9DA26489FC86},
    {EpilogueRule::fused_c, 0x1.80c5c38b70d91p+0, 0x1.b389dac6e2acap+0, false, false, 0x1.15b58861bf2b4p+1,
     0x1.b911ce8cab8e2p-4, 0, 0x400B8DA0B909FFF5},
    {EpilogueRule::fused_c, 0x1.0089ecb9135f4p-1, 0x1.deb9c17d55d9ap+0, true, true, -0x1.1b07adff3933ap+1,
     0x1.ddb06f0bf9a12p-1, 0x1.f5aa072161d08p-1, 0x3FF9DD9DF2FE7294},
    {EpilogueRule::fused_sum, 0x1.de7453545f7c4p+0, 0x1.d312fc882a21p+0, true, true, 0x1.3a7861f46c937p+1,
     -0x1.6437d00c85ae6p+0, -0x1.9859b106e7e76p-1, 0x3FF415E43438E505},
    {EpilogueRule::fused_sum, 0x1.f75a1b21b23a7p+0, 0x1.339015c817161p-1, false, false, -0x1.1b421c7aa311p+0,
     -0x1.298a8a9553958p+0, 0, 0xC006FD773781A8A3}};

TEST(GemmEpilogue, binary64_gives_the_recorded_bits) {
  int differ = 0;
  for (const WideRecorded& each : kWideRecorded) {
    GemmProblem problem;
    problem.type = problem.d = Format::f64;
    problem.alpha = each.alpha;
    problem.beta = each.beta;
    problem.bias = each.bias;
    problem.activation = each.relu ? GemmActivation::relu : GemmActivation::none;
    GemmPlan plan;
    plan.output = Format::f64;
    for (const EpilogueRule rule : {EpilogueRule::fused_sum, EpilogueRule::fused_c}) {
      plan.epilogue = rule;
      std::uint64_t d = 0;
      finish_gemm(problem, plan, 1, 1, &each.sum, &each.c, &each.of_bias, &d);
      if (rule == each.rule)
        EXPECT_EQ(d, each.bits) << &each - kWideRecorded;
      else
        differ += d != each.bits ? 1 : 0;
    }
  }
  EXPECT_GT(differ, 0);
}

TEST(GemmEpilogue, another_rule_gives_other_bits) {
  for (const EpilogueRule rule :
       {EpilogueRule::fused_sum, EpilogueRule::fused_c, EpilogueRule::rounded_sum}) {
    int differ = 0;
    for (const Recorded& each : kRecorded)
      differ += each.rule != rule && finished(each, rule) != each.bits ? 1 : 0;
    EXPECT_GT(differ, 0) << name_in(names::kEpilogueRule, rule);
  }
}

struct GeluRecorded {
  std::uint32_t x, d;
};
/// On an H100: GELU of bf16 sums of three parts to a D of f32, by
/// nvjet_sm90_tss_64x64_64x13_1x4_h_bz_gelu_TNT.
constexpr GeluRecorded kGelu[] = {
    {0xC0ACFC2A, 0x00000000}, {0x3761F482, 0x36E1F521}, {0xC0342353, 0xBBD204DB}, {0x3FD47318, 0x3FCA214F},
    {0x410CF13D, 0x410CF13D}, {0x3F71B252, 0x3F47F4EE}, {0x39752129, 0x38F52CDD}, {0xBA71A72A, 0xB9F179AA},
    {0x40554502, 0x405531EA}, {0x3856A58E, 0x37D6A7CC}, {0x3ADF01A1, 0x3A5F4F21}, {0xBFAA9E35, 0xBDF9A6DF},
    {0x37856276, 0x370562E5}, {0x3E424DF3, 0x3DDF8BA5}, {0xC05321F1, 0xBAAC8CE5}, {0xBF668611, 0xBE29B906},
    {0x3F97D9FB, 0x3F85F1F0}, {0x3CFD3695, 0x3C81BA81}, {0xC04379E8, 0xBB481666}, {0x3989D5A9, 0x3909DD10},
    {0x3820256B, 0x37A026AB}, {0xB99C2B61, 0xB91C21E1}, {0xC056DBB4, 0xBA8B592E}, {0x401D4636, 0x401C3370}};

/// The same of f32 sums, by cuBLASLt's own kernel (epilogue::impl::globalKernel) behind another one.
constexpr GeluRecorded kFactoredGelu[] = {
    {0xC9060000, 0x80000000}, {0xC3390000, 0x80000000}, {0xCCB50000, 0x80000000}, {0xBAFC0000, 0xBA7B9D09},
    {0xF6C80000, 0x80000000}, {0xF2EC0000, 0x80000000}, {0xD9C70000, 0x80000000}, {0xD3100000, 0x80000000},
    {0xC2A80000, 0x80000000}, {0xC8E40000, 0x80000000}, {0xF2420000, 0x80000000}, {0xE3B00000, 0x80000000}};

TEST(GemmEpilogue, gelu_behind_another_kernel_is_another_gelu) {
  GemmProblem problem;
  problem.type = problem.d = Format::f32;
  problem.activation = GemmActivation::gelu;
  GemmPlan plan;
  for (const GeluRecorded& each : kFactoredGelu) {
    const auto sum = std::bit_cast<float>(each.x);
    std::uint32_t d = 0;
    plan.gelu = GeluRule::factored;
    finish_gemm(problem, plan, 1, 1, &sum, nullptr, nullptr, &d);
    EXPECT_EQ(d, each.d) << sum;
    plan.gelu = GeluRule::fused;
    finish_gemm(problem, plan, 1, 1, &sum, nullptr, nullptr, &d);
    EXPECT_NE(d, each.d) << sum;
  }
}

TEST(GemmEpilogue, gelu_gives_the_recorded_bits) {
  GemmProblem problem;
  problem.type = Format::bf16;
  problem.d = Format::f32;
  problem.activation = GemmActivation::gelu;
  for (const GeluRecorded& each : kGelu) {
    const auto sum = std::bit_cast<float>(each.x);
    std::uint32_t d = 0;
    finish_gemm(problem, GemmPlan{}, 1, 1, &sum, nullptr, nullptr, &d);
    EXPECT_EQ(d, each.d) << sum;
  }
}

TEST(GemmEpilogue, a_plan_says_how_it_ends_or_what_is_not_known) {
  GemmProblem problem;
  problem.m = problem.n = problem.k = 64;
  problem.transposed_b = true;
  LibraryCall call;
  call.kernels.resize(1);
  call.kernels[0].name = "nvjet_sm90_hsh_64x8_64x16_1x4_h_bz_TNT";
  problem.alpha = 0.5F;
  problem.beta = 2;
  EXPECT_EQ(plan_of(problem, call).value().epilogue, EpilogueRule::fused_always);
  call.kernels[0].name = "nvjet_sm90_hsh_64x8_64x16_1x4_h_badd_TNT";
  EXPECT_EQ(plan_of(problem, call).value().epilogue, EpilogueRule::rounded_sum);
  std::string why;
  problem.activation = GemmActivation::relu;
  EXPECT_FALSE(plan_of(problem, call, &why));
  EXPECT_EQ(why, "no plan for the kernel nvjet_sm90_hsh_64x8_64x16_1x4_h_badd_TNT with relu");
  problem.activation = GemmActivation::none;
  call.algorithm = {{"split_k", 2}};
  call.kernels[0].name = "nvjet_sm90_hsh_64x32_64x16_1x2_h_bx_splitK_TNT";
  call.kernels.push_back({"_ZN8cublasLt19splitKreduce_kernelILi32ELi16EiffffLb0EfffLb1E"});
  problem.bias = true;
  EXPECT_EQ(plan_of(problem, call).value().epilogue, EpilogueRule::fused_c);
  problem.activation = GemmActivation::gelu;
  EXPECT_EQ(plan_of(problem, call).value().gelu, GeluRule::factored);
  EXPECT_EQ(plan_of(problem, call).value().before_bias, Format::f32);
  call.kernels[1].name = "_ZN8cublasLt19splitKreduce_kernelILi32ELi16Eif6__halffS1_Lb0ES1_S1_S1_Lb1E";
  EXPECT_EQ(plan_of(problem, call).value().before_bias, Format::f16);
  call.kernels.pop_back();
  call.algorithm.clear();
  call.kernels[0].name = "nvjet_sm90_hsh_64x32_64x16_1x2_h_bx_TNT";
  EXPECT_TRUE(plan_of(problem, call));
  problem = {};
  problem.type = Format::e4m3;
  problem.m = problem.n = problem.k = 64;
  problem.transposed_b = problem.fast_accum = true;
  problem.alpha = 0.7F;
  problem.scale_a = 1.7F;
  problem.scale_b = 0.3F;
  LibraryCall fp8;
  fp8.kernels.resize(1);
  fp8.kernels[0].name = "nvjet_sm90_qqtst_64x8_128x16_1x4_h_bz_TNT";
  EXPECT_TRUE(plan_of(problem, fp8));
  problem = {};
  problem.m = problem.n = problem.k = 64;
  problem.alpha = 2;
  call = {};
  call.kernels.resize(1);
  call.kernels[0].name = "cutlass_80_tensorop_s16816gemm_f16_128x64_32x6_tn_align8";
  EXPECT_FALSE(plan_of(problem, call));  // not recorded
  problem.type = Format::tf32;
  call.kernels[0].name = "cutlass_80_tensorop_s1688gemm_64x64_16x6_tt_align1";
  EXPECT_FALSE(plan_of(problem, call, &why)) << "one product of this kernel added C in another place";
  call.kernels[0].name = "cutlass_80_tensorop_s1688gemm_64x64_16x6_tt_align4";
  problem.bias = true;
  EXPECT_TRUE(plan_of(problem, call));
  call.kernels.push_back({"_ZN8cublasLt8epilogue4impl12globalKernelILi8ELi32EfffLb1ELb1ELi1EEEviilPT"});
  EXPECT_TRUE(plan_of(problem, call));
  problem.activation = GemmActivation::gelu;
  EXPECT_EQ(plan_of(problem, call).value().gelu, GeluRule::factored);
  problem.activation = GemmActivation::none;
  call.kernels[1].name = "another_kernel";
  EXPECT_FALSE(plan_of(problem, call));
  problem.type = Format::f64;
  call.algorithm = {{"split_k", 3}};
  call.kernels[0].name = call.kernels[1].name =
      "sm90_xmma_gemm_f64f64_f64f64_f64_tt_n_tilesize32x32x32_stage5_warpsize2x2x1_tensor16x8x16_execute";
  EXPECT_FALSE(plan_of(problem, call)) << "its bias was not recorded";
  problem.bias = false;
  EXPECT_EQ(plan_of(problem, call).value().epilogue, EpilogueRule::fused_sum);
  call.kernels.pop_back();
  call.algorithm.emplace_back("custom", 1);
  EXPECT_FALSE(plan_of(problem, call)) << "slices that take turns at D";
}

}  // namespace
}  // namespace mmaudit::test
