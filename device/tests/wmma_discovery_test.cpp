// Fragments of wmma, as this GPU has them.
#include <cstdio>
#include <set>

#include "gpu_fixture.hpp"
#include "mmaudit/device/wmma_fragment.hpp"

namespace mmaudit::device {
namespace {

class WmmaDiscovery : public Gpu {
 protected:
  [[nodiscard]] WmmaFragment read(const Instruction& inst, WmmaOperand operand, bool column_major) const {
    return read_wmma_fragment(inst, operand, column_major, [&](auto image, auto registers) {
      move_fragment(info_, inst, operand, column_major, image, registers);
    });
  }
};

constexpr WmmaOperand kOperands[] = {WmmaOperand::a, WmmaOperand::b, WmmaOperand::c, WmmaOperand::d};

bool has_layout(const Instruction& inst, WmmaOperand operand, bool column_major) {
  if (wmma_any_layout(inst)) return true;
  return operand == WmmaOperand::a ? !column_major : operand == WmmaOperand::b ? column_major : true;
}

TEST_F(WmmaDiscovery, EveryElementIsHeldEquallyOften) {
  int seen = 0;
  for (const Instruction& inst : kInstructions) {
    if (inst.op != Op::wmma || !why_not(info_, inst).empty()) continue;
    for (const WmmaOperand operand : kOperands)
      for (const bool column_major : {false, true}) {
        if (!has_layout(inst, operand, column_major)) continue;
        const int times = multiplicity(read(inst, operand, column_major));
        EXPECT_GE(times, 1) << name_of(inst) << " operand "
                            << "abcd"[static_cast<int>(operand)]
                            << (column_major ? " by columns" : " by rows");
        if (operand == WmmaOperand::d) {
          EXPECT_EQ(times, 1) << name_of(inst);
        }
        if (!column_major && operand != WmmaOperand::d)
          std::printf("%s %c: held %d times\n", name_of(inst).c_str(), "abcd"[static_cast<int>(operand)],
                      times);
      }
    ++seen;
  }
  EXPECT_GT(seen, 0);
}

// What one wmma stores is what the next loads as C: of one format, C's map is D's.
TEST_F(WmmaDiscovery, CIsD) {
  for (const Instruction& inst : kInstructions) {
    if (inst.op != Op::wmma || inst.c != inst.d || !why_not(info_, inst).empty()) continue;
    for (const bool column_major : {false, true})
      EXPECT_TRUE(read(inst, WmmaOperand::c, column_major) == read(inst, WmmaOperand::d, column_major))
          << name_of(inst);
  }
}

/// Elements that each lane holds.
std::vector<std::set<std::int32_t>> by_lane(const WmmaFragment& fragment) {
  std::vector<std::set<std::int32_t>> lanes(kWarpLanes);
  for (std::size_t slot = 0; slot < fragment.element.size(); ++slot)
    if (fragment.element[slot] != WmmaFragment::kNone)
      lanes[slot / static_cast<std::size_t>(fragment.values)].insert(fragment.element[slot]);
  return lanes;
}

/// The same of a map of mma, repeated every 8 columns up to `cols`.
std::vector<std::set<std::int32_t>> by_lane(const FragmentMap& map, int cols) {
  std::vector<std::set<std::int32_t>> lanes(kWarpLanes);
  for (int lane = 0; lane < map.lanes; ++lane)
    for (int value = 0; value < map.values; ++value)
      for (int col = 0; col < cols; col += map.cols) {
        const Coord at = map.at(lane, value);
        lanes[static_cast<std::size_t>(lane)].insert(at.row * cols + at.col + col);
      }
  return lanes;
}

// Where wmma becomes two mma.m16n8k16, a lane has to hold what those read: one for each half of the columns.
TEST_F(WmmaDiscovery, TileOfSixteenIsTwoOfMma) {
  if (info_.compute_capability < 80) GTEST_SKIP() << "another instruction stands behind wmma";
  for (const char* type : {"f32.f16.f16.f32", "f32.bf16.bf16.f32"}) {
    const Instruction inst = find_instruction(std::string("wmma.m16n16k16.") + type).value();
    const Instruction mma = find_instruction(std::string("mma.m16n8k16.") + type).value();
    for (const bool column_major : {false, true}) {
      EXPECT_EQ(by_lane(read(inst, WmmaOperand::a, column_major)), by_lane(fragment_a(mma), 16)) << type;
      EXPECT_EQ(by_lane(read(inst, WmmaOperand::b, column_major)), by_lane(fragment_b(mma), 16)) << type;
      EXPECT_EQ(by_lane(read(inst, WmmaOperand::c, column_major)), by_lane(fragment_c(mma), 16)) << type;
      EXPECT_EQ(by_lane(read(inst, WmmaOperand::d, column_major)), by_lane(fragment_d(mma), 16)) << type;
    }
  }
}

}  // namespace
}  // namespace mmaudit::device
