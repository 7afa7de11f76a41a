#pragma once
// Elements in global memory by index. dot() is host and device code, so what it calls must be both.
#include <cstdint>

#include "mmaudit/config.hpp"

namespace mmaudit::device {

MMAUDIT_HD inline std::uint64_t load(const void* base, int bytes, std::uint64_t index) {
  switch (bytes) {
    case 1:
      return static_cast<const std::uint8_t*>(base)[index];
    case 2:
      return static_cast<const std::uint16_t*>(base)[index];
    case 4:
      return static_cast<const std::uint32_t*>(base)[index];
    default:
      return static_cast<const std::uint64_t*>(base)[index];
  }
}

MMAUDIT_HD inline void store(void* base, int bytes, std::uint64_t index, std::uint64_t bits) {
  switch (bytes) {
    case 1:
      static_cast<std::uint8_t*>(base)[index] = static_cast<std::uint8_t>(bits);
      break;
    case 2:
      static_cast<std::uint16_t*>(base)[index] = static_cast<std::uint16_t>(bits);
      break;
    case 4:
      static_cast<std::uint32_t*>(base)[index] = static_cast<std::uint32_t>(bits);
      break;
    default:
      static_cast<std::uint64_t*>(base)[index] = bits;
  }
}

/// Every `stride`-th element from `first`: a row of A or a column of B as dot() reads it.
struct LoadAt {
  const void* base;
  int bytes;
  std::uint64_t first;
  int stride;
  MMAUDIT_HD std::uint64_t operator()(int k) const {
    return load(base, bytes, first + static_cast<unsigned>(k * stride));
  }
};

}  // namespace mmaudit::device
