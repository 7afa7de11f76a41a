#include "sweeps/gemm/cublas.hpp"

#include <dlfcn.h>

namespace mmaudit::sweeps {
namespace {

// Values of cublas_api.h and library_types.h.
constexpr int kTransposed = 1, kPlain = 0, kBfloat16 = 14, kBinary32 = 0, kCompute32 = 68, kDefault = -1;
constexpr const char* kLibraries[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so"};

template <typename Function>
bool find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

Cublas::Cublas() {
  const char* found = nullptr;
  for (const char* name : kLibraries)
    if (library_ == nullptr && (library_ = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) != nullptr) found = name;
  if (library_ == nullptr) {
    why_not_ = "no cuBLAS (libcublas.so.13 or .12) where the loader looks (LD_LIBRARY_PATH)";
    return;
  }
  int (*create)(void** handle) = nullptr;
  int (*version)(void* handle, int* version) = nullptr;
  if (!find_symbol(library_, "cublasCreate_v2", create) ||
      !find_symbol(library_, "cublasGetVersion_v2", version) ||
      !find_symbol(library_, "cublasGemmEx", gemm_) || !find_symbol(library_, "cublasDestroy_v2", destroy_)) {
    why_not_ = std::string(found) + " has no cublasGemmEx";
    return;
  }
  if (const int error = create(&handle_); error != 0) {
    why_not_ = "cuBLAS refuses to start (error " + std::to_string(error) + ")";
    handle_ = nullptr;
    return;
  }
  int number = 0;
  version(handle_, &number);
  name_ = "cuBLAS " + version_text(number) + " (" + found + ")";
}

Cublas::~Cublas() {
  // The library stays loaded: unloading it while CUDA is at work helps nobody.
  if (handle_ != nullptr) destroy_(handle_);
}

bool Cublas::multiply(const std::uint16_t* a, const std::uint16_t* b, float* d, int size) {
  const float one = 1, zero = 0;
  // Its matrices are column-major: D^T = B * A^T.
  return gemm_(handle_, kTransposed, kPlain, size, size, size, &one, b, kBfloat16, size, a, kBfloat16, size,
               &zero, d, kBinary32, size, kCompute32, kDefault) == 0;
}

}  // namespace mmaudit::sweeps
