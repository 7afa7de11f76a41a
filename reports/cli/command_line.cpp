#include "context.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/printable.hpp"

namespace mmaudit::cli {
namespace {

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
    const Utf8Character next = first_of_utf8(argument);
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

std::vector<std::string> quoted_command(int argc, const char* const* argv) {
  std::vector<std::string> command = {"mmaudit"};
  for (int i = 1; i < argc; ++i) command.push_back(shell_quoted(argv[i]));
  return command;
}

}  // namespace mmaudit::cli
