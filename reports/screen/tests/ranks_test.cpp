// The screens of several ranks, put together by rank 0.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "screen/report.hpp"

namespace mmaudit::screen {
namespace {

GpuResult gpu_of(int ordinal, std::uint64_t wrong) {
  GpuResult gpu;
  gpu.device.ordinal = ordinal;
  gpu.device.name = "a GPU";
  gpu.device.multiprocessors = 132;
  gpu.device.compute_capability = 90;
  gpu.seconds = 600;
  WorkResult work;
  work.work.instruction = *find_instruction("wgmma.m64n256k16.f32.f16.f16");
  work.wrong = wrong;
  work.fma = 1e15;
  work.multiprocessors = 132;
  gpu.works = {work};
  return gpu;
}

Provenance driver(const std::string& version) {
  Provenance provenance;
  provenance.driver = version;
  return provenance;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Ranks, AreOneScreen) {
  const Together all = put_together({part_of({gpu_of(0, 0), gpu_of(1, 0)}, driver("580"), "north"),
                                     part_of({gpu_of(0, 3)}, driver("590"), "south")});
  EXPECT_TRUE(all.failed);
  EXPECT_FALSE(all.passed);
  const auto json = nlohmann::json::parse(all.report.json());
  EXPECT_EQ(json.at("kind"), "mmaudit-screen");
  EXPECT_FALSE(json.at("passed").get<bool>());
  ASSERT_EQ(json.at("gpus").size(), 3U);
  const auto& last = json.at("gpus").at(2);
  EXPECT_EQ(last.at("host"), "south");
  EXPECT_EQ(last.at("rank"), 1);
  EXPECT_EQ(last.at("driver"), "590");
  EXPECT_EQ(last.at("wrong"), 3);
  EXPECT_EQ(json.at("gpus").at(1).at("host"), "north");
  EXPECT_EQ(json.at("gpus").at(1).at("gpu"), 1);
  // The verdicts are the last rows, each with its host.
  const std::string text = report::rendered(all.report, "text");
  const std::size_t verdicts = text.find("  north  GPU 0 a GPU  pass ");
  ASSERT_NE(verdicts, std::string::npos) << text;
  EXPECT_NE(text.find("\n  south  GPU 0 a GPU  FAIL ", verdicts), std::string::npos) << text;
  EXPECT_NE(text.find("\n2 of 3 GPUs passed; south, GPU 0 a GPU: FAIL\n", verdicts), std::string::npos)
      << text;
  EXPECT_LT(text.find("Rank 1, host south: "), verdicts);
  EXPECT_EQ(all.report.cases.back().name, "south: GPU 0 a GPU");
  // A metric's samples are together, behind one header.
  EXPECT_NE(all.prometheus.find("# TYPE mmaudit_screen_passed gauge\n"
                                "mmaudit_screen_passed{host=\"north\",gpu=\"0\"} 1\n"
                                "mmaudit_screen_passed{host=\"north\",gpu=\"1\"} 1\n"
                                "mmaudit_screen_passed{host=\"south\",gpu=\"0\"} 0\n"
                                "# HELP mmaudit_screen_wrong_checksums "),
            std::string::npos)
      << all.prometheus;
  EXPECT_EQ(count(all.prometheus, "# HELP "), count(prometheus_of({gpu_of(0, 0)}), "# HELP "));
  EXPECT_EQ(count(all.prometheus, "{host="), 3 * count(all.prometheus, "# HELP "));
}

TEST(Ranks, PassWhereAllPass) {
  const std::string good = part_of({gpu_of(0, 0)}, driver("580"), "north");
  EXPECT_TRUE(put_together({good, good}).passed);
  EXPECT_FALSE(put_together({good, good}).failed);
  EXPECT_FALSE(put_together({}).passed);
}

TEST(Ranks, AHostWithoutAGpuFails) {
  const Together all = put_together({part_of({gpu_of(0, 0)}, driver("580"), "north"),
                                     part_of({no_gpu("this machine has\nno GPU", 1)}, driver(""), "south")});
  EXPECT_TRUE(all.failed);
  EXPECT_FALSE(all.passed);
  EXPECT_NE(all.report.headline.find("south, no GPU: FAIL: this machine has no GPU"), std::string::npos)
      << all.report.headline;
  EXPECT_NE(all.prometheus.find("mmaudit_screen_gpu_error{host=\"south\",gpu=\"-2\"} 1\n"),
            std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(all.report.json()).at("gpus").at(1).at("verdict"), "FAIL");
}

/// The finding of any rank can be had as a CUDA file afterwards.
TEST(Ranks, JsonStillNamesTheFinding) {
  GpuResult gpu = gpu_of(0, 1);
  Finding finding;
  finding.work = gpu.works.front().work;
  finding.expected = 1;  // not the model's
  gpu.findings = {finding};
  std::string json = json_of({gpu}, driver("580"));
  try {
    reproducer_of_json(json, "f.json");
    FAIL();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    const std::size_t at = text.find("allowed: 0x") + 9;
    finding.expected = std::stoull(text.substr(at, text.find(',', at) - at), nullptr, 16);
  }
  gpu.findings = {finding};
  const Together all =
      put_together({part_of({gpu_of(0, 0)}, driver("580"), "north"), part_of({gpu}, driver("580"), "south")});
  EXPECT_FALSE(all.reproducer.empty());
  EXPECT_EQ(reproducer_of_json(all.report.json(), "f.json"), all.reproducer);
}

}  // namespace
}  // namespace mmaudit::screen
