#pragma once
// What the GPU offers to a benchmark's setup.
#include <map>
#include <memory>
#include <tuple>

#include "mmaudit/device/runner.hpp"
#include "sweeps/matrix/operands.hpp"

namespace mmaudit::sweeps {

class Workbench {
 public:
  explicit Workbench(device::DeviceInfo device) : device_(std::move(device)) {}
  [[nodiscard]] const device::DeviceInfo& device() const { return device_; }

  /// Operands on the GPU, kept until those of another instruction are asked for. `promote`: k after which a
  /// sum is added to a binary32 total; 0: never.
  const Operands& operands(const Instruction& instruction, Init init, int promote) {
    Instruction open = instruction;
    open.n = 0;
    if (open != instruction_) kept_.clear();
    instruction_ = open;
    auto& operands = kept_[{instruction.n, init, promote}];
    if (!operands) operands = std::make_unique<Operands>(device_, instruction, init, promote);
    return *operands;
  }

 private:
  device::DeviceInfo device_;
  Instruction instruction_;
  std::map<std::tuple<int, Init, int>, std::unique_ptr<Operands>> kept_;
};

}  // namespace mmaudit::sweeps
