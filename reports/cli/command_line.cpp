#include "command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace mmaudit::cli {
namespace {

/// A character of UTF-8: its code point and how many bytes it has; 0 bytes: no UTF-8 here.
struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 && lead < 0xF8   ? 4
                            : lead >= 0xE0 && lead < 0xF0 ? 3
                            : lead >= 0xC2 && lead < 0xE0 ? 2
                                                          : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return {};
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return code < kLeast[bytes] || code > 0x10FFFF || surrogate ? Character{} : Character{code, bytes};
}

/// Shown as something else than itself: controls of C1, line separators, marks of direction, zero width.
bool is_hidden(std::uint32_t code) {
  constexpr struct {
    std::uint32_t first, last;
  } kRanges[] = {{0x00, 0x1F},     {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},
                 {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}};
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [&](const auto& range) { return code >= range.first && code <= range.last; });
}

bool is_plain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_quoted(std::string_view argument) {
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), is_plain))
    return std::string(argument);
  std::string plain = "'", escaped = "$'";
  bool hidden = false;
  while (!argument.empty()) {
    const Character next = first_of(argument);
    const std::string_view bytes = argument.substr(0, std::max<std::size_t>(next.bytes, 1));
    argument.remove_prefix(bytes.size());
    if (next.bytes == 0 || is_hidden(next.code)) {
      hidden = true;
      for (const char byte : bytes) escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      continue;
    }
    plain += bytes == "'" ? "'\\''" : bytes;
    if (bytes == "'" || bytes == "\\") escaped += '\\';
    escaped += bytes;
  }
  return (hidden ? escaped : plain) + '\'';
}

std::string quoted_command(int argc, const char* const* argv) {
  std::string command = "mmaudit";
  for (int i = 1; i < argc; ++i) command += ' ' + shell_quoted(argv[i]);
  return command;
}

}  // namespace mmaudit::cli
