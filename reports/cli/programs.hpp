#pragma once
// A program of commands: what `mmaudit` and `mmaudit-bench` share from main() to the chosen command.
#include <string>
#include <string_view>
#include <vector>

#include "options.hpp"

namespace mmaudit::cli {

struct Context;

/// A command at the top level, and what defines it. Without that it is one of mmaudit-bench.
struct Entry {
  std::string_view name;
  void (*add)(Command&) = nullptr;
};

/// Commands that answer questions of one kind, in the order of help.
struct Purpose {
  const char* title;
  std::vector<Entry> commands;
};

struct Program {
  std::string text;  ///< the first line of its help
  std::vector<std::string> examples;
  std::vector<Purpose> purposes;

  /// Whether the command is one of its own.
  [[nodiscard]] bool has(std::string_view command) const;
};
Program main_program();   ///< `mmaudit`
Program bench_program();  ///< `mmaudit-bench`

void add_completions(Command& app);
void add_man(Command& app);
void add_describe(Command& app);  ///< prints the commands as JSON, for the two before

/// What the command line asks for, not yet done. Errors: InputError; EnvironmentError where it asks for a
/// program that is not installed.
Action read_command_line(int argc, const char* const* argv, const Program& program, Context& context);
/// The whole program: parses, runs, and turns every error into one line on standard error and an exit code.
int run_program(int argc, const char* const* argv, const Program& program);
/// run_program(), for main().
int start(int argc, const char* const* argv, const Program& program);

}  // namespace mmaudit::cli
