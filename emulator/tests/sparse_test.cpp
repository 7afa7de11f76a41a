// Metadata: canonical positions, the registers packed from them, and what is refused; then the model of a
// sparse instruction against the dense instruction of the same datapath.
#include "mmaudit/arithmetic/sparse.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <set>

#include "mmaudit/fragment.hpp"
#include "mmaudit/sparse_pack.hpp"
#include "tile.hpp"

namespace mmaudit::test {
namespace {

std::vector<Instruction> sparse_instructions() {
  std::vector<Instruction> all;
  for (const Instruction& inst : kInstructions)
    if (is_sparse(inst.op) && has_fragment_maps(inst)) all.push_back(with_shape(inst, kWgmmaMinN));
  return all;
}

const Sparsity kEvery[] = {{2, 4, 1}, {1, 2, 1}, {4, 8, 2}};

TEST(Metadata, GroupsAreTheOnesOfTheIsa) {
  EXPECT_EQ(sparsity_of(instruction_of("mma.sp.m16n8k32.f32.f16.f16.f32")), (Sparsity{2, 4, 1}));
  EXPECT_EQ(sparsity_of(instruction_of("mma.sp.m16n8k8.f32.tf32.tf32.f32")), (Sparsity{1, 2, 1}));
  EXPECT_EQ(sparsity_of(instruction_of("mma.sp.m16n8k64.s32.s4.u4.s32")), (Sparsity{4, 8, 2}));
  EXPECT_EQ(sparsity_of(instruction_of("wgmma.sp.m64n8k64.s32.u8.s8")), (Sparsity{2, 4, 1}));
  EXPECT_EQ(sparsity_of(instruction_of("mma.m16n8k16.f32.f16.f16.f32")), Sparsity{});
}

// Of the 16 values of four bits, 6 name two ascending positions and 2 a half of a tf32 pair; every other is
// refused. The values are in the ISA's tables.
TEST(Metadata, EveryNibble) {
  const std::set<std::uint32_t> pairs = {0x4, 0x8, 0xC, 0x9, 0xD, 0xE}, halves = {0x4, 0xE};
  for (const Sparsity& sparsity : kEvery) {
    for (std::uint32_t bits = 0; bits < 16; ++bits) {
      std::array<std::uint8_t, kMostKept> positions{};
      const bool valid = decode_group(sparsity, bits, positions.data());
      EXPECT_EQ(valid, (sparsity.kept == 1 ? halves : pairs).count(bits) == 1) << bits;
      if (!valid) continue;
      EXPECT_TRUE(valid_group(sparsity, positions.data()));
      EXPECT_EQ(encode_group(sparsity, positions.data()), bits);
    }
  }
}

// Every assignment of positions 0 to `group`, that is one beyond the last too: valid exactly where it is one
// of the patterns.
TEST(Metadata, EveryGroupOfPositions) {
  for (const Sparsity& sparsity : kEvery) {
    std::set<std::array<std::uint8_t, kMostKept>> valid;
    for (int number = 0; number < patterns(sparsity); ++number) {
      std::array<std::uint8_t, kMostKept> positions{};
      write_pattern(sparsity, number, positions.data());
      valid.insert(positions);
    }
    EXPECT_EQ(valid.size(), static_cast<std::size_t>(patterns(sparsity)));
    std::array<std::uint8_t, kMostKept> positions{};
    for (bool more = true; more;) {
      EXPECT_EQ(valid_group(sparsity, positions.data()), valid.count(positions) == 1);
      more = false;
      for (int i = 0; i < sparsity.kept && !more; ++i) {
        std::uint8_t& position = positions[static_cast<std::size_t>(i)];
        more = position++ != sparsity.group;
        if (!more) position = 0;
      }
    }
  }
}

// Packing the registers of a warp and unpacking them gives the metadata back, every group is held exactly
// once and by the lanes that the selector names.
TEST(Metadata, RegistersHoldEveryGroupOnce) {
  EXPECT_GT(sparse_instructions().size(), 100U);
  for (const Instruction& inst : sparse_instructions()) {
    const Sparsity sparsity = sparsity_of(inst);
    const MetadataLayout layout = metadata_layout(inst);
    const auto stored = static_cast<std::size_t>(inst.stored_k());
    EXPECT_TRUE(layout.words == 1 || layout.words == 2 || layout.words == 4) << name_of(inst);
    for (int shift = 0; shift < patterns(sparsity); ++shift) {
      std::vector<std::uint8_t> metadata(2 * stored), back(2 * stored, 0xFF);
      for (std::size_t group = 0; group * static_cast<std::size_t>(sparsity.kept) < 2 * stored; ++group)
        write_pattern(sparsity, (static_cast<int>(group * group) + shift) % patterns(sparsity),
                      &metadata[group * static_cast<std::size_t>(sparsity.kept)]);
      for (int word = 0; word < layout.words; ++word) {
        const std::uint32_t packed =
            pack_word(sparsity, layout, word, [&](int half) { return &metadata[half == 0 ? 0 : stored]; });
        EXPECT_TRUE(unpack_word(sparsity, layout, word, packed,
                                [&](int half) { return &back[half == 0 ? 0 : stored]; }));
      }
      EXPECT_EQ(back, metadata) << name_of(inst);
    }
  }
}

// Read off the ISA's figures: which lane of a quad has which group of which row, and at which bits.
TEST(Metadata, RegistersAreThoseOfTheIsa) {
  struct Where {
    const char* name;
    int row_half, group, word, shift;
  };
  constexpr Where kWhere[] = {
      {"mma.sp.m16n8k16.f32.f16.f16.f32", 0, 3, 0, 12},
      {"mma.sp.m16n8k16.f32.f16.f16.f32", 1, 0, 0, 16},
      {"mma.sp.m16n8k32.f32.bf16.bf16.f32", 0, 4, 1, 0},
      {"mma.sp.m16n8k32.f32.bf16.bf16.f32", 1, 7, 1, 28},
      {"mma.sp.m16n8k8.f32.tf32.tf32.f32", 1, 1, 0, 20},
      {"mma.sp.m16n8k16.f32.tf32.tf32.f32", 0, 5, 1, 4},
      {"mma.sp.m16n8k32.s32.s8.s8.s32", 0, 7, 0, 28},
      {"mma.sp.m16n8k32.s32.s8.s8.s32", 1, 0, 1, 0},
      {"mma.sp.m16n8k64.f32.e4m3.e5m2.f32", 0, 8, 2, 0},
      {"mma.sp.m16n8k64.f32.e4m3.e5m2.f32", 1, 15, 3, 28},
      {"mma.sp.m16n8k64.s32.s4.s4.s32", 1, 3, 1, 12},
      {"mma.sp.m16n8k128.s32.u4.u4.s32", 0, 9, 2, 4},
      {"wgmma.sp.m64n8k32.f32.f16.f16", 1, 4, 1, 16},
      {"wgmma.sp.m64n8k64.s32.s8.s8", 1, 2, 1, 8},
      {"mma.sp.m16n8k64.kind_f8f6f4.f32.e3m2.e2m1.f32", 0, 15, 2, 28},
      {"mma.sp.m16n8k64.kind_mxf8f6f4.scale_vec_1X.f32.e2m1.e5m2.f32.ue8m0", 1, 3, 1, 12},
      {"mma.sp.m16n8k128.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0", 1, 8, 3, 0},
  };
  for (const Where& where : kWhere) {
    const Instruction inst = instruction_of(where.name);
    int found = 0;
    const MetadataLayout layout = metadata_layout(inst);
    for (int word = 0; word < layout.words; ++word)
      for_each_group(layout, word, [&](int half, int group, int shift) {
        if (half != where.row_half || group != where.group) return;
        ++found;
        EXPECT_EQ(word, where.word) << where.name;
        EXPECT_EQ(shift, where.shift) << where.name;
      });
    EXPECT_EQ(found, 1) << where.name;
  }
}

TEST(Metadata, RefusalsSayWhere) {
  const Instruction inst = instruction_of("mma.sp.m16n8k16.f32.f16.f16.f32");
  std::vector<std::uint8_t> metadata;
  for (int group = 0; group < 2 * 16 * 4; ++group) metadata.insert(metadata.end(), {1, 3});
  EXPECT_EQ(why_bad_metadata(inst, metadata, 2), "");
  EXPECT_EQ(why_bad_metadata(inst, metadata, 3), "found 256 positions, allowed: 384");
  metadata[128 + 8 + 4] = 3;
  EXPECT_EQ(why_bad_metadata(inst, metadata, 2),
            "tile 1 row 1 group 2: found 3 3, allowed: two of 0 to 3, ascending");
  metadata[0] = 4;
  EXPECT_EQ(why_bad_metadata(inst, metadata, 2),
            "tile 0 row 0 group 0: found 4 3, allowed: two of 0 to 3, ascending");
  EXPECT_NE(why_bad_metadata(instruction_of("mma.m16n8k16.f32.f16.f16.f32"), metadata, 2), "");
  const Instruction tf32 = instruction_of("mma.sp.m16n8k8.f32.tf32.tf32.f32");
  EXPECT_EQ(why_bad_metadata(tf32, std::vector<std::uint8_t>(64, 2), 1),
            "tile 0 row 0 group 0: found 2, allowed: 0 or 1");
}

TEST(SparseNames, BothSpellings) {
  const auto ordered = find_instruction("mma.sp::ordered_metadata.m16n8k32.f32.f16.f16.f32");
  ASSERT_TRUE(ordered);
  EXPECT_EQ(name_of(*ordered), "mma.sp.m16n8k32.f32.f16.f16.f32");
  EXPECT_EQ(ordered->stored_k(), 16);
  EXPECT_EQ(name_of(instruction_of("wgmma.sp.m64n128k32.f32.f16.f16")), "wgmma.sp.m64n128k32.f32.f16.f16");
  EXPECT_FALSE(find_instruction("wgmma.sp.m64n12k32.f32.f16.f16"));
  EXPECT_FALSE(find_instruction("mma.sp.m16n8k16.f32.e4m3.e4m3.f32"));
}

TEST(PackSparse, KeepsTheLargestAndSaysWhatItLeftOut) {
  const FormatSpec f16 = spec_of(Format::f16);
  const std::uint16_t dense[] = {0x3C00, 0xC000, 0x3C00, 0,        // 1 -2 1 0: of equals the earlier
                                 0,      0,      0x8000, 0x3C00,   // one number: the first zero beside it
                                 0x7C00, 0x7E00, 0x4400, 0x3C00};  // infinity, NaN, 4, 1
  const PackedSparse packed = pack_sparse({2, 4, 1}, f16, dense, 1, 12);
  EXPECT_EQ(packed.metadata, (std::vector<std::uint8_t>{0, 1, 0, 3, 0, 1}));
  EXPECT_EQ(packed.pruned, 3U);
  EXPECT_EQ(packed.column, 2U);
  const std::uint16_t expected[] = {0x3C00, 0xC000, 0, 0x3C00, 0x7C00, 0x7E00};
  EXPECT_EQ(std::memcmp(packed.elements.data(), expected, sizeof expected), 0);
  const std::int8_t pairs[] = {1, 1, -3, 0, 0, 2, 2, 2};  // 4 of 8 in neighbours: sums 2 3 2 4
  const PackedSparse of_pairs = pack_sparse({4, 8, 2}, spec_of(Format::s4), pairs, 1, 8);
  EXPECT_EQ(of_pairs.metadata, (std::vector<std::uint8_t>{2, 3, 6, 7}));
}

}  // namespace
}  // namespace mmaudit::test
