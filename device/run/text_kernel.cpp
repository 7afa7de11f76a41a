#include "run/text_kernel.hpp"

#include <array>
#include <cstring>
#include <vector>

#include "run/cuda_check.hpp"
#include "run/shared_library.hpp"

namespace mmaudit::device {
namespace {

/// What is used of libcuda, with its types spelled out. Source: CUDA Driver API 13.0, "Module Management" and
/// "Execution Control"; CUjit_option.
struct Driver {
  int (*load)(void** module, const void* image, unsigned options, int* names, void** values) = nullptr;
  int (*unload)(void* module) = nullptr;
  int (*function)(void** function, void* module, const char* name) = nullptr;
  int (*launch)(void* function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
                unsigned threads_z, unsigned shared_bytes, void* stream, void** parameters,
                void** extra) = nullptr;
  bool found = false;

  Driver() {
    const SharedLibrary library({"libcuda.so.1"});
    found = library.name() != nullptr && library.find("cuModuleLoadDataEx", load) &&
            library.find("cuModuleUnload", unload) && library.find("cuModuleGetFunction", function) &&
            library.find("cuLaunchKernel", launch);
  }
};
constexpr int kErrorLog = 5, kErrorLogBytes = 6;  // CU_JIT_ERROR_LOG_BUFFER, ..._SIZE_BYTES

const Driver& driver() {
  static const Driver loaded;
  if (!loaded.found) throw EnvironmentError("libcuda.so.1: found none with cuModuleLoadDataEx");
  return loaded;
}

void require_success(int status, const char* what, const std::string& log = {}) {
  if (status == 0) return;
  throw GpuError(std::string("CUDA: ") + what + ": error " + std::to_string(status) +
                 (log.empty() ? "" : ": " + log.substr(0, log.find('\n'))));
}

}  // namespace

TextKernel::TextKernel(const std::string& text, const char* name) {
  cuda_check(cudaFree(nullptr), "starting the device");  // the driver's functions need its context
  std::array<char, 4096> log = {};
  std::array<int, 2> names = {kErrorLog, kErrorLogBytes};
  void* size = nullptr;  // the driver takes a number in the place of a pointer
  const std::size_t most = log.size() - 1;
  std::memcpy(&size, &most, sizeof size);
  std::array<void*, 2> values = {log.data(), size};
  const int status = driver().load(&module_, text.c_str(), 2, names.data(), values.data());
  require_success(status, "translating a kernel", log.data());
  if (const int missing = driver().function(&function_, module_, name); missing != 0) {
    driver().unload(module_);
    require_success(missing, name);
  }
}

TextKernel::~TextKernel() { driver().unload(module_); }

void TextKernel::launch(unsigned blocks, unsigned threads, std::span<const std::uint64_t> parameters) const {
  std::vector<std::uint64_t> values(parameters.begin(), parameters.end());
  std::vector<void*> pointers;
  pointers.reserve(values.size());
  for (std::uint64_t& value : values) pointers.push_back(&value);
  require_success(
      driver().launch(function_, blocks, 1, 1, threads, 1, 1, 0, nullptr, pointers.data(), nullptr),
      "launching a kernel");
}

}  // namespace mmaudit::device
