// Published rows beside points.
#include "sweeps/published.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fake_target.hpp"

namespace mmaudit::sweeps::test {
namespace {

Point point_at(const std::string& subject, std::vector<std::pair<std::string, std::string>> axes) {
  Point point;
  point.subject = subject;
  point.axes = std::move(axes);
  return point;
}

TEST(Published, CyclesOfTheSamePoint) {
  const auto rows =
      published_cycles(point_at(kMma, {{"scope", "sm"}, {"init", "random"}, {"warps", "1"}, {"ilp", "1"}}));
  EXPECT_NE(rows.find("24.1 (H800, Luo VIII)"), std::string::npos) << rows;
  EXPECT_NE(rows.find("24.7 (A100, Sun III)"), std::string::npos);
  EXPECT_EQ(
      (published_cycles(point_at(kMma, {{"scope", "sm"}, {"init", "random"}, {"warps", "8"}, {"ilp", "2"}}))),
      "32.6 (A100, Sun III)");
  EXPECT_TRUE(published_cycles(point_at(kMma, {{"scope", "sm"}, {"warps", "7"}, {"ilp", "1"}})).empty());
  EXPECT_TRUE(published_cycles(point_at(kMma, {{"scope", "gpu"}, {"warps", "1"}, {"ilp", "1"}})).empty());
}

TEST(Published, WgmmaByNAndWhereAComesFrom) {
  const auto at = [](const char* n, const char* a) {
    return (published_cycles(
        point_at("wgmma.m64nNk16.f32.f16.f16",
                 {{"scope", "sm"}, {"init", "zero"}, {"warps", "4"}, {"n", n}, {"a", a}, {"group", "8"}})));
  };
  EXPECT_EQ(at("8", "shared"), "18.0 (H800 PCIe, Luo XI)");
  EXPECT_EQ(at("8", "registers"), "13.0 (H800 PCIe, Luo XI)");
  EXPECT_EQ(at("256", "shared"), "128.0 (H800 PCIe, Luo IX)");
}

TEST(Published, NamesOfBitsAndOfTransposedLoads) {
  const auto cycles = [](const char* subject, std::vector<std::pair<std::string, std::string>> axes) {
    return (published_cycles(point_at(subject, std::move(axes))));
  };
  EXPECT_NE(cycles("mma.m16n8k256.s32.b1.b1.s32.xor.popc", {{"scope", "sm"}, {"warps", "1"}, {"ilp", "1"}})
                .find("26.0 (A100, Sun III)"),
            std::string::npos);
  EXPECT_EQ(cycles("ldmatrix.x4", {{"scope", "sm"}, {"warps", "1"}, {"ilp", "1"}}), "29.3 (A100, Sun IX)");
  EXPECT_EQ(cycles("ldmatrix.x4.trans", {{"scope", "sm"}, {"warps", "1"}, {"ilp", "1"}}), "");
  EXPECT_EQ(cycles("ld.shared.u32", {{"scope", "sm"}, {"warps", "1"}, {"ilp", "1"}, {"ways", "8"}}),
            "37.0 (A100, Sun X)");
}

TEST(Published, RatesOfTheWholeGpuOnly) {
  const auto rows = published_rates(point_at(
      "wgmma.m64nNk16.f32.f16.f16", {{"scope", "gpu"}, {"init", "random"}, {"n", "256"}, {"a", "shared"}}));
  EXPECT_EQ(rows, "665.4 (H800 PCIe, Luo IX)");
}

TEST(Published, EfficiencyAndCyclesOfWholeProducts) {
  EXPECT_NE(
      published_efficiency(point_at("wgmma.m64nNk16.f16.f16.f16",
                                    {{"scope", "energy"}, {"init", "random"}, {"n", "256"}, {"a", "shared"}}))
          .find("1.70 (H800 PCIe, Luo XIII)"),
      std::string::npos);
  EXPECT_EQ(published_gemm_cycles("Sun baseline", 2048), "913363 (A100, Sun XVI)");
  EXPECT_EQ(published_gemm_cycles("Sun baseline", 4096), "");
}

TEST(Published, EveryRowSaysSomethingOfABenchmarkThatNamesItsTable) {
  int known = 0;
  for (const PublishedRow& row : published_rows()) {
    EXPECT_FALSE(row.cycles.empty() && row.rate.empty() && row.watts.empty() && row.per_watt.empty() &&
                 row.mhz.empty());
    EXPECT_EQ(row.rate.empty(), row.unit.empty()) << row.table;
    for (const std::string_view subject : row.subjects) {
      const Benchmark* benchmark = find_benchmark(subject);
      known += benchmark != nullptr ? 1 : 0;
      // Whole products, and single HMMA of Turing's wmma, are no benchmarks.
      EXPECT_TRUE(benchmark != nullptr || row.axes.front().first == "size" || row.axes.front().first == "set")
          << subject;
      if (benchmark == nullptr || (!row.axes.empty() && row.axes.front().first == "set")) continue;
      const auto& tables = benchmark->published;
      EXPECT_NE(std::find(tables.begin(), tables.end(), row.table), tables.end()) << row.table << subject;
    }
  }
  EXPECT_GT(known, 350);
}

TEST(Published, EveryTableThatABenchmarkNamesIsThere) {
  std::set<std::string_view> tables;
  for (const PublishedRow& row : published_rows()) tables.insert(row.table);
  for (const Benchmark& benchmark : benchmarks())
    for (const std::string_view table : benchmark.published) EXPECT_TRUE(tables.contains(table)) << table;
}

}  // namespace
}  // namespace mmaudit::sweeps::test
