#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "run/cuda_check.hpp"

namespace mmaudit::device {

/// Elements of one tile, read back from the device.
class TileReader {
 public:
  TileReader(const void* base, std::size_t tile_bytes, std::size_t tile, std::size_t element_bytes)
      : words_(tile_bytes), element_bytes_(element_bytes) {
    copy_out(words_.data(), static_cast<const char*>(base) + tile * tile_bytes, tile_bytes);
  }
  [[nodiscard]] std::uint64_t operator[](std::size_t index) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, words_.data() + index * element_bytes_, element_bytes_);
    return bits;
  }

 private:
  std::vector<char> words_;
  std::size_t element_bytes_;
};

}  // namespace mmaudit::device
