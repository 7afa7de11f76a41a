// Findings that the points do not decide: too few of them, or none that was compared.
#include <gtest/gtest.h>

#include <algorithm>

#include "memory_grid.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps::test {
namespace {

/// Points whose results were not compared are not judged; the page says so.
TEST(Undecided, PointsThatWereNotComparedDecideNothing) {
  for (const bool missing : {false, true}) {
    SweepResult result = grid(false);
    for (Point& point : result.points) {
      if (missing) point.summaries.erase(tag::kCompared);
      if (!missing && point.skipped.empty()) point.summaries[tag::kCompared] = 0;
    }
    int undecided = 0;
    for (const Finding& finding : findings_of(result)) {
      EXPECT_FALSE(finding.holds) << finding.statement;
      undecided += finding.needs.empty() ? 0 : 1;
      if (!finding.needs.empty()) {
        EXPECT_TRUE(finding.needs.starts_with("points whose results were compared")) << finding.needs;
      }
    }
    EXPECT_EQ(undecided, kFindings);
    const std::string page = report::rendered(report_of(result), "markdown");
    EXPECT_EQ(page.find("| yes |"), std::string::npos);
    EXPECT_NE(
        page.find("| not decided | A hit of the first-level cache takes 32 cycles, within 3 | needs points "),
        std::string::npos)
        << page;
  }
}

/// Two ends of a curve show no inflection, and no part that stays.
TEST(Undecided, ACurveOfTwoFootprintsDecidesNothing) {
  SweepResult result = grid(false);
  for (Point& point : result.points)
    if (point.number("kib") == 524288) point.set("kib", "1048576");
  std::erase_if(result.points,
                [](const Point& point) { return point.number("kib") > 16 && point.number("kib") < 1048576; });
  EXPECT_EQ(judge(result, "The latency of bulk copies against").needs,
            "loads and copies of 128 bytes at the same footprints, two footprints each up to 128 KiB, from 1 "
            "to 24 MiB "
            "and from 128 MiB on");
  EXPECT_EQ(judge(result, "Of the parts of a bulk copy").needs,
            "the parts of copies of 128 bytes at two footprints each up to 128 KiB, from 1 to 24 MiB and "
            "from 128 MiB "
            "on");
  EXPECT_EQ(
      judge(result, "Bulk copies have no").needs,
      "copies of 128 bytes at 128 KiB, at a smaller footprint and at 8 MiB, and loads at 128 KiB and 8 MiB");
  for (const char* one : {"The latency of bulk copies against", "Of the parts of", "Bulk copies have no"})
    EXPECT_FALSE(judge(result, one).holds) << one;
  EXPECT_NE(
      report::rendered(report_of(result), "markdown").find("| not decided | The latency of bulk copies"),
      std::string::npos);
}

/// One footprint less of each level, or loads that were not timed where copies were.
TEST(Undecided, AnInflectionNeedsTheSameFootprintsOfEachLevel) {
  constexpr std::string_view kInflection = "The latency of bulk copies against";
  for (const char* kib : {"8192", "131072"}) {
    SweepResult result = grid(false);
    std::erase_if(result.points, [&](const Point& point) { return point.axis("kib") == kib; });
    EXPECT_FALSE(judge(result, kInflection).holds) << kib;
    EXPECT_FALSE(judge(result, "Of the parts of a bulk copy").holds) << kib;
  }
  SweepResult result = grid(false);
  std::erase_if(result.points, [&](const Point& point) {
    return point.subject == "ld.relaxed.cta.global.u64" && point.axis("kib") == "65536";
  });
  EXPECT_FALSE(judge(result, kInflection).holds);
  EXPECT_FALSE(judge(result, kInflection).needs.empty());
}

TEST(Undecided, ClustersOf16AreLeftOutOnlyWhereTheGpuHoldsNone) {
  struct Case {
    const char *statement, *subject, *needs;
  };
  const std::string policies = std::string(kClusterStream) + "+policies";
  for (const auto& [statement, subject, needs] :
       {Case{"How clusters are put", policies.c_str(),
             "rings of 16 blocks with each policy, or that the GPU holds no such cluster"},
        {"Rings and pairs", kClusterStream,
         "rings and pairs of 16 blocks on the whole GPU, or that the GPU holds none"}}) {
    EXPECT_EQ(judge(grid(false), statement).holds, true);
    const auto edited = [&subject = subject](auto&& edit) {
      SweepResult result = grid(false);
      std::erase_if(result.points, [&](Point& point) {
        return point.subject == subject && point.axis("cluster") == "16" && edit(point);
      });
      return result;
    };
    EXPECT_EQ(judge(edited([](Point&) { return true; }), statement).needs, needs);
    EXPECT_EQ(judge(edited([](Point& point) {
                      point.skipped = "refused: the loop spills registers";
                      return false;
                    }),
                    statement)
                  .needs,
              needs);
    EXPECT_FALSE(judge(edited([](Point&) { return true; }), statement).holds) << statement;
  }
}

TEST(Undecided, PoliciesSayWhereTheirClustersRan) {
  SweepResult result = grid(false);
  constexpr std::string_view kPolicies = "How clusters are put";
  const auto said = [&] {
    const std::string text = judge(result, kPolicies).measured;
    return text.substr(text.rfind("; "));
  };
  EXPECT_EQ(said(), "; where the clusters ran was not recorded, so the policies may have changed nothing");
  for (Point& point : result.points)
    if (point.subject.ends_with("+policies") && point.axis("reads") == "ring" && point.axis("cluster") == "2")
      point.lists[list::kPlaces] = point.axis("policy") == "spread"
                                       ? std::vector<std::uint32_t>{1, 0, 2, 4, 3, 5}
                                       : std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5};
  EXPECT_EQ(said(), "; 4 of 6 clusters ran on the same multiprocessors as one under the default policy");
}

TEST(Undecided, OneFunctionOfManyProvesNothing) {
  SweepResult result = grid(false);
  std::erase_if(result.points, [](const Point& point) {
    return point.subject.starts_with("vi") && point.subject.find("_s16x2") != std::string::npos &&
           !point.subject.starts_with("viaddmax_s16x2");
  });
  EXPECT_EQ(
      judge(result, "Functions of two signed").needs,
      "vimax3_s16x2, vimin3_s16x2, viaddmin_s16x2, vibmax_s16x2, vibmin_s16x2, with DPX and in plain C++");
}

}  // namespace
}  // namespace mmaudit::sweeps::test
