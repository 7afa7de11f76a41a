// The shipped input sets together show the stuck-at faults of every datapath that the screen runs.
#include <gtest/gtest.h>

#include <algorithm>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/screen/fault_simulation.hpp"
#include "mmaudit/screen/screen.hpp"

namespace mmaudit::screen {
namespace {

constexpr double kLeast = 0.995;

/// Of the faults that some operands can show.
double share_shown(const Instruction& is, const Datapath& datapath, int width) {
  const DotSpec spec = make_dot_spec(is, datapath);
  const std::vector<Fault> faults = faults_of(spec, width);
  std::vector<bool> shown(faults.size());
  for (int set = 0; set < kInputSets; ++set)
    add_shown(spec, make_operands(is, datapath, static_cast<InputSet>(set)), faults, shown);
  std::size_t can_show = 0;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    if (!undetectable(spec, faults[i])) ++can_show;
    EXPECT_FALSE(shown[i] && undetectable(spec, faults[i]))
        << name_of(is) << " " << name_of(faults[i].site) << " bit " << faults[i].bit;
  }
  return static_cast<double>(std::count(shown.begin(), shown.end(), true)) / static_cast<double>(can_show);
}

TEST(Coverage, ShippedInputsShowStuckBitsOfEveryDatapath) {
  int tried = 0;
  for (const Work& work : screened()) {
    if (work.registers) continue;
    const Datapath& datapath = find_datapath(*find_architecture("hopper"), work.instruction)->datapath;
    for (int width = 1; width <= kMostBits; ++width)
      EXPECT_GE(share_shown(work.instruction, datapath, width), kLeast)
          << work.name() << ", " << width << " bits";
    ++tried;
  }
  EXPECT_EQ(tried, 31);
}

}  // namespace
}  // namespace mmaudit::screen
