// The definitions of CLI11 as text.
#include "command_text.hpp"

#include <algorithm>
#include <sstream>

#include "describe.hpp"
#include "options.hpp"

namespace mmaudit::cli {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) out.push_back(line);
  return out;
}

OptionText text_of(const CLI::Option& option) {
  OptionText out;
  out.argument = option.get_positional();
  if (out.argument) {
    out.names = {option.get_name(true, false)};
  } else {
    for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  }
  out.text = option.get_description();
  out.required = option.get_required();
  if (option.get_items_expected_max() != 0) {
    // "TYPE:what one validator says:what the next says"
    const std::string type = option.get_type_name();
    const std::size_t colon = type.find(':');
    out.value = type.substr(0, colon);
    for (const auto& [theirs, ours] : {std::pair("UINT", "N"), {"INT", "N"}, {"FLOAT", "X"}})
      if (out.value == theirs) out.value = ours;
    if (option.get_delimiter() == ',' && !out.value.ends_with("...")) out.value += ",...";
    out.alone = option.get_expected_min() == 0;
    if (const std::string value = option.get_default_str(); !value.empty() && !out.alone)
      out.note = "default: " + value;
    if (colon != std::string::npos) out.note += (out.note.empty() ? "" : "; ") + type.substr(colon + 1);
  }
  return out;
}

/// Adds `option` to the group of its name.
void add(const CLI::Option& option, std::vector<OptionGroup>& groups) {
  const std::string& title = option.get_group();
  auto group =
      std::find_if(groups.begin(), groups.end(), [&](const OptionGroup& one) { return one.title == title; });
  if (group == groups.end()) group = groups.insert(groups.end(), OptionGroup{title, {}});
  group->options.push_back(text_of(option));
}

}  // namespace

std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : path_of(*parent) + " " + command.get_name();
}

const CLI::App& program_of(const CLI::App& command) {
  return command.get_parent() == nullptr ? command : program_of(*command.get_parent());
}

std::vector<const CLI::App*> shown_commands(const CLI::App& command) {
  return command.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); });
}

CommandText describe(const CLI::App& command) {
  CommandText out;
  out.path = path_of(command);
  out.purpose = command.get_group();
  out.text = command.get_description();
  out.examples = lines_of(command.get_footer());
  for (const CLI::Option* option : command.get_options())
    if (option != command.get_help_ptr() && option->get_group() != kEverywhere) add(*option, out.groups);
  const CLI::App& program = program_of(command);
  for (const CLI::Option* option : program.get_options())
    if (option->get_group() == kEverywhere && (&program == &command || option->get_name() != "--version"))
      add(*option, out.groups);
  for (const CLI::App* inner : shown_commands(command)) out.commands.push_back(describe(*inner));
  return out;
}

}  // namespace mmaudit::cli
