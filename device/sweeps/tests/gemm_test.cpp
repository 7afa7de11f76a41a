// Products: operands and samples.
#include "mmaudit/sweeps/gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sweeps/gemm/samples.hpp"
#include "sweeps/gemm/value.hpp"

namespace mmaudit::sweeps {
namespace {

float value_of(std::uint64_t seed, std::uint64_t index) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(gemm_value(seed, index)) << 16);
}

TEST(GemmValue, NearlyNormalAroundZero) {
  double sum = 0, squares = 0;
  constexpr int kCount = 1 << 16;
  for (int i = 0; i < kCount; ++i) {
    const double value = value_of(kGemmSeedA, static_cast<std::uint64_t>(i));
    sum += value;
    squares += value * value;
    ASSERT_LE(std::abs(value), 1.0);
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / kCount), 0.2887, 0.01);
  EXPECT_NE(gemm_value(kGemmSeedA, 1), gemm_value(kGemmSeedB, 1));
}

TEST(GemmSamples, CloseToExactSumsAndInsideTheMatrix) {
  constexpr int kSize = 512;
  const Instruction chain = *find_instruction("mma.m16n8k16.f32.bf16.bf16.f32");
  const std::vector<std::uint32_t> d = model_samples(90, chain, kSize);
  const std::vector<int> rows = sampled_rows(kSize);
  ASSERT_EQ(d.size(), rows.size() * rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    ASSERT_TRUE(rows[i] >= 0 && rows[i] < kSize);
    for (std::size_t j = 0; j < rows.size(); ++j) {
      double exact = 0;
      const auto element = [](int row, int k) {
        return static_cast<std::uint64_t>(row) * kSize + static_cast<std::uint64_t>(k);
      };
      for (int k = 0; k < kSize; ++k)
        exact += static_cast<double>(value_of(kGemmSeedA, element(rows[i], k))) *
                 static_cast<double>(value_of(kGemmSeedB, element(rows[j], k)));
      EXPECT_NEAR(__builtin_bit_cast(float, d[i * rows.size() + j]), exact, 1e-3);
    }
  }
  EXPECT_TRUE(model_samples(61, chain, kSize).empty());
}

TEST(GemmSize, MultiplesOfTheTile) {
  EXPECT_EQ(why_no_gemm_size(2048), "");
  EXPECT_EQ(why_no_gemm_size(1000), "found 1000, allowed: multiples of 256 up to 16384");
  EXPECT_NE(why_no_gemm_size(0), "");
}

}  // namespace
}  // namespace mmaudit::sweeps
