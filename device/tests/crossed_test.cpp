// A campaign's squares: every engine agrees with the hardware, and sees a flipped rule.
#include "mmaudit/device/crossed.hpp"
#include "gpu_fixture.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::device {
namespace {

class Crossed : public Gpu {};

TEST_F(Crossed, EveryInstructionAgreesInEveryFamily) {
  const Architecture* architecture = find_architecture(info_.compute_capability);
  ASSERT_NE(architecture, nullptr);
  std::size_t ran = 0;
  for (const Instruction& instruction : every_instruction()) {
    const DatapathEntry* entry = find_datapath(*architecture, instruction);
    if (entry == nullptr || !why_not(info_, instruction).empty()) continue;
    if (is_wgmma(instruction.op) && instruction.n != 8 && instruction.n != 64) continue;
    CrossedCheck check(info_, instruction, entry->datapath);
    for (int f = 0; f < gen::kFamilies; ++f) {
      const StretchResult result = check.run({static_cast<gen::Family>(f), 3, 5, 2});
      EXPECT_EQ(result.mismatches, 0U) << name_of(instruction) << " " << check.engine() << " family " << f;
      EXPECT_EQ(result.dots, 2 * check.dots_of_chunk());
    }
    ++ran;
  }
  EXPECT_GT(ran, 100U);
}

TEST_F(Crossed, AFlippedRuleIsSeen) {
  const Architecture* architecture = find_architecture(info_.compute_capability);
  ASSERT_NE(architecture, nullptr);
  for (const char* name : {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k8.f32.tf32.tf32.f32"}) {
    const Instruction instruction = *find_instruction(name);
    Datapath wrong = find_datapath(*architecture, instruction)->datapath;
    wrong.fraction_bits = 24;
    const StretchResult result =
        CrossedCheck(info_, instruction, wrong).run({gen::Family::wide_window, 3, 0, 1});
    EXPECT_GT(result.mismatches, 0U);
    ASSERT_FALSE(result.first.empty());
    EXPECT_NE(result.first[0].d_hardware, result.first[0].d_model);
  }
}

TEST_F(Crossed, AMismatchSaysWhereACameFrom) {
  const Architecture* architecture = find_architecture(info_.compute_capability);
  ASSERT_NE(architecture, nullptr);
  const Instruction instruction = with_shape(*find_instruction("wgmma.m64n64k16.f32.f16.f16"), 64);
  if (!why_not(info_, instruction).empty()) GTEST_SKIP() << why_not(info_, instruction);
  Datapath wrong = find_datapath(*architecture, instruction)->datapath;
  wrong.fraction_bits = 24;
  CrossedCheck check(info_, instruction, wrong);
  for (const std::uint64_t chunk : {0U, 1U}) {
    const StretchResult result = check.run({gen::Family::wide_window, 3, chunk, 1});
    ASSERT_FALSE(result.first.empty());
    EXPECT_EQ(result.first[0].modifiers, chunk == 0 ? 0 : kAFromRegisters);
  }
}

}  // namespace
}  // namespace mmaudit::device
