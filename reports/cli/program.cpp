#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>

#include "common.hpp"
#include "context.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/version.hpp"

namespace mmaudit::cli {
namespace {

constexpr auto kCommands = {add_list,    add_tiles,  add_verify, add_laws,     add_campaign,
                            add_explain, add_record, add_audit,  add_baseline, add_diff,
                            add_convert, add_layout, add_matmul, add_pack,     add_sweep};

int run(int argc, const char* const* argv) {
  const ProgramText text{
      "mmaudit: which bits does a tensor-core instruction produce, and is that proven on real GPUs?",
      fmt::format("mmaudit {} ({})", kVersion, kGitRevision),
      "Exit codes: 0 all good, 1 mismatch, 2 usage or bad input, 3 environment (no GPU, no driver)."};
  Context context;
  context.command = quoted_command(argc, argv);
  const Action action = parse(argc, argv, text, context, [&](Command& program) {
    program.flag("-q,--quiet", context.quiet, "no progress on standard error");
    for (const auto add : kCommands) add(program);
  });
  if (!context.model_file.empty()) context.model = corpus::load_model(context.model_file);
  return action(context);
}

int failed(const std::exception& error, int code) {
  const std::string line = printable(error.what(), std::string::npos);
  std::fputs(fmt::format("mmaudit: {}\n", line).c_str(), stderr);
  return code;
}

}  // namespace

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
