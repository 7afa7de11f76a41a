// Errors of whole products: elements, scales, and what conversion loses.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "gemm_problems.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::report {
namespace {

TEST(FastCast, IsEncodeValue) {
  std::uint64_t x = 1;
  for (const GemmDtype& dtype : gemm_dtypes()) {
    const FormatSpec format = spec_of(dtype.element);
    const FastCast cast(format, dtype.cast);
    for (int i = 0; i < 20000; ++i) {
      x = x * 6364136223846793005U + 1442695040888963407U;
      // Any bits, and numbers around the format's range with few or many bits.
      double value = std::bit_cast<double>(x);
      if (i % 2 != 0)
        value = std::ldexp(static_cast<double>(x >> 40) / 0x1p23 - 1, static_cast<int>(x & 31) - 20);
      if (i % 4 == 1) value = std::ldexp(std::nearbyint(std::ldexp(value, 12)), -12);
      ASSERT_EQ(cast(value), encode_value(value, format, dtype.cast)) << dtype.name << " " << value;
    }
  }
}

TEST(MxScales, FloorSaturatesAndCeilDoesNot) {
  // 480 = 1.875 * 2^8: by OCP's rule the scale is 1 and 480 becomes 448; rounded up it is 2.
  for (const auto& [largest, floor, ceil] : {std::tuple{480.0, 127, 128},
                                             {448.0, 127, 127},
                                             {449.0, 127, 128},
                                             {256.0, 127, 127},
                                             {0.0, 127, 127}}) {
    const Problem problem = filled(1, 1, 32, largest, 1);
    for (const auto& [scaling, expected] :
         {std::pair{scalings::mx_floor, floor}, {scalings::mx_ceil, ceil}}) {
      const GemmCombination c = combination("blackwell", "mxf8", scaling, "plain");
      const ConvertedOperands found = convert_operands(c.dtype, c.scaling, problem.operands());
      EXPECT_EQ(found.a.scales[0], expected) << largest << scaling.name;
    }
  }
  EXPECT_EQ(find_scalings("mx"), (std::vector{scalings::mx_floor, scalings::mx_ceil}));
  EXPECT_EQ(usual_scalings(*find_gemm_dtype("mxf4")), (std::vector{scalings::mx_floor, scalings::mx_ceil}));
  EXPECT_EQ(usual_scalings(*find_gemm_dtype("nvf4")), std::vector{scalings::mx});
  EXPECT_EQ(combination("blackwell", "nvf4", scalings::mx_ceil, "plain").scaling, scalings::mx);
  EXPECT_EQ(combination("blackwell", "nvf4", scalings::mx_reciprocal, "plain").scaling,
            scalings::mx_reciprocal);
  EXPECT_EQ(combination("blackwell", "mxf4", scalings::mx_reciprocal, "plain").scaling, scalings::mx_floor);
}

TEST(SoftwareScales, OneFactorOf128x128IsOneOfItsColumns) {
  const Problem problem = drawn(Distribution::outlier_channels, 3, 300, 200);
  const GemmCombination tiles = combination("hopper", "e4m3", scalings::tiles, "promote:128");
  const GemmCombination blocks = combination("hopper", "e4m3", scalings::blocks, "promote:128");
  const ConvertedOperands found = convert_operands(tiles.dtype, tiles.scaling, problem.operands());
  const ConvertedOperands apart = convert_operands(blocks.dtype, blocks.scaling, problem.operands());
  EXPECT_EQ(found.a.factors, apart.a.factors);
  ASSERT_EQ(found.b.factors.size(), 300U * 2U);
  for (std::uint64_t column = 0; column < 300; ++column)
    for (std::uint64_t block = 0; block < 2; ++block) {
      double largest = 0;
      for (std::uint64_t j = column / 128 * 128; j < std::min<std::uint64_t>(300, column / 128 * 128 + 128);
           ++j)
        for (std::uint64_t k = block * 128; k < std::min<std::uint64_t>(200, block * 128 + 128); ++k)
          largest = std::max(largest, std::fabs(problem.b[k * 300 + j]));
      ASSERT_EQ(found.b.factor(column, block), static_cast<float>(largest / 448)) << column << " " << block;
    }
  EXPECT_GE(computed(tiles, problem).errors.total, computed(blocks, problem).errors.total * 0.9);
}

TEST(CastCounts, SaturationBeginsWhereRoundingLeavesTheFormat) {
  // 464 is the tie between 448, the largest number, and 480, which E4M3 lacks.
  Problem problem = filled(1, 1, 8, 1, 1);
  problem.a = {448, 460, 464, 464.001, -464.001, 465, 480, 1e30};
  const CastCounts counts =
      computed(combination("hopper", "e4m3", scalings::none, "plain"), problem).converted.a.counts;
  EXPECT_EQ(counts.saturated, 5U);
  EXPECT_EQ(counts.subnormal, 0U);
  EXPECT_EQ(counts.underflow, 0U);
}

TEST(CastCounts, BitsLostByHand) {
  // E4M3 around 1: steps of 2^-3. A relative error in [2^(L-25), 2^(L-24)) is L bits of 24.
  Problem problem = filled(1, 1, 6, 1, 1);
  problem.a = {1, 1 + 0x1p-24, 1 + 0x1p-10, 1 + 0x1p-5, 1e-9, 2e5};
  const CastCounts counts =
      computed(combination("hopper", "e4m3", scalings::none, "plain"), problem).converted.a.counts;
  std::array<std::uint64_t, 25> expected{};
  expected[0] = 2;   // nothing, and just below 2^-24
  expected[14] = 1;  // just below 2^-10
  expected[19] = 1;  // just below 2^-5
  expected[24] = 2;  // became zero; saturated at 448
  EXPECT_EQ(counts.bits_lost, expected);
}

TEST(CastCounts, SlicesAddUp) {
  // Rows and columns of two threads, the second of which has fewer of every kind.
  Problem problem = filled(20, 20, 1000, 1, 1);
  const double kinds[] = {1e-9, 0x1p-8, 1e9, std::numeric_limits<double>::infinity()};
  for (const auto& [lane, every] : {std::pair<std::uint64_t, std::uint64_t>{0, 10}, {17, 100}})
    for (std::uint64_t k = 0; k < problem.k; k += every)
      for (std::uint64_t i = 0; i < std::size(kinds); ++i)
        problem.a[lane * problem.k + k + i] = problem.b[(k + i) * problem.n + lane] = kinds[i];
  const Computed x = computed(combination("hopper", "e4m3", scalings::none, "plain"), problem);
  for (const CastCounts& counts : {x.converted.a.counts, x.converted.b.counts}) {
    EXPECT_EQ(counts.elements, 20000U);
    EXPECT_EQ(counts.underflow, 110U);
    EXPECT_EQ(counts.subnormal, 110U);
    EXPECT_EQ(counts.saturated, 110U);
    EXPECT_EQ(counts.not_finite, 110U);
  }
}

TEST(CastCounts, WhatIsNotFiniteIsAnElementAndNothingElse) {
  Problem problem = filled(1, 1, 8, 1, 1);
  problem.a[2] = std::numeric_limits<double>::quiet_NaN();
  problem.a[5] = -std::numeric_limits<double>::infinity();
  const CastCounts counts =
      computed(combination("hopper", "e4m3", scalings::none, "plain"), problem).converted.a.counts;
  EXPECT_EQ(counts.elements, 8U);
  EXPECT_EQ(counts.not_finite, 2U);
  EXPECT_EQ(counts.saturated, 0U);
  EXPECT_EQ(counts.bits_lost[0], 6U);
}

TEST(Scales, ByHand) {
  const auto converted = [](const char* architecture, const char* dtype, Scaling scaling, Problem problem) {
    const GemmCombination c = combination(architecture, dtype, scaling, "plain");
    return convert_operands(c.dtype, c.scaling, problem.operands()).a;
  };
  // Of software: the largest magnitude becomes 448, the largest number of E4M3.
  Problem problem = filled(2, 1, 32, 1, 1);
  problem.a[3] = -896;
  problem.a[32] = 112;
  EXPECT_EQ(converted("hopper", "e4m3", scalings::tensor, problem).factors, (std::vector<float>{2}));
  EXPECT_EQ(converted("hopper", "e4m3", scalings::row, problem).factors, (std::vector<float>{2, 0.25}));
  // Of the instruction, powers of two every 32 of k: floor(log2(largest)) - 8, as a byte with bias 127.
  EXPECT_EQ(converted("blackwell", "mxf8", scalings::mx, problem).scales,
            (std::vector<std::uint8_t>{127 + 1, 127 - 2}));
  // E4M3 scales every 16 of k over a factor of the tensor: largest / 6 over largest of the tensor / (6 *
  // 448).
  problem = filled(1, 1, 32, 12, 1);
  problem.a[0] = 2688 * 4;
  const ConvertedOperand nvf4 = converted("blackwell", "nvf4", scalings::mx, problem);
  EXPECT_EQ(nvf4.factors, (std::vector<float>{4}));
  EXPECT_EQ(nvf4.scales, (std::vector<std::uint8_t>{0x7E, 0x30}));  // 448 and 1/2
}

TEST(Int8, ElementsAndDAreThoseOfPlainIntegers) {
  const Problem problem = drawn(Distribution::normal, 6, 9, 200);
  const Computed x =
      computed(combination("ampere", "int8-w8a8", scalings::row, "plain", Format::f32), problem);
  const auto rounded = [](double value, float scale) {
    return std::clamp(std::nearbyint(static_cast<float>(value) * (1 / scale)), -128.0F, 127.0F);
  };
  std::uint64_t zeros = 0;
  for (std::uint64_t i = 0; i < 6; ++i)
    for (std::uint64_t j = 0; j < 9; ++j) {
      double largest_a = 0, largest_b = 0;
      for (std::uint64_t k = 0; k < 200; ++k) {
        largest_a = std::max(largest_a, std::fabs(problem.a[i * 200 + k]));
        largest_b = std::max(largest_b, std::fabs(problem.b[k * 9 + j]));
      }
      const float a = static_cast<float>(largest_a) / 127.5F, b = static_cast<float>(largest_b) / 127.5F;
      ASSERT_EQ(x.converted.a.factor(i), a);
      ASSERT_EQ(x.converted.b.factor(j), b);
      std::int32_t sum = 0;
      for (std::uint64_t k = 0; k < 200; ++k) {
        const float of_a = rounded(problem.a[i * 200 + k], a), of_b = rounded(problem.b[k * 9 + j], b);
        ASSERT_EQ(x.converted.a.values[i * 200 + k], static_cast<double>(of_a));
        sum += static_cast<std::int32_t>(of_a * of_b);
        zeros += j == 0 && of_a == 0 ? 1 : 0;
      }
      const float by_token = static_cast<float>(sum) * a;
      EXPECT_EQ(x.elements.result[i * 9 + j], static_cast<double>(by_token * b));
    }
  EXPECT_EQ(x.converted.a.counts.underflow, zeros);
  EXPECT_EQ(x.converted.a.counts.saturated + x.converted.a.counts.subnormal, 0U);
  EXPECT_EQ(x.errors.compared, 54U);
  EXPECT_LT(x.errors.total, 0.02);
  EXPECT_LT(x.errors.accumulation, 1e-15);  // sums of integers are exact
}

TEST(GemmErrors, CountsWhatIsLost) {
  const Computed small =
      computed(combination("hopper", "e4m3", scalings::none, "plain"), filled(2, 2, 64, 1e-6, 1e-6));
  EXPECT_EQ(small.converted.a.counts.underflow, 128U);
  EXPECT_EQ(small.errors.quantization, 1);
  const Computed large =
      computed(combination("hopper", "e4m3", scalings::none, "plain"), filled(2, 2, 64, 1000, 1));
  EXPECT_EQ(large.converted.a.counts.saturated, 128U);
  EXPECT_EQ(large.converted.b.counts.saturated, 0U);
  const Computed tiny =
      computed(combination("hopper", "e4m3", scalings::none, "plain"), filled(2, 2, 64, 0x1p-8, 1));
  EXPECT_EQ(tiny.converted.a.counts.subnormal, 128U);
  const Computed half =
      computed(combination("hopper", "f16", scalings::none, "half"), filled(2, 2, 64, 200, 200));
  EXPECT_EQ(half.errors.overflow, 4U);
  EXPECT_EQ(half.errors.compared, 0U);
  Problem nan = filled(2, 2, 64, 1, 1);
  nan.a[3] = std::numeric_limits<double>::quiet_NaN();
  const Computed some = computed(combination("hopper", "bf16", scalings::none, "plain"), nan);
  EXPECT_EQ(some.errors.no_exact, 2U);
  EXPECT_EQ(some.errors.compared, 2U);
  EXPECT_EQ(some.errors.total, 0);
}

}  // namespace
}  // namespace mmaudit::report
