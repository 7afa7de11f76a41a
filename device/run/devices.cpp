#include <cuda_runtime.h>

#include <cctype>
#include <fstream>
#include <string>

#include "mmaudit/device/runner.hpp"
#include "run/cuda_check.hpp"
#include "run/versions.hpp"

namespace mmaudit::device {
namespace {

/// The first word of the kernel module's line that looks like a version: "NVRM version: ... Module 580.159.04
/// ...".
std::string driver_from_proc() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    const bool number = std::isdigit(static_cast<unsigned char>(word.front())) != 0;
    if (number && word.find('.') != std::string::npos) return word;
  }
  return {};
}

std::string driver_version() {
  if (std::string version = driver_from_proc(); !version.empty()) return version;
  if (std::string version = driver_of({"libnvidia-ml.so.1"}); !version.empty()) return version;
  int number = 0;
  return cudaDriverGetVersion(&number) == cudaSuccess ? cuda_version(number) : "unknown";
}

}  // namespace

bool built_with_cuda() { return true; }

std::vector<DeviceInfo> devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();  // no driver or no device: an answer, not an error of the next call
    return {};
  }
  std::vector<DeviceInfo> found;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties = {};
    cuda_check(cudaGetDeviceProperties(&properties, ordinal), "reading device properties");
    found.push_back({.ordinal = ordinal,
                     .name = properties.name,
                     .compute_capability = properties.major * 10 + properties.minor,
                     .multiprocessors = properties.multiProcessorCount,
                     .memory_bytes = properties.totalGlobalMem,
                     .driver = driver_version(),
                     .cuda = cuda_version(CUDART_VERSION)});
  }
  return found;
}

}  // namespace mmaudit::device
