#pragma once
// The energy counter of a GPU, its power, power limit, temperature and processes, and why its clock is what
// it is, by NVML.
#include <optional>
#include <string>
#include <vector>

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
  /// Watts that the driver enforces; 0 where NVML does not say.
  [[nodiscard]] double limit() const;
  /// Watts now, as the board averages them; degrees Celsius; 0 where NVML does not say.
  [[nodiscard]] double watts() const;
  [[nodiscard]] double celsius() const;
  /// Other processes that compute on the GPU; empty also where NVML does not say.
  [[nodiscard]] std::vector<unsigned> other_processes() const;
  /// Why the clock is not higher at this moment, as NVML says; nullopt where it does not.
  struct Reasons {
    bool power_cap = false;  ///< the power limit
    bool thermal = false;    ///< a temperature, or the board's own brake
  };
  [[nodiscard]] std::optional<Reasons> reasons() const;

 private:
  device::SharedLibrary library_{"libnvidia-ml.so.1"};
  void* device_ = nullptr;
  int (*read_)(void* device, unsigned long long* millijoules) = nullptr;
  int (*read_limit_)(void* device, unsigned* milliwatts) = nullptr;
  int (*read_watts_)(void* device, unsigned* milliwatts) = nullptr;
  int (*read_celsius_)(void* device, int sensor, unsigned* celsius) = nullptr;
  int (*read_processes_)(void* device, unsigned* count, void* processes) = nullptr;
  int (*read_reasons_)(void* device, unsigned long long* reasons) = nullptr;
  int (*shutdown_)() = nullptr;
  std::string why_not_;
};

}  // namespace mmaudit::sweeps
