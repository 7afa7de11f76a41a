#pragma once
// Elements in global memory by index. Host too: what dot() calls has to be both.
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
