#include "hardware_backend.hpp"

namespace mmaudit::cli {

laws::Backend hardware_backend(const device::DeviceInfo& gpu) {
  return {gpu.name,
          [gpu](const Instruction& inst, std::uint8_t modifiers) {
            return device::why_not(gpu, inst, modifiers);
          },
          [gpu](const Instruction& inst, const TileView& batch) { device::run(gpu, inst, batch); }};
}

Mismatch mismatch_of(const device::Mismatch& one) {
  return {std::string(gen::name_of(one.family)),
          one.tile,
          one.row,
          one.col,
          one.modifiers,
          one.a,
          one.b,
          one.c,
          one.d_hardware,
          one.d_model,
          one.metadata};
}

}  // namespace mmaudit::cli
