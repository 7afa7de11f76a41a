#include "check/tile_products.hpp"
#include "mmaudit/device/backends.hpp"
#include "run/device_batch.hpp"

namespace mmaudit::device {

TileProductArgs tile_product_args(const Instruction& instruction) {
  const auto bytes = [](Format format) { return static_cast<std::int32_t>(spec_of(format).storage_bytes()); };
  return {.m = instruction.m,
          .n = instruction.n,
          .k = instruction.k,
          .stored_k = instruction.stored_k(),
          .scale_blocks = scales_of(instruction),
          .a_bytes = bytes(instruction.a),
          .b_bytes = bytes(instruction.b),
          .c_bytes = bytes(instruction.c),
          .d_bytes = bytes(instruction.d)};
}

void emulate_on_device(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
                       const TileView& batch) {
  if (batch.tiles == 0) return;
  require_metadata(instruction, batch);
  cuda_check(cudaSetDevice(device.ordinal), "selecting the device");
  const DotSpec spec = make_dot_spec(instruction, datapath);
  TileProductArgs args = tile_product_args(instruction);
  args.side = 1;
  DeviceBatch on_device(instruction, batch);
  const Buffer bytes(on_device.most());
  on_device.for_each_part([&](const KernelArgs& part, const std::uint8_t* modifiers) {
    if (modifiers != nullptr) copy_in(bytes.data(), modifiers, part.tiles);
    args.a = part.a;
    args.b = part.b;
    args.c = part.c;
    args.metadata = part.metadata;
    args.scale_a = part.scale_a;
    args.scale_b = part.scale_b;
    args.blocks = part.tiles;
    launch_model(spec, args, modifiers != nullptr ? bytes.data<std::uint8_t>() : nullptr, part.d);
  });
}

}  // namespace mmaudit::device
