#pragma once
// What the subcommands of `mmaudit time` share.
#include <string>

#include "common.hpp"
#include "outputs.hpp"
#include "timing/machine_file.hpp"

namespace mmaudit::cli {

/// --arch and --machine.
struct MachineChoice {
  std::string machine, file;
};
void add_machine_options(Command& command, MachineChoice& options);
timing::Machine machine_of(const MachineChoice& options);

/// What `read` returns. Errors: what it refuses, with the name of the file before it.
template <typename Read>
auto in_file(const std::string& file, Read&& read) {
  try {
    return read();
  } catch (const InputError& error) {
    throw InputError(file + ": " + error.what());
  }
}

/// Adds `mmaudit time gemm`.
void add_time_gemm(Command& time);

}  // namespace mmaudit::cli
