#pragma once
// From an instruction to its kernel; shared by run() and the live check.
#include <cstddef>

#include "kernels/arguments.hpp"
#include "mmaudit/device/runner.hpp"

namespace mmaudit::device {

/// Bytes of one tile of each operand.
struct TileBytes {
  std::size_t a, b, c, d, metadata, scale_a, scale_b;
  explicit TileBytes(const Instruction& instruction);
  [[nodiscard]] std::size_t all() const { return a + b + c + d + metadata + scale_a + scale_b; }
};

/// Null when no kernel of this build runs it.
const KernelEntry* find_kernel(const Instruction& instruction);

/// Makes `device` current and throws what why_not() says.
const KernelEntry& require_kernel(const DeviceInfo& device, const Instruction& instruction,
                                  std::uint8_t modifiers);

/// Throws InputError when a sparse instruction's metadata is missing or not valid, or a dense one has some.
void require_metadata(const Instruction& instruction, const TileView& batch);

/// Starts the kernel on args.tiles tiles; does not wait.
void launch(const DeviceInfo& device, const KernelEntry& kernel, const KernelArgs& args);

}  // namespace mmaudit::device
