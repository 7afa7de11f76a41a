#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/error_bound.hpp"
#include "mmaudit/gtest/gemm_within.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit {
namespace {

struct Case {
  explicit Case(const char* name, std::uint64_t k = 512)
      : instruction(*find_instruction(name)),
        datapath(find_datapath(*find_architecture("hopper"), instruction)->datapath),
        a(3 * k),
        b(k * 4),
        d(12) {
    problem.m = 3, problem.n = 4, problem.k = k;
    std::uint32_t state = 7;
    const auto fill = [&](std::vector<std::uint8_t>& x) {
      for (std::uint8_t& bits : x) {
        state = state * 1664525U + 1013904223U;
        bits = static_cast<std::uint8_t>(0x28U + (state >> 28) + (state >> 20 & 0x80U));
      }
    };
    fill(a);
    fill(b);
    problem.a = a.data(), problem.b = b.data(), problem.d = d.data();
  }
  Instruction instruction;
  Datapath datapath;
  std::vector<std::uint8_t> a, b;
  std::vector<float> d;
  Matmul problem;
};

constexpr const char* kFp8 = "wgmma.m64n64k32.f32.e4m3.e4m3";

TEST(Tolerance, TheModelIsWithinForEveryAccumulation) {
  for (const std::uint64_t promote : {0U, 32U, 128U})
    for (const std::uint64_t split : {1U, 3U}) {
      Case one(kFp8);
      one.problem.promote = promote;
      one.problem.split_k = split;
      matmul(one.instruction, one.datapath, one.problem);
      const GemmCheck check = check_gemm(one.instruction, one.datapath, one.problem);
      EXPECT_TRUE(check.within) << check.explanation();
      EXPECT_EQ(check.elements, 12U);
    }
}

TEST(Tolerance, AWrongElementIsBeyondAndNamed) {
  Case one(kFp8, 64);
  one.problem.promote = 32;
  matmul(one.instruction, one.datapath, one.problem);
  EXPECT_GEMM_WITHIN(one.instruction, one.datapath, one.problem);
  one.d[6] += 1;
  const GemmCheck check = check_gemm(one.instruction, one.datapath, one.problem);
  EXPECT_FALSE(check.within);
  EXPECT_EQ(check.beyond, 1U);
  EXPECT_EQ(check.worst_row, 1U);
  EXPECT_EQ(check.worst_column, 2U);
  EXPECT_NE(check.explanation().find("worst (0, 1, 2)"), std::string::npos);
  one.d[6] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(check_gemm(one.instruction, one.datapath, one.problem).within);
}

TEST(Tolerance, PromotionIsHeldTighter) {
  Case one(kFp8, 4096);
  const double plain = gemm_tolerance(one.instruction, one.datapath, one.problem).bound[0];
  one.problem.promote = 128;
  EXPECT_LT(gemm_tolerance(one.instruction, one.datapath, one.problem).bound[0], plain / 4);
}

TEST(Tolerance, SaysWhenZerosWouldPassToo) {
  Case one(kFp8, 4096);
  matmul(one.instruction, one.datapath, one.problem);
  EXPECT_GEMM_WITHIN(one.instruction, one.datapath, one.problem);  // the model's bits are no vacuous pass
  for (float& each : one.d) each = 0;
  const GemmCheck check = check_gemm(one.instruction, one.datapath, one.problem);
  EXPECT_TRUE(check.within) << check.explanation();
  EXPECT_TRUE(check.vacuous);
  EXPECT_FALSE(gemm_is_within(one.instruction, one.datapath, one.problem));
}

DotSpec plan_of(const char* architecture, const char* name) {
  const Instruction instruction = *find_instruction(name);
  return make_dot_spec(instruction, find_datapath(*find_architecture(architecture), instruction)->datapath);
}

TEST(ErrorBound, OfATruncatingDatapathByHand) {
  // L = 16, F = 25, D of 23 fraction bits toward zero: 16 products and C each lose less than 2^-25 of the
  // largest addend's power of two, the rounding less than 2^-23 of the sum's.
  const DotSpec spec = plan_of("hopper", "mma.m16n8k16.f32.f16.f16.f32");
  EXPECT_EQ(instruction_error_bound(spec, {1, 0}), 21 * 0x1p-25);
  EXPECT_EQ(instruction_error_bound(spec, {1, 0}, -1), 19 * 0x1p-25);
  EXPECT_EQ(instruction_error_bound(spec, {1, 4}), (17 * 16 + 4) * 0x1p-25);
  const ChainErrorBound chain(spec);
  EXPECT_TRUE(chain.only_shrinks());
  EXPECT_EQ(chain(1, {1.5, 0}), 21 * 0x1p-25);
  EXPECT_EQ(chain(3, {1.5, 0}), 3 * 21 * 0x1p-25);
  EXPECT_EQ(chain(3, {8, 0}), 3 * 8 * 21 * 0x1p-25);  // a running sum of 8 may be the largest addend
}

TEST(ErrorBound, OfADatapathThatRoundsToNearestByHand) {
  // D of binary16 to nearest even loses half a unit, 2^-11, of the sum.
  const DotSpec spec = plan_of("hopper", "mma.m16n8k16.f16.f16.f16.f16");
  EXPECT_EQ(instruction_error_bound(spec, {1, 0}), 17 * 0x1p-25 + 0x1p-11);
  EXPECT_FALSE(ChainErrorBound(spec).only_shrinks());
}

TEST(ErrorBound, OfCAddedLastByHand) {
  // FP8 mma of Hopper, L = 16, F = 25: 16 products, then 16 and the sum so far, each cut below 2^-25; both
  // steps cut to 23 fraction bits, 4 * 2^-25 each; c added to nearest, 2 * 2^-25.
  const DotSpec spec = plan_of("hopper", "mma.m16n8k32.f32.e4m3.e4m3.f32");
  EXPECT_EQ(instruction_error_bound(spec, {1, 0}), (16 + 17 + 4 + 4 + 2) * 0x1p-25);
}

TEST(ErrorBound, OfAnAdditionInBinary32) {
  EXPECT_EQ(total_error_bound(1), 0x1p-24);
  EXPECT_EQ(total_error_bound(1.75), 0x1p-24);
  EXPECT_EQ(total_error_bound(2), 0x1p-23);
  EXPECT_EQ(total_error_bound(0), 0x1p-150);
}

TEST(ErrorBound, OfTwoStepsByHand) {
  // L = 8, F = 24: two steps of 8 products and an addend, each rounded to 23 fraction bits.
  const ChainErrorBound chain(plan_of("ampere", "mma.m16n8k16.f32.f16.f16.f32"));
  EXPECT_EQ(chain(1, {1, 0}), 2 * (9 + 2) * 0x1p-24);
}

TEST(Tolerance, CIsPartOfTheSum) {
  Case one(kFp8, 64);
  const std::vector<float> c(12, 1000);
  for (const std::uint64_t promote : {0U, 32U}) {
    one.problem.promote = promote;
    one.problem.c = nullptr;
    const GemmTolerance without = gemm_tolerance(one.instruction, one.datapath, one.problem);
    one.problem.c = c.data();
    const GemmTolerance with = gemm_tolerance(one.instruction, one.datapath, one.problem);
    EXPECT_EQ(with.exact[5], without.exact[5] + 1000);
    EXPECT_GT(with.bound[5], without.bound[5]);
    matmul(one.instruction, one.datapath, one.problem);
    EXPECT_TRUE(check_gemm(one.instruction, one.datapath, one.problem).within);
  }
}

TEST(Tolerance, TheRoundingOfEveryTotalIsAllowed) {
  // 2^24 once, then ones: every promotion rounds its one away, and nothing else is lost.
  Case one("mma.m16n8k16.f32.bf16.bf16.f32");
  constexpr std::uint64_t kDepth = 8192;
  std::vector<std::uint16_t> a(kDepth), b(kDepth, 0x3F80);
  for (std::uint64_t k = 0; k < kDepth; k += 32) a[k] = 0x3F80;
  a[0] = 0x4B80;
  one.problem.m = one.problem.n = 1, one.problem.k = kDepth, one.problem.promote = 32;
  one.problem.a = a.data(), one.problem.b = b.data();
  matmul(one.instruction, one.datapath, one.problem);
  const GemmCheck check = check_gemm(one.instruction, one.datapath, one.problem);
  EXPECT_TRUE(check.within) << check.explanation();
  EXPECT_EQ(check.worst_exact - check.worst_found, 255);
  EXPECT_LT(check.worst_bound, 8 * 255);
}

TEST(Tolerance, OfNothingIsNoPass) {
  Case one(kFp8);
  one.problem.m = 0;
  EXPECT_FALSE(check_gemm(one.instruction, one.datapath, one.problem).within);
  EXPECT_FALSE(gemm_is_within(one.instruction, one.datapath, one.problem));
  one.problem.m = 3;
  std::fill(one.a.begin(), one.a.end(), std::uint8_t{0x7F});  // NaN: no element has a bound
  matmul(one.instruction, one.datapath, one.problem);
  const GemmCheck check = check_gemm(one.instruction, one.datapath, one.problem);
  EXPECT_EQ(check.elements, 0U);
  EXPECT_FALSE(check.within);
  EXPECT_EQ(check.explanation(), "no element has a finite bound: nothing was checked");
}

TEST(Tolerance, OfAnEpilogueByHand) {
  // One product of 1: the sum is exact. 1.5 * 1 + 2 * 0.125 is 1.75; binary32 and bfloat16 round once each.
  Case one(kFp8, 32);
  std::fill(one.a.begin(), one.a.end(), std::uint8_t{0});
  std::fill(one.b.begin(), one.b.end(), std::uint8_t{0x38});
  one.a[0] = 0x38;
  std::vector<std::uint16_t> c(12, 0x3E00), d(12);  // 0.125 of bfloat16
  const double of_sum = gemm_tolerance(one.instruction, one.datapath, one.problem).bound[0];
  one.problem.epilogue = Epilogue{1.5F, 2, Format::bf16};
  one.problem.c = c.data(), one.problem.d = d.data();
  const GemmTolerance with = gemm_tolerance(one.instruction, one.datapath, one.problem);
  EXPECT_EQ(with.exact[0], 1.75);
  EXPECT_DOUBLE_EQ(with.bound[0], 1.5 * of_sum + 0x1p-26 + 0x1p-24 + 0x1p-8);
  matmul(one.instruction, one.datapath, one.problem);
  EXPECT_GEMM_WITHIN(one.instruction, one.datapath, one.problem);
  d[0] = static_cast<std::uint16_t>(d[0] + 4);
  EXPECT_FALSE(gemm_is_within(one.instruction, one.datapath, one.problem));
}

TEST(Tolerance, RefusesWhatItCannotBound) {
  Case one(kFp8);
  EXPECT_EQ(why_no_tolerance(one.instruction, one.datapath, one.problem), "");
  one.datapath.alignment = Alignment::nearest_even;
  EXPECT_NE(why_no_tolerance(one.instruction, one.datapath, one.problem), "");
}

}  // namespace
}  // namespace mmaudit
