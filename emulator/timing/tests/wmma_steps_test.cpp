#include "mmaudit/timing/wmma_steps.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/tile_batch.hpp"
#include "mmaudit/timing/simulate.hpp"

namespace mmaudit::timing {
namespace {

using volta::Hmma;
const Machine& volta_machine() { return *find_machine("v100"); }

constexpr int kLanes = 32, kRegisterBits = 32, kTensorCoresOfWarp = 2, kMostLoadBits = 128, kSectorBytes = 32;
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

/// How a lane fetches its fragment: loads of this many bits, and how far apart they start.
struct FragmentLoads {
  int loads = 0, bits = 0;
  int stride = 0;   ///< elements between two loads of a lane; 0: side by side
  int sectors = 0;  ///< of 32 bytes that the warp touches, each load counted by itself
};
/// The loads of a whole wmma.load on Volta from a 16 x 16 matrix. `operand` is 'a' or 'b'. Source: section
/// III-B; figure 7.
FragmentLoads volta_loads(char operand, volta::Layout layout) {
  const FragmentMap map = operand == 'a' ? volta::fragment_a(layout) : volta::fragment_b(layout);
  constexpr int kLeading = 16;
  const auto place = [&](int lane, int value) {
    const Coord at = map.at(lane, value);
    return layout == volta::Layout::row ? at.row * kLeading + at.col : at.col * kLeading + at.row;
  };
  constexpr int kBytes = 2;
  FragmentLoads loads;
  int run = 1;
  while (run < map.values && place(0, run) == place(0, run - 1) + 1) ++run;
  loads.bits = std::min(kMostLoadBits, run * 8 * kBytes);
  const int values = loads.bits / (8 * kBytes);
  loads.loads = map.values / values;
  if (loads.loads > 1) loads.stride = place(0, values) - place(0, 0);
  if (loads.stride == values) loads.stride = 0;
  for (int load = 0; load < loads.loads; ++load) {
    std::set<int> sectors;
    for (int lane = 0; lane < map.lanes; ++lane)
      for (int value = 0; value < values; ++value)
        sectors.insert(place(lane, load * values + value) * kBytes / kSectorBytes);
    loads.sectors += static_cast<int>(sectors.size());
  }
  return loads;
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
