#pragma once
// A text that is a number and nothing else.
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace mmaudit {

/// The number that all of `text` spells; nullopt for any other text, an empty one, and what Number does not
/// hold. `base` is that of an integer; a floating number is decimal.
template <class Number>
std::optional<Number> whole_number(std::string_view text, int base = 10) {
  Number value{};
  const char* const last = text.data() + text.size();
  std::from_chars_result read{};
  if constexpr (std::is_floating_point_v<Number>)
    read = std::from_chars(text.data(), last, value);
  else
    read = std::from_chars(text.data(), last, value, base);
  if (read.ec != std::errc{} || read.ptr != last) return std::nullopt;
  return value;
}

}  // namespace mmaudit
