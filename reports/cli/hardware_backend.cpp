#include "hardware_backend.hpp"

namespace mmaudit::cli {

laws::Backend hardware_backend(const device::DeviceInfo& gpu) {
  return {
      gpu.name,
      [gpu](const Instruction& is, std::uint8_t modifiers) { return device::why_not(gpu, is, modifiers); },
      [gpu](const Instruction& is, const TileBatch& batch) { device::run(gpu, is, batch); }};
}

}  // namespace mmaudit::cli
