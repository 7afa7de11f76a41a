#pragma once
// What the program was told beside the options of one command.
#include <string>

namespace mmaudit::cli {

/// Filled while the command line is read; a command gets it when it runs.
struct Context {
  bool quiet = false;      ///< --quiet: no progress on standard error
  std::string model_file;  ///< --model; empty: the built-in architectures alone
};

}  // namespace mmaudit::cli
