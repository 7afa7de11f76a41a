// Which chunks bulk copies go through, worked out without the kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "mmaudit/sweeps/bench_target.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/memory/copies.hpp"

namespace mmaudit::sweeps::test {
namespace {

/// What a block reports that went from chunk to chunk with this stride, and looked at its copies from..to.
CopyResult walked(std::uint32_t first, std::uint32_t stride, std::uint32_t from, std::uint32_t to,
                  const ChunkOrder& order) {
  CopyResult found{.first = first};
  for (std::uint32_t copy = 0, chunk = first; copy < to; ++copy, chunk = (chunk + stride) % order.chunks)
    if (copy >= from) found.trail = further(found.trail, copied_word((chunk + 1) * order.words - 1));
  return found;
}

std::uint64_t out_of_order(const std::vector<CopyResult>& blocks, const ChunkOrder& order, int in_flight,
                           int steps) {
  std::vector<std::byte> seen(blocks.size() * sizeof(CopyResult));
  std::memcpy(seen.data(), blocks.data(), seen.size());
  Measurement out;
  check_order(seen, order, in_flight, steps, out);
  EXPECT_EQ(out.compared, blocks.size());
  return out.differing;
}

TEST(CopyOrder, ABlockThatStaysOrRepeatsAChunkIsWrong) {
  constexpr std::uint32_t kFirst = 5, kShort = 128, kLong = 1024;
  for (const int kib : {16, 96, 8192, 49152}) {
    const ChunkOrder order = order_of_one(static_cast<std::size_t>(kib) << 10U, 128);
    EXPECT_EQ(order.chunks, static_cast<std::uint32_t>(kib) * 8);
    EXPECT_NEAR(order.stride, 0.6180339887 * order.chunks, 1.5);
    const auto wrong = [&](std::uint32_t first, std::uint32_t stride, std::uint32_t steps) {
      return out_of_order({walked(first, stride, steps == kShort ? 0 : steps - 1, steps, order)}, order, 1,
                          static_cast<int>(steps));
    };
    for (const std::uint32_t steps : {kShort, kLong}) {
      EXPECT_EQ(wrong(kFirst, order.stride, steps), 0U) << kib << " " << steps;
      EXPECT_EQ(wrong(kFirst, 0, steps), 1U) << "a stride of 0";
      EXPECT_EQ(wrong(kFirst, order.stride + 1, steps), 1U);
      EXPECT_EQ(wrong(order.chunks, order.stride, steps), 1U) << "a chunk that there is not";
    }
    CopyResult repeated = walked(kFirst, order.stride, 0, kShort - 1, order);
    repeated.trail = further(
        repeated.trail,
        copied_word((kFirst + (kShort - 2) * order.stride) % order.chunks * order.words + order.words - 1));
    EXPECT_EQ(out_of_order({repeated}, order, 1, kShort), 1U) << "the last chunk but one, twice";
  }
}

TEST(CopyOrder, ABlockOfManyThatCopiesAnotherOnesChunksIsWrong) {
  constexpr std::uint32_t kAll = 132;
  constexpr int kSteps = 1000, kStages = 4;
  const ChunkOrder order = order_of_all(std::size_t{16} << 20U, 24576, kAll);
  EXPECT_EQ(order.chunks, 682U);
  EXPECT_EQ(order.stride, kAll);
  std::vector<CopyResult> blocks;
  for (std::uint32_t block = 0; block < kAll; ++block)
    blocks.push_back(walked(block, kAll, kSteps - kStages, kSteps, order));
  EXPECT_EQ(out_of_order(blocks, order, kStages, kSteps), 0U);
  blocks[7] = blocks[8];
  EXPECT_EQ(out_of_order(blocks, order, kStages, kSteps), 1U);
  blocks[9] = walked(9, 0, kSteps - kStages, kSteps, order);
  EXPECT_EQ(out_of_order(blocks, order, kStages, kSteps), 2U);
  EXPECT_EQ(order_of_all(std::size_t{16} << 20U, 0, kAll).trail(0, 0, 4), 0U) << "nothing is copied";
}

/// Of a footprint that is larger than a run no chunk comes twice, whatever its factors.
TEST(CopyOrder, GoesThroughManyChunks) {
  for (const Point& point : points_of(*find_benchmark("cp.async.bulk+footprint"), resolve_axes({}, false))) {
    const ChunkOrder order =
        order_of_one(static_cast<std::size_t>(point.number("kib")) << 10U, point.number("bytes"));
    std::set<std::uint64_t> seen;
    for (std::uint64_t copy = 0; copy < 1024; ++copy) seen.insert(copy * order.stride % order.chunks);
    EXPECT_EQ(seen.size(), std::min(order.chunks, 1024U)) << point.key();
  }
}

/// The benchmarks themselves look at the order: words that are right are not enough.
TEST(CopyOrder, ABenchmarkWhoseBlockStaysAtOneChunkIsWrong) {
  for (const char* name : {"cp.async.bulk", "cp.async.bulk+footprint"}) {
    const Benchmark& benchmark = *find_benchmark(name);
    const Point point = points_of(benchmark, resolve_axes({"bytes=128"}, false)).back();
    const sweeps::Setup setup = benchmark.setup(point, nullptr);
    const ChunkOrder order = order_of_one(setup.memory_bytes, 128);
    const auto differing = [&](std::uint32_t stride) {
      CopyResult found = walked(3, stride, 1023, 1024, order);
      found.copied = order.words;
      std::vector<std::byte> seen(sizeof(found));
      std::memcpy(seen.data(), &found, sizeof(found));
      Measurement out;
      setup.check([&] { return seen; }, 1, 1024, out);
      return out.differing;
    };
    EXPECT_EQ(differing(order.stride), 0U) << name;
    EXPECT_EQ(differing(0), 1U) << name;
  }
}

/// What the kernel can't see of a policy: a place per block, not per warp.
TEST(Policies, SayWhereEachBlockRan) {
  const Benchmark& benchmark = *find_benchmark("stream.ld.shared::cluster.v4.u32+policies");
  const Point point = points_of(benchmark, resolve_axes({"cluster=4"}, false)).front();
  std::vector<Stamp> stamps(std::size_t{4} * 32);
  for (std::size_t i = 0; i < stamps.size(); ++i)
    stamps[i].multiprocessor = 10 + static_cast<std::uint32_t>(i / 32);
  Measurement out;
  benchmark.setup(point, nullptr)
      .observe(
          stamps, [] { return std::vector<std::byte>(); }, 128, out);
  EXPECT_EQ(out.lists.at(list::kPlaces), (std::vector<std::uint32_t>{10, 11, 12, 13}));
}

}  // namespace
}  // namespace mmaudit::sweeps::test
