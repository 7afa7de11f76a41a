// Whole products: what is said of results that are given.
#include "sweeps/report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mmaudit::sweeps {
namespace {

GemmPoint point_of(const std::string& kernel, int size, double microseconds) {
  GemmPoint point;
  point.kernel = kernel;
  point.size = size;
  point.seconds = statistics_of({1e-6 * microseconds});
  point.compared = 256;
  if (kernel.starts_with("Sun")) {
    point.longest_block = 1000 * microseconds;
    point.launches = 1000;
  }
  return point;
}

TEST(GemmText, SaysWhatHolds) {
  GemmResult result;
  result.points = {point_of("Sun baseline", 2048, 300), point_of("Sun pipeline", 2048, 200),
                   point_of("Sun permuted", 2048, 100), point_of("wgmma TMA", 2048, 40),
                   point_of(kCublas, 2048, 30)};
  result.points.back().differing = 3;
  result.points.back().order_known = false;
  EXPECT_EQ(result.wrong(), 0);
  std::string text = report::rendered(gemm_report(gemm_json(result), ""), "text");
  EXPECT_NE(text.find("yes  the pipeline takes fewer cycles"), std::string::npos) << text;
  EXPECT_NE(text.find("yes  wgmma TMA reaches 70% of the fastest run of cuBLAS at 2048: 75.0%"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("913363 (A100"), std::string::npos) << text;
  EXPECT_NE(text.find("3 of 256 differ (order of k unknown)"), std::string::npos) << text;
  result.points[2].longest_block = 250000;
  result.points[3].seconds = statistics_of({6e-5});
  result.points[3].differing = 1;
  text = report::rendered(gemm_report(gemm_json(result), ""), "text");
  EXPECT_NE(text.find("no   the pipeline takes fewer cycles"), std::string::npos) << text;
  EXPECT_NE(text.find("no   wgmma TMA reaches"), std::string::npos) << text;
  EXPECT_EQ(result.wrong(), 1);
}

TEST(GemmText, EveryRendererDrawsItAndItFailsOnWrongBits) {
  GemmResult result;
  result.points = {point_of("wgmma TMA", 2048, 50), point_of(kCublas, 2048, 40)};
  for (const report::Renderer& renderer : report::renderers())
    EXPECT_NE(renderer.draw(gemm_report(gemm_json(result), ""), false)
                  .find(renderer.name == "junit" ? "products" : "2048"),
              std::string::npos)
        << renderer.name;
  EXPECT_EQ(report::exit_code(gemm_report(gemm_json(result), "")), 0);
  result.points.front().differing = 1;
  EXPECT_EQ(report::exit_code(gemm_report(gemm_json(result), "")), 1);
}

TEST(GemmText, TheGoalIsTheFastestRunOfTheLibrary) {
  GemmResult result;
  result.points = {point_of("wgmma TMA", 2048, 50), point_of(kCublas, 2048, 40)};
  result.points[1].seconds = statistics_of({40e-6, 30e-6, 40e-6});
  const std::string text = report::rendered(gemm_report(gemm_json(result), ""), "text");
  EXPECT_NE(text.find("no   wgmma TMA reaches 70% of the fastest run of cuBLAS at 2048: 60.0%"),
            std::string::npos)
      << text;
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
