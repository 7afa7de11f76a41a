#pragma once
// Text from outside in a message: one line, whatever bytes it holds.
#include <cstddef>
#include <string>
#include <string_view>

namespace mmaudit {

/// `text` with control characters as \xNN, cut to about `limit` bytes: text from outside must not forge a
/// second line.
std::string printable(std::string_view text, std::size_t limit = 120);

/// True if `text` holds a control character.
bool has_control_characters(std::string_view text);

}  // namespace mmaudit
