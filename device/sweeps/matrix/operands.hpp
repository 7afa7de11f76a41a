#pragma once
// Operands of one instruction on the GPU, and what the model says a chain of it ends in.
#include <cstddef>
#include <map>
#include <memory>
#include <tuple>

#include "mmaudit/device/runner.hpp"
#include "run/cuda_check.hpp"
#include "sweeps/matrix/images.hpp"

namespace mmaudit::sweeps {

inline constexpr int kTiles = 4;
/// Numbers of steps after which the model's D is known.
inline constexpr int kFewSteps = 128, kManySteps = 1024;

/// Images of kTiles tiles.
struct Operands {
  /// `promote`: k after which a sum is added to a binary32 total; 0: never. `a_rotates`: see matrix_setup().
  /// Errors: EnvironmentError when CUDA reports one.
  Operands(const device::DeviceInfo& device, const Instruction& instruction, Init init, int promote,
           bool a_rotates);

  device::Buffer a;            ///< in shared memory: wgmma only
  device::Buffer a_registers;  ///< wmma: lines in memory, as b and c
  device::Buffer b, c, metadata;
  std::size_t d_bytes = 0;  ///< of the image of one D
  Bytes few, many;          ///< images of D; empty when the model does not know the instruction
};

/// What the GPU offers to a benchmark's setup.
class Workbench {
 public:
  explicit Workbench(device::DeviceInfo device) : device_(std::move(device)) {}
  [[nodiscard]] const device::DeviceInfo& device() const { return device_; }
  /// Kept until operands of another instruction are asked for.
  const Operands& operands(const Instruction& instruction, Init init, int promote, bool a_rotates);

 private:
  device::DeviceInfo device_;
  Instruction instruction_;  ///< n left open
  std::map<std::tuple<int, Init, int, bool>, std::unique_ptr<Operands>> kept_;
};

}  // namespace mmaudit::sweeps
