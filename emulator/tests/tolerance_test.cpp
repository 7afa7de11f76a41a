#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "mmaudit/convert.hpp"
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

TEST(Tolerance, SaysWhenZerosWouldPass) {
  Case one(kFp8, 64);
  std::fill(one.a.begin(), one.a.end(), std::uint8_t{0});
  matmul(one.instruction, one.datapath, one.problem);
  const GemmCheck check = check_gemm(one.instruction, one.datapath, one.problem);
  EXPECT_TRUE(check.within);
  EXPECT_TRUE(check.vacuous);
  EXPECT_FALSE(gemm_is_within(one.instruction, one.datapath, one.problem));
}

TEST(Tolerance, RefusesWhatItCannotBound) {
  Case one(kFp8);
  one.problem.epilogue = Epilogue{};
  EXPECT_NE(why_no_tolerance(one.instruction, one.datapath, one.problem), "");
  one.problem.epilogue.reset();
  EXPECT_EQ(why_no_tolerance(one.instruction, one.datapath, one.problem), "");
  one.datapath.alignment = Alignment::nearest_even;
  EXPECT_NE(why_no_tolerance(one.instruction, one.datapath, one.problem), "");
}

}  // namespace
}  // namespace mmaudit
