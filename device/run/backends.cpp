#include "mmaudit/device/backends.hpp"

namespace mmaudit::device {

Backend hardware_backend(const DeviceInfo& gpu) {
  return {.name = gpu.name,
          .why_not = [gpu](const Instruction& inst,
                           std::uint8_t modifiers) { return device::why_not(gpu, inst, modifiers); },
          .run = [gpu](const Instruction& inst, const TileView& batch) { device::run(gpu, inst, batch); }};
}

Backend gpu_model_backend(const DeviceInfo& gpu, const Architecture& architecture) {
  Backend backend = model_backend(architecture);
  backend.name += " on " + gpu.name;
  backend.run = [gpu, &architecture](const Instruction& inst, const TileView& batch) {
    emulate_on_device(gpu, inst, find_datapath(architecture, inst)->datapath, batch);
  };
  return backend;
}

}  // namespace mmaudit::device
