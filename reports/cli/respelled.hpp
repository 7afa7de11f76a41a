#pragma once
// Commands that had another name: the old one works for one release, and says the new one.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit::cli {

struct Respelled {
  std::string_view was, is;
};

inline constexpr Respelled kRespelled[] = {
    {"emulate", "matmul --tiles"}, {"run", "matmul --on gpu"},      {"compare", "matmul --on both"},
    {"laws", "verify laws"},       {"campaign", "verify campaign"}, {"record", "baseline corpus"},
    {"diff", "baseline diff"},     {"layout", "explain layout"},    {"pack", "convert pack"},
};

/// The new words of an old command; empty for any other word.
std::string_view new_spelling(std::string_view command);

/// A command line without the program's name, as it is parsed: old commands as new ones, `help X` as
/// `X --help`, `version` as `--version`. `note` says the new name of an old one, else is
/// empty. `command`: the word that chooses one, if any. `of_help`: it was `help X`.
struct CommandLine {
  std::vector<std::string> words;
  std::string note, command;
  bool of_help = false;
};
/// `has_value`: whether an option that stands before the command takes the word behind it.
CommandLine respelled(std::vector<std::string> words,
                      const std::function<bool(const std::string&)>& has_value);

}  // namespace mmaudit::cli
