#pragma once
// The arrays of a work space in device memory.
#include <cstddef>
#include <cstdint>

#include "model/unpacked.hpp"

namespace mmaudit::device {

/// Cuts a work space into arrays, each at a multiple of what any access wants.
class Arena {
 public:
  explicit Arena(void* base) : base_(static_cast<std::byte*>(base)) {}
  template <typename T>
  T* take(std::uint64_t bytes) {
    constexpr std::uint64_t kAligned = 256;
    auto* out = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += padded(bytes, kAligned);
    return out;
  }
  [[nodiscard]] std::uint64_t used() const { return used_; }

 private:
  std::byte* base_;
  std::uint64_t used_ = 0;
};

}  // namespace mmaudit::device
