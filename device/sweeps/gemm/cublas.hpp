#pragma once
// The vendor's matrix product.
#include <cstdint>
#include <string>

#include "run/shared_library.hpp"

namespace mmaudit::sweeps {

class Cublas {
 public:
  Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;
  ~Cublas();

  /// Why there is none, in one clause; empty when there is.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  /// "cuBLAS 13.1.0 (libcublas.so.13)".
  [[nodiscard]] const std::string& name() const { return name_; }
  /// D = A * B^T as TimedGemmArgs has them, on the default stream; false when the library refuses.
  bool multiply(const std::uint16_t* a, const std::uint16_t* b, float* d, int size);

 private:
  device::SharedLibrary library_{"libcublas.so.13", "libcublas.so.12", "libcublas.so"};
  void* handle_ = nullptr;
  int (*gemm_)(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a,
               int a_type, int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type,
               int ldc, int compute, int algorithm) = nullptr;
  int (*destroy_)(void* handle) = nullptr;
  std::string why_not_, name_;
};

}  // namespace mmaudit::sweeps
