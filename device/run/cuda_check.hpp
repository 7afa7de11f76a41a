#pragma once
// Every CUDA call goes through cuda_check(); memory is owned by a Buffer.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/error.hpp"

namespace mmaudit::device {

inline void cuda_check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw GpuError(std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

/// Blocks of so many threads, one thread per element, up to a limit over which the kernel strides.
inline unsigned blocks_for(std::uint64_t count, unsigned threads, std::uint64_t most = 1U << 16) {
  return static_cast<unsigned>(std::min((count + threads - 1) / threads, most));
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

inline Buffer uploaded(const void* from, std::size_t bytes) {
  Buffer buffer(bytes);
  copy_in(buffer.data(), from, bytes);
  return buffer;
}
template <typename Element>
Buffer uploaded(const std::vector<Element>& elements) {
  return uploaded(elements.data(), elements.size() * sizeof(Element));
}

/// A number in device memory, 0 at first, that kernels add to.
class Counter {
 public:
  using Number = unsigned long long;
  Counter() { clear(); }
  void clear() { cuda_check(cudaMemset(number_.data(), 0, sizeof(Number)), "clearing the counter"); }
  [[nodiscard]] Number* place() const { return number_.data<Number>(); }
  [[nodiscard]] std::uint64_t read() const {
    cuda_check(cudaGetLastError(), "launching what counts");
    Number found = 0;
    copy_out(&found, number_.data(), sizeof(found));
    return found;
  }

 private:
  Buffer number_{sizeof(Number)};
};

}  // namespace mmaudit::device
