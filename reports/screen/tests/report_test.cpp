// Verdicts, and what the JSON and the metrics say of them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "screen/report.hpp"

namespace mmaudit::screen {
namespace {

GpuResult gpu_with(std::uint64_t wrong, int multiprocessors = 132) {
  GpuResult gpu;
  gpu.device.ordinal = 1;
  gpu.device.name = "a GPU";
  gpu.device.multiprocessors = 132;
  gpu.seconds = 600;
  WorkResult work;
  work.work.instruction = *find_instruction("wgmma.m64n256k16.f32.f16.f16");
  work.wrong = wrong;
  work.fma = work.steady_fma = 1e15;
  work.seconds = 2;
  work.cycles = 3e9;
  work.multiprocessors = multiprocessors;
  gpu.works = {work};
  if (wrong != 0) {
    gpu.suspects[{17, 2}] = {.wrong = wrong, .again_here = 5, .reruns = 3};
    Finding finding;
    finding.work = work.work;
    finding.multiprocessor = 17;
    finding.subcore = 2;
    finding.expected = 0x3F800000;
    finding.found = 0x3F800000 ^ (1U << 13U | 1U << 20U);
    gpu.findings = {finding};
  }
  return gpu;
}

TEST(Verdict, PassFailStoppedRefused) {
  EXPECT_EQ(verdict(gpu_with(0)), "pass");
  EXPECT_EQ(verdict(gpu_with(1)), "FAIL");
  EXPECT_EQ(verdict(gpu_with(0, 100)), "stopped");
  GpuResult refused = gpu_with(0);
  refused.refused = "found 1 other process";
  EXPECT_EQ(verdict(refused), "NOT SCREENED");
  EXPECT_TRUE(passed({gpu_with(0), gpu_with(0)}));
  EXPECT_FALSE(passed({gpu_with(0), gpu_with(3)}));
  EXPECT_FALSE(passed({refused}));
  EXPECT_FALSE(passed({}));
}

TEST(Text, NamesPlaceBitsAndKind) {
  const std::string text = text_of({gpu_with(7)});
  for (const char* part :
       {"SM 17 sub-core 2: 7 threads", "a hard fault", "bits 13, 20", "GPU 1 a GPU: FAIL", "1000"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_NE(text_of({gpu_with(0)}).find("under 0.14 visible faults per SM and hour"), std::string::npos)
      << text_of({gpu_with(0)});
}

TEST(Json, HasVerdictsAndFindings) {
  const auto json = nlohmann::json::parse(json_of({gpu_with(0), gpu_with(2)}, {}));
  EXPECT_FALSE(json.at("passed").get<bool>());
  EXPECT_EQ(json.at("gpus").at(0).at("verdict"), "pass");
  EXPECT_EQ(json.at("gpus").at(1).at("findings").at(0).at("sm"), 17);
  EXPECT_EQ(json.at("gpus").at(1).at("suspects").at(0).at("again_here"), 5);
}

TEST(Prometheus, OneLinePerGpuAndMetric) {
  const std::string text = prometheus_of({gpu_with(0)});
  EXPECT_NE(text.find("# TYPE mmaudit_screen_passed gauge\nmmaudit_screen_passed{gpu=\"1\"} 1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(prometheus_of({gpu_with(4)}).find("mmaudit_screen_wrong_checksums{gpu=\"1\"} 4\n"),
            std::string::npos);
}

}  // namespace
}  // namespace mmaudit::screen
