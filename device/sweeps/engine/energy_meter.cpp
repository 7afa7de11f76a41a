#include "sweeps/engine/energy_meter.hpp"

#include <cuda_runtime.h>
#include <unistd.h>

#include <array>

namespace mmaudit::sweeps {

EnergyMeter::EnergyMeter(int ordinal) {
  if (library_.name() == nullptr) {
    why_not_ = "no NVML (libnvidia-ml.so.1) on this machine";
    return;
  }
  int (*init)() = nullptr;
  int (*find)(const char* pci_bus_id, void** device) = nullptr;
  int (*shutdown)() = nullptr;
  std::array<char, 32> bus = {};
  if (!library_.find("nvmlInit_v2", init) || !library_.find("nvmlDeviceGetHandleByPciBusId_v2", find) ||
      !library_.find("nvmlShutdown", shutdown) ||
      !library_.find("nvmlDeviceGetTotalEnergyConsumption", read_)) {
    why_not_ = "this NVML has no energy counter";
  } else if (cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), ordinal) != cudaSuccess) {
    why_not_ = "CUDA does not say which GPU it runs on";
  } else if (const int error = init(); error != 0) {
    why_not_ = "NVML refuses to start (error " + std::to_string(error) + ")";
  } else {
    shutdown_ = shutdown;
    unsigned long long millijoules = 0;
    int refused = find(bus.data(), &device_);
    if (refused == 0) refused = read_(device_, &millijoules);
    if (refused != 0)
      why_not_ = "NVML does not let the energy be read (error " + std::to_string(refused) + ")";
    if (!library_.find("nvmlDeviceGetEnforcedPowerLimit", read_limit_)) read_limit_ = nullptr;
    if (!library_.find("nvmlDeviceGetPowerUsage", read_watts_)) read_watts_ = nullptr;
    if (!library_.find("nvmlDeviceGetTemperature", read_celsius_)) read_celsius_ = nullptr;
    if (!library_.find("nvmlDeviceGetComputeRunningProcesses_v3", read_processes_)) read_processes_ = nullptr;
    // The second name is the one before CUDA 12.
    if (!library_.find("nvmlDeviceGetCurrentClocksEventReasons", read_reasons_) &&
        !library_.find("nvmlDeviceGetCurrentClocksThrottleReasons", read_reasons_))
      read_reasons_ = nullptr;
  }
}

EnergyMeter::~EnergyMeter() {
  if (shutdown_ != nullptr) shutdown_();
}

double EnergyMeter::joules() const {
  unsigned long long millijoules = 0;
  return read_(device_, &millijoules) == 0 ? 1e-3 * static_cast<double>(millijoules) : 0;
}

double EnergyMeter::limit() const {
  unsigned milliwatts = 0;
  return device_ != nullptr && read_limit_ != nullptr && read_limit_(device_, &milliwatts) == 0
             ? 1e-3 * milliwatts
             : 0;
}

double EnergyMeter::watts() const {
  unsigned milliwatts = 0;
  return device_ != nullptr && read_watts_ != nullptr && read_watts_(device_, &milliwatts) == 0
             ? 1e-3 * milliwatts
             : 0;
}

double EnergyMeter::celsius() const {
  constexpr int kGpuSensor = 0;
  unsigned degrees = 0;
  return device_ != nullptr && read_celsius_ != nullptr && read_celsius_(device_, kGpuSensor, &degrees) == 0
             ? degrees
             : 0;
}

std::vector<unsigned> EnergyMeter::other_processes() const {
  struct Process {  // nvml.h: nvmlProcessInfo_v2_t
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
  };
  constexpr unsigned kMost = 256;
  std::array<Process, kMost> found = {};
  unsigned count = kMost;
  std::vector<unsigned> others;
  if (device_ == nullptr || read_processes_ == nullptr || read_processes_(device_, &count, found.data()) != 0)
    return others;
  for (unsigned i = 0; i < count; ++i)
    if (found[i].pid != static_cast<unsigned>(getpid())) others.push_back(found[i].pid);
  return others;
}

std::optional<EnergyMeter::Reasons> EnergyMeter::reasons() const {
  // nvml.h: SwPowerCap; HwSlowdown, SwThermalSlowdown, HwThermalSlowdown, HwPowerBrakeSlowdown.
  constexpr unsigned long long kPowerCap = 0x4, kThermal = 0x8 | 0x20 | 0x40 | 0x80;
  unsigned long long found = 0;
  if (device_ == nullptr || read_reasons_ == nullptr || read_reasons_(device_, &found) != 0)
    return std::nullopt;
  return Reasons{.power_cap = (found & kPowerCap) != 0, .thermal = (found & kThermal) != 0};
}

}  // namespace mmaudit::sweeps
