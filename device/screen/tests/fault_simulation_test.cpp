// The faulty datapath is the model where there is no fault, and a fault shows.
#include <gtest/gtest.h>

#include <algorithm>

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
    const DotSpec spec = make_dot_spec(is, hopper(is));
    for (int set = 0; set < kInputSets; ++set) {
      const TileBatch tiles = make_operands(is, hopper(is), static_cast<InputSet>(set));
      constexpr int kFew = 3;
      TileBatch with_d = tiles;
      with_d.d = chain_results(tiles, hopper(is), kFew);
      for (int i = 0; i < 24; ++i) {
        const int tile = i % kTiles, row = i * 5 % is.m, column = i * 11 % is.n;
        EXPECT_EQ(chain_with_fault(spec, tiles, tile, row, column, kFew, nullptr),
                  d_at(is, with_d.filled(), static_cast<std::size_t>(tile), row, column))
            << work.name() << " " << name_of(static_cast<InputSet>(set));
      }
    }
  }
}

TEST(FaultSimulation, FaultsOfSeveralBitsAreAdjacentAndInTheWord) {
  const Instruction is = *find_instruction("wgmma.m64n256k32.f32.e4m3.e4m3");
  const DotSpec spec = make_dot_spec(is, hopper(is));
  const std::size_t single = faults_of(spec).size();
  std::size_t before = single;
  for (int width = 2; width <= kMostBits; ++width) {
    const std::vector<Fault> faults = faults_of(spec, width);
    // Each word loses one place per bit of width.
    EXPECT_LT(faults.size(), before);
    before = faults.size();
    for (const Fault& fault : faults) {
      EXPECT_EQ(fault.width, width);
      EXPECT_LE(fault.bit + width, fault.site == Site::operand_a || fault.site == Site::operand_b ? 8 : 32);
    }
  }
}

TEST(FaultSimulation, AFaultOfSeveralBitsSetsThemAll) {
  const Instruction is = *find_instruction("wgmma.m64n256k32.s32.s8.s8");
  const DotSpec spec = make_dot_spec(is, hopper(is));
  const TileBatch zeros(is, 1);
  const Fault sum{Site::sum, 0, 5, true, 3};
  EXPECT_EQ(chain_with_fault(spec, zeros, 0, 0, 0, 1, &sum), 0xE0U);
  const TileBatch tiles = make_operands(is, hopper(is), InputSet::normal);
  const Fault low{Site::sum, 0, 0, false, 4};
  EXPECT_EQ(chain_with_fault(spec, tiles, 0, 2, 3, 1, &low),
            chain_with_fault(spec, tiles, 0, 2, 3, 1, nullptr) & ~std::uint64_t{15});
}

TEST(FaultSimulation, UndetectableAreTheBitsThatNoSumReaches) {
  const auto number = [](const char* name) {
    const Instruction is = *find_instruction(name);
    const DotSpec spec = make_dot_spec(is, hopper(is));
    const std::vector<Fault> faults = faults_of(spec);
    return std::count_if(faults.begin(), faults.end(),
                         [&](const Fault& one) { return undetectable(spec, one); });
  };
  EXPECT_EQ(number("wgmma.m64n256k16.f32.f16.f16"), 1);
  EXPECT_EQ(number("wgmma.m64n256k32.s32.s8.s8"), 0);
  EXPECT_EQ(number("wgmma.m64n256k32.s32.u8.u8"), 5);             // 64 * 32 * 255^2 < 2^27
  EXPECT_EQ(number("mma.m16n8k256.s32.b1.b1.s32.and.popc"), 17);  // 64 * 256 = 2^14, the largest sum
  EXPECT_EQ(number("mma.m16n8k16.f64.f64.f64.f64"), 0);
}

TEST(FaultSimulation, OneSetShowsMostFaultsAndZerosShowFew) {
  const Instruction is = *find_instruction("wgmma.m64n256k16.f32.f16.f16");
  const DotSpec spec = make_dot_spec(is, hopper(is));
  const std::vector<Fault> faults = faults_of(spec);
  const auto share = [&](const TileBatch& tiles) {
    const std::vector<bool> shown = shown_faults(spec, tiles, faults);
    return static_cast<double>(std::count(shown.begin(), shown.end(), true)) /
           static_cast<double>(faults.size());
  };
  EXPECT_GT(share(make_operands(is, hopper(is), InputSet::normal)), 0.9);
  EXPECT_LT(share(TileBatch(is, kTiles)), 0.7);
}

}  // namespace
}  // namespace mmaudit::screen
