// The code with which kernels load the registers of mma with a .kind, run here for every lane: no GPU that
// has these instructions has run them.
#include <gtest/gtest.h>

#include <set>
#include <tuple>
#include <vector>

#include "kernels/fragments.cuh"
#include "kernels/metadata.cuh"
#include "mmaudit/splitmix64.hpp"
#include "mmaudit/tile_batch.hpp"
#include "ptx/mma_sp_narrow.cuh"

namespace mmaudit::device {
namespace {

MMAUDIT_MMA_F8F6F4(MMAUDIT_F8F6F4_LINE)
MMAUDIT_MMA_MX8(MMAUDIT_MX8_LINE)
MMAUDIT_MMA_SCALED_E2M1(MMAUDIT_SCALED_LINE)
MMAUDIT_MMA_F8F6F4(MMAUDIT_SP_F8F6F4_LINE)
MMAUDIT_MMA_MX8(MMAUDIT_SP_MX8_LINE)
MMAUDIT_MMA_SP_SCALED_E2M1(MMAUDIT_SP_SCALED_LINE)

// clang-format off
template <typename... Lines>
struct List {};
#define MMAUDIT_NEXT_F8F6F4(...) , MMAUDIT_F8F6F4_NAME(__VA_ARGS__)
#define MMAUDIT_NEXT_MX8(...) , MMAUDIT_MX8_NAME(__VA_ARGS__)
#define MMAUDIT_NEXT_SCALED(...) , MMAUDIT_SCALED_NAME(__VA_ARGS__)
#define MMAUDIT_NEXT_SP_F8F6F4(...) , MMAUDIT_SP_F8F6F4_NAME(__VA_ARGS__)
#define MMAUDIT_NEXT_SP_MX8(...) , MMAUDIT_SP_MX8_NAME(__VA_ARGS__)
#define MMAUDIT_NEXT_SP_SCALED(...) , MMAUDIT_SP_SCALED_NAME(__VA_ARGS__)
struct None { static constexpr Instruction kInstruction = {}; };
using Lines = List<None MMAUDIT_MMA_F8F6F4(MMAUDIT_NEXT_F8F6F4) MMAUDIT_MMA_MX8(MMAUDIT_NEXT_MX8)
                   MMAUDIT_MMA_SCALED_E2M1(MMAUDIT_NEXT_SCALED) MMAUDIT_MMA_F8F6F4(MMAUDIT_NEXT_SP_F8F6F4)
                   MMAUDIT_MMA_MX8(MMAUDIT_NEXT_SP_MX8) MMAUDIT_MMA_SP_SCALED_E2M1(MMAUDIT_NEXT_SP_SCALED)>;
// clang-format on

/// Calls visit.template operator()<Line>() for every line.
template <typename Visit, typename... All>
void for_each_line(List<None, All...> /*lines*/, const Visit& visit) {
  (visit.template operator()<All>(), ...);
}

/// A tile of bytes whose bits above the element are set: none of them may reach a register.
std::vector<std::uint8_t> dirty_tile(std::size_t count, Format format) {
  std::vector<std::uint8_t> tile(count);
  std::uint64_t random = 5;
  const auto above = static_cast<std::uint8_t>(0xFFU << spec_of(format).value_bits());
  for (std::uint8_t& byte : tile) byte = static_cast<std::uint8_t>(splitmix64(random)) | above;
  return tile;
}

/// Every lane's registers, loaded as a kernel loads them, against register_word(), and against a place of
/// every element written out here: PTX ISA 9.0, "Matrix Fragments for mma.m16n8k32" and "mma.m16n8k64"; of
/// sparse ones
/// "... for sparse mma.m16n8k64" and "mma.m16n8k128", where A's columns are the stored elements.
template <typename Line, bool IsB, int Registers>
void expect_loaded(Format format, const FragmentMap& map) {
  constexpr Instruction kIs = Line::kInstruction;
  constexpr Packing kPacking = IsB ? Fragments<Line>::kPackingB : Fragments<Line>::kPackingA;
  constexpr int kRun = IsB ? Fragments<Line>::kRunB : Fragments<Line>::kRunA;
  const std::vector<std::uint8_t> tile =
      dirty_tile(static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.cols), format);
  // Two elements of 4 bits per byte.
  const bool packed = kIs.kind == MmaKind::mxf4 || kIs.kind == MmaKind::mxf4nvf4;
  const int each = packed ? 8 : 4, bits = 32 / each, shift = !packed && format == Format::e2m1 ? 2 : 0;
  const std::uint32_t mask = (1U << spec_of(format).value_bits()) - 1;
  std::multiset<std::size_t> taken;
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    std::uint32_t registers[Registers];
    load_fragment<kPacking, kRun>(map, tile.data(), map.cols, lane, map.values, registers);
    for (int r = 0; r < Registers; ++r) {
      const auto at = [&](Coord coord) { return tile[index_at(coord.row, map.cols, coord.col)]; };
      EXPECT_EQ(registers[r], register_word(kIs, map, format, lane, r, at)) << lane << " " << r;
      std::uint32_t expected = 0;
      for (int e = 0; e < each; ++e) {
        // groupID and threadID_in_group; A: register 1 and 3 eight rows down, 2 and 3 half of k on.
        const int group = lane / 4, k = lane % 4 * each + e + (IsB ? r : r / 2) * 4 * each;
        const std::size_t index =
            IsB ? index_at(k, map.cols, group) : index_at(group + r % 2 * 8, map.cols, k);
        expected |= (tile[index] & mask) << (bits * e + shift);
        taken.insert(index);
      }
      EXPECT_EQ(registers[r], expected) << name_of(kIs) << " lane " << lane << " register " << r;
    }
  }
  for (std::size_t i = 0; i < tile.size(); ++i) EXPECT_EQ(taken.count(i), 1U) << i;
}

TEST(NarrowFragments, EveryElementIsLoadedOnceWhereTheIsaHasIt) {
  int lines = 0;
  for_each_line(Lines{}, [&]<typename Line>() {
    using F = Fragments<Line>;
    static_assert(F::kRegistersA == 4 && F::kRegistersB == (F::kSparse ? 4 : 2));
    expect_loaded<Line, false, F::kRegistersA>(Line::kInstruction.a, F::kMapA);
    expect_loaded<Line, true, F::kRegistersB>(Line::kInstruction.b, F::kMapB);
    ++lines;
  });
  EXPECT_EQ(lines, 2 * 78);
}

TEST(NarrowFragments, CAndDTravelThroughRegistersUnchanged) {
  for_each_line(Lines{}, [&]<typename Line>() {
    using F = Fragments<Line>;
    constexpr Instruction kIs = Line::kInstruction;
    using Element = ElementOf<kIs.c>;
    std::vector<Element> c(16 * 8), d(16 * 8, 0);
    for (std::size_t i = 0; i < c.size(); ++i) c[i] = static_cast<Element>(i * 0x9E3779B9U + 1);
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      std::uint32_t registers[F::kRegistersC];
      load_fragment<F::kPackingC, F::kRunC>(F::kMapC, c.data(), kIs.n, lane, F::kMapC.values, registers);
      store_fragment<F::kRunD>(F::kMapD, d.data(), kIs.n, lane, F::kMapD.values, registers);
    }
    EXPECT_EQ(c, d) << name_of(kIs);
  });
}

// Four bits per group, written out here: PTX ISA 9.0, "Matrix Fragments for sparse mma.m16n8k64" and
// "mma.m16n8k128", figures of the metadata. Lanes 0 and 1 of a quad have the first half of k of rows g and g
// + 8, lanes 2 and 3 the other; the lower two bits are the position of the first stored element, or pair of
// them.
TEST(NarrowFragments, EveryPositionIsLoadedOnceWhereTheIsaHasIt) {
  int lines = 0;
  for_each_line(Lines{}, [&]<typename Line>() {
    if constexpr (Fragments<Line>::kSparse) {
      constexpr Instruction kIs = Line::kInstruction;
      constexpr Sparsity kSparsity = sparsity_of(kIs);
      constexpr int kStored = kIs.stored_k(), kKept = kSparsity.kept;
      std::vector<std::uint8_t> metadata(static_cast<std::size_t>(16 * kStored));
      std::uint64_t random = 3;
      for (std::size_t i = 0; i < metadata.size(); i += kKept)
        write_pattern(kSparsity, static_cast<int>(splitmix64(random) % 6), &metadata[i]);
      std::multiset<int> taken;
      for (int lane = 0; lane < kWarpLanes; ++lane) {
        std::uint32_t expected = 0;
        for (int slot = 0; slot < 8; ++slot) {
          const int row = lane / 4 + 8 * (lane % 2), group = lane % 4 / 2 * 8 + slot;
          const std::uint8_t* two = &metadata[index_at(row, kStored, group * kKept)];
          const unsigned first = two[0] / static_cast<unsigned>(kKept / 2),
                         second = two[kKept / 2] / static_cast<unsigned>(kKept / 2);
          expected |= (first | second << 2) << (4 * slot);
          taken.insert(row * kStored + group * kKept);
        }
        EXPECT_EQ(load_metadata<Line>(metadata.data(), lane, 0), expected)
            << name_of(kIs) << " lane " << lane;
      }
      EXPECT_EQ(taken.size(), metadata.size() / kKept);
      EXPECT_EQ(std::set<int>(taken.begin(), taken.end()).size(), taken.size());
      ++lines;
    }
  });
  EXPECT_EQ(lines, 78);
}

/// What the instruction reads, as PTX ISA 9.0, "Block Scaling for mma.sync" says it: the scale of (line,
/// block) out of all lanes' registers.
std::uint8_t read_scale(ScaleOwner owner, ScaleSelector selector, const std::vector<std::uint32_t>& registers,
                        int line, int block) {
  const int lane =
      owner == ScaleOwner::a ? 4 * (line % 8) + 2 * selector.thread + line / 8 : 4 * line + selector.thread;
  return static_cast<std::uint8_t>(registers[static_cast<std::size_t>(lane)] >>
                                   (8 * (selector.byte + block)));
}

template <typename Line, ScaleOwner Owner>
void expect_scales(std::set<std::pair<int, int>>& used) {
  constexpr Instruction kIs = Line::kInstruction;
  constexpr int kBlocks = Fragments<Line>::kBlocks, kLines = Owner == ScaleOwner::a ? kIs.m : kIs.n;
  // Bytes that differ, and none of them the one that is not read.
  std::vector<std::uint8_t> tile(static_cast<std::size_t>(kBlocks * kLines));
  for (std::size_t i = 0; i < tile.size(); ++i) tile[i] = static_cast<std::uint8_t>(i + 1);
  for (int number = 0; number < scale_selections(Fragments<Line>::kBlocks); ++number) {
    const ScaleSelector selector = scale_selection(Owner, kBlocks, number);
    used.insert({selector.byte, selector.thread});
    std::vector<std::uint32_t> registers, ones;
    for (int lane = 0; lane < kWarpLanes; ++lane) {
      registers.push_back(load_scales(Owner, kBlocks, kIs.n, number, tile.data(), 0x7F, lane));
      ones.push_back(load_scales(Owner, kBlocks, kIs.n, number, nullptr, 0x7F, lane));
    }
    for (int line = 0; line < kLines; ++line)
      for (int block = 0; block < kBlocks; ++block) {
        const auto index = static_cast<std::size_t>(plain_scale_index(
            Owner, static_cast<unsigned>(line), static_cast<unsigned>(block), kLines, kBlocks));
        EXPECT_EQ(read_scale(Owner, selector, registers, line, block), tile[index]);
        EXPECT_EQ(read_scale(Owner, selector, ones, line, block), 0x7F);
      }
    std::vector<int> loaded(256);
    for (const std::uint32_t word : registers)
      for (int byte = 0; byte < 4; ++byte) ++loaded[word >> (8 * byte) & 0xFFU];
    for (std::size_t i = 0; i < tile.size(); ++i) EXPECT_EQ(loaded[tile[i]], 1) << i;
    EXPECT_EQ(loaded[kUnreadScale], 4 * kWarpLanes - static_cast<int>(tile.size()));
  }
}

// The valid values of the ISA's table, by scale_vec: all of them are used, and nothing else is.
TEST(NarrowFragments, EveryScaleIsLoadedOnceWhereItsSelectorsPoint) {
  const std::set<std::pair<int, int>> one_a = {{0, 0}, {1, 0}, {2, 0}, {3, 0},
                                               {0, 1}, {1, 1}, {2, 1}, {3, 1}};
  const std::set<std::pair<int, int>> two_a = {{0, 0}, {2, 0}, {0, 1}, {2, 1}}, four_a = {{0, 0}, {0, 1}};
  int lines = 0;
  for_each_line(Lines{}, [&]<typename Line>() {
    if constexpr (Fragments<Line>::kBlocks != 0) {
      std::set<std::pair<int, int>> a, b, expected_b;
      expect_scales<Line, ScaleOwner::a>(a);
      expect_scales<Line, ScaleOwner::b>(b);
      const auto& expected_a = Fragments<Line>::kBlocks == 1   ? one_a
                               : Fragments<Line>::kBlocks == 2 ? two_a
                                                               : four_a;
      for (const auto& [byte, thread] : expected_a) expected_b.insert({{byte, thread}, {byte, thread + 2}});
      EXPECT_EQ(a, expected_a);
      EXPECT_EQ(b, expected_b);
      ++lines;
    }
  });
  EXPECT_EQ(lines, 2 * 28);
}

// A kernel that took A's selectors for B's would not be seen if they never differed.
TEST(NarrowFragments, SelectorsOfAAndBDiffer) {
  for (const int blocks : {1, 2, 4}) {
    int bytes = 0, threads = 0;
    for (int number = 0; number < scale_selections(blocks); ++number) {
      const ScaleSelector a = scale_selection(ScaleOwner::a, blocks, number),
                          b = scale_selection(ScaleOwner::b, blocks, number);
      bytes += a.byte != b.byte;
      threads += a.thread != b.thread;
    }
    EXPECT_GT(threads, 0) << blocks;
    EXPECT_EQ(bytes > 0, blocks < 4) << blocks;
  }
}

}  // namespace
}  // namespace mmaudit::device
