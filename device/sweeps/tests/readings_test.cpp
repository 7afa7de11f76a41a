// Stamps and words as a GPU would write them.
#include "sweeps/engine/readings.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "mmaudit/fragment.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/memory/shared_memory.hpp"

namespace mmaudit::sweeps {
namespace {

TEST(SampleOf, SpansABlockAndAveragesOverBlocks) {
  // Two blocks of two warps, 10 steps.
  const std::vector<Stamp> stamps = {
      {.clock_enter = 90, .clock_begin = 100, .clock_end = 340, .time_begin = 1000, .time_end = 1125},
      {.clock_enter = 95, .clock_begin = 102, .clock_end = 350, .time_begin = 1003, .time_end = 1130},
      {.clock_enter = 5, .clock_begin = 10, .clock_end = 255, .time_begin = 990, .time_end = 1115},
      {.clock_enter = 5, .clock_begin = 8, .clock_end = 258, .time_begin = 991, .time_end = 1100}};
  const Sample sample = sample_of(stamps, 2, 10, 0.5);
  EXPECT_DOUBLE_EQ(sample.cycles, 25);
  EXPECT_DOUBLE_EQ(sample.event_seconds, 0.5);
  EXPECT_DOUBLE_EQ(sample.timer_seconds, 140e-9);
  EXPECT_DOUBLE_EQ(sample.hz, 2e9);
}

TEST(LongestBlock, OfItsOwnBeginAndEnd) {
  const std::vector<Stamp> stamps = {{.clock_begin = 100, .clock_end = 340},
                                     {.clock_begin = 500, .clock_end = 750},
                                     {.clock_enter = 0, .clock_begin = 600, .clock_end = 755}};
  EXPECT_EQ(longest_block(stamps), 250);
  EXPECT_EQ(longest_block({}), 0);
}

TEST(CompareTiles, EverySlotAgainstItsTileAndEveryElementCounts) {
  const std::vector<std::byte> expected = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                           std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};
  // Three slots a block, two tiles of four bytes: tiles 0, 1, 0.
  std::vector<std::byte> seen(expected);
  seen.insert(seen.end(), expected.begin(), expected.begin() + 4);
  Measurement out;
  compare_tiles(seen, 3, expected, 4, 2, out);
  EXPECT_EQ(out.compared, 6U);
  EXPECT_EQ(out.differing, 0U);
  seen[11] ^= std::byte{0x80};
  seen[4] ^= std::byte{1};
  compare_tiles(seen, 3, expected, 4, 2, out);
  EXPECT_EQ(out.differing, 2U);
}

TEST(CompareTiles, EveryBlockBeginsWithTheFirstTile) {
  // Two blocks of three slots, two tiles of one element: tiles 0, 1, 0 of either block.
  const std::vector<std::byte> expected = {std::byte{1}, std::byte{2}};
  const std::vector<std::byte> seen = {std::byte{1}, std::byte{2}, std::byte{1},
                                       std::byte{1}, std::byte{2}, std::byte{1}};
  Measurement out;
  compare_tiles(seen, 3, expected, 1, 1, out);
  EXPECT_EQ(out.compared, 6U);
  EXPECT_EQ(out.differing, 0U);
}

/// The words that the loads and stores must leave, spelled out again.
std::uint32_t expected_word(const std::string& name, int lane, int w) {
  const auto address = static_cast<std::uint32_t>(16 * lane);
  if (name == "wmma.load.a.m16n16k16.f16") return 0;
  if (name == "wmma.store.d.m16n16k16.f32") return pattern_word(0);
  if (name == "stmatrix.x4") return pattern_word(32 * w + lane);
  if (w == 0) return address;
  if (name == "ld.shared.u64") return pattern_word(4 * lane + w);
  if (name == "ldmatrix.x2") return pattern_word(32 * w + lane);
  // ldmatrix.x4.trans: elements 2 * (lane % 4) and the next of column lane / 4.
  const auto element = [&](int row) {
    const int index = 8 * row + lane / 4;
    return pattern_word(32 * w + index / 2) >> (index % 2 * 16) & 0xFFFFU;
  };
  return element(lane % 4 * 2) | element(lane % 4 * 2 + 1) << 16;
}

TEST(SharedAccess, TellsARightLoadFromAWrongOne) {
  for (const char* name : {"ldmatrix.x2", "ldmatrix.x4.trans", "ld.shared.u64", "stmatrix.x4",
                           "wmma.load.a.m16n16k16.f16", "wmma.store.d.m16n16k16.f32"}) {
    const Benchmark& benchmark = *find_benchmark(name);
    const std::vector<Axis> axes = resolve_axes({"warps=2", "ilp=1", "ways=4"}, false);
    const Point point = points_of(benchmark, axes).front();
    const auto each = static_cast<int>(benchmark.work(point).bytes / (4 * 2 * kWarpLanes));
    std::vector<std::uint32_t> words(static_cast<std::size_t>(2 * kWarpLanes * kResultWords), 0xA5A5A5A5U);
    for (int slot = 0; slot < 2; ++slot)
      for (int lane = 0; lane < kWarpLanes; ++lane)
        for (int w = 0; w < each; ++w)
          words[static_cast<std::size_t>(slot * kWarpLanes + lane) * kResultWords +
                static_cast<std::size_t>(w)] = expected_word(name, lane, w);
    const auto read = [&] {
      const auto bytes = std::as_bytes(std::span(words));
      return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    const auto setup = benchmark.setup(point, nullptr);
    Measurement out;
    setup.check(read, 2, 128, out);
    EXPECT_EQ(out.compared, 2U * kWarpLanes * static_cast<unsigned>(each)) << name;
    EXPECT_EQ(out.differing, 0U) << name;
    words[kWarpLanes * kResultWords + 1] ^= 1U;
    setup.check(read, 2, 128, out);
    EXPECT_EQ(out.differing, 1U) << name;
  }
}

}  // namespace
}  // namespace mmaudit::sweeps
