#include "mmaudit/printable.hpp"

#include <algorithm>

namespace mmaudit {
namespace {

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20U || byte == 0x7FU;
}

bool continues_utf8(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::size_t end = std::min(limit, text.size());
  while (end < text.size() && end > 0 && continues_utf8(text[end])) --end;
  std::string line;
  for (const char c : text.substr(0, end)) {
    if (is_control(c)) {
      const auto byte = static_cast<unsigned char>(c);
      line += {'\\', 'x', "0123456789abcdef"[byte >> 4U], "0123456789abcdef"[byte & 15U]};
    } else {
      line += c;
    }
  }
  if (end < text.size()) line += "...";
  return line;
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

}  // namespace mmaudit
