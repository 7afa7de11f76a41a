#include "mmaudit/device/wmma_fragment.hpp"
#include "run/cuda_check.hpp"
#include "run/launch.hpp"

namespace mmaudit::device {

void move_fragment(const DeviceInfo& device, const Instruction& instruction, WmmaOperand operand,
                   bool column_major, std::span<std::uint8_t> image, std::span<std::uint8_t> registers) {
  const KernelEntry& kernel = require_kernel(device, instruction, 0);
  if (kernel.fragment == nullptr) throw EnvironmentError("no fragment kernel for " + name_of(instruction));
  const Buffer memory(image.size()), warp(registers.size());
  copy_in(memory.data(), image.data(), image.size());
  copy_in(warp.data(), registers.data(), registers.size());
  kernel.fragment({.operand = static_cast<int>(operand),
                   .column_major = column_major,
                   .image = memory.data<unsigned char>(),
                   .image_bytes = static_cast<int>(image.size()),
                   .registers = warp.data()});
  cuda_check(cudaGetLastError(), "launching a kernel");
  cuda_check(cudaDeviceSynchronize(), "running a kernel");
  copy_out(image.data(), memory.data(), image.size());
  copy_out(registers.data(), warp.data(), registers.size());
}

}  // namespace mmaudit::device
