// Register and shared-memory images: every element once, where the maps say.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "mmaudit/arithmetic/sparse.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/matrix/images.hpp"

namespace mmaudit::sweeps {
namespace {

std::uint64_t word_at(const std::vector<std::byte>& bytes, std::size_t index, std::size_t width) {
  std::uint64_t word = 0;
  std::memcpy(&word, &bytes[index * width], width);
  return word;
}

TEST(RegisterImage, HoldsEveryElementOnceWhereTheMapSays) {
  for (const Benchmark& benchmark : benchmarks()) {
    if (!benchmark.instruction || benchmark.instruction->op == Op::wmma) continue;
    Instruction is = *benchmark.instruction;
    if (is_wgmma(is.op)) is.n = 16;
    const TileBatch tiles = make_tiles(is, Init::random, 2);
    const FragmentMap map = fragment_a(is);
    const std::vector<std::byte> image = register_image(map, is.a, tiles.a);
    const std::size_t bytes = spec_of(is.a).storage_bytes(), width = bytes > 4 ? 8 : 4;
    const int each = elements_per_register(is.a), registers = map.values / each;
    ASSERT_EQ(image.size(), 2U * static_cast<std::size_t>(registers * map.lanes) * width) << benchmark.name;
    // The second tile, so that an offset that is off by a tile shows.
    for (int lane = 0; lane < map.lanes; lane += 5)
      for (int value = 0; value < map.values; ++value) {
        const Coord at = map.at(lane, value);
        const int index = (map.rows + at.row) * map.cols + at.col;
        const int slot = (registers + value / each) * map.lanes + lane;
        const std::uint64_t element = word_at(tiles.a, static_cast<std::size_t>(index), bytes);
        const std::uint64_t word = word_at(image, static_cast<std::size_t>(slot), width);
        const auto bits = static_cast<unsigned>(register_bits(is.a));
        const std::uint64_t mask = ~std::uint64_t{0} >> (64 - bits);
        ASSERT_EQ(word >> (bits * static_cast<unsigned>(value % each)) & mask, element & mask)
            << benchmark.name;
      }
  }
}

TEST(SharedImage, CoreMatricesOfKMajorOperands) {
  const Instruction is = *find_instruction("wgmma.m64n16k16.f32.f16.f16");
  const TileBatch tiles = make_tiles(is, Init::random, 1);
  const std::vector<std::byte> a = shared_image(is.a, tiles.a, is.m, is.k, false),
                               b = shared_image(is.b, tiles.b, is.k, is.n, true);
  ASSERT_EQ(a.size(), 2048U);
  ASSERT_EQ(b.size(), 512U);
  // Row 9, column 11: the second core matrix along m, the second along k, line 1, element 3.
  EXPECT_EQ(word_at(a, (256 + 128 + 16 + 6) / 2, 2), word_at(tiles.a, 9 * 16 + 11, 2));
  EXPECT_EQ(word_at(b, (256 + 128 + 16 + 6) / 2, 2), word_at(tiles.b, 11 * 16 + 9, 2));
}

TEST(SharedImage, SparseColumnsAreTwiceAsLong) {
  const Instruction is = *find_instruction("wgmma.sp.m64n16k32.f32.f16.f16");
  const TileBatch tiles = make_tiles(is, Init::random, 1);
  const std::vector<std::byte> b = shared_image(is.b, tiles.b, is.k, is.n, true);
  ASSERT_EQ(tiles.a.size(), 64U * 16 * 2);
  ASSERT_EQ(b.size(), 1024U);
  // Column 9, k = 27: the second core matrix along n after four along k, the fourth of those, line 1,
  // element 3.
  EXPECT_EQ(word_at(b, (512 + 3 * 128 + 16 + 6) / 2, 2), word_at(tiles.b, 27 * 16 + 9, 2));
}

TEST(MetadataImage, WordsOfTheLanesThatTheSelectorNames) {
  const Instruction is = *find_instruction("mma.sp.m16n8k32.f32.f16.f16.f32");
  const TileBatch tiles = make_tiles(is, Init::zero, 2);
  ASSERT_EQ(tiles.metadata.size(), 2U * 16 * 16);
  EXPECT_EQ(why_bad_metadata(is, tiles.metadata, 2), "");
  const std::vector<std::byte> image = metadata_image(tiles);
  ASSERT_EQ(image.size(), 2U * 32 * 4);
  // Two lanes of a quad have words. Lane 9 of the second tile: word 1 (groups 4 to 7) of rows 2 and 10.
  const auto word = static_cast<std::uint32_t>(word_at(image, 32 + 9, 4));
  for (unsigned slot = 0; slot < 8; ++slot) {
    const std::uint8_t* at = &tiles.metadata[(16 + 2 + 8 * (slot / 4)) * 16 + 2 * (4 + slot % 4)];
    EXPECT_EQ(word >> (4 * slot) & 0xFU, static_cast<unsigned>(at[0] | at[1] << 2)) << slot;
  }
  EXPECT_EQ(word_at(image, 32 + 10, 4), 0U);
}

TEST(LineImage, RowsAndColumnsStartAtMultiplesOf32Bytes) {
  const Instruction is = *find_instruction("wmma.m8n32k16.f32.f16.f16.f32");
  const TileBatch tiles = make_tiles(is, Init::random, 2);
  const std::vector<std::byte> a = line_image(is, device::WmmaOperand::a, tiles.a, false),
                               b = line_image(is, device::WmmaOperand::b, tiles.b, true);
  ASSERT_EQ(a.size(), 2U * 8 * 32);
  ASSERT_EQ(b.size(), 2U * 32 * 32);
  EXPECT_EQ(word_at(a, (256 + 3 * 32) / 2 + 5, 2), word_at(tiles.a, 128 + 3 * 16 + 5, 2));
  EXPECT_EQ(word_at(b, (1024 + 3 * 32) / 2 + 5, 2), word_at(tiles.b, 512 + 5 * 32 + 3, 2));
}

TEST(SharedImage, SingleBitsEightToAByte) {
  const Instruction is = *find_instruction("wgmma.m64n8k256.s32.b1.b1.and.popc");
  const TileBatch tiles = make_tiles(is, Init::random, 1);
  const std::vector<std::byte> a = shared_image(is.a, tiles.a, is.m, is.k, false);
  ASSERT_EQ(a.size(), 2048U);
  constexpr int kRow3 = 3 * 256;
  for (const int k : {0, 7, 8, 127, 128, 255}) {
    const int byte = k / 8, at = byte / 16 * 128 + 3 * 16 + byte % 16;
    const auto seen = static_cast<unsigned>(a[static_cast<std::size_t>(at)]);
    EXPECT_EQ(seen >> (k % 8) & 1U, word_at(tiles.a, static_cast<std::size_t>(kRow3 + k), 1)) << k;
  }
}

TEST(Tiles, ZerosAndTheSameDrawsEveryTime) {
  const Instruction is = *find_instruction("mma.m16n8k16.f32.f16.f16.f32");
  for (const std::byte byte : make_tiles(is, Init::zero, 2).c) EXPECT_EQ(byte, std::byte{0});
  const TileBatch one = make_tiles(is, Init::random, 2), two = make_tiles(is, Init::random, 2);
  EXPECT_EQ(one.a, two.a);
  EXPECT_NE(one.a, one.b);
  EXPECT_GT(std::set<std::byte>(one.a.begin(), one.a.end()).size(), 100U);
}

}  // namespace
}  // namespace mmaudit::sweeps
