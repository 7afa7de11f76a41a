// Findings, on grids whose answer is known.
#include <gtest/gtest.h>

#include "fake_target.hpp"
#include "sweeps/findings.hpp"

namespace mmaudit::sweeps::test {
namespace {

const std::vector<std::string> kOfFindings = {"mma.m16n8k16.f32.f16",
                                              "mma.m16n8k8.f32.f16",
                                              "mma.sp.m16n8k16.f32.f16",
                                              "mma.sp.m16n8k32.f32.f16",
                                              "wgmma.m64nNk16.f32.f16",
                                              "wgmma.sp.m64nNk32.f32.f16",
                                              "ldmatrix",
                                              "ld.shared"};

/// Those of memory and DPX have tests of their own.
std::vector<Finding> matrix_findings(const SweepResult& result) {
  std::vector<Finding> findings = findings_of(result);
  std::erase_if(findings, [](const Finding& finding) {
    constexpr std::string_view kOthers[] = {"Luo III", "Luo IV", "Luo V", "Luo 4",
                                            "Luo 5",   "Luo 7",  "Luo 8", "mmaudit"};
    return std::find(std::begin(kOthers), std::end(kOthers), finding.source) != std::end(kOthers);
  });
  return findings;
}

TEST(Findings, AllHoldOnAGridThatBehavesAsThePapersSay) {
  FakeTarget target;
  target.joules = [](const Benchmark& benchmark) { return is_wgmma(benchmark) ? 700 : 7000; };
  const SweepResult result = sweep_of(target, kOfFindings, false, {"scope=[sm,gpu,energy]"});
  for (const Finding& finding : matrix_findings(result)) {
    ASSERT_TRUE(finding.holds.has_value()) << finding.statement;
    EXPECT_TRUE(*finding.holds) << finding.statement << ": " << finding.measured;
    EXPECT_FALSE(finding.measured.empty());
    EXPECT_FALSE(finding.source.empty());
  }
}

TEST(Findings, EachFailsOnAGridThatContradictsIt) {
  FakeTarget target;
  // One flat unit: no sub-cores, no cost of small k, of shared memory, of data, of conflicts.
  target.cycles = [](const Benchmark& benchmark, const Point& point) {
    const int n = point.number("n"), warps = point.number("warps");
    if (is_wgmma(benchmark) && is_sparse(benchmark)) return 128.0;
    if (is_wgmma(benchmark)) return 3.0 * n + (point.axis("a") == "registers" ? 0 : 20);
    if (benchmark.instruction) return 0.5 * benchmark.instruction->k * warps * point.number("ilp");
    const int ways = std::max(1, point.number("ways"));
    return 20.0 * warps + 3 * ways + 5 * words_of(benchmark, point);
  };
  target.clock = [](const Point&) { return 2e9; };
  target.joules = [](const Benchmark& benchmark) { return is_wgmma(benchmark) ? 7000 : 7; };
  const SweepResult result = sweep_of(target, kOfFindings, false, {"scope=[sm,gpu,energy]"});
  for (const Finding& finding : matrix_findings(result)) {
    ASSERT_TRUE(finding.holds.has_value()) << finding.statement;
    EXPECT_FALSE(*finding.holds) << finding.statement << ": " << finding.measured;
  }
}

TEST(Findings, NothingIsSaidOfWhatWasNotMeasured) {
  FakeTarget target;
  for (const Finding& finding : findings_of(sweep_of(target, {"stmatrix"})))
    EXPECT_FALSE(finding.holds.has_value());
}

TEST(Convergence, LeastIlpThatReachesTheRate) {
  FakeTarget target;
  target.cycles = [](const Benchmark&, const Point& point) {
    const int deepest = (point.number("warps") + 3) / 4 * point.number("ilp");
    return std::max(24.0, 8.0 * deepest);
  };
  const SweepResult result = sweep_of(target, {kMma}, false, {"scope=sm"});
  const auto four = convergence_of(result, {.subject = kMma}, 4),
             eight = convergence_of(result, {.subject = kMma}, 8);
  ASSERT_TRUE(four && eight);
  EXPECT_EQ(four->ilp, 3);
  EXPECT_EQ(eight->ilp, 2);
  EXPECT_DOUBLE_EQ(four->rate, 4 * 3 * 2048 / 24.0);
  EXPECT_FALSE(convergence_of(result, {.subject = kMma}, 5));
}

TEST(BestRate, OfTheWarpsAskedForBothEndsIncluded) {
  FakeTarget target;
  target.cycles = [](const Benchmark&, const Point&) { return 100.0; };  // more warps, more work
  const SweepResult result = sweep_of(target, {kMma}, false, {"scope=sm"});
  const auto one = best_rate(kMma, 1, 1)(result), four = best_rate(kMma, 4, 4)(result),
             up_to_four = best_rate(kMma, 1, 4)(result), from_four = best_rate(kMma, 4, 8)(result);
  ASSERT_TRUE(one && four && up_to_four && from_four);
  EXPECT_EQ(*up_to_four, *four);
  EXPECT_GT(*four, *one);
  EXPECT_GT(*from_four, *four);
}

TEST(Convergence, NinetyPercentOfTheBestIsTheRate) {
  // 50%, 86%, 89%, 91% and from then on all of the rate.
  FakeTarget target;
  target.cycles = [](const Benchmark&, const Point& point) {
    constexpr double kShares[] = {0.5, 0.86, 0.89, 0.91, 1, 1};
    const int ilp = point.number("ilp");
    return 100.0 * ilp / kShares[std::min(ilp, 6) - 1];
  };
  const auto found = convergence_of(sweep_of(target, {kMma}, false, {"scope=sm"}), {.subject = kMma}, 4);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->ilp, 4);
}

}  // namespace
}  // namespace mmaudit::sweeps::test
