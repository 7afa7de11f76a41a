#pragma once
// Types of PTX and what their widths do to the bits of a register.
#include <cstdint>
#include <string>
#include <string_view>

namespace mmaudit::tmem {

/// Bits of a type of PTX: 32 of "b32"; 0 for one that is not followed here.
inline int width_of(std::string_view type) {
  if (type == "pred") return 1;
  if (type.size() < 2 || std::string_view("bus").find(type[0]) == std::string_view::npos)
    return type == "f32" ? 32 : 0;
  const std::string_view digits = type.substr(1);
  for (const int width : {8, 16, 32, 64})
    if (digits == std::to_string(width)) return width;
  return 0;
}

inline std::uint64_t masked(std::uint64_t value, int width) {
  return width >= 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

/// The number that the low `width` bits are in two's complement.
inline std::int64_t extended(std::uint64_t value, int width) {
  const int rest = 64 - width;
  return static_cast<std::int64_t>(value << rest) >> rest;
}

}  // namespace mmaudit::tmem
