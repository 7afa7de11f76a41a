// Verdicts, and what the JSON and the metrics say of them.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "screen/report.hpp"

namespace mmaudit::screen {
namespace {

std::string text_of(const std::vector<GpuResult>& gpus) {
  return report::rendered(report_of(gpus, {}), "text");
}

GpuResult gpu_with(std::uint64_t wrong, int multiprocessors = 132) {
  GpuResult gpu;
  gpu.device.ordinal = 1;
  gpu.device.name = "a GPU";
  gpu.device.multiprocessors = 132;
  gpu.device.compute_capability = 90;
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

/// As run_screen() fills it in where CUDA reports an error in the middle.
std::vector<GpuResult> one_of_two_lost() {
  std::vector<device::DeviceInfo> gpus = {gpu_with(0).device, gpu_with(0).device};
  gpus[0].ordinal = 0;
  return screen_beside(gpus, [](const device::DeviceInfo& gpu, GpuResult& result, Steps&) {
    const bool sick = gpu.ordinal == 0;
    result = gpu_with(0, sick ? 100 : 132);
    result.device = gpu;
    if (sick)
      throw EnvironmentError("CUDA: running a screening kernel: uncorrectable ECC error\nencountered");
  });
}

TEST(LostGpu, FailsWithItsReasonBesideAGpuThatPasses) {
  const std::vector<GpuResult> gpus = one_of_two_lost();
  EXPECT_EQ(verdict(gpus[0]), "FAIL");
  EXPECT_EQ(verdict(gpus[1]), "pass");
  EXPECT_TRUE(failed(gpus));
  EXPECT_FALSE(passed(gpus));
  const std::string text = text_of(gpus);
  EXPECT_NE(
      text.find("1 of 2 GPUs passed; GPU 0 a GPU: FAIL: CUDA: running a screening kernel: uncorrectable "
                "ECC error encountered\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("GPU 1 a GPU  pass "), std::string::npos) << text;
  EXPECT_EQ(report::exit_code(report_of(gpus, {})), 1);
  const std::string metrics = prometheus_of(gpus);
  for (const char* line : {"passed{gpu=\"0\"} 0\n", "passed{gpu=\"1\"} 1\n", "gpu_error{gpu=\"0\"} 1\n",
                           "gpu_error{gpu=\"1\"} 0\n"})
    EXPECT_NE(metrics.find(line), std::string::npos) << line << metrics;
  const auto json = nlohmann::json::parse(json_of(gpus, {}));
  EXPECT_FALSE(json.at("passed").get<bool>());
  EXPECT_EQ(json.at("gpus").at(0).at("verdict"), "FAIL");
  EXPECT_NE(json.at("gpus").at(0).at("error").get<std::string>().find("uncorrectable ECC"),
            std::string::npos);
  EXPECT_EQ(json.at("gpus").at(1).at("error"), "");
}

TEST(LostGpu, FailsWhereNothingRan) {
  GpuResult lost;
  lost.device = gpu_with(0).device;
  lost.error = "CUDA: selecting the device: the GPU has fallen off the bus";
  EXPECT_EQ(verdict(lost), "FAIL");
  EXPECT_NE(text_of({lost}).find("GPU 1 a GPU: FAIL: CUDA: selecting the device: "), std::string::npos)
      << text_of({lost});
  EXPECT_FALSE(failed({gpu_with(0)}));
}

TEST(HungGpu, FailsWithItsStepBesideAGpuThatPasses) {
  GpuResult hung = gpu_with(0, 100);
  hung.hangs = true;
  hung.error = "does not answer: a launch of 500 ms has not ended after 50 s";
  EXPECT_EQ(verdict(hung), "FAIL");
  EXPECT_TRUE(hangs({gpu_with(0), hung}));
  EXPECT_FALSE(hangs(one_of_two_lost()));
  EXPECT_FALSE(hangs({gpu_with(3)}));
  const std::string text = text_of({hung, gpu_with(0)});
  EXPECT_NE(text.find("GPU 1 a GPU: FAIL: does not answer: a launch of 500 ms has not ended after 50 s\n"),
            std::string::npos)
      << text;
}

TEST(Text, NamesPlaceBitsAndKind) {
  const std::string text = text_of({gpu_with(7)});
  for (const char* part : {"  mmaudit explain --arch hopper --inst wgmma.m64n256k16.f32.f16.f16 --a 0x",
                           "\n  17         2", "a hard fault", "bits 13, 20", "GPU 1 a GPU: FAIL", "1000"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_NE(text_of({gpu_with(0)}).find(" under 0.14 "), std::string::npos) << text_of({gpu_with(0)});
}

TEST(Page, HasVerdictsAndTables) {
  const std::string page = report::rendered(report_of({gpu_with(0), gpu_with(7)}, {}), "html");
  for (const char* part :
       {"1 of 2 GPUs passed; GPU 1 a GPU: FAIL", "Wrong accumulators of GPU 1 a GPU", "Verdicts"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  const std::string junit = report::rendered(report_of({gpu_with(0), gpu_with(7)}, {}), "junit");
  EXPECT_NE(junit.find("tests=\"2\" failures=\"1\""), std::string::npos) << junit;
}

TEST(Json, HasVerdictsAndFindings) {
  const auto json = nlohmann::json::parse(json_of({gpu_with(0), gpu_with(2)}, {}));
  EXPECT_FALSE(json.at("passed").get<bool>());
  EXPECT_EQ(json.at("gpus").at(0).at("verdict"), "pass");
  EXPECT_EQ(json.at("gpus").at(1).at("findings").at(0).at("sm"), 17);
  EXPECT_EQ(json.at("gpus")
                .at(1)
                .at("findings")
                .at(0)
                .at("explain")
                .get<std::string>()
                .find("mmaudit explain --arch hopper --inst wgmma.m64n256k16.f32.f16.f16 --a 0x"),
            0U);
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
