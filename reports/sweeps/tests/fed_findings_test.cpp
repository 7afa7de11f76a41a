// Findings on bytes that arrive while wgmma runs.
#include <gtest/gtest.h>

#include "fake_target.hpp"
#include "sweeps/findings.hpp"

namespace mmaudit::sweeps::test {
namespace {

constexpr char kFed[] = "wgmma.m64n256k16.f32.f16.f16+feed";

bool loads(const Benchmark& benchmark) { return benchmark.name.ends_with("+loads"); }

/// How many findings are judged as `expected`, and how many otherwise.
std::pair<int, int> judged(const SweepResult& result, bool expected) {
  std::pair<int, int> count;
  for (const Finding& finding : findings_of(result))
    if (finding.holds) ++(*finding.holds == expected ? count.first : count.second);
  return count;
}

TEST(FedFindings, HoldWhereCopiesFitBesideTheOperands) {
  FakeTarget target;
  EXPECT_EQ(judged(sweep_of(target, {kFed}), true), (std::pair{5, 0}));
}

TEST(FedFindings, FailWhereEveryCopyCosts) {
  FakeTarget target;
  target.cycles = [](const Benchmark& benchmark, const Point& point) {
    return 128.0 + point.number("fed") / 256.0 + (loads(benchmark) ? 4 : 0);
  };
  EXPECT_EQ(judged(sweep_of(target, {kFed}), false), (std::pair{5, 0}));
}

/// Registers beside 5 bytes per clock more: seen as far as the feeds that are tried lie apart.
TEST(FedFindings, SayWhatDifferenceIsNotSeen) {
  FakeTarget target;
  target.cycles = [](const Benchmark&, const Point& point) {
    return std::max(128.0, point.number("fed") / 4.0 / (point.axis("a") == "registers" ? 53 : 48));
  };
  for (const Finding& finding : findings_of(sweep_of(target, {kFed})))
    if (finding.statement.starts_with("Beside wgmma")) {
      EXPECT_EQ(finding.holds, true);
      EXPECT_EQ(finding.measured,
                "48.0 B/clk/SM beside 95% of the rate with A in shared memory, 52.0 in registers; the next "
                "larger feeds ask for 4.0 and 4.0 more, so a smaller difference is not seen");
    }
}

/// What loads cost is no part of what a feed costs: both are against the rate with neither.
TEST(FedFindings, LoadsThatCostTakeFromWhatAFeedMayCost) {
  FakeTarget target;
  target.cycles = [](const Benchmark& benchmark, const Point&) { return loads(benchmark) ? 136.0 : 128.0; };
  EXPECT_EQ(judged(sweep_of(target, {kFed}), false), (std::pair{3, 2}))
      << "both of loads, and nothing that registers leave";
}

/// A "no" takes a feed as large as the statement asks, a comparison the same feeds.
TEST(FedFindings, SmallOrDifferentFeedsDecideNothing) {
  const auto needs = [](const SweepResult& result, std::string_view statement) {
    for (const Finding& finding : findings_of(result))
      if (finding.statement.starts_with(statement)) {
        EXPECT_FALSE(finding.holds) << finding.measured;
        return finding.needs;
      }
    return std::string("no such finding");
  };
  FakeTarget target;
  EXPECT_EQ(needs(sweep_of(target, {kFed}, false, {"fed=[0,8192]"}), "wgmma keeps 95% of its rate while 30"),
            "a feed of 30 bytes per clock and multiprocessor or more");
  SweepResult result = sweep_of(target, {kFed});
  std::erase_if(result.points,
                [](const Point& point) { return point.axis("a") == "shared" && point.number("fed") > 8192; });
  EXPECT_EQ(needs(result, "Beside wgmma"), "the same feeds with A in shared memory and in registers");
}

TEST(FedFindings, NeedTheRateWithoutAFeed) {
  FakeTarget target;
  EXPECT_EQ(judged(sweep_of(target, {kFed}, false, {"fed=16384"}), true), (std::pair{0, 0}));
}

}  // namespace
}  // namespace mmaudit::sweeps::test
