#pragma once
// Where a command writes its report: one option per renderer, the same in every command.
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::cli {

class Outputs {
 public:
  /// Adds --json FILE, --html FILE and so on to the command, under "Output". `flag`: --json is a flag, which
  /// prints.
  void add_to(Command& command, bool flag = false);

  /// Adds --svg FILE, for a report with a figure; `text`: what it shows.
  void add_picture_to(Command& command, const std::string& text);
  /// Prints this format instead of the text, as --NAME - does.
  void print_as(std::string_view renderer) { paths_[std::string(renderer)] = "-"; }

  /// The files that will be written, after the files of `more`, for try_outputs() and Progress. Errors:
  /// InputError for an empty name.
  [[nodiscard]] std::vector<NamedFile> files(std::vector<NamedFile> more = {}) const;
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] bool writes(std::string_view option) const;
  /// Whether standard output gets something else than the text.
  [[nodiscard]] bool printed() const;

  /// What: writes its files and the files of `more`, all or none; then prints what "-" asks for, which may be
  /// one of `more`, or else the text. The report gets the program's version and the command line, where it
  /// does not have them. Returns: the exit code that the report's verdict stands for.
  int publish(report::Report report, const Context& context, std::vector<corpus::TextFile> more = {}) const;
  /// The files alone, of work that goes on.
  void keep(report::Report report, const Context& context) const;

 private:
  /// Gives the report what it lacks, and draws it for each file.
  std::vector<corpus::TextFile> drawn(report::Report& report, const Context& context) const;
  std::map<std::string, std::string> paths_;  ///< by the renderer's name; stable, since parsing writes them
  std::vector<std::pair<std::string, Option>> options_;
  std::string picture_;
  bool json_flag_ = false;
};

}  // namespace mmaudit::cli
