// Histograms without a GPU: what must be counted, and whether the check sees a miscount.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/memory/histogram.hpp"

namespace mmaudit::sweeps::test {
namespace {

TEST(Histogram, RightCountsAreThoseOfEachElementInTurn) {
  for (const int steps : {1, 128, 1024, 1100}) {
    constexpr int kCluster = 3, kBins = 1024, kWarps = 8;
    std::vector<std::uint32_t> slow(kBins);
    for (int warp = 0; warp < kWarps; ++warp)
      for (int step = 0; step < steps; ++step)
        for (int i = 0; i < kChunkElements; ++i) {
          const int chunk = (first_chunk(kCluster, warp) + step) % kChunks;
          ++slow[histogram_elements()[static_cast<std::size_t>(chunk) * kChunkElements +
                                      static_cast<std::size_t>(i)] %
                 kBins];
        }
    EXPECT_EQ(right_counts(kCluster, kBins, kWarps, steps), slow) << steps;
  }
}

TEST(Histogram, ElementsFallIntoEveryBin) {
  const std::vector<std::uint32_t> counts = right_counts(0, 4096, 1, kChunks);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0U), 131072U);
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 8U);
  EXPECT_LT(*std::max_element(counts.begin(), counts.end()), 80U);
}

TEST(Histogram, TheCheckSeesEveryCount) {
  const Benchmark* benchmark = find_benchmark("histogram.128");
  ASSERT_NE(benchmark, nullptr);
  const Point point =
      points_of(*benchmark, resolve_axes({"warps=4", "ilp=1", "cluster=4", "bins=2048"}, false)).front();
  const sweeps::Setup setup = benchmark->setup(point, nullptr);
  EXPECT_EQ(setup.placement.cluster, 4);
  EXPECT_EQ(setup.args.parameter, 9) << "512 bins of a block";
  EXPECT_EQ(setup.slot_bytes * 4 * 4, 2048U * 4);
  constexpr int kSteps = 1024, kClusters = 11;
  std::vector<std::uint32_t> counts;
  for (int cluster = 0; cluster < kClusters; ++cluster)
    for (const std::uint32_t count : right_counts(cluster, 2048, 16, kSteps)) counts.push_back(count);
  const auto differing = [&](int steps) {
    Measurement out;
    setup.check(
        [&] {
          std::vector<std::byte> bytes(counts.size() * sizeof(std::uint32_t));
          std::memcpy(bytes.data(), counts.data(), bytes.size());
          return bytes;
        },
        4, steps, out);
    EXPECT_EQ(out.compared, counts.size());
    return out.differing;
  };
  EXPECT_EQ(differing(kSteps), 0U);
  EXPECT_GT(differing(kSteps + 128), 0U);
  // One element in the neighbour's bin.
  ++counts[5000];
  --counts[5001];
  EXPECT_EQ(differing(kSteps), 2U);
}

}  // namespace
}  // namespace mmaudit::sweeps::test
