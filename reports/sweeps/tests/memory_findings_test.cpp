// Findings on memory, clusters, copies and DPX, on points whose answer is known.
#include <gtest/gtest.h>

#include <algorithm>

#include "memory_grid.hpp"
#include "sweeps/findings.hpp"
#include "sweeps/published.hpp"
#include "sweeps/report.hpp"

namespace mmaudit::sweeps::test {
namespace {

int judged(bool wrong, bool expected) {
  int count = 0;
  for (const Finding& finding : findings_of(grid(wrong))) {
    if (!finding.holds) continue;
    ++count;
    EXPECT_EQ(*finding.holds, expected) << finding.statement << ": " << finding.measured;
    EXPECT_FALSE(finding.measured.empty()) << finding.statement;
  }
  return count;
}

TEST(MemoryFindings, HoldOnAGridThatBehavesAsThePaperSays) { EXPECT_EQ(judged(false, true), kFindings); }
TEST(MemoryFindings, EachFailsOnAGridThatContradictsIt) { EXPECT_EQ(judged(true, false), kFindings); }

TEST(MemoryFindings, PointsWhoseResultWasWrongAreNotJudged) {
  SweepResult result = grid(false);
  for (Point& point : result.points) point.summaries[tag::kDiffering] = 1;
  for (const Finding& finding : findings_of(result)) EXPECT_FALSE(finding.holds) << finding.statement;
}

TEST(MemoryFindings, AHistogramWithoutEveryClusterIsNotJudged) {
  SweepResult result = grid(false);
  std::erase_if(result.points, [](const Point& point) { return point.axis("cluster") == "8"; });
  for (const Finding& finding : findings_of(result))
    if (finding.statement.starts_with("Into 2048 bins")) {
      EXPECT_FALSE(finding.holds) << finding.measured;
    }
}

TEST(MemoryFindings, DistancesInClustersNeedEverySize) {
  constexpr std::string_view kDistances = "Other blocks of clusters of 2 to 16";
  const auto judge = [&](const SweepResult& result) { return test::judge(result, kDistances); };
  const auto of_size = [](SweepResult& result, const char* cluster) -> Point& {
    return *std::find_if(result.points.begin(), result.points.end(), [&](const Point& point) {
      return point.subject == "ld.shared::cluster.u32" && point.axis("cluster") == cluster;
    });
  };
  SweepResult result = grid(false);
  EXPECT_NE(judge(result).measured.find("185.0 to 205.0 with 8"), std::string::npos);
  of_size(result, "16").summaries[tag::kMostBlock] = 240;
  EXPECT_EQ(judge(result).holds, false) << "the largest size alone is too far away";
  Point& largest = of_size(result, "16");
  largest.skipped = "the GPU can't hold such a cluster";
  largest.summaries.clear();
  EXPECT_EQ(judge(result).holds, true) << "a size that the GPU lacks";
  std::erase_if(result.points, [](const Point& point) { return point.axis("cluster") == "4"; });
  EXPECT_FALSE(judge(result).holds) << "a size that was not asked for";
}

/// A point of each left out: nothing is said.
TEST(MemoryFindings, OfClustersCopiesAndDpxNeedTheirPoints) {
  struct Case {
    std::string_view statement, subject, axis, value;
  };
  const std::string policies = std::string(kClusterStream) + "+policies";
  for (const auto& [statement, subject, axis, value] :
       {Case{"How clusters are put", policies, "policy", "balance"},
        {"How clusters are put", policies, "cluster", "8"},
        {"How clusters are put", policies, "reads", "pair"},
        {"Rings and pairs", kClusterStream, "cluster", "8"},
        {"More loads at once", kClusterStream, "warps", "2"},
        {"Blocks of 64 threads, in rings", kClusterStream, "warps", "2"},
        {"Ordinary loads", "ld.shared.v4.u32", "warps", "32"},
        {"Through the cluster's addresses", kClusterStream, "reads", "own"},
        {"Bulk copies have no", "cp.async.bulk+footprint", "kib", "8192"},
        {"Bulk copies have no", "ld.relaxed.cta.global.u64", "kib", "128"},
        {"The latency of bulk copies against", "cp.async.bulk+footprint", "bytes", "128"},
        {"Of the parts of a bulk copy", "cp.async.bulk+footprint", "bytes", "128"},
        {"Functions of 32-bit numbers with 0", "viaddmax_s32_relu+plain", "warps", "32"},
        {"Functions of two signed", "vibmin_s16x2", "warps", "32"},
        {"Up to one block per multiprocessor", "viaddmax_s16x2+waves", "blocks", "132"}}) {
    SweepResult result = grid(false);
    EXPECT_TRUE(judge(result, statement).holds.has_value()) << statement;
    // clang 14 captures no structured binding.
    const auto left_out =
        std::erase_if(result.points, [&subject = subject, &axis = axis, &value = value](const Point& point) {
          return point.subject == subject && point.axis(axis) == value;
        });
    EXPECT_GT(left_out, 0U) << subject << " " << axis << "=" << value;
    EXPECT_FALSE(judge(result, statement).holds)
        << statement << ": " << subject << " " << axis << "=" << value;
  }
}

TEST(MemoryFindings, OneNumberOfBlocksIsNoProportion) {
  SweepResult result = grid(false);
  std::erase_if(result.points, [](const Point& point) {
    return point.subject == "viaddmax_s16x2+waves" && point.number("blocks") < 132;
  });
  EXPECT_FALSE(judge(result, "Up to one block per multiprocessor").holds);
}

TEST(MemoryFindings, SayWhatTheNewAxesShow) {
  const SweepResult result = grid(false);
  EXPECT_EQ(
      judge(result, "The latency of bulk copies against").measured,
      "loads: 2 inflections between levels of 32, 261, 650 cycles; copies: 1 inflection between levels of "
      "460, 860 cycles");
  EXPECT_EQ(
      judge(result, "How clusters are put").measured,
      "ring: up to 1.7% apart, 3.00 and 3.05 TB/s with 2 blocks; pair: up to 1.7% apart, 3.00 and 3.05 TB/s "
      "with 4 blocks; broadcast: up to 1.7% apart, 3.00 and 3.05 TB/s with 2 blocks; where the clusters ran "
      "was "
      "not recorded, so the policies may have changed nothing");
  EXPECT_EQ(judge(result, "Bulk copies have no").measured,
            "460.0 to 462.0 cycles up to 128 KiB, 460.0 at 8 MiB; loads 32.0 at 128 KiB, 260.0 at 8 MiB");
}

TEST(MemoryFindings, PublishedBytesNameTheirUnit) {
  Point point{.subject = "stream.ld.u32",
              .axes = {{"scope", "gpu"}, {"warps", "32"}, {"ilp", "4"}, {"level", "l2"}}};
  EXPECT_EQ(published_bytes(point),
            "12.7 B/clk/SM (RTX4090, Luo V: 1622.2 B/clk), 17.2 B/clk/SM (A100, Luo V: 1853.7 B/clk), "
            "39.2 B/clk/SM (H800, Luo V: 4472.3 B/clk)");
  point.set("scope", "sm");
  EXPECT_EQ(published_bytes(point), "");
  const Point aligned{.subject = "align.half2", .axes = {{"scope", "gpu"}, {"query", "512"}}};
  EXPECT_EQ(published_bytes(aligned), "4987.4 GCUPS (RTX4090, Luo 8)");
}

TEST(MemoryFindings, TensorCopiesStandBesideThePaperAtItsLargestBoxes) {
  Point point{
      .subject = "cp.async.bulk.tensor.3d+inflight",
      .axes = {{"scope", "gpu"}, {"warps", "1"}, {"level", "memory"}, {"box", "16x16x16"}, {"ctas", "2"}}};
  EXPECT_EQ(published_bytes(point), "1800 GB/s (H800, Luo 5)");
  point.set("box", "16x16x12");
  EXPECT_EQ(published_bytes(point), "");
  point.subject = "cp.async.bulk.tensor.2d+inflight";
  point.set("box", "64x64");
  EXPECT_EQ(published_bytes(point), "1800 GB/s (H800, Luo 5)");
}

/// A box of each finding left out: it is not judged.
TEST(MemoryFindings, OfTensorCopiesNeedEveryBox) {
  for (const char* box : {"64x64", "16x16x12", "16x256x1"}) {
    SweepResult result = grid(false);
    std::erase_if(result.points, [&](const Point& point) { return point.axis("box") == box; });
    int judged = 0;
    for (const Finding& finding : findings_of(result)) judged += finding.holds ? 1 : 0;
    EXPECT_EQ(judged, kFindings - 1) << box;
  }
}

}  // namespace
}  // namespace mmaudit::sweeps::test
