// Products: operands, samples, and what is said of results that are given.
#include "mmaudit/sweeps/gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "gemm_samples.hpp"
#include "sweeps/kernels/gemm_value.hpp"

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

GemmPoint point_of(const std::string& kernel, int size, double microseconds) {
  GemmPoint point;
  point.kernel = kernel;
  point.size = size;
  point.seconds = statistics_of({1e-6 * microseconds});
  point.compared = 256;
  return point;
}

TEST(GemmText, SaysWhatHolds) {
  GemmResult result;
  result.points = {point_of("mma baseline", 2048, 300), point_of("mma pipeline", 2048, 200),
                   point_of("mma permuted", 2048, 100), point_of("wgmma TMA", 2048, 40),
                   point_of(kCublas, 2048, 30)};
  result.points.back().differing = 3;
  result.points.back().order_known = false;
  EXPECT_EQ(result.wrong(), 0);
  std::string text = gemm_text(result);
  EXPECT_NE(text.find("yes  the pipeline is faster"), std::string::npos) << text;
  EXPECT_NE(text.find("yes  wgmma TMA reaches 70% of the fastest run of cuBLAS at 2048: 75.0%"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("913363 (A100"), std::string::npos) << text;
  EXPECT_NE(text.find("3 of 256 differ (order of k unknown)"), std::string::npos) << text;
  result.points[2].seconds = statistics_of({2.5e-4});
  result.points[3].seconds = statistics_of({6e-5});
  result.points[3].differing = 1;
  text = gemm_text(result);
  EXPECT_NE(text.find("no   the pipeline is faster"), std::string::npos) << text;
  EXPECT_NE(text.find("no   wgmma TMA reaches"), std::string::npos) << text;
  EXPECT_EQ(result.wrong(), 1);
}

TEST(GemmJson, HasEveryPoint) {
  GemmResult result;
  result.points = {point_of("wgmma TMA", 8192, 1500), point_of(kCublas, 8192, 1)};
  result.points[1].skipped = "no cuBLAS";
  const auto json = nlohmann::json::parse(gemm_json(result));
  EXPECT_EQ(json["meta"]["schema"], kGemmSchema);
  ASSERT_EQ(json["points"].size(), 2U);
  EXPECT_NEAR(json["points"][0]["flops"].get<double>(), 7.33e14, 1e12);
  EXPECT_EQ(json["points"][1]["skipped"], "no cuBLAS");
}

}  // namespace
}  // namespace mmaudit::sweeps
