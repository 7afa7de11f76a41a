// The three backends against one another: hardware, model on the host, model on the GPU.
#include <cstdint>

#include "gpu_fixture.hpp"
#include "mmaudit/generators/tiles.hpp"

namespace mmaudit::device {
namespace {

const Datapath* model_of(const DeviceInfo& info, const Instruction& instruction) {
  for (const Architecture& architecture : architectures()) {
    if (architecture.compute_capability != info.compute_capability) continue;
    const DatapathEntry* entry = find_datapath(architecture, instruction);
    return entry != nullptr ? &entry->datapath : nullptr;
  }
  return nullptr;
}

TileBatch tiles_of(const Instruction& instruction, const Datapath& datapath, std::uint8_t modifiers) {
  TileBatch tiles(instruction);
  const gen::GeneratorPlan plan = gen::make_generator_plan(instruction, datapath);
  const std::size_t each = instruction.n > 8 ? 1 : 3;
  for (int family = 0; family < gen::kFamilies; ++family)
    gen::append_family(tiles, plan, static_cast<gen::Family>(family), 7, 0, each, modifiers);
  return tiles;
}

/// A few n are enough here: the arithmetic does not know n, and every n is in the mapping test.
bool representative(const Variant& variant) {
  return variant.instruction.op != Op::wgmma || variant.instruction.n == 8 || variant.instruction.n == 64;
}

class Model : public Gpu {};

TEST_F(Model, HardwareGivesTheBitsOfTheHostModel) {
  std::size_t ran = 0;
  for (const Variant& variant : every_variant()) {
    const Datapath* datapath = model_of(info_, variant.instruction);
    if (datapath == nullptr || !representative(variant) ||
        !why_not(info_, variant.instruction, variant.modifiers).empty())
      continue;
    TileBatch tiles = tiles_of(variant.instruction, *datapath, variant.modifiers);
    run(info_, variant.instruction, tiles.view());
    const std::vector<std::byte> hardware = tiles.d;
    emulate(variant.instruction, *datapath, tiles.view());
    EXPECT_TRUE(hardware == tiles.d) << name_of(variant.instruction) << " modifiers "
                                     << int{variant.modifiers};
    ++ran;
  }
  EXPECT_GT(ran, 0U);
}

TEST_F(Model, TheModelIsTheSameOnTheGpu) {
  for (const Variant& variant : every_variant()) {
    const Datapath* datapath = model_of(info_, variant.instruction);
    if (datapath == nullptr || !representative(variant)) continue;
    TileBatch tiles = tiles_of(variant.instruction, *datapath, variant.modifiers);
    emulate_on_device(info_, variant.instruction, *datapath, tiles.view());
    const std::vector<std::byte> on_device = tiles.d;
    emulate(variant.instruction, *datapath, tiles.view());
    EXPECT_TRUE(on_device == tiles.d)
        << name_of(variant.instruction) << " modifiers " << int{variant.modifiers};
  }
}

TEST_F(Model, CheckCountsEveryDotAndFindsAWrongModel) {
  const Instruction instruction = find_instruction("mma.m16n8k16.f32.f16.f16.f32").value();
  const Datapath* datapath = model_of(info_, instruction);
  if (datapath == nullptr) GTEST_SKIP() << "no model of compute capability " << info_.compute_capability;
  const CheckResult right = check(info_, instruction, *datapath, {.seed = 3, .dots = 1000000});
  EXPECT_GE(right.dots, 1000000U);
  EXPECT_EQ(right.mismatches, 0U);
  EXPECT_EQ(right.families.size(), static_cast<std::size_t>(gen::kFamilies));

  Datapath wrong = *datapath;
  ++wrong.fraction_bits;
  const CheckResult found = check(info_, instruction, wrong, {.seed = 3, .dots = 1000000});
  EXPECT_GT(found.mismatches, 0U);
  ASSERT_FALSE(found.first.empty());
  // What came back is what both sides saw: the host repeats the model's answers.
  for (const Mismatch& mismatch : found.first) {
    const auto a = [&](int k) { return mismatch.a[static_cast<std::size_t>(k)]; };
    const auto b = [&](int k) { return mismatch.b[static_cast<std::size_t>(k)]; };
    EXPECT_EQ(dot(make_plan(instruction, wrong), a, b, mismatch.c, 0), mismatch.d_model);
    EXPECT_EQ(dot(make_plan(instruction, *datapath), a, b, mismatch.c, 0), mismatch.d_hardware);
  }
}

}  // namespace
}  // namespace mmaudit::device
