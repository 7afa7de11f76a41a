// Stamps and words as a GPU would write them.
#include "readings.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "mmaudit/fragment.hpp"
#include "sweeps/kernels/load_pattern.hpp"

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

TEST(CompareWords, TellsARightLoadFromAWrongOne) {
  for (const char* name :
       {"ldmatrix.x2", "ldmatrix.x4.trans", "ld.shared.u64", "stmatrix.x4", "wmma.load.a", "wmma.store.d"}) {
    Cell cell;
    cell.subject = select_subjects({name}).front();
    cell.ways = 4;
    std::vector<std::uint32_t> words(static_cast<std::size_t>(2 * kWarpLanes * kLoadWords), 0xA5A5A5A5U);
    for (int slot = 0; slot < 2; ++slot)
      for (int lane = 0; lane < kWarpLanes; ++lane)
        for (int w = 0; w < cell.subject.words; ++w)
          words[static_cast<std::size_t>(slot * kWarpLanes + lane) * kLoadWords +
                static_cast<std::size_t>(w)] =
              cell.subject.kind == Kind::load_fragment    ? 0
              : cell.subject.kind == Kind::store_fragment ? pattern_word(0)
              : cell.subject.kind == Kind::store_matrix
                  ? pattern_word(kWarpLanes * w + lane)
                  : expected_word(cell.subject.kind == Kind::load_matrix ? cell.subject.words : 0,
                                  cell.subject.trans, cell.stride(), lane, w);
    Measurement out;
    compare_words(cell, std::as_bytes(std::span(words)), out);
    EXPECT_EQ(out.compared, 2U * kWarpLanes * static_cast<unsigned>(cell.subject.words)) << name;
    EXPECT_EQ(out.differing, 0U) << name;
    words[kWarpLanes * kLoadWords + 1] ^= 1U;
    compare_words(cell, std::as_bytes(std::span(words)), out);
    EXPECT_EQ(out.differing, 1U) << name;
  }
}

}  // namespace
}  // namespace mmaudit::sweeps
