#pragma once
// --library, --command and --socket: a function of the user, for the commands that probe one.
#include <memory>
#include <string>

#include "foreign_function.hpp"
#include "options.hpp"

namespace mmaudit::cli {

struct ForeignOptions {
  std::string library, command;
  int socket = -1;
  double timeout = 60;

  [[nodiscard]] bool given() const { return !library.empty() || !command.empty() || socket >= 0; }
};
/// All but the library, which `mmaudit gemm reveal` takes without an option.
void add_foreign_options(Command& command, ForeignOptions& options);
/// InputError unless one of the three is given.
std::shared_ptr<checks::ForeignFunction> start(const ForeignOptions& options, checks::Signature signature);

}  // namespace mmaudit::cli
