#pragma once
// The energy counter of a GPU, by NVML.
#include <string>

#include "run/shared_library.hpp"

namespace mmaudit::sweeps {

class EnergyMeter {
 public:
  /// `ordinal`: CUDA's.
  explicit EnergyMeter(int ordinal);
  EnergyMeter(const EnergyMeter&) = delete;
  EnergyMeter& operator=(const EnergyMeter&) = delete;
  ~EnergyMeter();

  /// Why there is nothing to read, in one clause; empty when there is.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  /// Since the driver was loaded; the counter moves every tenth of a second or faster.
  [[nodiscard]] double joules() const;

 private:
  device::SharedLibrary library_{"libnvidia-ml.so.1"};
  void* device_ = nullptr;
  int (*read_)(void* device, unsigned long long* millijoules) = nullptr;
  int (*shutdown_)() = nullptr;
  std::string why_not_;
};

}  // namespace mmaudit::sweeps
