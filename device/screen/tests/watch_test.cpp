// A GPU that hangs is given up in time, alone, and keeps what it had found; its thread touches nothing later.
#include "mmaudit/screen/watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "mmaudit/screen/screen.hpp"

namespace mmaudit::screen {
namespace {

/// A clock that goes on by half a second with each pause, from when three threads are ready up to 200 s:
/// however slow a host runs these threads, none but the one that hangs is late.
struct FakeTime {
  std::shared_ptr<std::atomic<double>> seconds = std::make_shared<std::atomic<double>>(0);
  std::shared_ptr<std::atomic<int>> ready = std::make_shared<std::atomic<int>>(0);

  [[nodiscard]] Watch watch() const {
    return {.now = [at = seconds] { return at->load(); },
            .pause =
                [*this] {
                  if (*ready == 3 && *seconds < 200) *seconds = *seconds + 0.5;
                  std::this_thread::yield();
                }};
  }
};

TEST(Patience, HasAFloorAndGrowsWithTheStep) {
  EXPECT_EQ(patience(0.01), 30);
  EXPECT_EQ(patience(0.3), 30);
  EXPECT_EQ(patience(0.5), 50);
}

TEST(Watch, GivesUpAStepAfterItsPatience) {
  double now = 100;
  Steps steps([&now] { return now; });
  EXPECT_EQ(steps.overdue(), "");
  steps.begin("a launch of 500 ms", 0.5);
  for (int i = 0; i < 50; ++i, now += 1) EXPECT_EQ(steps.overdue(), "") << i;
  EXPECT_EQ(steps.overdue(), "");  // 50 s exactly
  now += 1;
  EXPECT_EQ(steps.overdue(), "does not answer: a launch of 500 ms has not ended after 50 s");
}

TEST(Watch, EachStepHasItsOwnTime) {
  double now = 0;
  Steps steps([&now] { return now; });
  const auto wait = [&](int seconds) {
    std::string said;
    for (int i = 0; i < seconds && said.empty(); ++i, now += 1) said = steps.overdue();
    return said;
  };
  steps.begin("a", 0);
  ASSERT_EQ(wait(25), "");  // after a failure begin() would never return
  steps.begin("b", 0);
  ASSERT_EQ(wait(25), "");
  steps.end();
  ASSERT_EQ(wait(500), "");
  steps.begin("c", 0);
  ASSERT_EQ(wait(25), "");
  EXPECT_EQ(wait(25), "does not answer: c has not ended after 30 s");
}

TEST(Watch, AStoppedProgramDoesNotBlameTheGpu) {
  double now = 0;
  Steps steps([&now] { return now; });
  steps.begin("a launch of 500 ms", 0.5);
  now += 3600;  // SIGSTOP, an hour, SIGCONT
  EXPECT_EQ(steps.overdue(), "");
}

TEST(Watch, AGpuThatHangsFailsAloneAndKeepsItsResults) {
  std::vector<device::DeviceInfo> gpus(3);
  for (int i = 0; i < 3; ++i) gpus[static_cast<std::size_t>(i)].ordinal = i;
  const FakeTime time;
  const auto answers = std::make_shared<std::promise<void>>();
  const auto went_on = std::make_shared<std::atomic<bool>>(false);
  const std::vector<GpuResult> results = screen_beside(
      gpus,
      [time, hung = answers->get_future().share(), went_on](const device::DeviceInfo& gpu, GpuResult& result,
                                                            Steps& steps) {
        result.works.resize(1);
        result.works[0].wrong = 1 + static_cast<std::uint64_t>(gpu.ordinal);
        steps.begin("a launch of 300 ms", 0.3);
        if (gpu.ordinal == 1) {
          ++*time.ready;
          hung.wait();
        }
        steps.end();
        if (gpu.ordinal == 1) *went_on = true;
        ++*time.ready;
        if (gpu.ordinal == 2) {
          while (*time.seconds < 200) std::this_thread::yield();
          steps.begin("a launch of 300 ms", 0.3);
          steps.end();
        }
        result.seconds = 75;
      },
      time.watch());
  ASSERT_EQ(results.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(results[i].device.ordinal, static_cast<int>(i));
    EXPECT_EQ(results[i].wrong(), i + 1);
    EXPECT_EQ(results[i].hangs, i == 1);
    EXPECT_EQ(results[i].error, i == 1 ? "does not answer: a launch of 300 ms has not ended after 30 s" : "");
    EXPECT_EQ(results[i].seconds, i == 1 ? 0 : 75);
  }
  answers->set_value();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(*went_on);
}

}  // namespace
}  // namespace mmaudit::screen
