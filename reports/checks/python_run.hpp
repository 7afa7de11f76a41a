#pragma once
// Scripts that run in a Python of the user's.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/scratch_folder.hpp"

namespace mmaudit::checks {

/// A script of Python and the files that it shares with us, in a folder that is gone afterwards.
class PythonRun {
 public:
  /// Errors: EnvironmentError where no folder can be made.
  PythonRun();
  /// Errors: EnvironmentError.
  void write(const std::string& name, const void* data, std::size_t bytes) const;
  /// What the script wrote. Errors: EnvironmentError where that is not `bytes` long; 0: any length.
  [[nodiscard]] std::string read(const std::string& name, std::size_t bytes = 0) const;
  /// What: runs `script` by the program `python`; it gets the folder and `words`. Errors: the last line that
  /// was printed, as InputError where the script ends with 2, else behind `what` as EnvironmentError. Ctrl-C
  /// ends this program, too.
  void run(const std::string& python, std::string_view script, const std::vector<std::string>& words,
           const std::string& what) const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  ScratchFolder folder_;
};

}  // namespace mmaudit::checks
