// What docs/results publishes: no point above its ceiling, none of a dirty tree, none whose code was not
// read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

/// Noise of a median, as the gate allows it.
constexpr double kOverCeiling = 1.005;

Strings faults_of(const SweepResult& result) {
  Strings faults;
  if (result.provenance.revision.empty() || result.provenance.revision.ends_with("-dirty"))
    faults.push_back("revision " + result.provenance.revision);
  for (const Point& point : result.points) {
    if (!point.skipped.empty()) continue;
    const Benchmark* benchmark = find_benchmark(point.subject);
    if (benchmark == nullptr) {
      faults.push_back(point.key() + ": no such benchmark");
      continue;
    }
    const double ceiling = benchmark->ceiling(result.provenance.compute_capability);
    if (ceiling > 0 && point.rate().value_or(0) > kOverCeiling * ceiling)
      faults.push_back(fmt::format("{}: {:.1f} of {}", point.key(), *point.rate(), ceiling));
    if (point.get(tag::kShareHeld).value_or(0) > kOverCeiling)
      faults.push_back(fmt::format("{}: {} of its peak", point.key(), *point.get(tag::kShareHeld)));
    if (!point.get(tag::kPerStep)) faults.push_back(point.key() + ": its code was not read");
    if (point.get(tag::kCompared).value_or(0) <= 0 || point.get(tag::kDiffering).value_or(0) > 0)
      faults.push_back(point.key() + ": bits");
  }
  return faults;
}

/// Files below docs/results with this schema, their texts.
std::vector<std::pair<std::string, std::string>> results_of(std::string_view schema) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(MMAUDIT_RESULTS)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".json") && !name.ends_with(".json.zst")) continue;
    std::string text = corpus::text_of_file(entry.path());
    if (text.find(schema) != std::string::npos) found.emplace_back(name, std::move(text));
  }
  return found;
}

TEST(ShippedResults, NoPointOfASweepIsAboveItsCeiling) {
  std::size_t points = 0;
  for (const auto& [name, text] : results_of("mmaudit.sweep/1")) {
    const SweepResult result = from_json(text, name);
    EXPECT_EQ(faults_of(result), Strings{}) << name;
    points += result.points.size();
  }
  EXPECT_GT(points, 8000U);
}

TEST(ShippedResults, APointAboveItsCeilingIsNamed) {
  const auto files = results_of("mmaudit.sweep/1");
  ASSERT_FALSE(files.empty());
  SweepResult result = from_json(files.front().second, files.front().first);
  const auto at = std::find_if(result.points.begin(), result.points.end(), [](const Point& point) {
    return point.get(tag::kFma) && find_benchmark(point.subject)->ceiling(90) > 0;
  });
  ASSERT_NE(at, result.points.end());
  at->summaries[tag::kFma] = 1.01 * find_benchmark(at->subject)->ceiling(90);
  const Strings faults = faults_of(result);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_TRUE(faults[0].starts_with(at->key())) << faults[0];
  result.provenance.revision += "-dirty";
  EXPECT_EQ(faults_of(result).size(), 2U);
}

TEST(ShippedResults, NoProductIsAboveThePeakOfTheGpu) {
  const Benchmark& unit = *find_benchmark("wgmma.m64nNk16.f32.bf16.bf16");
  std::size_t points = 0;
  for (const auto& [name, text] : results_of("mmaudit.gemm/1")) {
    const auto json = nlohmann::json::parse(text);
    EXPECT_FALSE(json["meta"]["revision"].get<std::string>().ends_with("-dirty")) << name;
    const auto& device = json["device"];
    const double peak = 2 * unit.ceiling(device["compute_capability"]) *
                        device["multiprocessors"].get<double>() * device["nominal_hz"].get<double>();
    ASSERT_GT(peak, 0);
    for (const auto& point : json["points"]) {
      if (point.contains("skipped")) continue;
      EXPECT_LE(point["flops"].get<double>(), peak) << name << ": " << point["kernel"];
      ++points;
    }
  }
  EXPECT_GT(points, 0U);
}

}  // namespace
}  // namespace mmaudit::sweeps
