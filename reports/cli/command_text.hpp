#pragma once
// What the commands and their options say about themselves, and the three forms it is read in: help on a
// terminal, manual pages, completions of shells. CLI11's definitions are the one source of all of them.
#include <map>
#include <string>
#include <vector>

namespace mmaudit::cli {

struct OptionText {
  std::vector<std::string> names;  ///< "-q", "--quiet"; of an argument without dashes its name alone
  std::string value;               ///< what follows the name: FILE, N, rn|rz; empty: nothing, it is a flag
  std::string text, note;          ///< the note says default and range
  bool argument = false;           ///< without dashes
  bool required = false, alone = false;  ///< alone: the value may be left out

  /// "-q, --quiet" or "--out FILE".
  [[nodiscard]] std::string spelled() const;
};

struct OptionGroup {
  std::string title;
  std::vector<OptionText> options;
};

struct CommandText {
  std::string path;     ///< "mmaudit sweep gemm"
  std::string purpose;  ///< the heading it stands under in the list of its parent
  std::string text;
  std::vector<std::string> examples;
  std::string exit_codes;
  std::vector<OptionGroup> groups;  ///< in the order of help; the last has what every command takes
  std::vector<CommandText> commands;

  /// The last word of the path.
  [[nodiscard]] std::string name() const;
};

/// What `--help` prints: lines of at most `width` columns.
std::string help_text(const CommandText& command, std::size_t width, bool colored);

/// One manual page (section 1) in roff. Name of its file: the path with dashes, and ".1".
std::string manual_page(const CommandText& command, const std::string& version);
std::string manual_name(const CommandText& command);

/// Words that may stand for a value, by its placeholder: {"ARCH", {"hopper", ...}}.
using ValueWords = std::map<std::string, std::vector<std::string>>;

/// The shells that completion_script() knows.
std::vector<std::string> completed_shells();
/// A completion script for one of them.
std::string completion_script(const CommandText& program, const std::string& shell, const ValueWords& words);

}  // namespace mmaudit::cli
