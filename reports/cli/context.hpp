#pragma once
// What the program was told beside the options of one command.
#include <memory>
#include <string>
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

}  // namespace mmaudit::cli
