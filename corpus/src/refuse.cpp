#include "refuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "mmaudit/error.hpp"

namespace mmaudit::corpus {
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
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  if (end < text.size()) line += "...";
  return line;
}

std::string label_of(const std::filesystem::path& path) {
  return printable(path.native(), std::numeric_limits<std::size_t>::max());
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_control);
}

void refuse(std::string_view file, std::string_view field, std::string_view found, std::string_view allowed) {
  throw InputError(fmt::format("{}: {}: found {}, allowed {}", file, field, found, allowed));
}

}  // namespace mmaudit::corpus
