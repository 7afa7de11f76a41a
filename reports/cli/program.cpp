#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <vector>

#include "command_text.hpp"
#include "common.hpp"
#include "context.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/version.hpp"

namespace mmaudit::cli {
namespace {

struct Purpose {
  const char* title;
  std::vector<void (*)(Command&)> commands;
};

/// In the order of help.
std::vector<Purpose> purposes() {
  return {{"Choose a data type", {add_audit}},
          {"See what an instruction does", {add_explain, add_list, add_convert, add_probe}},
          {"Compute the same bits", {add_matmul, add_gemm, add_tcgen05}},
          {"Check a GPU, a driver, the model", {add_verify, add_baseline, add_screen}},
          {"Measure speed", {add_sweep, add_time}},
          {"This installation", {add_doctor, add_shell}}};
}

/// Columns of the terminal, as far as they are good for reading.
std::size_t width_of_help() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::clamp<std::size_t>(size.ws_col, 60, 120);
}

int run(int argc, const char* const* argv) {
  Context context;
  context.command = quoted_command(argc, argv);
  const Action action = read_command_line(argc, argv, context);
  if (!context.model_file.empty()) context.model = corpus::load_model(context.model_file);
  return action(context);
}

int failed(const std::exception& error, int code) {
  const std::string line = printable(error.what(), std::string::npos);
  std::fputs(fmt::format("mmaudit: {}\n", line).c_str(), stderr);
  return code;
}

}  // namespace

Action read_command_line(int argc, const char* const* argv, Context& context) {
  choose_colors("auto");
  std::string when = "auto";
  const ProgramText text{
      "mmaudit: which bits does a tensor-core instruction produce, and is that proven on real GPUs?",
      fmt::format("mmaudit {} ({})", kVersion, kGitRevision),
      kExitCodes,
      {"mmaudit audit --a x.npy --b w.npy --dtype e4m3,bf16",
       "mmaudit explain --inst mma.m16n8k16.f32.f16.f16.f32 --a 1,2^-12 --b 1,1 --c 0.5", "mmaudit verify"},
      [&](const CommandText& command) {
        choose_colors(when);
        return help_text(command, width_of_help(), colors());
      }};
  Action action = parse(argc, argv, text, context, [&](Command& program) {
    program.section(kEverywhere);
    program.flag("-q,--quiet", context.quiet, "no progress on standard error");
    program.option("--color", when, "auto: on a terminal, unless NO_COLOR is set")
        .one_of({"auto", "always", "never"});
    for (const Purpose& purpose : purposes()) {
      program.heading(purpose.title);
      for (const auto add : purpose.commands) add(program);
    }
  });
  choose_colors(when);
  return action;
}

int program(int argc, const char* const* argv) {
  try {
    try {
      return run(argc, argv);
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

}  // namespace mmaudit::cli
