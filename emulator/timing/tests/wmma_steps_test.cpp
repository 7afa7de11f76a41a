#include "mmaudit/timing/wmma_steps.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/tile_batch.hpp"
#include "mmaudit/timing/simulate.hpp"

namespace mmaudit::timing {
namespace {

using volta::Hmma;
const Machine& volta_machine() { return *find_machine("v100"); }

// Raihan et al., figure 9: a whole wmma.mma.
TEST(Volta, AWholeWmmaTakesThePapersCycles) {
  EXPECT_EQ(volta_clocks(volta_machine(), Format::f32).back(), 54);
  EXPECT_EQ(volta_clocks(volta_machine(), Format::f16).back(), 64);
  EXPECT_EQ(volta_clocks(volta_machine(), Format::f32).size(), 16U);
  EXPECT_EQ(volta_clocks(volta_machine(), Format::f16).size(), 8U);
}

// Section IV: 1.5 kb per tensor core and cycle, one 4 x 4 x 4 and 16 dot products of four per cycle.
TEST(Volta, OperandsAndProductsPerCycleAreThePapers) {
  const StepCost cost = step_cost(volta_machine(), Format::f32);
  EXPECT_EQ(cost.operand_bits_per_cycle, 1536);
  for (const Format sum : {Format::f32, Format::f16}) {
    EXPECT_EQ(step_cost(volta_machine(), sum).multiply_adds_per_cycle, 64);
    EXPECT_EQ(step_cost(volta_machine(), sum).dot_products_per_cycle, 16);
  }
  Launch launch;
  launch.warps = 4;
  launch.trips = 500;
  const Timing steady = simulate(volta_machine(), volta_program(volta_machine(), Format::f32), launch);
  EXPECT_NEAR(steady.work_per_cycle / 8, 64, 0.5);  // eight tensor cores
}

// Figure 12c: cycles against warps per block.
TEST(Volta, CyclesRiseFromFiveWarpsOn) {
  std::vector<double> cycles;
  for (int warps = 1; warps <= 8; ++warps) {
    Launch launch;
    launch.warps = warps;
    launch.trips = 200;
    cycles.push_back(
        simulate(volta_machine(), volta_program(volta_machine(), Format::f32), launch).cycles_per_trip);
  }
  for (int warps = 2; warps <= 4; ++warps) EXPECT_EQ(cycles[static_cast<std::size_t>(warps - 1)], cycles[0]);
  EXPECT_GT(cycles[4], 1.9 * cycles[3]);
  EXPECT_NEAR(cycles[7], 2 * cycles[0], 1);
}

// Table I: 37 cells; NaN where nothing is printed.
TEST(Turing, SetsEndWhenThePaperSays) {
  struct Row {
    const char* inst;
    std::vector<double> clocks;
  };
  const Row rows[] = {{"wmma.m16n16k16.f32.f16.f16.f32", {42, 56, 78, 99}},
                      {"wmma.m16n16k16.f16.f16.f16.f16", {44, 52, 60, 74}},
                      {"wmma.m16n16k16.s32.s8.s8.s32", {40, 44, 47, 59}},
                      {"wmma.m32n8k16.f32.f16.f16.f32", {48, 60, 81, 104}},
                      {"wmma.m32n8k16.f16.f16.f16.f16", {44, 52, 60, 74}},
                      {"wmma.m32n8k16.s32.s8.s8.s32", {52, 55, 59, 73}},
                      {"wmma.m8n32k16.f32.f16.f16.f32", {42, 56, 77, 99}},
                      {"wmma.m8n32k16.f16.f16.f16.f16", {42, 50, 58, 72}},
                      {"wmma.m8n32k16.s32.s8.s8.s32", {38, 42, 46, 56}},
                      {"wmma.m8n8k32.s32.s4.s4.s32", {230}}};
  int cells = 0, agree = 0;
  for (const Row& row : rows) {
    const std::vector<double> clocks = turing_set_clocks(find_instruction(row.inst).value());
    ASSERT_EQ(clocks.size(), row.clocks.size()) << row.inst;
    for (std::size_t i = 0; i < clocks.size(); ++i, ++cells) {
      const bool agrees = std::fabs(clocks[i] - row.clocks[i]) <= 1;
      agree += agrees;
      if (!agrees) std::printf("%s set %zu: %g, printed %g\n", row.inst, i + 1, clocks[i], row.clocks[i]);
    }
  }
  EXPECT_EQ(cells, 37);
  EXPECT_GE(agree, 34);
}

// Section III-B: loads of a lane.
TEST(Volta, LoadsHaveThePapersWidths) {
  for (const char operand : {'a', 'b'}) {
    const volta::Layout side_by_side = operand == 'a' ? volta::Layout::row : volta::Layout::column;
    const volta::Layout apart = operand == 'a' ? volta::Layout::column : volta::Layout::row;
    const FragmentLoads wide = volta_loads(operand, side_by_side);
    EXPECT_EQ(wide.loads, 2);
    EXPECT_EQ(wide.bits, 128);
    EXPECT_EQ(wide.stride, 0);
    const FragmentLoads narrow = volta_loads(operand, apart);
    EXPECT_EQ(narrow.loads, 4);
    EXPECT_EQ(narrow.bits, 64);
    EXPECT_EQ(narrow.stride, 64);
    // 512 bytes are 16 sectors; each of two wide loads touches half of every row's 32 bytes.
    EXPECT_EQ(wide.sectors, 32);
    EXPECT_EQ(narrow.sectors, 16);
  }
}

// B05: any subset of the HMMA changes the elements of their blocks and no others, in both modes.
TEST(Volta, AnySubsetOfStepsChangesExactlyItsBlocks) {
  const Architecture* architecture = find_architecture("volta");
  std::mt19937 random(5);
  for (const Format sum : {Format::f32, Format::f16}) {
    const std::string name =
        sum == Format::f32 ? "wmma.m16n16k16.f32.f16.f16.f32" : "wmma.m16n16k16.f16.f16.f16.f16";
    const Instruction inst = find_instruction(name).value();
    const std::uint64_t one = sum == Format::f32 ? 0x3F800000 : 0x3C00;
    const std::vector<std::uint64_t> ones(256, 0x3C00), c(256, one);
    const std::vector<Hmma> all = volta::schedule(sum);
    for (int subset = 0; subset < 200; ++subset) {
      volta::Warp warp(inst, find_datapath(*architecture, inst)->datapath, volta::Layout::row,
                       volta::Layout::column);
      warp.load_a(ones);
      warp.load_b(ones);
      warp.load_c(c);
      std::vector<int> expected(256, 1);  // 1, and 4 for each set that reached the element
      for (const Hmma& hmma : all) {
        if (random() % 2 == 0) continue;
        warp.execute(hmma);
        for (int group = 0; group < volta::kThreadgroups; ++group) {
          const volta::Block block = volta::block_of(group, hmma, sum);
          for (int row = block.row; row < block.row + block.rows; ++row)
            for (int col = block.col; col < block.col + block.cols; ++col)
              expected[index_at(row, 16, col)] += 4;
        }
      }
      const std::vector<std::uint64_t> d = warp.store_d();
      for (std::size_t i = 0; i < d.size(); ++i) {
        double value = 0;
        if (sum == Format::f32) {
          const auto bits = static_cast<std::uint32_t>(d[i]);
          value = std::ldexp(1.0 + (bits & 0x7FFFFF) / 8388608.0, static_cast<int>(bits >> 23) - 127);
        } else {
          value =
              std::ldexp(1.0 + static_cast<double>(d[i] & 0x3FF) / 1024.0, static_cast<int>(d[i] >> 10) - 15);
        }
        ASSERT_EQ(value, expected[i]) << name << " element " << i << " subset " << subset;
      }
    }
  }
}

}  // namespace
}  // namespace mmaudit::timing
