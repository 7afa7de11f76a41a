// The live check: every engine agrees with the hardware and sees a flipped rule.
#include "mmaudit/device/check.hpp"
#include "gpu_fixture.hpp"
#include "mmaudit/model/architecture.hpp"

namespace mmaudit::device {
namespace {

class Check : public Gpu {};

TEST_F(Check, EveryInstructionAgreesInEveryInputClass) {
  const Architecture* architecture = find_architecture(info_.compute_capability);
  ASSERT_NE(architecture, nullptr);
  std::size_t ran = 0;
  for (const Instruction& instruction : every_instruction()) {
    const DatapathEntry* entry = find_datapath(*architecture, instruction);
    if (entry == nullptr || !why_not(info_, instruction).empty()) continue;
    if (is_wgmma(instruction.op) && instruction.n != 8 && instruction.n != 64) continue;
    TileProductCheck check(info_, instruction, entry->datapath);
    for (int i = 0; i < gen::kInputClasses; ++i) {
      const CheckResult result = check.run({static_cast<gen::InputClass>(i), 3, 5, 2});
      EXPECT_EQ(result.mismatches, 0U)
          << name_of(instruction) << " " << check.engine() << " input class " << i;
      EXPECT_EQ(result.dots, 2 * check.dots_of_batch());
    }
    ++ran;
  }
  EXPECT_GT(ran, 100U);
}

TEST_F(Check, AFlippedRuleIsSeen) {
  const Architecture* architecture = find_architecture(info_.compute_capability);
  ASSERT_NE(architecture, nullptr);
  for (const char* name : {"mma.m16n8k16.f32.f16.f16.f32", "mma.m16n8k8.f32.tf32.tf32.f32"}) {
    const Instruction instruction = *find_instruction(name);
    Datapath wrong = find_datapath(*architecture, instruction)->datapath;
    wrong.fraction_bits = 24;
    const CheckResult result =
        TileProductCheck(info_, instruction, wrong).run({gen::InputClass::wide_window, 3, 0, 1});
    EXPECT_GT(result.mismatches, 0U);
    ASSERT_FALSE(result.first.empty());
    EXPECT_NE(result.first[0].expected, result.first[0].found);
  }
}

TEST_F(Check, AMismatchSaysWhereACameFrom) {
  const Architecture* architecture = find_architecture(info_.compute_capability);
  ASSERT_NE(architecture, nullptr);
  const Instruction instruction = with_shape(*find_instruction("wgmma.m64n64k16.f32.f16.f16"), 64);
  if (!why_not(info_, instruction).empty()) GTEST_SKIP() << why_not(info_, instruction);
  Datapath wrong = find_datapath(*architecture, instruction)->datapath;
  wrong.fraction_bits = 24;
  TileProductCheck check(info_, instruction, wrong);
  for (const std::uint64_t chunk : {0U, 1U}) {
    const CheckResult result = check.run({gen::InputClass::wide_window, 3, chunk, 1});
    ASSERT_FALSE(result.first.empty());
    EXPECT_EQ(result.first[0].dot.modifiers, chunk == 0 ? 0 : kAFromRegisters);
  }
}

TEST_F(Check, CountsEveryDotAndFindsAWrongModel) {
  const Architecture* architecture = find_architecture(info_.compute_capability);
  ASSERT_NE(architecture, nullptr);
  const Instruction instruction = *find_instruction("mma.m16n8k16.f32.f16.f16.f32");
  const Datapath& right = find_datapath(*architecture, instruction)->datapath;
  TileProductCheck check(info_, instruction, right);
  const CheckResult agreed = check.run(check.at_least(1000000));
  EXPECT_GE(agreed.dots, 1000000U);
  EXPECT_LT(agreed.dots, check.dots_of_batch());
  EXPECT_EQ(agreed.mismatches, 0U);

  Datapath wrong = right;
  ++wrong.fraction_bits;
  const CheckResult found = TileProductCheck(info_, instruction, wrong)
                                .run({.input_class = gen::InputClass::wide_window, .seed = 3, .blocks = 1});
  EXPECT_GT(found.mismatches, 0U);
  ASSERT_FALSE(found.first.empty());
  // What came back is what both sides saw: the host repeats both answers.
  for (const Mismatch& one : found.first) {
    const Strided<std::uint64_t> a{one.dot.a.data()}, b{one.dot.b.data()};
    EXPECT_EQ(dot(make_dot_spec(instruction, wrong), a, b, one.dot.c, 0), one.found);
    EXPECT_EQ(dot(make_dot_spec(instruction, right), a, b, one.dot.c, 0), one.expected);
  }
}

TEST_F(Check, EveryModifierAgrees) {
  const Architecture* architecture = find_architecture(info_.compute_capability);
  ASSERT_NE(architecture, nullptr);
  for (const Variant& variant : every_variant()) {
    const DatapathEntry* entry = find_datapath(*architecture, variant.instruction);
    if (entry == nullptr || !why_not(info_, variant.instruction, variant.modifiers).empty()) continue;
    if (is_wgmma(variant.instruction.op) && variant.instruction.n != 8) continue;
    const CheckResult result = TileProductCheck(info_, variant.instruction, entry->datapath)
                                   .run({.seed = 3, .blocks = 1, .modifiers = variant.modifiers});
    EXPECT_EQ(result.mismatches, 0U) << name_of(variant.instruction) << " modifiers "
                                     << int{variant.modifiers};
  }
}

}  // namespace
}  // namespace mmaudit::device
