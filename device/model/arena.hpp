#pragma once
// Cuts a work space into arrays.
#include <cstddef>
#include <cstdint>

#include "model/unpacked.hpp"

namespace mmaudit::device {

/// Each array starts at a multiple of what any access wants; without a base every address is null.
class Arena {
 public:
  static constexpr std::uint64_t kAligned = 256;
  explicit Arena(void* base) : base_(static_cast<std::byte*>(base)) {}
  template <typename T>
  T* take(std::uint64_t bytes) {
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
