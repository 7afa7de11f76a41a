#pragma once
// Elements of any width as 64-bit words, little-endian.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace mmaudit {
namespace detail {

/// use(bytes), a constant for the usual widths: a copy of a known width is one instruction, where others are
/// a call.
template <typename Use>
auto with_width(std::size_t bytes, const Use& use) {
  switch (bytes) {  // NOLINT(bugprone-branch-clone): the types differ
    case 1:
      return use(std::integral_constant<std::size_t, 1>());
    case 2:
      return use(std::integral_constant<std::size_t, 2>());
    case 4:
      return use(std::integral_constant<std::size_t, 4>());
    case 8:
      return use(std::integral_constant<std::size_t, 8>());
    default:
      return use(bytes);
  }
}

}  // namespace detail

inline std::uint64_t load_word(const void* base, std::size_t bytes, std::size_t index) {
  return detail::with_width(bytes, [&](auto width) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char*>(base) + index * width, width);
    return bits;
  });
}

inline void store_word(void* base, std::size_t bytes, std::size_t index, std::uint64_t bits) {
  detail::with_width(
      bytes, [&](auto width) { std::memcpy(static_cast<char*>(base) + index * width, &bits, width); });
}

}  // namespace mmaudit
