#pragma once
// Text from outside in what people read: whatever bytes it holds, they see all of it and no second line.
#include <cstddef>
#include <string>
#include <string_view>

namespace mmaudit {

/// A character of UTF-8: its code point and how many bytes it has; 0 bytes: no UTF-8 here.
struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;
};
/// The first character of `text`, which must not be empty.
Utf8Character first_of_utf8(std::string_view text);

/// Shown as something else than itself: control characters, line separators, marks of direction, zero width.
bool is_hidden(char32_t code);

/// `text` on one line, cut to about `limit` bytes: bytes of hidden characters and bytes that are no UTF-8 as
/// \xNN.
std::string printable(std::string_view text, std::size_t limit = 120);

/// `text` of several lines: newlines and tabs stay, hidden characters become \uNNNN, as JSON spells them too;
/// bytes that are no UTF-8 become \ufffd.
std::string made_visible(std::string_view text);

/// `text` inside single quotes of a shell.
std::string in_shell_quotes(std::string_view text);

/// True if `text` holds a control character of ASCII.
bool has_control_characters(std::string_view text);

}  // namespace mmaudit
