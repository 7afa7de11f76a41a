#include "mmaudit/device/runner.hpp"

#include <array>
#include <cstddef>

#include "run/device_batch.hpp"
#include "run/modifier_groups.hpp"
#include "run/tcgen05.hpp"

namespace mmaudit::device {
void run(const DeviceInfo& device, const Instruction& instruction, const TileView& batch,
         const RunOptions& options) {
  if (is_tcgen05(instruction.op)) return run_tcgen05(device, instruction, batch, options);
  if (options.form != kPlainForm) throw EnvironmentError(why_not(device, instruction, 0, options.form));
  std::array<bool, 256> used = {};
  for (std::size_t tile = 0; batch.modifiers != nullptr && tile < batch.tiles; ++tile)
    used[batch.modifiers[tile]] = true;
  const KernelEntry& kernel = require_kernel(device, instruction, 0);
  for (std::size_t byte = 0; byte < used.size(); ++byte)
    if (used[byte]) require_kernel(device, instruction, static_cast<std::uint8_t>(byte));
  if (batch.tiles == 0) return;
  require_metadata(instruction, batch);

  DeviceBatch on_device(instruction, batch);
  const Buffer index(on_device.most() * sizeof(std::uint32_t));
  on_device.for_each_part([&](KernelArgs args, const std::uint8_t* modifiers) {
    args.repetitions = options.repetitions;
    args.swap_offsets = options.swap_offsets;
    const Groups groups = group_by_modifiers(modifiers, args.tiles);
    for (std::size_t byte = 0; byte < groups.size(); ++byte) {
      if (groups[byte].empty()) continue;
      args.tiles = static_cast<std::uint32_t>(groups[byte].size());
      args.modifiers = static_cast<std::uint8_t>(byte);
      args.tile_index = index.data<const std::uint32_t>();
      copy_in(index.data(), groups[byte].data(), groups[byte].size() * sizeof(std::uint32_t));
      launch(device, kernel, args);
    }
  });
}

}  // namespace mmaudit::device
