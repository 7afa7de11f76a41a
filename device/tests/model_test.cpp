// The three backends against one another: hardware, model on the host, model on the GPU.
#include <cstdint>

#include "gpu_fixture.hpp"
#include "mmaudit/device/backends.hpp"
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
  const gen::GeneratorSpec generator = gen::make_generator_spec(instruction, datapath);
  const std::size_t each = instruction.n > 8 ? 1 : 3;
  for (int input_class = 0; input_class < gen::kInputClasses; ++input_class)
    gen::append_class(tiles, generator, static_cast<gen::InputClass>(input_class), 7, 0, each, modifiers);
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

}  // namespace
}  // namespace mmaudit::device
