// mmaudit completions, mmaudit man: what the build installs for shells and for man(1).
#include <fmt/format.h>

#include <memory>

#include "beside.hpp"
#include "command_text.hpp"
#include "common.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/gemm_combination.hpp"
#include "mmaudit/version.hpp"
#include "programs.hpp"

namespace mmaudit::cli {
namespace {

struct ShellOptions {
  std::string shell, out;
};

/// Of `mmaudit`; commands of mmaudit-bench with their options, where it is installed.
CommandText program_text(const Command& program) {
  CommandText text = program.described();
  text.exit_codes = kExitCodes;
  std::erase_if(text.commands, [](const CommandText& one) { return one.purpose == kForeign; });
  for (const CommandText& theirs : described_by_bench())
    for (CommandText& one : text.commands)
      if (one.path == theirs.path) {
        const std::string purpose = one.purpose;
        one = theirs;
        one.purpose = purpose;
      }
  return text;
}

int print_completions(const ShellOptions& options, const Command& program) {
  ValueWords words;
  for (const Architecture& one : architectures()) words["ARCH"].emplace_back(one.name);
  for (const Instruction& one : kInstructions) words["INST"].push_back(name_of(one));
  for (const NamedFormat& one : kFormats) words["FORMAT"].emplace_back(one.name);
  for (const GemmDtype& one : gemm_dtypes())
    if (!one.of_recipe || one.integer()) words["DTYPE"].emplace_back(one.name);
  words["SCALE"] = scaling_names();
  words["POLICY"] = {"plain", "promote:128", "split-k:4", "half"};
  print(completion_script(program_text(program), options.shell, words));
  return kAllGood;
}

void write_pages(CommandText command, const std::string& folder, const std::string& version) {
  command.exit_codes = kExitCodes;
  corpus::write_file_atomically(fmt::format("{}/{}.1", folder, manual_name(command)),
                                std::string_view(manual_page(command, version)));
  for (const CommandText& one : command.commands) write_pages(one, folder, version);
}

int manual(const ShellOptions& options, const Command& program) {
  const std::string version = fmt::format("mmaudit {}", kVersion);
  if (options.out.empty()) {
    print(manual_page(program_text(program), version));
    return kAllGood;
  }
  make_folder(options.out);
  write_pages(program_text(program), options.out, version);
  return kAllGood;
}

}  // namespace

void add_completions(Command& app) {
  auto options = std::make_shared<ShellOptions>();
  Command completions =
      app.command("completions", "Completion script for a shell (cmake --install puts all three in place)",
                  {"mmaudit completions bash >~/.local/share/bash-completion/completions/mmaudit",
                   "mmaudit completions fish >~/.config/fish/completions/mmaudit.fish"});
  completions.hide();
  completions.option("SHELL", options->shell, "bash, zsh or fish").required().one_of(completed_shells());
  completions.runs([options, app](const Context&) { return print_completions(*options, app); });
}

void add_man(Command& app) {
  auto options = std::make_shared<ShellOptions>();
  Command man = app.command("man", "Manual pages (cmake --install puts them in place)",
                            {"mmaudit man | man -l -", "mmaudit man --out man1"});
  man.hide();
  man.option("--out DIR", options->out,
             "write a page per command into this folder; without it the first is printed");
  man.runs([options, app](const Context&) { return manual(*options, app); });
}

void add_describe(Command& app) {
  Command command = app.command("describe", "The commands and their options as JSON", {});
  command.hide();
  command.runs([app](const Context&) {
    print(description_of(app.described()) + "\n");
    return kAllGood;
  });
}

}  // namespace mmaudit::cli
