#pragma once
// What CUDA and the driver say of their versions.
#include <string>

#include "run/shared_library.hpp"

namespace mmaudit::device {

/// "13.0" from 13000.
inline std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// "580.159.04", by NVML; empty where it does not say.
inline std::string driver_of(const SharedLibrary& nvml) {
  int (*init)() = nullptr, (*version)(char*, unsigned) = nullptr, (*shutdown)() = nullptr;
  if (nvml.name() == nullptr || !nvml.find("nvmlInit_v2", init) ||
      !nvml.find("nvmlSystemGetDriverVersion", version) || !nvml.find("nvmlShutdown", shutdown) ||
      init() != 0)
    return {};
  char text[80] = {};
  if (version(text, sizeof(text) - 1) != 0) text[0] = '\0';
  shutdown();
  return text;
}

}  // namespace mmaudit::device
