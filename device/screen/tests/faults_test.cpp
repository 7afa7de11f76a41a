// Feeds, what a streaming one reads, and the faults that a test of the screen builds in.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "mmaudit/error.hpp"
#include "mmaudit/fragment.hpp"
#include "mmaudit/screen/images.hpp"
#include "screen/kernel.hpp"

namespace mmaudit::screen {
namespace {

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(injection_of(text));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(Injection, IsReadFromText) {
  const Injection accumulator = injection_of("accumulator:17,2,5,3,2000,238000");
  EXPECT_EQ(accumulator.fault, FaultKind::accumulator);
  EXPECT_EQ(accumulator.multiprocessor, 17);
  EXPECT_EQ(accumulator.subcore, 2);
  EXPECT_EQ(accumulator.lane, 5);
  EXPECT_EQ(accumulator.word, 3);
  EXPECT_EQ(accumulator.flips, 0x2000U);
  EXPECT_EQ(accumulator.every, 238000U);
  const Injection shared = injection_of("shared:0,512,80000000,1");
  EXPECT_EQ(shared.fault, FaultKind::shared);
  EXPECT_EQ(shared.word, 512);
  EXPECT_EQ(shared.flips, 0x80000000U);
  const Injection load = injection_of("load:9999,65535,ffffffff,18446744073709551615");
  EXPECT_EQ(load.fault, FaultKind::load);
  EXPECT_EQ(load.every, UINT64_MAX);
  const Injection lost = injection_of("lost:131,50");
  EXPECT_EQ(lost.fault, FaultKind::lost);
  EXPECT_EQ(lost.multiprocessor, 131);
  EXPECT_EQ(lost.every, 50U);
}

TEST(Injection, RefusesInOneLine) {
  for (const char* text : {"", "load", "load:", "17,2,5,3,2000,1", "cosmic:1,1,1,1", "load:1,1,1",
                           "load:1,1,1,1,1", "lost:1", "lost:1,1,1,1", "load:1,1,1,1 ", "load:a,1,1,1",
                           "load:1,,1,1", "shared:1;1;1;1", "accumulator:1,2,3,4", "load:+1,1,1,1"})
    EXPECT_NE(refusal(text).find("allowed: accumulator:SM,SUBCORE"), std::string::npos)
        << text << refusal(text);
  for (const auto& [text, part] :
       std::map<std::string, std::string>{{"load:10000,0,1,1", "SM from 0 to 9999"},
                                          {"load:99999999999999999999,0,1,1", "SM from 0 to 9999"},
                                          {"load:0,65536,1,1", "WORD from 0 to 65535"},
                                          {"load:0,0,0x1,1", "FLIPS from 1 to ffffffff"},
                                          {"load:0,0,0,1", "FLIPS from 1 to ffffffff"},
                                          {"shared:0,0,100000000,1", "FLIPS from 1 to ffffffff"},
                                          {"shared:0,0,1,0", "EVERY from 1 to"},
                                          {"accumulator:0,4,0,0,1,1", "SUBCORE from 0 to 3"},
                                          {"accumulator:0,0,32,0,1,1", "LANE from 0 to 31"},
                                          {"accumulator:0,0,0,128,1,1", "WORD from 0 to 127"}})
    EXPECT_NE(refusal(text).find(part), std::string::npos) << text << refusal(text);
}

std::vector<std::byte> counting(std::size_t bytes, int first) {
  std::vector<std::byte> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    all[i] = static_cast<std::byte>(static_cast<std::size_t>(first) + i);
  return all;
}

TEST(Injection, SpoilsOneWordOfEachTile) {
  const auto a = counting(24, 0), b = counting(16, 100);  // two tiles: 3 words of A, 2 of B
  for (int word = 0; word < 11; ++word) {
    auto with_a = a, with_b = b;
    append_spoiled(with_a, with_b, 2, word, 0x01000080);
    ASSERT_EQ(with_a.size(), 48U);
    ASSERT_EQ(with_b.size(), 32U);
    int differ = 0;
    for (const auto& [whole, half] : {std::pair{with_a, a}, std::pair{with_b, b}})
      for (std::size_t i = 0; i < half.size(); ++i) {
        EXPECT_EQ(whole[i], half[i]);
        if (whole[half.size() + i] == half[i]) continue;
        ++differ;
        const bool in_a = half.size() == 24;
        const int tile_words = in_a ? 3 : 2, at = word % 5 - (in_a ? 0 : 3);
        EXPECT_EQ(static_cast<int>(i) / 4 % tile_words, at) << word;
        EXPECT_EQ(whole[half.size() + i] ^ half[i], i % 4 == 0 ? std::byte{0x80} : std::byte{0x01});
      }
    EXPECT_EQ(differ, 4) << word;  // two bytes of a word, two tiles
  }
  auto whole = counting(40, 0);
  std::vector<std::byte> none;
  append_spoiled(whole, none, 2, 4, 1);
  EXPECT_EQ(whole[40 + 16], std::byte{17});
  EXPECT_TRUE(none.empty());
}

TEST(Feeds, AreChosenByName) {
  EXPECT_EQ(feeds_named({}).size(), static_cast<std::size_t>(kFeeds));
  EXPECT_EQ(feeds_named({"tensor_hbm", "loads"}), (std::vector<Feed>{Feed::loads, Feed::tensor_hbm}));
  EXPECT_THROW(feeds_named({"bulk"}), InputError);
  EXPECT_THROW(feeds_named({"loads", "loads"}), InputError);
}

/// Every wgmma comes by every streaming feed, every mma with registers of 32 bits by ldmatrix.
TEST(Feeds, ServeEveryInstruction) {
  std::map<std::string, std::vector<Feed>> feeds;
  for (const ScreenKernel& kernel : kernels()) {
    if (!kernel.registers) feeds[name_of(kernel.instruction)].push_back(kernel.feed);
    EXPECT_EQ(is_streamed(kernel.feed), kernel.copied_bytes != 0);
    EXPECT_LE(kernel.slot_bytes * kernel.slots, 227 << 10);
    if (!is_streamed(kernel.feed)) continue;
    EXPECT_EQ(kSteps % kernel.steps_per_copy, 0);
    // Half of a chain, in the middle of which an accumulator is spoiled.
    EXPECT_EQ(kSteps / 2 % kernel.steps_per_copy, 0);
    EXPECT_EQ(kernel.copied_bytes % kStreamLine, 0);
    EXPECT_LE(kernel.copied_bytes / kStreamLine, 256);  // of a box
  }
  EXPECT_EQ(feeds.size(), 31U);
  for (const auto& [name, list] : feeds) {
    const Instruction inst = find_instruction(name).value();
    if (is_wgmma(inst.op))
      EXPECT_EQ(list, (std::vector<Feed>{Feed::loads, Feed::bulk_l2, Feed::bulk_hbm, Feed::tensor_hbm}))
          << name;
    else if (inst.a == Format::f64)
      EXPECT_EQ(list, std::vector<Feed>{Feed::loads}) << name;
    else
      EXPECT_EQ(list, (std::vector<Feed>{Feed::loads, Feed::ldmatrix})) << name;
  }
}

/// A copy that brings nothing leaves the tile that it should have replaced: that must be the other one.
TEST(Feeds, EachCopyReplacesTheOtherTile) {
  int tried = 0;
  for (const ScreenKernel& kernel : kernels()) {
    if (!is_streamed(kernel.feed)) continue;
    const auto stages = static_cast<std::uint32_t>(kernel.stages),
               per_chain = static_cast<std::uint32_t>(kSteps / kernel.steps_per_copy);
    EXPECT_GT(kernel.slot_bytes, kernel.stages * kernel.copied_bytes);
    for (std::uint32_t slot = 0; slot < static_cast<std::uint32_t>(kernel.slots); ++slot)
      for (std::uint32_t copy = stages; copy < 40 * per_chain; ++copy, ++tried)
        ASSERT_NE(streamed_tile(slot, copy, per_chain), streamed_tile(slot, copy - stages, per_chain));
  }
  EXPECT_GT(tried, 0);
}

/// Also where only a line of it does not come. Of single bits the largest magnitude is 1 everywhere.
TEST(Feeds, TheTwoTilesDifferInEveryLine) {
  const Architecture& hopper = *find_architecture("hopper");
  for (const ScreenKernel& kernel : kernels()) {
    if (kernel.feed != Feed::bulk_hbm) continue;
    for (int set = 0; set < kInputSets; ++set) {
      const Work work{kernel.instruction, false, static_cast<InputSet>(set), kernel.feed};
      if (work.instruction.a == Format::b1 && work.inputs == InputSet::adder_width) continue;
      Inputs inputs{
          make_operands(work.instruction, find_datapath(hopper, work.instruction)->datapath, work.inputs),
          {}};
      inputs.d.resize(static_cast<std::size_t>(kTiles * work.instruction.m * work.instruction.n) * 8);
      Images images = make_images(work, inputs);
      join_tiles(images);
      const std::size_t tile = images.a.size() / kTiles;
      for (std::size_t line = 0; line < tile; line += kStreamLine)
        EXPECT_NE(std::memcmp(&images.a[line], &images.a[tile + line], kStreamLine), 0)
            << work.name() << " " << name_of(work.inputs) << " " << line;
    }
  }
}

TEST(Feeds, StreamTilesOfAAndB) {
  Images images;
  images.a = counting(8, 0);
  images.b = counting(4, 100);
  join_tiles(images);
  const auto byte = [](int value) { return static_cast<std::byte>(value); };
  EXPECT_EQ(images.a, (std::vector<std::byte>{byte(0), byte(1), byte(2), byte(3), byte(100), byte(101),
                                              byte(4), byte(5), byte(6), byte(7), byte(102), byte(103)}));
  EXPECT_TRUE(images.b.empty());
}

/// What a streaming kernel copies is what fills a stage: the images have that size.
TEST(Feeds, CopyWholeTiles) {
  int tried = 0;
  const Architecture& hopper = *find_architecture("hopper");
  for (const ScreenKernel& kernel : kernels()) {
    const Work work{kernel.instruction, kernel.registers, InputSet::integers, kernel.feed};
    if (kernel.feed != Feed::bulk_hbm && kernel.feed != Feed::ldmatrix) continue;
    Inputs inputs{
        make_operands(work.instruction, find_datapath(hopper, work.instruction)->datapath, work.inputs), {}};
    inputs.d.resize(static_cast<std::size_t>(kTiles * work.instruction.m * work.instruction.n) * 8);
    Images images = make_images(work, inputs);
    join_tiles(images);
    const int of_slot = is_streamed(kernel.feed) ? kernel.copied_bytes : kernel.slot_bytes;
    EXPECT_EQ(images.a.size() / kTiles, static_cast<std::size_t>(of_slot)) << work.name();
    ++tried;
  }
  EXPECT_EQ(tried, 18 + 12);
}

/// ldmatrix serves all chains of a warp: an error that comes to the same word of each must not cancel. The
/// sum of the weights times an error of less than 2^32 is no multiple of 2^64 then.
TEST(Feeds, TheSameErrorInEveryChainShows) {
  int words = 0;
  for (const ScreenKernel& kernel : kernels()) {
    if (kernel.copies == 1) continue;
    const FragmentMap map = fragment_d(kernel.instruction);
    const int each = map.values / elements_per_register(kernel.instruction.d) *
                     (register_bits(kernel.instruction.d) > 32 ? 2 : 1);
    for (int word = 0; word < each; ++word, ++words) {
      std::uint64_t sum = 0;
      for (int chain = 0; chain < kernel.copies; ++chain) sum += checksum_weight(chain * each + word);
      EXPECT_NE(sum << 32U, 0U) << kernel.copies << " " << word;
    }
  }
  EXPECT_GT(words, 25);
}

}  // namespace
}  // namespace mmaudit::screen
