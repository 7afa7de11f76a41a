#pragma once
// Dot products that broke laws, kept from run to run.
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/laws/check.hpp"

namespace mmaudit::checks {

/// One JSON object per line. An empty path: nothing is read or kept.
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
    std::string law;
    Instruction instruction;
    laws::Dot dot;
  };
  std::string path_, text_;
  std::vector<Entry> entries_;
  bool changed_ = false;
};

}  // namespace mmaudit::checks
