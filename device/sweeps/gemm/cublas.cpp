#include "sweeps/gemm/cublas.hpp"

namespace mmaudit::sweeps {
namespace {

// Values of cublas_api.h and library_types.h.
constexpr int kTransposed = 1, kPlain = 0, kBfloat16 = 14, kBinary32 = 0, kCompute32 = 68, kDefault = -1;

std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

Cublas::Cublas() {
  if (library_.name() == nullptr) {
    why_not_ = "no cuBLAS (libcublas.so.13 or .12) where the loader looks (LD_LIBRARY_PATH)";
    return;
  }
  int (*create)(void** handle) = nullptr;
  int (*version)(void* handle, int* version) = nullptr;
  if (!library_.find("cublasCreate_v2", create) || !library_.find("cublasGetVersion_v2", version) ||
      !library_.find("cublasGemmEx", gemm_) || !library_.find("cublasDestroy_v2", destroy_)) {
    why_not_ = std::string(library_.name()) + " has no cublasGemmEx";
  } else if (const int error = create(&handle_); error != 0) {
    why_not_ = "cuBLAS refuses to start (error " + std::to_string(error) + ")";
    handle_ = nullptr;
  } else {
    int number = 0;
    version(handle_, &number);
    name_ = "cuBLAS " + version_text(number) + " (" + library_.name() + ")";
  }
}

Cublas::~Cublas() {
  if (handle_ != nullptr) destroy_(handle_);
}

bool Cublas::multiply(const std::uint16_t* a, const std::uint16_t* b, float* d, int size) {
  const float one = 1, zero = 0;
  // Its matrices are column-major: D^T = B * A^T.
  return gemm_(handle_, kTransposed, kPlain, size, size, size, &one, b, kBfloat16, size, a, kBfloat16, size,
               &zero, d, kBinary32, size, kCompute32, kDefault) == 0;
}

}  // namespace mmaudit::sweeps
