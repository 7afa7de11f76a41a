#include "mmaudit/device/backends.hpp"

namespace mmaudit::device {

Backend hardware_backend(const DeviceInfo& gpu) {
  return {.name = gpu.name,
          .why_not = [gpu](const Instruction& inst,
                           std::uint8_t modifiers) { return device::why_not(gpu, inst, modifiers); },
          .run = [gpu](const Instruction& inst, const TileView& batch) { device::run(gpu, inst, batch); }};
}

Backend gpu_model_backend(const DeviceInfo& gpu, const Architecture& architecture) {
  return backend_by_datapath(architecture, "model of " + std::string(architecture.name) + " on " + gpu.name,
                             [gpu](const Instruction& inst, const Datapath& datapath, const TileView& batch) {
                               emulate_on_device(gpu, inst, datapath, batch);
                             });
}

}  // namespace mmaudit::device
