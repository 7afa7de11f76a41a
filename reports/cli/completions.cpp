// Completion scripts. Each knows the commands, their options, and what may stand for a value.
#include <fmt/format.h>

#include <functional>

#include "command_text.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::cli {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, " ")); }

/// What a shell offers for a value: "files", "folders", or words; empty: nothing.
std::string offered(const std::string& value, const ValueWords& words) {
  if (value.find('|') != std::string::npos) {
    std::string choices = value.substr(0, value.find(','));
    for (char& c : choices)
      if (c == '|') c = ' ';
    return choices;
  }
  const std::string kind = value.substr(0, value.find_first_of(",. "));
  if (kind == "FILE") return "files";
  if (kind == "DIR") return "folders";
  const auto found = words.find(kind);
  return found == words.end() ? "" : joined(found->second);
}

/// A value that may be several, with commas between them.
bool is_list(const OptionText& option) { return option.value.ends_with(",..."); }

void for_each_command(const CommandText& command, const std::function<void(const CommandText&)>& act) {
  act(command);
  for (const CommandText& one : command.commands) for_each_command(one, act);
}

void for_each_option(const CommandText& command, const std::function<void(const OptionText&)>& act) {
  for (const OptionGroup& group : command.groups)
    for (const OptionText& option : group.options) act(option);
}

std::string bash_script(const CommandText& program, const ValueWords& words) {
  std::string paths, values, offers, valued;
  for_each_command(program, [&](const CommandText& command) {
    if (command.path != program.path) paths += (paths.empty() ? "" : " | ") + in_shell_quotes(command.path);
    std::vector<std::string> names;
    for (const CommandText& one : command.commands) names.push_back(one.name());
    for_each_option(command, [&](const OptionText& option) {
      if (!option.argument) names.insert(names.end(), option.names.begin(), option.names.end());
      if (option.argument && option.value.find('|') != std::string::npos)
        names.push_back(offered(option.value, words));
      if (option.value.empty()) return;
      std::string pattern;
      for (const std::string& name : option.names)
        pattern += (pattern.empty() ? "" : " | ") + in_shell_quotes(command.path + " " + name);
      const std::string offer = offered(option.value, words);
      const std::string reply =
          offer == "files"     ? "_mmaudit_files -f"
          : offer == "folders" ? "_mmaudit_files -d"
          : is_list(option)
              ? fmt::format("compgen -P \"$listed\" -W {} -- \"${{word##*,}}\"", in_shell_quotes(offer))
              : fmt::format("compgen -W {} -- \"$word\"", in_shell_quotes(offer));
      if (option.argument) return;
      values += fmt::format("    {}) {}; {} ;;\n", pattern,
                            reply.starts_with("_") ? reply : "mapfile -t COMPREPLY < <(" + reply + ")",
                            option.alone ? "[[ $word == -* ]] || return 0" : "return 0");
      if (!option.alone) valued += (valued.empty() ? "" : " | ") + pattern;
    });
    offers +=
        fmt::format("    {}) options={} ;;\n", in_shell_quotes(command.path), in_shell_quotes(joined(names)));
  });
  return fmt::format(
      "# bash completion of mmaudit, written by `mmaudit completions bash`.\n"
      "# Names of files are quoted where they need it; other words are not, whatever is in them.\n"
      "_mmaudit_files() {{\n"
      "  mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen \"$1\" -- \"$word\")\n"
      "  compopt -o filenames 2>/dev/null\n"
      "  return 0\n"
      "}}\n"
      "_mmaudit() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} path={} options i "
      "listed=\n"
      "  COMPREPLY=()\n"
      "  # bash splits --dtype=e4m3 at the sign.\n"
      "  if [[ $word == = ]]; then word=; elif [[ $before == = ]]; then before=${{COMP_WORDS[COMP_CWORD - "
      "2]}}; fi\n"
      "  if [[ $word == *,* ]]; then listed=${{word%,*}},; fi\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \"$path ${{COMP_WORDS[i]}}\" in\n"
      "      {}) if [[ ${{COMP_WORDS[i + 1]}} == = ]]; then ((i += 2)); else ((i += 1)); fi ;;\n"
      "      {}) path+=\" ${{COMP_WORDS[i]}}\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$path $before\" in\n{}"
      "  esac\n"
      "  case $path in\n{}"
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
      "  if [[ $word != -* && $path != {} ]]; then _mmaudit_files -f; fi\n"
      "}}\n"
      "complete -F _mmaudit mmaudit\n",
      program.path, valued, paths, values, offers, program.path);
}

/// Text inside the brackets of an option of _arguments.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const std::string& offer, bool list = false) {
  if (offer == "files") return "_files";
  if (offer == "folders") return "_files -/";
  // A bare colon would begin the next value.
  std::string plain;
  for (const char c : offer) plain += c == ':' ? std::string("\\:") : std::string(1, c);
  if (list && !offer.empty()) return "_sequence compadd - " + plain;
  return offer.empty() ? " " : fmt::format("({})", plain);
}

std::string zsh_function(const CommandText& command) {
  std::string name = "_" + manual_name(command);
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
}

std::string zsh_script(const CommandText& program, const ValueWords& words) {
  std::string out = "#compdef mmaudit\n# zsh completion of mmaudit, written by `mmaudit completions zsh`.\n";
  for_each_command(program, [&](const CommandText& command) {
    std::string specs;
    int place = 1;
    for_each_option(command, [&](const OptionText& option) {
      const std::string value =
          option.value.empty() || option.argument
              ? ""
              : fmt::format("{}{}:{}", option.alone ? "::" : ":", zsh_text(option.value),
                            zsh_action(offered(option.value, words), is_list(option)));
      if (option.argument) {
        if (!command.commands.empty()) return;  // their names stand in its place
        const std::string offer = offered(option.value, words);
        specs += fmt::format(" \\\n    {}",
                             in_shell_quotes(fmt::format("{}:{}:{}", place++, zsh_text(option.names[0]),
                                                         offer.empty() ? "_files" : zsh_action(offer))));
        return;
      }
      for (const std::string& name : option.names)
        specs += fmt::format(" \\\n    {}",
                             in_shell_quotes(fmt::format("*{}[{}]{}", name, zsh_text(option.text), value)));
    });
    out += fmt::format("\n{}() {{\n", zsh_function(command));
    if (command.commands.empty()) {
      out += fmt::format("  _arguments{}\n}}\n", specs);
      return;
    }
    std::string described, cases;
    for (const CommandText& one : command.commands) {
      described += " " + in_shell_quotes(one.name() + ":" + one.text);
      cases += fmt::format("    {}) {} ;;\n", one.name(), zsh_function(one));
    }
    out += fmt::format(
        "  local context state state_descr line\n  typeset -A opt_args\n  local -a commands=({})\n"
        "  _arguments -C{} \\\n    '1:command:->command' '*::argument:->arguments'\n"
        "  case $state in\n  command) _describe command commands ;;\n  arguments)\n    case $line[1] in\n{}  "
        "  esac ;;\n"
        "  esac\n}}\n",
        described, specs, cases);
  });
  return out +
         "\nif [[ $funcstack[1] == _mmaudit ]]; then _mmaudit \"$@\"; else compdef _mmaudit mmaudit; fi\n";
}

std::string fish_script(const CommandText& program, const ValueWords& words) {
  std::string paths, lines, valued;
  for_each_command(program, [&](const CommandText& command) {
    if (command.path != program.path) paths += " " + in_shell_quotes(command.path);
    const std::string here =
        fmt::format("complete -c mmaudit -n {} ",
                    in_shell_quotes(fmt::format("test (__mmaudit_path) = \"{}\"", command.path)));
    for (const CommandText& one : command.commands)
      lines += fmt::format("{}-a {} -d {}\n", here, one.name(), in_shell_quotes(one.text));
    for_each_option(command, [&](const OptionText& option) {
      if (option.argument) {
        const std::string offer = offered(option.value, words);
        lines += here + (offer == "files" || offer.empty() ? "-F\n"
                                                           : fmt::format("-a {}\n", in_shell_quotes(offer)));
        return;
      }
      std::string line = here;
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? "-l " + name.substr(2) + " " : "-s " + name.substr(1) + " ";
      if (!option.value.empty()) {
        const std::string offer = offered(option.value, words);
        for (const std::string& name : option.names)
          if (!option.alone) valued += " " + in_shell_quotes(command.path + " " + name);
        line += offer == "files"     ? "-r -F "
                : offer == "folders" ? "-x -a '(__fish_complete_directories)' "
                : is_list(option)
                    ? fmt::format("-x -a {} ", in_shell_quotes(fmt::format("(__mmaudit_list {})", offer)))
                : offer.empty()
                    ? "-x "
                    : fmt::format("-x -a {} ", in_shell_quotes(fmt::format("(__mmaudit_words {})", offer)));
      }
      lines += line + "-d " + in_shell_quotes(option.text) + "\n";
    });
  });
  return fmt::format(
      "# fish completion of mmaudit, written by `mmaudit completions fish`.\n"
      "function __mmaudit_path\n"
      "  set -l path {}\n"
      "  set -l value no\n"
      "  for word in (commandline -opc)[2..]\n"
      "    if test $value = yes\n"
      "      set value no\n"
      "    else if contains -- \"$path $word\"{}\n"
      "      set value yes\n"
      "    else if contains -- \"$path $word\"{}\n"
      "      set path \"$path $word\"\n"
      "    end\n"
      "  end\n"
      "  echo $path\n"
      "end\n"
      "# Values, without the text of their option beside each.\n"
      "function __mmaudit_words\n"
      "  printf '%s\\t\\n' $argv\n"
      "end\n"
      "# The same after the last comma of what is typed.\n"
      "function __mmaudit_list\n"
      "  set -l typed (string replace -r -- '^-[^=]*=' '' (commandline -ct))\n"
      "  set -l listed (string match -r -- '^.*,' $typed)\n"
      "  __mmaudit_words \"$listed\"$argv\n"
      "end\n"
      "complete -c mmaudit -f\n{}",
      program.path, valued, paths, lines);
}

struct Shell {
  std::string_view name;
  std::string (*script)(const CommandText&, const ValueWords&);
};
constexpr Shell kShells[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

}  // namespace

std::vector<std::string> completed_shells() { return names_of(kShells); }

std::string completion_script(const CommandText& program, const std::string& shell, const ValueWords& words) {
  if (const Shell* const known = find_named(kShells, shell)) return known->script(program, words);
  refuse("SHELL: found {}, allowed: {}", shell, names_of(kShells));
}

}  // namespace mmaudit::cli
