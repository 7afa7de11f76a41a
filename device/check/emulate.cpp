#include "check/tile_products.hpp"
#include "mmaudit/device/backends.hpp"
#include "run/device_batch.hpp"

namespace mmaudit::device {

TileProductArgs tile_product_args(const Instruction& instruction, const KernelArgs& operands) {
  const auto bytes = [](Format format) { return static_cast<std::int32_t>(spec_of(format).storage_bytes()); };
  return {.a = operands.a,
          .b = operands.b,
          .c = operands.c,
          .metadata = operands.metadata,
          .scale_a = operands.scale_a,
          .scale_b = operands.scale_b,
          .side = operands.side,
          .m = instruction.m,
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
  DeviceBatch on_device(instruction, batch);
  const Buffer bytes(on_device.most());
  on_device.for_each_part([&](const KernelArgs& part, const std::uint8_t* modifiers) {
    if (modifiers != nullptr) copy_in(bytes.data(), modifiers, part.tiles);
    TileProductArgs args = tile_product_args(instruction, part);
    args.side = 1;
    args.blocks = part.tiles;
    launch_model(spec, args, modifiers != nullptr ? bytes.data<std::uint8_t>() : nullptr, part.d);
  });
}

}  // namespace mmaudit::device
