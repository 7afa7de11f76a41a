#include "sweeps/engine/energy_meter.hpp"

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <array>

namespace mmaudit::sweeps {
namespace {

template <typename Function>
bool load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

EnergyMeter::EnergyMeter(int ordinal) : library_(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    why_not_ = "no NVML (libnvidia-ml.so.1) on this machine";
    return;
  }
  int (*init)() = nullptr;
  int (*find)(const char* pci_bus_id, void** device) = nullptr;
  int (*shutdown)() = nullptr;
  if (!load(library_, "nvmlInit_v2", init) || !load(library_, "nvmlDeviceGetHandleByPciBusId_v2", find) ||
      !load(library_, "nvmlShutdown", shutdown) ||
      !load(library_, "nvmlDeviceGetTotalEnergyConsumption", read_)) {
    why_not_ = "this NVML has no energy counter";
    return;
  }
  std::array<char, 32> bus = {};
  if (cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), ordinal) != cudaSuccess) {
    why_not_ = "CUDA does not say which GPU it runs on";
    return;
  }
  if (const int error = init(); error != 0) {
    why_not_ = "NVML refuses to start (error " + std::to_string(error) + ")";
    return;
  }
  shutdown_ = shutdown;
  unsigned long long millijoules = 0;
  int error = find(bus.data(), &device_);
  if (error == 0) error = read_(device_, &millijoules);
  if (error != 0) why_not_ = "NVML does not let the energy be read (error " + std::to_string(error) + ")";
}

EnergyMeter::~EnergyMeter() {
  if (shutdown_ != nullptr) shutdown_();
  if (library_ != nullptr) dlclose(library_);
}

double EnergyMeter::joules() const {
  unsigned long long millijoules = 0;
  return read_(device_, &millijoules) == 0 ? 1e-3 * static_cast<double>(millijoules) : 0;
}

}  // namespace mmaudit::sweeps
