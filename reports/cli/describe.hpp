#pragma once
// CLI11's definitions as text; for the two sources that see CLI11.
#include <CLI/CLI.hpp>

#include "command_text.hpp"

namespace mmaudit::cli {

/// "mmaudit sweep gemm".
std::string path_of(const CLI::App& command);
/// The outermost, the program itself.
const CLI::App& program_of(const CLI::App& command);
/// The commands inside it that help, manual pages and completions list: all but those that hide().
std::vector<const CLI::App*> shown_commands(const CLI::App& command);
/// Without exit codes.
CommandText describe(const CLI::App& command);

}  // namespace mmaudit::cli
