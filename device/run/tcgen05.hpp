#pragma once
// tcgen05.mma on the hardware: the kernels of mmaudit/tensor_memory/tile_kernel.hpp, translated by the
// driver.
#include <string>
#include <string_view>

#include "mmaudit/device/runner.hpp"

namespace mmaudit::device {

/// Why `device` can't run it; empty when it can.
std::string why_not_tcgen05(const DeviceInfo& device, const Instruction& instruction, std::uint8_t modifiers,
                            std::string_view form = kPlainForm);

/// As run(), for an instruction that why_not_tcgen05() has no reason against, of one repetition.
void run_tcgen05(const DeviceInfo& device, const Instruction& instruction, const TileView& batch,
                 const RunOptions& options);

}  // namespace mmaudit::device
