#pragma once
// Elements of any width as 64-bit words, little-endian.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mmaudit {

inline std::uint64_t load_word(const void* base, std::size_t bytes, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(base) + index * bytes, bytes);
  return bits;
}

inline void store_word(void* base, std::size_t bytes, std::size_t index, std::uint64_t bits) {
  std::memcpy(static_cast<char*>(base) + index * bytes, &bits, bytes);
}

}  // namespace mmaudit
