#pragma once
// The libraries of NVIDIA that this program loads at run time where they are there.
#include <string>
#include <vector>

namespace mmaudit::device {

struct GpuLibrary {
  std::string name;     ///< "cuBLASLt"
  std::string file;     ///< as the loader found it; empty: there is none
  std::string version;  ///< of its own; empty where it does not say
};

/// The driver, NVML, cuBLASLt and CUPTI of this machine; also in a build without CUDA. Never throws for
/// "none".
std::vector<GpuLibrary> gpu_libraries();

}  // namespace mmaudit::device
