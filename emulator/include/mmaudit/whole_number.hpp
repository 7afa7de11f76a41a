#pragma once
// A text that is a number and nothing else.
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace mmaudit {

/// The number that all of `text` spells; nullopt for any other text, an empty one, and what Number does not
/// hold.
template <class Number>
std::optional<Number> whole_number(std::string_view text, int base = 10) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace mmaudit
