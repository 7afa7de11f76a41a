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
  for (Instruction is : kInstructions) {
    if (is.n == 0) is.n = is.op == Op::wgmma ? 2 * kWgmmaMinN : kWgmmaMinN;  // sparse: n 8 is compiled
    if (!has_fragment_maps(is) || !why_not(info_, is).empty()) continue;
    const std::uint8_t modifiers = is_wgmma(is.op) ? kAFromRegisters : 0;
    const Incidence found =
        discovered_incidence(is, modifiers, [&](const TileBatch& batch) { run(info_, is, batch); });
    EXPECT_TRUE(found == declared_incidence(is)) << name_of(is);
    ++seen;
  }
  std::printf("%d instructions\n", seen);
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace mmaudit::device
