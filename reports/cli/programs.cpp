#include "programs.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "beside.hpp"
#include "command_text.hpp"
#include "common.hpp"
#include "context.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/version.hpp"
#include "respelled.hpp"

namespace mmaudit::cli {
namespace {

/// Columns of the terminal, as far as they are good for reading.
std::size_t width_of_help() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::clamp<std::size_t>(size.ws_col, 60, 120);
}

int run(int argc, const char* const* argv, const Program& program) {
  Context context;
  context.command = quoted_command(argc, argv);
  const Action action = read_command_line(argc, argv, program, context);
  if (!context.model_file.empty()) context.model = corpus::load_model(context.model_file);
  return action(context);
}

int failed(const std::exception& error, int code) {
  const std::string line = printable(error.what(), std::string::npos);
  std::fputs(fmt::format("mmaudit: {}\n", line).c_str(), stderr);
  return code;
}

/// JSON allocates while it is destroyed: memory that runs out once more then ends here.
[[noreturn]] void end() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    std::fputs("mmaudit: out of memory\n", stderr);
    std::_Exit(kEnvironment);
  } catch (...) {
    std::fputs("mmaudit: stopped by an error that nothing handles\n", stderr);
  }
  std::abort();
}

void add_commands(Command& root, const Program& program) {
  for (const Purpose& purpose : program.purposes) {
    root.heading(purpose.title);
    for (const Entry& entry : purpose.commands) {
      if (entry.add != nullptr)
        entry.add(root);
      else
        root.command(std::string(entry.name), std::string(bench_text(entry.name)), {});
    }
  }
}

/// Commands of programs that are not ours, for help and for what a wrong word may have meant.
void add_foreign(Command& root, const Program& program) {
  root.heading(kForeign);
  for (const std::string& name : foreign_commands())
    if (!program.has(name) && bench_text(name).empty() && new_spelling(name).empty())
      root.command(name, "mmaudit-" + name, {});
}

}  // namespace

bool Program::has(std::string_view command) const {
  for (const Purpose& purpose : purposes)
    for (const Entry& entry : purpose.commands)
      if (entry.name == command) return entry.add != nullptr;
  return false;
}

Action read_command_line(int argc, const char* const* argv, const Program& program, Context& context) {
  choose_colors("auto");
  std::string when = "auto";
  const ProgramText text{program.text,
                         own_version(),
                         kExitCodes,
                         program.examples,
                         [&](const CommandText& command) {
                           choose_colors(when);
                           return help_text(command, width_of_help(), colors());
                         },
                         [&](const std::string& word) {
                           return program.has(word) ? std::filesystem::path() : program_of(word);
                         }};
  Action action = parse(argc, argv, text, context, [&](Command& root) {
    root.section(kEverywhere);
    root.flag("-q,--quiet", context.quiet, "no progress on standard error");
    root.option("--color", when, "auto: on a terminal, unless NO_COLOR is set")
        .one_of({"auto", "always", "never"});
    add_commands(root, program);
    if (std::none_of(argv + 1, argv + argc, [&](const char* word) { return program.has(word); }))
      add_foreign(root, program);
  });
  choose_colors(when);
  return action;
}

int run_program(int argc, const char* const* argv, const Program& program) {
  try {
    try {
      return run(argc, argv, program);
    } catch (const InputError& error) {
      return failed(error, kBadInput);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& error) {  // EnvironmentError, and anything unforeseen
      return failed(error, kEnvironment);
    }
  } catch (const std::bad_alloc&) {  // of the command, or of its message
    std::fputs("mmaudit: out of memory\n", stderr);
    return kEnvironment;
  }
}

int start(int argc, const char* const* argv, const Program& program) {
  std::set_terminate(end);
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error of a write, like a full disk
  return run_program(argc, argv, program);
}

}  // namespace mmaudit::cli
