#pragma once
// A dot product that broke a law: shown, replayed, kept.
#include <string>
#include <vector>

#include "mmaudit/laws/check.hpp"

namespace mmaudit::cli {

/// Hex and values, what was found and what the law allows, and the commands that explain and replay it.
std::string describe(const laws::Failure& failure, const laws::Law& law, const Architecture& architecture,
                     const std::string& replay);
std::string replay_command(const laws::Failure& failure, const std::string& backend,
                           const Architecture& architecture, const std::string& regressions);
/// Writes FOLDER/<law>-<instruction>.cu, which runs the instruction on the failing dot product and compares;
/// a line that names the file, or says why there is none.
std::string write_repro(const laws::Failure& failure, const std::string& folder);

/// An example database: one JSON object a line. An empty path: nothing is read or kept.
class RegressionFile {
 public:
  /// Throws InputError for a line that is none, naming file, line and field; a missing file is empty.
  explicit RegressionFile(std::string path);
  [[nodiscard]] std::vector<laws::Dot> dots(std::string_view law, const Instruction& instruction) const;
  void add(const laws::Failure& failure, const Architecture& architecture);
  /// Writes the file anew when something was added.
  void save() const;

 private:
  struct Entry {
    std::string law, instruction;
    laws::Dot dot;
  };
  std::string path_, text_;
  std::vector<Entry> entries_;
  bool changed_ = false;
};

}  // namespace mmaudit::cli
