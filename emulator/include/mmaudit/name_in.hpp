#pragma once
// The names of an enumeration as one list.
#include <cstddef>
#include <string_view>

namespace mmaudit {

/// `names` has one entry per enumerator, in the order of the enumerators, which count from 0.
template <class Enum, std::size_t Count>
constexpr std::string_view name_in(const std::string_view (&names)[Count], Enum one) {
  const auto at = static_cast<std::size_t>(one);
  return at < Count ? names[at] : "unknown";
}

}  // namespace mmaudit
