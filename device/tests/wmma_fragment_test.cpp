// Reading fragments of wmma, tried on machines whose maps are known.
#include "mmaudit/device/wmma_fragment.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "mmaudit/volta.hpp"

namespace mmaudit::device {
namespace {

Instruction half() { return find_instruction("wmma.m16n16k16.f16.f16.f16.f16").value(); }

/// wmma.load and wmma.store of 16-bit 16 x 16 operands under `map`; lines are 32 bytes.
MoveFragment machine(const FragmentMap& map, bool column_major, bool stores) {
  return [=](std::span<std::uint8_t> image, std::span<std::uint8_t> registers) {
    ASSERT_EQ(image.size(), 512U);
    ASSERT_EQ(registers.size(), static_cast<std::size_t>(map.lanes * map.values) * 2);
    for (int lane = 0; lane < map.lanes; ++lane)
      for (int value = 0; value < map.values; ++value) {
        const Coord at = map.at(lane, value);
        const int line = column_major ? at.col : at.row, position = column_major ? at.row : at.col;
        std::uint8_t* memory =
            &image[static_cast<std::size_t>(line) * 32 + static_cast<std::size_t>(position) * 2];
        std::uint8_t* slot =
            &registers[(static_cast<std::size_t>(lane) * static_cast<std::size_t>(map.values) +
                        static_cast<std::size_t>(value)) *
                       2];
        stores ? std::memcpy(memory, slot, 2) : std::memcpy(slot, memory, 2);
      }
  };
}

void expect_map(const WmmaFragment& seen, const FragmentMap& map) {
  ASSERT_EQ(seen.values, map.values);
  ASSERT_EQ(seen.element.size(), static_cast<std::size_t>(map.lanes * map.values));
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value) {
      const Coord at = map.at(lane, value);
      EXPECT_EQ(seen.element[static_cast<std::size_t>(lane * map.values) + static_cast<std::size_t>(value)],
                at.row * map.cols + at.col);
    }
}

TEST(WmmaFragment, FindsTheMapsOfAMachine) {
  for (const bool columns : {false, true}) {
    const auto layout = columns ? volta::Layout::column : volta::Layout::row;
    const FragmentMap a = volta::fragment_a(layout), b = volta::fragment_b(layout);
    const FragmentMap d = volta::fragment_accumulator(Format::f16);
    const WmmaFragment seen = read_wmma_fragment(half(), WmmaOperand::a, columns, machine(a, columns, false));
    expect_map(seen, a);
    EXPECT_EQ(multiplicity(seen), 2);
    expect_map(read_wmma_fragment(half(), WmmaOperand::b, columns, machine(b, columns, false)), b);
    expect_map(read_wmma_fragment(half(), WmmaOperand::c, columns, machine(d, columns, false)), d);
    expect_map(read_wmma_fragment(half(), WmmaOperand::d, columns, machine(d, columns, true)), d);
  }
}

TEST(WmmaFragment, ARegisterThatIsNotWrittenHoldsNothing) {
  const MoveFragment whole = machine(volta::fragment_a(volta::Layout::row), false, false);
  const auto partly = [&](std::span<std::uint8_t> image, std::span<std::uint8_t> registers) {
    whole(image, registers);
    for (std::size_t lane = 0; lane < 32; ++lane) {
      registers[lane * 32 + 6] = registers[lane * 32 + 7] = 0;      // value 3: always zero
      registers[lane * 32 + 11] = static_cast<std::uint8_t>(0x3C);  // value 5: bits besides the element's
    }
  };
  const WmmaFragment seen = read_wmma_fragment(half(), WmmaOperand::a, false, partly);
  for (std::size_t slot = 0; slot < seen.element.size(); ++slot)
    EXPECT_EQ(seen.element[slot] == WmmaFragment::kNone, slot % 16 == 3 || slot % 16 == 5) << slot;
  EXPECT_EQ(multiplicity(seen), 0);
}

// Elements below a byte: a machine that copies memory into registers, low bits first.
TEST(WmmaFragment, ReadsPackedElements) {
  const Instruction bits = find_instruction("wmma.m8n8k128.s32.b1.b1.s32.xor.popc").value();
  const auto copy = [](std::span<std::uint8_t> image, std::span<std::uint8_t> registers) {
    ASSERT_EQ(image.size(), 8U * 32);
    for (std::size_t row = 0; row < 8; ++row) std::memcpy(&registers[row * 16], &image[row * 32], 16);
  };
  const WmmaFragment seen = read_wmma_fragment(bits, WmmaOperand::a, false, copy);
  ASSERT_EQ(seen.element.size(), 1024U);
  EXPECT_EQ(seen.values, 32);
  for (std::size_t slot = 0; slot < 1024; ++slot)
    EXPECT_EQ(seen.element[slot], static_cast<std::int32_t>(slot));
  EXPECT_EQ(multiplicity(seen), 1);
}

TEST(WmmaFragment, RefusesWhatHasNone) {
  const auto never = [](std::span<std::uint8_t>, std::span<std::uint8_t>) { FAIL(); };
  const Instruction mma = find_instruction("mma.m16n8k16.f32.f16.f16.f32").value();
  const Instruction bits = find_instruction("wmma.m8n8k128.s32.b1.b1.s32.xor.popc").value();
  EXPECT_THROW(read_wmma_fragment(mma, WmmaOperand::a, false, never), InputError);
  EXPECT_THROW(read_wmma_fragment(bits, WmmaOperand::a, true, never), InputError);
  EXPECT_THROW(read_wmma_fragment(bits, WmmaOperand::b, false, never), InputError);
}

}  // namespace
}  // namespace mmaudit::device
