// Tensor memory itself: allocation, lanes, moves, banks. What the PTX ISA says in words is written here as
// formulas of their own.
#include "mmaudit/tensor_memory/tensor_memory.hpp"
#include "mmaudit/tensor_memory/mma.hpp"

#include <set>

#include "mmaudit/tensor_memory/data_movement.hpp"
#include "mmaudit/tensor_memory/rules.hpp"
#include "mmaudit/tensor_memory/shared_matrix.hpp"
#include "programs.hpp"

namespace mmaudit::tmem {
namespace {

using test::prologue, test::epilogue, test::vector_of;

TEST(TensorMemory, HasTheSizeOfTheNote) {
  // The note, 1.1: 128 lanes of 512 words, 256 KiB.
  EXPECT_EQ(kLanes * kColumns * 4, 256 * 1024);
  EXPECT_EQ(kWordsPerCycle, 128);
}

TEST(TensorMemory, AllocatesPowersOfTwoUntilItIsFull) {
  TensorMemory memory;
  std::uint32_t first = 0, second = 0, third = 0;
  EXPECT_EQ(memory.allocate(256, first), "");
  EXPECT_EQ(memory.allocate(128, second), "");
  EXPECT_EQ(memory.allocate(128, third), "");
  EXPECT_EQ(std::set<std::uint32_t>({first, second, third}), std::set<std::uint32_t>({0, 256, 384}));
  std::uint32_t none = 0;
  EXPECT_NE(memory.allocate(32, none).find("blocks forever"), std::string::npos);
  EXPECT_NE(memory.deallocate(256, 256), "");  // two allocations
  EXPECT_EQ(memory.deallocate(256, 128), "");
  EXPECT_NE(memory.allocate(256, none).find("no more columns"), std::string::npos);
  EXPECT_EQ(memory.allocate(64, none), "");
  EXPECT_EQ(none, 256U);
  EXPECT_NE(memory.why_not_empty(), "");
}

TEST(TensorMemory, EveryRuleAndGapHasItsOwnName) {
  std::set<std::string_view> names;
  for (const Rule& rule : kRules) EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
  for (const Gap& gap : kGaps) EXPECT_TRUE(names.insert(gap.name).second) << gap.name;
}

/// Every (thread, register) of a shape, by another formula than the table: (lane, column) of the figures.
Place by_figure(std::string_view shape, int thread, int reg) {
  const int row = thread / 4, within = thread % 4;
  if (shape == "32x32b") return {thread, reg};
  if (shape == "16x32bx2") return {thread & 15, reg};
  if (shape == "16x64b") return {row + (within & 1) * 8, 2 * reg + (within >> 1)};
  if (shape == "16x128b") return {row + (reg & 1) * 8, 4 * (reg >> 1) + within};
  return {row + (reg >> 1 & 1) * 8, 8 * (reg >> 2) + 2 * within + (reg & 1)};
}

TEST(DataMovement, EveryFragmentIsThatOfItsFigureAndCoversItsRectangleOnce) {
  for (const LoadShape& shape : kLoadShapes) {
    for (int number = 1; number <= shape.most; number *= 2) {
      std::set<std::pair<int, int>> seen;
      const int registers = number * shape.registers;
      for (int thread = 0; thread < 32; ++thread) {
        for (int reg = 0; reg < registers; ++reg) {
          const Place place = place_of(shape, thread, reg, 300), figure = by_figure(shape.name, thread, reg);
          const int half = shape.split && thread >= 16 ? 300 : 0;
          ASSERT_EQ(place.lane, figure.lane) << shape.name;
          ASSERT_EQ(place.column, figure.column + half) << shape.name;
          seen.insert({place.lane, place.column});
        }
      }
      EXPECT_EQ(seen.size(), 32U * static_cast<unsigned>(registers)) << shape.name;
      EXPECT_EQ(seen.rbegin()->first, shape.lanes - 1) << shape.name;
      EXPECT_EQ(registers * 32 / shape.lanes, number * shape.columns * (shape.split ? 2 : 1)) << shape.name;
    }
  }
}

/// Stores with one shape and loads with it again: every thread gets its registers back.
TEST(DataMovement, WhatAWarpStoresItLoads) {
  for (const LoadShape& shape : kLoadShapes) {
    for (const bool packed : {false, true}) {
      const int number = 4, registers = number * shape.registers;
      std::string text = prologue();
      for (int r = 0; r < registers; ++r)
        text += "mad.lo.u32 %r" + std::to_string(20 + r) + ", %r1, 1000, " + std::to_string(r) + ";\n";
      const std::string half = shape.split ? ", 32" : "";
      text += "tcgen05.st.sync.aligned." + std::string(shape.name) + ".x4" + (packed ? ".unpack::16b" : "") +
              ".b32 [%r6]" + half + ", " + vector_of(20, registers) + ";\ntcgen05.wait::st.sync.aligned;\n";
      text += "tcgen05.ld.sync.aligned." + std::string(shape.name) + ".x4" + (packed ? ".pack::16b" : "") +
              ".b32 " + vector_of(100, registers) + ", [%r6]" + half + ";\ntcgen05.wait::ld.sync.aligned;\n";
      text += "mul.wide.u32 %rd1, %r1, " + std::to_string(4 * registers) + ";\n";
      for (int r = 0; r < registers; ++r)
        text += "st.global.b32 [%rd1+" + std::to_string(4 * r) + "], %r" + std::to_string(100 + r) + ";\n";
      text += epilogue();
      text.insert(0, "//! global 0 s32 128x" + std::to_string(registers) + "\n");
      PtxProgram program;
      ASSERT_EQ(parse_ptx(text, program), "");
      Interpreter interpreter(program, test::blackwell());
      ASSERT_EQ(interpreter.run(), "") << shape.name << packed;
      const std::vector<std::uint64_t> out = interpreter.output(0);
      for (std::size_t thread = 0; thread < 128; ++thread)
        for (std::size_t r = 0; r < static_cast<std::size_t>(registers); ++r)
          ASSERT_EQ(out[thread * static_cast<std::size_t>(registers) + r], thread * 1000 + r) << shape.name;
    }
  }
}

TEST(DataMovement, CopiesReachTheLanesOfTheirWarps) {
  struct Case {
    const char *shape, *multicast;
    int rows, bytes;
    int (*row_of_lane)(int lane);
  };
  const Case cases[] = {
      {"128x256b", "", 128, 32, [](int lane) { return lane; }},
      {"128x128b", "", 128, 16, [](int lane) { return lane; }},
      {"64x128b", ".warpx2::02_13", 64, 16, [](int lane) { return lane % 64; }},
      {"64x128b", ".warpx2::01_23", 64, 16, [](int lane) { return lane % 32 + lane / 64 * 32; }},
      {"32x128b", ".warpx4", 32, 16, [](int lane) { return lane % 32; }},
  };
  for (const Case& one : cases) {
    std::string text = prologue() + "mov.b64 %rd1, " + test::hex(test::plain_descriptor(0x1000, one.rows)) +
                       ";\n" + "@%p2 tcgen05.cp.cta_group::1." + one.shape + one.multicast +
                       " [%r3+4], %rd1;\n" + test::commit_and_wait() + epilogue();
    text.insert(0, "//! shared words 0x1000 u8 1x" + std::to_string(one.rows * one.bytes) + " = zero\n");
    PtxProgram program;
    ASSERT_EQ(parse_ptx(text, program), "");
    for (int i = 0; i < one.rows * one.bytes; ++i) program.fills[0].elements.push_back(0);
    for (int row = 0; row < one.rows; ++row)
      for (int byte = 0; byte < one.bytes; ++byte)
        program.fills[0].elements[test::plain_byte(row, byte, one.rows)] =
            static_cast<std::uint64_t>(row * 7 + byte * 31) & 0xFF;
    Interpreter interpreter(program, test::blackwell());
    ASSERT_EQ(interpreter.run(), "") << one.shape;
    for (int lane = 0; lane < kLanes; ++lane)
      for (int byte = 0; byte < one.bytes; ++byte)
        ASSERT_EQ(interpreter.cta(0).memory.at(lane, 4 + byte / 4) >> byte % 4 * 8 & 0xFF,
                  static_cast<std::uint32_t>(one.row_of_lane(lane) * 7 + byte * 31) & 0xFF)
            << one.shape << one.multicast << " lane " << lane;
  }
}

TEST(Shift, EveryLaneButTheLastTakesTheWordsOfItsNeighbour) {
  TensorMemory memory;
  std::uint32_t at = 0;
  ASSERT_EQ(memory.allocate(32, at), "");
  for (int lane = 0; lane < kLanes; ++lane)
    for (int column = 0; column < 32; ++column)
      memory.set(lane, column, static_cast<std::uint32_t>(lane * 100 + column));
  memory.shift_down(32, 8);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int column = 0; column < 32; ++column) {
      const bool moved = lane >= 32 && lane < 63 && column >= 8 && column < 16;
      EXPECT_EQ(memory.at(lane, column), static_cast<std::uint32_t>((lane + (moved ? 1 : 0)) * 100 + column));
    }
  }
}

// The note, 1.1.2 (a hypothesis of its author): 8 banks of 64 words shift in one cycle, 4 banks of 128 in
// two.
TEST(Banks, CostOfAShiftIsThatOfTheNote) {
  const int cycles[] = {1, 2};
  for (std::size_t i = 0; i < std::size(kBankOrganisations); ++i) {
    const BankOrganisation& memory = kBankOrganisations[i];
    EXPECT_EQ(memory.banks * memory.depth, kColumns);
    for (int column = 0; column + kShiftColumns <= kColumns; ++column)
      EXPECT_EQ(access_cycles(memory, column, kShiftColumns), cycles[i]) << column;
    EXPECT_EQ(access_cycles(memory, 0, 1), 1);
    EXPECT_EQ(access_cycles(memory, 0, kColumns), memory.depth);
  }
  // 4 groups of 32 lanes with 8 banks each: 32 banks.
  EXPECT_EQ(kQuarters * kBankOrganisations[0].banks, 32);
}

// The note, 1.1: 128 words per cycle over 128 lanes. The trace says what that costs; two columns per register
// with .pack take twice as long. Shapes of 16 lanes move half of the words of their columns: 256 words per
// warp here, 1024 of four warps.
TEST(Trace, SaysWhatMovesCostAtTheRateOfTheNote) {
  const std::string text = prologue() +
                           "mov.b64 %rd1, 0x0000400800800100;\n"
                           "@%p6 tcgen05.cp.cta_group::1.128x256b [%r3], %rd1;\n" +
                           test::commit_and_wait() + "tcgen05.ld.sync.aligned.32x32b.x4.b32 " +
                           vector_of(20, 4) + ", [%r6];\ntcgen05.ld.sync.aligned.32x32b.x4.pack::16b.b32 " +
                           vector_of(30, 4) + ", [%r6];\ntcgen05.ld.sync.aligned.16x256b.x2.b32 " +
                           vector_of(40, 8) + ", [%r6];\ntcgen05.ld.sync.aligned.16x128b.x4.b32 " +
                           vector_of(50, 8) + ", [%r6];\ntcgen05.ld.sync.aligned.16x64b.x8.b32 " +
                           vector_of(60, 8) + ", [%r6];\ntcgen05.wait::ld.sync.aligned;\n" + epilogue();
  PtxProgram program;
  ASSERT_EQ(parse_ptx(text, program), "");
  Interpreter interpreter(program, test::blackwell());
  std::vector<std::string> costs;
  ASSERT_EQ(interpreter.run([&](const Step& step) {
    if (const std::size_t at = step.what.find(" cycles at the 128 words"); at != std::string::npos)
      costs.push_back(step.what.substr(step.what.rfind(';', at) + 2, at - step.what.rfind(';', at) - 2));
  }),
            "");
  EXPECT_EQ(costs, (std::vector<std::string>{"8", "4", "8", "8", "8", "8"}));
}

// PTX ISA 9.0, 9.7.16.3.3: the worked examples, in elements.
TEST(SharedMatrix, LaysOutTheExamplesOfThePtxIsa) {
  struct Case {
    int swizzle;
    bool transposed;
    int bytes;                     ///< of an element
    int leading, stride;           ///< in elements
    int (*index)(int row, int k);  ///< before the swizzle
    int rows, depth;
  };
  const Case cases[] = {
      {0, false, 4, 64, 32, [](int r, int k) { return r % 8 * 4 + r / 8 * 32 + k % 4 + k / 4 * 64; }, 16, 16},
      {6, false, 4, 0, 64, [](int r, int k) { return r % 8 * 8 + r / 8 * 64 + k % 4 + k / 4 * 4; }, 16, 8},
      {0, true, 2, 128, 64, [](int r, int k) { return r % 8 + r / 8 * 64 + k % 8 * 8 + k / 8 * 128; }, 16,
       16},
      {6, true, 2, 128, 256,
       [](int r, int k) { return r % 8 + r / 8 % 2 * 8 + r / 16 * 128 + k % 8 * 16 + k / 8 * 256; }, 32, 16},
      {4, true, 2, 256, 512,
       [](int r, int k) { return r % 8 + r / 8 % 4 * 8 + r / 32 * 256 + k % 8 * 32 + k / 8 * 512; }, 64, 16},
  };
  for (const Case& one : cases) {
    MatrixDescriptor matrix;
    for (const Swizzle& swizzle : kSwizzles)
      if (swizzle.code == one.swizzle) matrix.swizzle = swizzle;
    matrix.leading = static_cast<std::uint32_t>(one.leading * one.bytes);
    matrix.stride = static_cast<std::uint32_t>(one.stride * one.bytes);
    MatrixDescriptor again;
    ASSERT_EQ(decode(encode(matrix), again), "");
    EXPECT_EQ(again.leading, matrix.leading);
    EXPECT_EQ(again.stride, matrix.stride);
    std::set<std::uint32_t> seen;
    for (int row = 0; row < one.rows; ++row) {
      for (int k = 0; k < one.depth; ++k) {
        const ElementPlace place =
            element_place(again, {8 * one.bytes, 16 / one.bytes}, one.transposed, row, k);
        // Swizzle<B, 4, 3> of CuTe: bits 7 to 6 + B of the address are added, without carry, to bits 4 to 3 +
        // B.
        std::uint32_t expected = static_cast<std::uint32_t>(one.index(row, k) * one.bytes);
        const std::uint32_t chosen = expected & (((1U << again.swizzle.bits) - 1) << 7);
        expected ^= chosen >> 3;
        ASSERT_EQ(place.byte, expected) << one.swizzle << " row " << row << " k " << k;
        seen.insert(place.byte);
      }
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(one.rows * one.depth));
  }
}

// Fields at the bits of the ISA's tables; the last value is also what Triton's tests hold for that
// instruction.
TEST(InstructionDescriptor, HasTheBitsOfTheTables) {
  const auto descriptor = [](const char* name, unsigned modifiers = 0) {
    Mma mma;
    mma.instruction = find_instruction(name).value();
    mma.form.kind = mma.instruction.kind;
    mma.negate_a = (modifiers & kNegateA) != 0;
    mma.negate_b = (modifiers & kNegateB) != 0;
    return instruction_descriptor(mma);
  };
  const std::uint32_t m128 = 8U << 24, m64 = 4U << 24;
  EXPECT_EQ(descriptor("tcgen05.m128n64k16.kind_f16.f32.bf16.bf16"),
            m128 | 8U << 17 | 1U << 10 | 1U << 7 | 1U << 4);
  EXPECT_EQ(descriptor("tcgen05.m64n8k16.kind_f16.f16.f16.f16"), m64 | 1U << 17);
  EXPECT_EQ(descriptor("tcgen05.m64n8k8.kind_tf32.f32.tf32.tf32", kNegateA),
            m64 | 1U << 17 | 1U << 13 | 2U << 10 | 2U << 7 | 1U << 4);
  EXPECT_EQ(descriptor("tcgen05.m64n8k32.kind_f8f6f4.f32.e3m2.e2m1", kNegateB),
            m64 | 1U << 17 | 1U << 14 | 5U << 10 | 4U << 7 | 1U << 4);
  EXPECT_EQ(descriptor("tcgen05.m64n8k32.kind_i8.satfinite.s32.s8.u8"),
            m64 | 1U << 17 | 1U << 7 | 2U << 4 | 1U << 3);
  EXPECT_EQ(descriptor("tcgen05.m128n256k32.kind_mxf8f6f4.scale_vec_1X.f32.e5m2.e2m3.ue8m0"),
            m128 | 1U << 23 | 32U << 17 | 3U << 10 | 1U << 7);
  EXPECT_EQ(descriptor("tcgen05.m128n256k64.kind_mxf4nvf4.scale_vec_4X.f32.e2m1.e2m1.ue4m3"), 0x08400480U);
}

// PTX ISA 9.0, 9.7.16.4.3: the examples of the zero-column mask.
TEST(ColumnMask, IsThatOfTheExamplesOfThePtxIsa) {
  struct Case {
    int m;
    int start[4];
    int span[4];
    bool generated;
    int skip, use, shift;
    const char* low_bits[4];  ///< of each mask, the highest first
  };
  const Case cases[] = {
      {128, {0, 0, 0, 0}, {0, 0, 0, 0}, false, 4, 3, 0, {"00000000"}},
      {128, {0}, {0}, true, 2, 3, 0, {"11100001110000"}},
      {64, {0, 0}, {1, 0}, true, 2, 3, 0, {"11100001110000111", "000011100001110000"}},
      {32,
       {0, 1, 2, 1},
       {1, 1, 0, 0},
       true,
       2,
       3,
       2,
       {"00001110000111", "0000111000011", "111000011100", "1110000111000"}},
  };
  for (const Case& one : cases) {
    Mma mma;
    mma.instruction.m = static_cast<std::int16_t>(one.m);
    mma.instruction.n = 128;
    mma.max_shift = 32;
    std::uint64_t bits = std::uint64_t{one.generated} << 39 | std::uint64_t(one.skip) << 40 |
                         std::uint64_t(one.use) << 48 | std::uint64_t(one.shift) << 56;
    for (int i = 0; i < 4; ++i)
      bits |= std::uint64_t(one.start[i]) << 8 * i | std::uint64_t(one.span[i]) << (32 + i);
    std::vector<bool> zero;
    int shift = 0;
    ASSERT_EQ(column_mask(mma, bits, zero, shift), "");
    EXPECT_EQ(shift, one.shift);
    for (int part = 0; part < 128 / one.m; ++part) {
      const std::string wanted = one.low_bits[part];
      std::string found;
      for (std::size_t i = 0; i < wanted.size(); ++i)
        found.insert(0, zero[static_cast<std::size_t>(part * one.m) + i] ? "1" : "0");
      EXPECT_EQ(found, wanted) << one.m << " mask " << part;
    }
  }
}

}  // namespace
}  // namespace mmaudit::tmem
