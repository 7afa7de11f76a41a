#pragma once
// What the program was told beside the options of one command.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/corpus/user_model.hpp"

namespace mmaudit::cli {

/// Filled while the command line is read; a command gets it when it runs.
struct Context {
  std::vector<std::string> command;                ///< as the user gave it, for provenance
  bool quiet = false;                              ///< --quiet: no progress on standard error
  std::string model_file;                          ///< --model; empty: the built-in architectures alone
  std::shared_ptr<const corpus::UserModel> model;  ///< read from it; null without --model

  /// The architecture of --model; null without.
  [[nodiscard]] const Architecture* own() const { return model ? &model->architecture : nullptr; }
};

/// One argument as bash reads it back byte for byte. What could change how a page or a terminal shows the
/// rest (control characters, bytes that are no UTF-8, marks of writing direction) is spelled as an escape, so
/// that the result is one line of text whatever a file is called.
std::string shell_quoted(std::string_view argument);

/// "mmaudit" and the arguments, each quoted.
std::vector<std::string> quoted_command(int argc, const char* const* argv);

}  // namespace mmaudit::cli
