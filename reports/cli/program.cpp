#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

#include "command_line.hpp"
#include "common.hpp"
#include "mmaudit/version.hpp"

namespace mmaudit::cli {
namespace {

/// CLI11 reads -1 as the largest unsigned number.
void refuse_negative_counts(CLI::App& app) {
  const CLI::Validator not_negative(
      [](std::string& text) {
        return text.starts_with('-') ? fmt::format("found {}, allowed: 0 or more", text) : std::string();
      },
      "");
  for (CLI::Option* option : app.get_options())
    if (option->get_type_name().starts_with("UINT")) option->check(not_negative);
  for (CLI::App* command : app.get_subcommands({})) refuse_negative_counts(*command);
}

int run(int argc, const char* const* argv) {
  CLI::App app{
      "mmaudit: which bits does a tensor-core instruction produce, and is that proven on real GPUs?"};
  app.set_version_flag("--version", fmt::format("mmaudit {} ({})", kVersion, kGitRevision));
  app.require_subcommand(1);
  app.fallthrough();
  app.add_flag_callback(
      "-q,--quiet", [] { Progress::silence(); }, "no progress on standard error");
  app.footer("Exit codes: 0 all good, 1 mismatch, 2 usage or bad input, 3 environment (no GPU, no driver).");
  Action action;
  add_list(app, action);
  add_tiles(app, action);
  add_verify(app, action);
  add_laws(app, action);
  add_campaign(app, action);
  add_explain(app, action);
  add_record(app, action);
  add_audit(app, action);
  add_baseline(app, action);
  add_diff(app, action);
  add_convert(app, action);
  add_layout(app, action);
  add_matmul(app, action);
  add_sweep(app, action);
  refuse_negative_counts(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::fputs(fmt::format("mmaudit: {} (see `mmaudit --help`)\n", error.what()).c_str(), stderr);
    return kBadInput;
  }
  return action();
}

}  // namespace

int program(int argc, const char* const* argv) {
  try {
    remember_command(argc, argv);
    return run(argc, argv);
  } catch (const InputError& error) {
    std::fputs(fmt::format("mmaudit: {}\n", error.what()).c_str(), stderr);
    return kBadInput;
  } catch (const std::exception& error) {  // EnvironmentError, and what nobody foresaw
    std::fputs(fmt::format("mmaudit: {}\n", error.what()).c_str(), stderr);
    return kEnvironment;
  }
}

}  // namespace mmaudit::cli
