// Sweeps that no machine measured: edited files are refused in one line.
#include "sweeps/plausible.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "fake_target.hpp"
#include "mmaudit/error.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps::test {
namespace {

SweepResult copies() {
  FakeTarget target;
  return sweep_of(target, {"cp.async.bulk+footprint", "stream.ld.v4.u32", kMma}, true);
}

/// What reading says of a sweep whose first point of this benchmark and scope was edited; empty: it is taken.
std::string why(const std::string& subject, const std::string& scope,
                const std::function<void(Point&)>& edit) {
  SweepResult result = copies();
  const auto at = std::find_if(result.points.begin(), result.points.end(), [&](const Point& point) {
    return point.subject == subject && point.axis("scope") == scope && point.skipped.empty();
  });
  EXPECT_NE(at, result.points.end()) << subject;
  if (at == result.points.end()) return "no such point";
  edit(*at);
  try {
    from_json(to_json(result), "file");
    return {};
  } catch (const InputError& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    return error.what();
  }
}

constexpr char kCopy[] = "cp.async.bulk+footprint", kStream[] = "stream.ld.v4.u32";

TEST(Plausible, AMeasuredSweepIsTaken) {
  EXPECT_EQ(why(kCopy, "sm", [](Point&) {}), "");
}

TEST(Plausible, PowerAboveTheEnforcedLimitIsNamed) {
  SweepResult result = copies();
  Point& point = result.points.front();
  point.summaries[tag::kLimit] = 700;
  const auto warned_at = [&](double watts) {
    point.summaries[tag::kWatts] = watts;
    return report_of(result).warnings.lines;
  };
  EXPECT_TRUE(warned_at(700).empty());
  ASSERT_EQ(warned_at(741).size(), 1U);
  EXPECT_EQ(
      warned_at(741)[0].rfind("1 points have a power above the enforced limit, up to 741 W of 700 W (", 0),
      0U);
}

TEST(Plausible, ValuesThatAnAxisLacksAreRefused) {
  const auto kib = [](const char* value) {
    return why(kCopy, "sm", [&](Point& point) { point.set("kib", value); });
  };
  EXPECT_EQ(kib("abc"), "file: cp.async.bulk+footprint: axis kib: found \"abc\", allowed: 1 to 2097152");
  for (const char* value : {"", "0", "-1", "032", "32.0", " 32", "2097153", "99999999999999999999"})
    EXPECT_NE(kib(value).find("axis kib: found"), std::string::npos) << value;
  EXPECT_EQ(kib("33"), "") << "not among the usual footprints, but one that can be swept";
  EXPECT_EQ(why(kStream, "sm", [](Point& point) { point.set("level", "l3"); }),
            "file: stream.ld.v4.u32: axis level: found \"l3\", allowed: l1,l2,memory");
}

TEST(Plausible, APointOrAnAxisTwiceIsRefused) {
  SweepResult result = copies();
  Point again = result.points.front();
  const std::string key = again.key();
  std::reverse(again.axes.begin(), again.axes.end());
  again.summaries[tag::kCycles] *= 2;
  result.points.push_back(again);
  try {
    from_json(to_json(result), "file");
    FAIL() << key;
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()),
              "file: benchmarks: found the point \"" + again.key() + "\" twice, allowed: each point once");
  }
  EXPECT_EQ(why(kCopy, "sm", [](Point& point) { point.axes.emplace_back("kib", "64"); })
                .ends_with("found the axis kib twice, allowed: each axis once"),
            true);
}

TEST(Plausible, RatesAboveTheirCeilingsAreRefused) {
  const auto with = [](const char* subject, const char* scope, const char* tag, double value) {
    return why(subject, scope, [&](Point& point) { point.summaries[tag] = value; });
  };
  const double ceiling = find_benchmark(kMma)->ceiling(90);
  ASSERT_GT(ceiling, 0);
  EXPECT_EQ(with(kMma, "sm", tag::kFma, ceiling), "");
  EXPECT_EQ(with(kMma, "sm", tag::kFma, 1.004 * ceiling), "") << "noise";
  EXPECT_EQ(
      with(kMma, "sm", tag::kFma, 2 * ceiling),
      "file: mma.m16n8k16.f32.f16.f16.f32 scope=sm init=zero warps=1 ilp=1: rate/fma_per_clk_sm: found 4096, "
      "allowed: at most 2048, what the GPU can do; more is a measurement bug");
  EXPECT_NE(with(kMma, "gpu", tag::kShareHeld, 1.2)
                .find("found 1.2, allowed: at most 1, the peak at the clock held"),
            std::string::npos);
  // The whole GPU's stream from memory.
  const auto memory = [](double rate, double peak) {
    return why(kStream, "gpu", [&](Point& point) {
      point.set("level", "memory");
      point.set("warps", "31");
      point.summaries[tag::kBytesPerSecond] = rate;
      point.summaries[tag::kMemoryPeak] = peak;
    });
  };
  EXPECT_EQ(memory(4.5e12, 4.8e12), "");
  EXPECT_NE(memory(5e12, 4.8e12).find("allowed: at most 4800000000000, the memory's peak"),
            std::string::npos);
}

TEST(Plausible, TimesAndPeaksOfZeroAreRefused) {
  for (const char* tag : {tag::kEvents, tag::kTimer, tag::kClock, tag::kCyclesLeast, tag::kShareHeld,
                          tag::kSteps, tag::kMemoryPeak, tag::kWait, tag::kFma})
    for (const double value : {0.0, -1.0})
      EXPECT_NE(why(kMma, "gpu", [&](Point& point) { point.summaries[tag] = value; })
                    .find(std::string(tag) + ": found \"" + (value < 0 ? "-1" : "0") +
                          "\", allowed: a number above 0"),
                std::string::npos)
          << tag;
  EXPECT_EQ(why(kMma, "gpu", [](Point& point) { point.summaries[tag::kThrottled] = 0; }), "");
}

}  // namespace
}  // namespace mmaudit::sweeps::test
