// The faulty datapath is the model where there is no fault, and a fault shows.
#include <gtest/gtest.h>

#include "mmaudit/dot_case.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/screen/fault_simulation.hpp"
#include "mmaudit/screen/screen.hpp"

namespace mmaudit::screen {
namespace {

const Datapath& hopper(const Instruction& is) {
  return find_datapath(*find_architecture("hopper"), is)->datapath;
}

TEST(FaultSimulation, IsTheModelWithoutAFault) {
  for (const Work& work : screened()) {
    const Instruction& is = work.instruction;
    if (work.registers) continue;
    const DotPlan plan = make_plan(is, hopper(is));
    for (int set = 0; set < kInputSets; ++set) {
      const TileBatch tiles = make_operands(is, hopper(is), static_cast<InputSet>(set));
      constexpr int kFew = 3;
      TileBatch with_d = tiles;
      with_d.d = chain_results(tiles, hopper(is), kFew);
      for (int i = 0; i < 24; ++i) {
        const int tile = i % kTiles, row = i * 5 % is.m, column = i * 11 % is.n;
        EXPECT_EQ(chain_with_fault(plan, tiles, tile, row, column, kFew, nullptr),
                  d_at(is, with_d.filled(), static_cast<std::size_t>(tile), row, column))
            << work.name() << " " << name_of(static_cast<InputSet>(set));
      }
    }
  }
}

TEST(FaultSimulation, OneSetShowsMostFaultsAndZerosShowFew) {
  const Instruction is = *find_instruction("wgmma.m64n256k16.f32.f16.f16");
  const DotPlan plan = make_plan(is, hopper(is));
  const std::vector<Fault> faults = faults_of(plan);
  const auto share = [&](const TileBatch& tiles) {
    const std::vector<bool> shown = shown_faults(plan, tiles, faults);
    return static_cast<double>(std::count(shown.begin(), shown.end(), true)) /
           static_cast<double>(faults.size());
  };
  EXPECT_GT(share(make_operands(is, hopper(is), InputSet::normal)), 0.9);
  EXPECT_LT(share(TileBatch(is, kTiles)), 0.7);
}

}  // namespace
}  // namespace mmaudit::screen
