// No one-bit error, and no pair of them, leaves the checksum as it was.
#include <gtest/gtest.h>

#include <set>

#include "mmaudit/screen/checksum.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::screen {
namespace {

/// What flipping `bit` of a word adds to the sum, where the bit was 0; where it was 1, the same is taken
/// away.
std::uint64_t change(int word, int bit) { return add_to_checksum(0, word, std::uint32_t{1} << bit); }

TEST(Checksum, WeightsAreOddLargeAndDistinct) {
  std::set<std::uint32_t> seen;
  for (int word = 0; word < kMostWords; ++word) {
    const std::uint32_t weight = checksum_weight(word);
    EXPECT_EQ(weight & 0x80000001U, 0x80000001U);
    EXPECT_TRUE(seen.insert(weight).second) << word;
  }
}

TEST(Checksum, EveryFlippedBitOfEveryWordChangesIt) {
  std::uint64_t state = 1;
  for (int word = 0; word < kMostWords; ++word)
    for (int bit = 0; bit < 32; ++bit) {
      std::uint64_t before = 0, after = 0;
      for (int i = 0; i < kMostWords; ++i) {
        const auto value = static_cast<std::uint32_t>(splitmix64(state));
        before = add_to_checksum(before, i, value);
        after = add_to_checksum(after, i, i == word ? value ^ std::uint32_t{1} << bit : value);
      }
      ASSERT_NE(before, after) << word << " " << bit;
    }
}

TEST(Checksum, NoTwoFlippedBitsCancel) {
  constexpr int kBits = 32 * kMostWords;
  std::uint64_t pairs = 0;
  for (int i = 0; i < kBits; ++i)
    for (int j = i + 1; j < kBits; ++j) {
      const std::uint64_t x = change(i / 32, i % 32), y = change(j / 32, j % 32);
      ASSERT_TRUE(x + y != 0 && x - y != 0) << i << " " << j;
      ++pairs;
    }
  EXPECT_EQ(pairs, std::uint64_t{kBits} * (kBits - 1) / 2);
}

}  // namespace
}  // namespace mmaudit::screen
