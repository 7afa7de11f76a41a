#include "mmaudit/device/gpu_libraries.hpp"

#include "run/versions.hpp"

namespace mmaudit::device {
namespace {

std::string driver_version(const SharedLibrary& library) {
  int (*version)(int*) = nullptr;
  int number = 0;
  if (!library.find("cuDriverGetVersion", version) || version(&number) != 0) return {};
  return "CUDA " + cuda_version(number);
}

std::string nvml_version(const SharedLibrary& library) {
  const std::string driver = driver_of(library);
  return driver.empty() ? "" : "driver " + driver;
}

/// 130100 is 13.1.0.
std::string cublaslt_version(const SharedLibrary& library) {
  std::size_t (*version)() = nullptr;
  if (!library.find("cublasLtGetVersion", version)) return {};
  const std::size_t number = version(), scale = number < 100'000 ? 1000 : 10'000;
  return std::to_string(number / scale) + "." + std::to_string(number % scale / 100) + "." +
         std::to_string(number % 100);
}

}  // namespace

std::vector<GpuLibrary> gpu_libraries() {
  std::vector<GpuLibrary> out;
  const auto add = [&out](const char* name, std::initializer_list<const char*> files,
                          std::string (*version)(const SharedLibrary&)) {
    const SharedLibrary library(files);
    GpuLibrary& found = out.emplace_back(GpuLibrary{name, {}, {}});
    if (library.name() == nullptr) return;
    found.file = library.name();
    if (version != nullptr) found.version = version(library);
  };
  add("driver", {"libcuda.so.1"}, driver_version);
  add("NVML", {"libnvidia-ml.so.1"}, nvml_version);
  add("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}, cublaslt_version);
  add("CUPTI", {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, nullptr);
  return out;
}

}  // namespace mmaudit::device
