#pragma once
// Operands of one instruction on the GPU, and what the model says a chain of it ends in.
#include <cstddef>
#include <memory>
#include <vector>

#include "mmaudit/device/runner.hpp"
#include "run/cuda_check.hpp"
#include "sweeps/matrix/images.hpp"

namespace mmaudit::sweeps {

inline constexpr int kTiles = 4;
/// Numbers of steps after which the model's D is known.
inline constexpr int kFewSteps = 128, kManySteps = 1024;

class Operands {
 public:
  /// Errors: EnvironmentError when CUDA reports one.
  /// `promote`: k after which the sum goes to a binary32 total; 0: never.
  Operands(const device::DeviceInfo& device, const Instruction& instruction, Init init, int promote);

  [[nodiscard]] const void* a(bool from_registers) const {
    return from_registers ? a_registers_->data() : a_->data();
  }
  [[nodiscard]] const void* b() const { return b_->data(); }
  [[nodiscard]] const void* c() const { return c_->data(); }
  /// Null of a dense instruction.
  [[nodiscard]] const void* metadata() const { return metadata_ ? metadata_->data() : nullptr; }
  /// Images of D, kTiles of them, after so many steps; empty when the model has no row or the number is
  /// neither of the two.
  [[nodiscard]] const std::vector<std::byte>& expected(int steps) const;
  /// Bytes of the image of one D.
  [[nodiscard]] std::size_t d_bytes() const { return d_bytes_; }

 private:
  [[nodiscard]] std::vector<std::byte> image_of_c(const std::vector<std::byte>& tiles) const;
  void run_model(const device::DeviceInfo& device, const Tiles& tiles, int promote);

  Instruction instruction_;
  std::size_t d_bytes_ = 0;
  std::unique_ptr<device::Buffer> a_, a_registers_, b_, c_, metadata_;
  std::vector<std::byte> few_, many_, none_;
};

}  // namespace mmaudit::sweeps
