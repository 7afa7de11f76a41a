#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fake_target.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::sweeps::test {
namespace {

TEST(Statistics, QuartilesAreInterpolated) {
  const Statistics of = statistics_of({4, 1, 3, 2});
  EXPECT_EQ(of.count, 4);
  EXPECT_DOUBLE_EQ(of.median, 2.5);
  EXPECT_DOUBLE_EQ(of.lower_quartile, 1.75);
  EXPECT_DOUBLE_EQ(of.upper_quartile, 3.25);
  EXPECT_DOUBLE_EQ(of.least, 1);
  EXPECT_DOUBLE_EQ(of.most, 4);
  EXPECT_DOUBLE_EQ(of.noise(), 0.6);
  EXPECT_EQ(statistics_of({}).count, 0);
  EXPECT_DOUBLE_EQ(statistics_of({7}).median, 7);
}

TEST(Statistics, OneOutlierMovesNeitherMedianNorNoise) {
  std::vector<double> samples(20, 10.0);
  samples.push_back(1e6);
  EXPECT_DOUBLE_EQ(statistics_of(samples).median, 10);
  EXPECT_DOUBLE_EQ(statistics_of(samples).noise(), 0);
}

TEST(StopRule, AtLeastTwentyRunsAndNoEndlessNoise) {
  const RunRule rule;
  EXPECT_GE(rule.least, 20);
  std::vector<double> still(static_cast<std::size_t>(rule.least) - 1, 5.0);
  EXPECT_FALSE(enough(still, rule));
  still.push_back(5.0);
  EXPECT_TRUE(enough(still, rule));
  std::vector<double> noisy;
  while (!enough(noisy, rule)) noisy.push_back(noisy.size() % 2 == 0 ? 1.0 : 2.0);
  EXPECT_EQ(static_cast<int>(noisy.size()), rule.most);
}

TEST(Sweep, MeasuresTheGridOnceAndTheGpuAtItsBestPoint) {
  FakeTarget target;
  const SweepResult result = sweep_of(target, {kMma});
  EXPECT_EQ(target.measured, 2 * 8 * 6 + 2);
  std::set<std::string> keys;
  for (const Point& point : result.points) EXPECT_TRUE(keys.insert(point.key()).second) << point.key();
  const Point* gpu = nullptr;
  double best = 0;
  for (const Point& point : result.points) {
    if (point.axis("scope") == "gpu") gpu = &point;
    if (point.axis("scope") == "sm") best = std::max(best, *point.get(tag::kFma));
  }
  ASSERT_NE(gpu, nullptr);
  const Point* chosen =
      result.find(std::string(kMma) + " scope=sm init=random warps=" + std::string(gpu->axis("warps")) +
                  " ilp=" + std::string(gpu->axis("ilp")));
  ASSERT_NE(chosen, nullptr);
  EXPECT_GE(*chosen->get(tag::kFma), best / 1.006);
  EXPECT_NEAR(*gpu->get(tag::kFlops), 2 * *chosen->get(tag::kFma) * 132 * 1.8e9,
              1e-3 * *gpu->get(tag::kFlops));
}

TEST(Sweep, SlowClocksAreCountedNotDropped) {
  FakeTarget target;
  const SweepResult result = sweep_of(target, {kMma}, true, {"init=[zero,random]"});
  int seen = 0;
  for (const Point& point : result.points) {
    if (point.axis("scope") != "gpu") continue;
    ++seen;
    EXPECT_EQ(*point.get(tag::kRuns), RunRule{}.least);
    EXPECT_EQ(*point.get(tag::kThrottled), point.axis("init") == "random" ? RunRule{}.least : 0);
  }
  EXPECT_EQ(seen, 2);
}

TEST(Sweep, WithoutAGridTheGpuTakesTheMostThatRuns) {
  FakeTarget target;
  target.most_warps = 16;
  const SweepResult result = sweep_of(target, {kMma}, false, {"scope=gpu", "init=zero"});
  std::vector<std::string> measured;
  for (const Point& point : result.points)
    if (point.skipped.empty()) measured.push_back(point.key());
  EXPECT_EQ(measured, std::vector<std::string>{std::string(kMma) + " scope=gpu init=zero warps=16 ilp=6"});
}

TEST(Sweep, EnergyIsWorkOverJoules) {
  FakeTarget target;  // 700 W
  const SweepResult result =
      sweep_of(target, {"wgmma.m64nNk16.f32.f16"}, true, {"scope=[sm,energy]", "n=256", "a=shared"});
  const Point* point = nullptr;
  for (const Point& one : result.points)
    if (one.axis("scope") == "energy") point = &one;
  ASSERT_NE(point, nullptr);
  EXPECT_DOUBLE_EQ(*point->get(tag::kWatts), 700);
  EXPECT_DOUBLE_EQ(*point->get(tag::kFlopsPerWatt), *point->get(tag::kFlops) / 700);
  const double work = 2.0 * 64 * 256 * 16 * 1000 * 132 * RunRule{}.least * point->number("warps") / 4;
  EXPECT_DOUBLE_EQ(*point->get(tag::kFlops), work);
}

TEST(Sweep, StopsWhenToldAndGoesOnWhereItStopped) {
  FakeTarget target;
  SweepResult result;
  result.provenance = target.provenance();
  const SweepOptions options{select_benchmarks({kMma, "ldmatrix.x4"}), resolve_axes({}, true), {}};
  int saved = 0;
  SweepHooks hooks;
  hooks.keep_going = [&] { return target.measured < 5; };
  hooks.save = [&] { ++saved; };
  run_sweep(target, options, hooks, result);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.points.size(), 5U);
  EXPECT_EQ(saved, 1);

  SweepResult again = result;
  run_sweep(target, options, {}, again);
  EXPECT_FALSE(again.interrupted);
  FakeTarget fresh;
  SweepResult whole;
  whole.provenance = fresh.provenance();
  run_sweep(fresh, options, {}, whole);
  EXPECT_EQ(target.measured, fresh.measured) << "a point was measured twice, or left out";
  EXPECT_EQ(again.points, whole.points);
}

TEST(Sweep, WrongBitsAreCounted) {
  FakeTarget target;
  target.differing = [](const Point& point) {
    return std::uint64_t{point.number("warps") == 4 && point.number("ilp") == 2 ? 3U : 0U};
  };
  const SweepResult result = sweep_of(target, {kMma}, true, {"scope=sm"});
  EXPECT_EQ(result.wrong(), 1);
}

}  // namespace
}  // namespace mmaudit::sweeps::test
