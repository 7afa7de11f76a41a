// The layouts that fragment.hpp declares, seen on this GPU slot by slot.
#include <cstdio>

#include "gpu_fixture.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/device/fragment_probe.hpp"
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
    const FragmentMeetings found = probe_fragments(inst, modifiers, hardware_backend(info_));
    EXPECT_TRUE(found == declared_meetings(inst)) << name_of(inst);
    ++seen;
  }
  std::printf("%d instructions\n", seen);
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace mmaudit::device
