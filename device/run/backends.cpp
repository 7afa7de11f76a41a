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

Backend product_backend(const DeviceInfo& gpu, const Architecture& architecture, DeviceModel model) {
  const std::string what = model == DeviceModel::fast ? "fast kernels" : "plain core";
  Backend out = backend_by_datapath(
      architecture, what + " of " + std::string(architecture.name) + " on " + gpu.name,
      [gpu, model](const Instruction& inst, const Datapath& datapath, const TileView& batch) {
        matmul_on_device(gpu, inst, datapath, product_of(inst, batch), model);
      });
  out.why_not = [&architecture, model](const Instruction& inst, std::uint8_t modifiers) {
    if (modifiers != 0) return std::string("products have no modifiers");
    const DatapathEntry* entry = find_datapath(architecture, inst);
    if (entry == nullptr) return std::string(architecture.name) + " has no " + name_of(inst);
    const std::uint8_t any = 0;
    Matmul shape;
    if (is_sparse(inst.op)) shape.metadata = &any;
    std::string why = why_no_matmul(inst, entry->datapath, shape);
    return why.empty() ? why_no_matmul_on_device(inst, entry->datapath, shape, model) : why;
  };
  return out;
}

}  // namespace mmaudit::device
