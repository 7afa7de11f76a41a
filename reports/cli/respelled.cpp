#include "respelled.hpp"

#include <fmt/format.h>

#include <iterator>
#include <sstream>

namespace mmaudit::cli {

std::string_view new_spelling(std::string_view command) {
  for (const Respelled& one : kRespelled)
    if (one.was == command) return one.is;
  return {};
}

CommandLine respelled(std::vector<std::string> words,
                      const std::function<bool(const std::string&)>& has_value) {
  CommandLine line;
  const auto command = [&] {
    auto at = words.begin();
    while (at != words.end() && at->starts_with('-')) at += has_value(*at) && at + 1 != words.end() ? 2 : 1;
    return at;
  };
  auto at = command();
  if (at != words.end() && *at == "version") *at = "--version";
  if (at != words.end() && *at == "help") {
    line.of_help = true;
    words.erase(at);
    words.emplace_back("--help");
    at = command();
  }
  if (const std::string_view is = at == words.end() ? "" : new_spelling(*at); !is.empty()) {
    line.note = fmt::format("mmaudit: `{}` is now `{}`\n", *at, is);
    std::istringstream text{std::string(is)};
    const std::vector<std::string> now{std::istream_iterator<std::string>(text), {}};
    words.insert(words.erase(at), now.begin(), now.end());
  }
  if (const auto chosen = command(); chosen != words.end()) line.command = *chosen;
  line.words = std::move(words);
  return line;
}

}  // namespace mmaudit::cli
