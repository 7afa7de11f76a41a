#include "mmaudit/timing/wmma_steps.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/tile_batch.hpp"
#include "mmaudit/timing/chain.hpp"
#include "mmaudit/timing/simulate.hpp"

namespace mmaudit::timing {
namespace {

using volta::Hmma;
const Machine& volta_machine() { return *find_machine("v100"); }

constexpr int kLanes = 32, kRegisterBits = 32, kTensorCoresOfWarp = 2;
constexpr int kOperands = 3, kRegistersOfOperand = 2;  // section IV: 32 x 2 x 3 x 32 bits per HMMA

/// Cycles from the first HMMA's issue to the result of each, by a scoreboard. The last is figure 9's.
std::vector<int> volta_clocks(const Machine& machine, Format sum) {
  const Program program = volta_program(machine, sum);
  Launch launch;
  launch.trips = 1;
  launch.recorded = static_cast<int>(program.ops.size());
  launch.dependences = Dependences::scoreboard;
  std::vector<int> clocks;
  for (const Event& event : simulate(machine, program, launch).events)
    clocks.push_back(static_cast<int>(event.result));
  return clocks;
}

/// What one HMMA of Volta reads and multiplies. Source: section IV of the paper.
struct StepCost {
  double operand_bits_per_cycle = 0;   ///< of one tensor core; a warp uses two
  double multiply_adds_per_cycle = 0;  ///< of one tensor core: 64 is one 4 x 4 x 4
  double dot_products_per_cycle = 0;   ///< of four elements, one tensor core
};
StepCost step_cost(const Machine& machine, Format sum) {
  using enum Parameter;
  const double cycles =
      machine[sum == Format::f32 ? step_interval_f32 : step_interval_f16] * kTensorCoresOfWarp;
  const double multiply_adds = 16.0 * 16 * 16 / static_cast<double>(volta::schedule(sum).size());
  return {.operand_bits_per_cycle = kLanes * kRegistersOfOperand * kOperands * kRegisterBits / cycles,
          .multiply_adds_per_cycle = multiply_adds / cycles,
          .dot_products_per_cycle = multiply_adds / 4 / cycles};
}

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

// Section III-C: a pair of registers goes by the higher one; A and B are kept from step to step of a set.
TEST(Volta, StepsNameTheirPairs) {
  const Program program = volta_program(volta_machine(), Format::f32);
  EXPECT_TRUE(program.text[0].starts_with("HMMA.884.F32.F32.STEP0 R8, R24.reuse, R32.reuse, R8 "));
  for (std::size_t i = 0; i < program.ops.size(); ++i)
    EXPECT_EQ(program.text[i].find(".reuse") != std::string::npos, i % 4 != 3) << program.text[i];
}

// Intervals are the unit's and latencies the compiler's; one number, what the clock costs, is fitted. So what
// lies between two sets says more than where they end.
TEST(Turing, SetsFollowOneAnotherAsThePaperSays) {
  struct Row {
    const char* inst;
    std::vector<double> clocks;
  };
  const Row rows[] = {{"wmma.m16n16k16.f16.f16.f16.f16", {44, 52, 60, 74}},
                      {"wmma.m16n16k16.s32.s8.s8.s32", {40, 44, 47, 59}},
                      {"wmma.m32n8k16.f16.f16.f16.f16", {44, 52, 60, 74}},
                      {"wmma.m8n32k16.f16.f16.f16.f16", {42, 50, 58, 72}},
                      {"wmma.m8n32k16.s32.s8.s8.s32", {38, 42, 46, 56}}};
  for (const Row& row : rows) {
    const std::vector<double> clocks = set_clocks(*find_machine("tu102"), *find_instruction(row.inst));
    ASSERT_EQ(clocks.size(), row.clocks.size()) << row.inst;
    for (std::size_t i = 1; i < clocks.size(); ++i)
      EXPECT_NEAR(clocks[i] - clocks[0], row.clocks[i] - row.clocks[0], 1) << row.inst << " set " << i + 1;
  }
  EXPECT_TRUE(set_clocks(*find_machine("ga100"), *find_instruction(rows[0].inst)).empty());
  EXPECT_TRUE(set_clocks(*find_machine("tu102"), *find_instruction("mma.m8n8k16.s32.s8.s8.s32")).empty());
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
