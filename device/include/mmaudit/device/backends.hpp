#pragma once
// The backends that live on a GPU.
#include "mmaudit/backend.hpp"
#include "mmaudit/device/matmul.hpp"
#include "mmaudit/device/runner.hpp"

namespace mmaudit::device {

/// The instructions themselves.
Backend hardware_backend(const DeviceInfo& gpu);

/// The plain model, computed on the GPU. `architecture` must outlive the backend.
Backend gpu_model_backend(const DeviceInfo& gpu, const Architecture& architecture);

/// The same for tiles without modifiers, with scales, as matmul_on_device() computes products: by `model`.
Backend product_backend(const DeviceInfo& gpu, const Architecture& architecture, DeviceModel model);

/// What: emulate(), computed on the GPU. Shapes and modifiers: as TileView, host pointers.
/// Errors: EnvironmentError when CUDA reports an error.
void emulate_on_device(const DeviceInfo& device, const Instruction& instruction, const Datapath& datapath,
                       const TileView& batch);

}  // namespace mmaudit::device
