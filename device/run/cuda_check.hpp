#pragma once
// Every CUDA call goes through cuda_check(); memory is owned by a Buffer.
#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <utility>

#include "mmaudit/error.hpp"

namespace mmaudit::device {

inline void cuda_check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw EnvironmentError(std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

/// Device memory.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes) {
    if (bytes != 0) cuda_check(cudaMalloc(&data_, bytes), "allocating device memory");
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  ~Buffer() { cudaFree(data_); }

  template <typename T = void>
  [[nodiscard]] T* data() const {
    return static_cast<T*>(data_);
  }

 private:
  void* data_ = nullptr;
};

inline void copy_in(void* to, const void* from, std::size_t bytes) {
  cuda_check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copying to the device");
}
/// What a kernel is to write: elements that it skips show up as mismatches.
inline void poison(void* data, std::size_t bytes) {
  cuda_check(cudaMemset(data, 0xA5, bytes), "clearing the output");
}
inline void copy_out(void* to, const void* from, std::size_t bytes) {
  cuda_check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copying from the device");
}

}  // namespace mmaudit::device
