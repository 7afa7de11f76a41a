#include "mmaudit/fragment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "mmaudit/wmma_fragments.hpp"

namespace mmaudit {
namespace {

constexpr Instruction with_n(Instruction inst, int n) {
  if (inst.n == 0) inst.n = static_cast<std::int16_t>(n);
  return inst;
}

// Evenly: of m8n8k4 of f16 each of the four octets holds the tile, of all others the warp or warpgroup does.
constexpr bool every_row_even(int wgmma_n) {
  for (const Instruction& inst : kInstructions) {
    if (!has_fragment_maps(inst)) continue;
    const Instruction instruction = with_n(inst, wgmma_n);
    const int times = inst.unit == units::mma_884 ? 4 : 1;
    if (multiplicity(fragment_a(instruction)) != times || multiplicity(fragment_c(instruction)) != times ||
        multiplicity(fragment_d(instruction)) != times)
      return false;
    if (!is_wgmma(instruction.op) && multiplicity(fragment_b(instruction)) != times) return false;
  }
  return true;
}
static_assert(every_row_even(kWgmmaMinN) && every_row_even(kWgmmaMaxN));

// More steps than a compiler grants a constant.
TEST(Fragment, MapsAreEvenForEveryN) {
  for (int n = kWgmmaMinN; n <= kWgmmaMaxN; n += kWgmmaStepN) EXPECT_TRUE(every_row_even(n)) << n;
}

// By visiting every element, to check multiplicity() itself.
bool holds_every_element(const FragmentMap& map, int times) {
  std::vector<int> held(static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.cols));
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value) {
      const Coord at = map.at(lane, value);
      if (at.row < 0 || at.row >= map.rows || at.col < 0 || at.col >= map.cols) return false;
      ++held[static_cast<std::size_t>(at.row) * static_cast<std::size_t>(map.cols) +
             static_cast<std::size_t>(at.col)];
    }
  return std::ranges::all_of(held, [times](int found) { return found == times; });
}

TEST(Fragment, HoldsEveryElementSoManyTimes) {
  for (const Instruction& inst : kInstructions)
    for (int n = kWgmmaMinN; n <= kWgmmaMaxN; n += kWgmmaStepN) {
      if (!has_fragment_maps(inst)) break;
      const Instruction instruction = with_n(inst, n);
      const int times = inst.unit == units::mma_884 ? 4 : 1;
      EXPECT_TRUE(holds_every_element(fragment_a(instruction), times));
      EXPECT_TRUE(holds_every_element(fragment_c(instruction), times));
      EXPECT_TRUE(holds_every_element(fragment_d(instruction), times));
      EXPECT_TRUE(is_wgmma(instruction.op) || holds_every_element(fragment_b(instruction), times));
      if (inst.n != 0) break;
    }
}

// An exemption is a row of the list, not a silence: a new row without maps has to be named here.
TEST(Fragment, OnlyWmmaTensorMemoryAndMfmaHaveNoMaps) {
  for (const Instruction& inst : kInstructions)
    EXPECT_EQ(has_fragment_maps(inst), !is_tcgen05(inst.op) && inst.op != Op::wmma && inst.op != Op::mfma)
        << name_of(inst);
}

TEST(Fragment, BijectiveRefusesATwiceHeldElement) {
  FragmentMap map = fragment_c(kInstructions[0]);
  map.value[1].row_stride = 0;
  EXPECT_FALSE(bijective(map));
  map = fragment_c(kInstructions[0]);
  map.values += 1;
  EXPECT_FALSE(bijective(map));
}

TEST(Fragment, MultiplicityCountsModesWithoutAStep) {
  const FragmentMap octets = fragment_a(find_instruction("mma.m8n8k4.f32.f16.f16.f32").value());
  EXPECT_EQ(multiplicity(octets), 4);
  FragmentMap wrong = octets;
  wrong.lane[1].row_stride = 1;  // the octets on top of each other
  EXPECT_EQ(multiplicity(wrong), 0);
}

// The formulas of the PTX ISA, written as the ISA writes them and not as modes.
struct Isa {
  int group, thread;  // groupID = laneid >> 2, threadID_in_group = laneid % 4
  explicit Isa(int lane) : group((lane % 32) >> 2), thread(lane % 4) {}
};

const Instruction* row_of(int m, int k, Format d, Format a) {
  for (const Instruction& inst : kInstructions)
    if (inst.op == Op::mma && inst.m == m && inst.k == k && inst.d == d && inst.a == a && inst.b == a)
      return &inst;
  return nullptr;
}

TEST(Fragment, MatchesTheIsaForM16n8k16F16) {
  const Instruction* inst = row_of(16, 16, Format::f32, Format::f16);
  ASSERT_NE(inst, nullptr);
  for (int lane = 0; lane < 32; ++lane) {
    const Isa isa(lane);
    for (int i = 0; i < 8; ++i) {
      const bool upper = (i >= 2 && i < 4) || i >= 6;
      EXPECT_EQ(fragment_a(*inst).at(lane, i),
                (Coord{isa.group + (upper ? 8 : 0), isa.thread * 2 + (i & 1) + (i >= 4 ? 8 : 0)}));
    }
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(fragment_b(*inst).at(lane, i),
                (Coord{isa.thread * 2 + (i & 1) + (i >= 2 ? 8 : 0), isa.group}));
      EXPECT_EQ(fragment_c(*inst).at(lane, i),
                (Coord{isa.group + (i < 2 ? 0 : 8), isa.thread * 2 + (i & 1)}));
    }
  }
}

TEST(Fragment, MatchesTheIsaForM16n8k32Fp8) {
  const Instruction* inst = row_of(16, 32, Format::f16, Format::e4m3);
  ASSERT_NE(inst, nullptr);
  for (int lane = 0; lane < 32; ++lane) {
    const Isa isa(lane);
    for (int i = 0; i < 16; ++i) {
      const bool lower = i < 4 || (i >= 8 && i < 12);
      EXPECT_EQ(fragment_a(*inst).at(lane, i),
                (Coord{isa.group + (lower ? 0 : 8), isa.thread * 4 + (i & 3) + (i >= 8 ? 16 : 0)}));
    }
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(fragment_b(*inst).at(lane, i),
                (Coord{isa.thread * 4 + (i & 3) + (i >= 4 ? 16 : 0), isa.group}));
  }
}

TEST(Fragment, MatchesTheIsaForF64) {
  const Instruction* small = row_of(8, 4, Format::f64, Format::f64);
  const Instruction* large = row_of(16, 16, Format::f64, Format::f64);
  ASSERT_NE(small, nullptr);
  ASSERT_NE(large, nullptr);
  for (int lane = 0; lane < 32; ++lane) {
    const Isa isa(lane);
    EXPECT_EQ(fragment_a(*small).at(lane, 0), (Coord{isa.group, isa.thread}));
    EXPECT_EQ(fragment_b(*small).at(lane, 0), (Coord{isa.thread, isa.group}));
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(fragment_c(*small).at(lane, i), (Coord{isa.group, isa.thread * 2 + i}));
    for (int i = 0; i < 8; ++i)
      EXPECT_EQ(fragment_a(*large).at(lane, i),
                (Coord{isa.group + (i % 2 == 0 ? 0 : 8), (i / 2) * 4 + isa.thread}));
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(fragment_b(*large).at(lane, i), (Coord{isa.thread + i * 4, isa.group}));
  }
}

TEST(Fragment, MatchesTheIsaForOctets) {
  const Instruction mixed = find_instruction("mma.m8n8k4.f32.f16.f16.f16").value();
  const FragmentMap a = fragment_a(mixed), b = fragment_b(mixed), c = fragment_c(mixed),
                    d = fragment_d(mixed);
  for (int lane = 0; lane < 32; ++lane) {
    const int line = lane < 16 ? lane % 4 : lane % 4 + 4;
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(a.at(lane, i), (Coord{line, i}));
      EXPECT_EQ(b.at(lane, i), (Coord{i, line}));
    }
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(c.at(lane, i), (Coord{line, i}));
      const int row = (lane & 1) + (i & 2);
      EXPECT_EQ(d.at(lane, i), (Coord{lane < 16 ? row : row + 4, (i & 4) + (lane & 2) + (i & 1)}));
    }
  }
}

TEST(Fragment, PackedE2m1LiesAsFourBitIntegersDo) {
  const Instruction fp4 =
      find_instruction("mma.m16n8k64.kind_mxf4.scale_vec_2X.f32.e2m1.e2m1.f32.ue8m0").value();
  const Instruction s4 = find_instruction("mma.m16n8k64.s32.s4.s4.s32").value();
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 32; ++i) EXPECT_EQ(fragment_a(fp4).at(lane, i), fragment_a(s4).at(lane, i));
    for (int i = 0; i < 16; ++i) EXPECT_EQ(fragment_b(fp4).at(lane, i), fragment_b(s4).at(lane, i));
  }
  EXPECT_EQ(fragment_a(fp4).values, 32);
  EXPECT_EQ(register_shift(fp4, Format::e2m1), 0);
  // In a byte of its own the element is no longer packed, and stands two bits up.
  const Instruction mix = find_instruction("mma.m16n8k32.kind_f8f6f4.f32.e2m1.e3m2.f32").value();
  EXPECT_EQ(fragment_a(mix).values, 16);
  EXPECT_EQ(register_shift(mix, mix.a), 2);
  EXPECT_EQ(register_shift(mix, mix.b), 0);
}

TEST(Fragment, MatchesTheIsaForWgmmaAccumulators) {
  const Instruction instruction = with_n(instructions::kWgmma[0], 24);
  ASSERT_EQ(instruction.op, Op::wgmma);
  const FragmentMap map = fragment_c(instruction);
  EXPECT_EQ(map.values, 12);
  for (int lane = 0; lane < 128; ++lane) {
    const Isa isa(lane);
    for (int i = 0; i < map.values; ++i)
      EXPECT_EQ(map.at(lane, i), (Coord{16 * (lane / 32) + isa.group + 8 * ((i >> 1) & 1),
                                        8 * (i / 4) + isa.thread * 2 + (i & 1)}));
  }
}

TEST(Fragment, WmmaSinceTuringHoldsWhatItsMmaHolds) {
  const Instruction wmma = find_instruction("wmma.m16n16k16.f32.f16.f16.f32").value();
  EXPECT_EQ(multiplicity(hmma::fragment_a(wmma, 2)), 2);
  EXPECT_EQ(multiplicity(hmma::fragment_b(wmma, 2)), 2);
  // Which lane holds an element of a quarter is what mma.m16n8k16 says.
  const Instruction mma = find_instruction("mma.m16n8k16.f32.f16.f16.f32").value();
  for (int lane = 0; lane < kWarpLanes; ++lane) {
    for (int value = 0; value < 8; ++value)
      EXPECT_EQ(hmma::fragment_a(wmma, 2).at(lane, value), fragment_a(mma).at(lane, value));
    for (int value = 0; value < 4; ++value) {
      EXPECT_EQ(hmma::fragment_b(wmma, 2).at(lane, value), fragment_b(mma).at(lane, value));
      EXPECT_EQ(hmma::fragment_accumulator(wmma).at(lane, value), fragment_c(mma).at(lane, value));
    }
  }
}

// Bytes from the matrix's start that lane 1 and lane 31 load into each register: read off the addresses in
// the SASS that ptxas 13.0 makes of wmma.load for sm_75. A and C by rows, B by columns.
struct Loaded {
  const char* instruction;
  char operand;
  std::vector<int> lane1, lane31;
};
const Loaded kLoaded[] = {
    {"wmma.m16n16k16.f32.f16.f16.f32", 'a', {4, 260, 20, 276}, {236, 492, 252, 508}},
    {"wmma.m16n16k16.f32.f16.f16.f32", 'b', {4, 20, 260, 276}, {236, 252, 492, 508}},
    {"wmma.m16n16k16.f16.f16.f16.f16", 'c', {4, 260, 20, 276}, {236, 492, 252, 508}},
    {"wmma.m16n16k16.f32.f16.f16.f32",
     'c',
     {8, 12, 520, 524, 40, 44, 552, 556},
     {472, 476, 984, 988, 504, 508, 1016, 1020}},
    {"wmma.m32n8k16.f32.f16.f16.f32",
     'a',
     {4, 260, 20, 276, 516, 772, 532, 788},
     {236, 492, 252, 508, 748, 1004, 764, 1020}},
    {"wmma.m32n8k16.f32.f16.f16.f32", 'b', {4, 20}, {236, 252}},
    {"wmma.m32n8k16.f16.f16.f16.f16", 'c', {4, 132, 260, 388}, {124, 252, 380, 508}},
    {"wmma.m32n8k16.f32.f16.f16.f32",
     'c',
     {8, 12, 264, 268, 520, 524, 776, 780},
     {248, 252, 504, 508, 760, 764, 1016, 1020}},
    {"wmma.m8n32k16.f32.f16.f16.f32", 'a', {4, 20}, {236, 252}},
    {"wmma.m8n32k16.f32.f16.f16.f32",
     'b',
     {4, 260, 20, 276, 516, 772, 532, 788},
     {236, 492, 252, 508, 748, 1004, 764, 1020}},
    {"wmma.m8n32k16.f32.f16.f16.f32",
     'c',
     {256, 384, 288, 416, 320, 448, 352, 480},
     {796, 924, 828, 956, 860, 988, 892, 1020}},
    {"wmma.m16n16k16.s32.s8.s8.s32", 'a', {4, 132}, {124, 252}},
    {"wmma.m16n16k16.s32.s8.s8.s32", 'b', {4, 132}, {124, 252}},
    {"wmma.m32n8k16.s32.s8.s8.s32", 'a', {4, 132, 260, 388}, {124, 252, 380, 508}},
    {"wmma.m8n32k16.s32.s8.s8.s32", 'b', {4, 132, 260, 388}, {124, 252, 380, 508}},
    {"wmma.m8n32k16.s32.s8.s8.s32",
     'c',
     {8, 12, 40, 44, 72, 76, 104, 108},
     {920, 924, 952, 956, 984, 988, 1016, 1020}},
    {"wmma.m8n8k32.s32.s4.s4.s32", 'a', {4}, {124}},
    {"wmma.m8n8k32.s32.s4.s4.s32", 'b', {4}, {124}},
    {"wmma.m8n8k32.s32.s4.s4.s32", 'c', {8, 12}, {248, 252}},
};

TEST(Fragment, WmmaOfTuringLiesAsItsLoadsSay) {
  for (const Loaded& loaded : kLoaded) {
    const Instruction wmma = find_instruction(loaded.instruction).value();
    const WmmaFragments* known = find_wmma_fragments("turing", wmma);
    ASSERT_NE(known, nullptr) << loaded.instruction;
    const bool b = loaded.operand == 'b';
    const Format format = loaded.operand == 'a' ? wmma.a : b ? wmma.b : wmma.d;
    const FragmentMap map = loaded.operand == 'a' ? known->a(wmma, volta::Layout::row)
                            : b                   ? known->b(wmma, volta::Layout::column)
                                                  : known->accumulator(wmma, format);
    EXPECT_TRUE(bijective(map)) << loaded.instruction;
    const int each = elements_per_register(format);
    for (const auto& [lane, bytes] : {std::pair{1, loaded.lane1}, std::pair{31, loaded.lane31}}) {
      ASSERT_EQ(map.values, each * static_cast<int>(bytes.size())) << loaded.instruction;
      for (int r = 0; r < static_cast<int>(bytes.size()); ++r) {
        const Coord at = map.at(lane, r * each);
        const int element = b ? at.col * map.rows + at.row : at.row * map.cols + at.col;
        EXPECT_EQ(element * register_bits(format) / 8, bytes[static_cast<std::size_t>(r)])
            << loaded.instruction << " " << loaded.operand << " lane " << lane << " register " << r;
      }
    }
  }
}

// Raihan et al., section III-B and C: widths and strides of Volta's loads; of Turing's: the same SASS.
TEST(Fragment, WmmaIsLoadedInThePapersWidths) {
  for (const char operand : {'a', 'b'})
    for (const bool columns : {false, true}) {
      const volta::Layout layout = columns ? volta::Layout::column : volta::Layout::row;
      const FragmentMap map = operand == 'a' ? volta::fragment_a(layout) : volta::fragment_b(layout);
      const FragmentAccesses moved = accesses_of(map, 16, columns, false);
      const bool wide = columns == (operand == 'b');
      EXPECT_EQ(moved.count, wide ? 2 : 4);
      EXPECT_EQ(moved.bits, wide ? 128 : 64);
      // 512 bytes are 16 sectors; each of two wide loads touches half of every row's 32 bytes.
      EXPECT_EQ(moved.sectors, wide ? 32 : 16);
    }
  struct Printed {
    const char* instruction;
    int count, bits;
  };
  constexpr Printed kStores[] = {{"wmma.m16n16k16.f32.f16.f16.f32", 4, 64},
                                 {"wmma.m16n16k16.f16.f16.f16.f16", 4, 32},
                                 {"wmma.m8n32k16.f32.f16.f16.f32", 8, 32},
                                 {"wmma.m8n32k16.f16.f16.f16.f16", 4, 32},
                                 {"wmma.m8n8k32.s32.s4.s4.s32", 1, 64}};
  for (const Printed& store : kStores) {
    const Instruction wmma = find_instruction(store.instruction).value();
    const FragmentAccesses moved =
        accesses_of(hmma::fragment_accumulator(wmma), register_bits(wmma.d), false, true);
    EXPECT_EQ(moved.count, store.count) << store.instruction;
    EXPECT_EQ(moved.bits, store.bits) << store.instruction;
  }
}

}  // namespace
}  // namespace mmaudit
