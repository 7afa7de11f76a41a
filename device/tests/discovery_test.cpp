// The layouts that fragment.hpp declares, seen on this GPU slot by slot.
#include <cstdio>

#include "gpu_fixture.hpp"
#include "mmaudit/device/incidence.hpp"
#include "mmaudit/fragment.hpp"

namespace mmaudit::device {
namespace {

class Discovery : public Gpu {};

TEST_F(Discovery, EverySlotMeetsWhatItsMapSays) {
  int seen = 0;
  for (Instruction inst : kInstructions) {
    if (inst.n == 0) inst.n = inst.op == Op::wgmma ? 2 * kWgmmaMinN : kWgmmaMinN;  // sparse: n 8 is compiled
    if (!has_fragment_maps(inst) || !why_not(info_, inst).empty()) continue;
    const std::uint8_t modifiers = is_wgmma(inst.op) ? kAFromRegisters : 0;
    const Incidence found =
        discovered_incidence(inst, modifiers, [&](const TileView& batch) { run(info_, inst, batch); });
    EXPECT_TRUE(found == declared_incidence(inst)) << name_of(inst);
    ++seen;
  }
  std::printf("%d instructions\n", seen);
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace mmaudit::device
