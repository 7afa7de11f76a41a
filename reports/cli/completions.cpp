// Completion scripts. Each knows the commands, their options, and what may stand for a value.
#include <fmt/format.h>

#include <functional>

#include "command_text.hpp"
#include "mmaudit/error.hpp"

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

void for_each_command(const CommandText& command, const std::function<void(const CommandText&)>& act) {
  act(command);
  for (const CommandText& one : command.commands) for_each_command(one, act);
}

void for_each_option(const CommandText& command, const std::function<void(const OptionText&)>& act) {
  for (const OptionGroup& group : command.groups)
    for (const OptionText& option : group.options) act(option);
}

/// `text` inside single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string bash_script(const CommandText& program, const ValueWords& words) {
  std::string paths, values, offers;
  for_each_command(program, [&](const CommandText& command) {
    if (command.path != program.path) paths += (paths.empty() ? "" : " | ") + quoted(command.path);
    std::vector<std::string> names;
    for (const CommandText& one : command.commands) names.push_back(one.name());
    for_each_option(command, [&](const OptionText& option) {
      if (!option.argument) names.insert(names.end(), option.names.begin(), option.names.end());
      if (option.argument && option.value.find('|') != std::string::npos)
        names.push_back(offered(option.value, words));
      if (option.value.empty()) return;
      std::string pattern;
      for (const std::string& name : option.names)
        pattern += (pattern.empty() ? "" : " | ") + quoted(command.path + " " + name);
      const std::string offer = offered(option.value, words);
      const std::string reply = offer == "files" ? "compgen -f -- \"$word\""
                                : offer == "folders"
                                    ? "compgen -d -- \"$word\""
                                    : fmt::format("compgen -W {} -- \"$word\"", quoted(offer));
      if (!option.argument)
        values += fmt::format("    {}) mapfile -t COMPREPLY < <({}); {} ;;\n", pattern, reply,
                              option.alone ? "[[ $word == -* ]] || return 0" : "return 0");
    });
    offers += fmt::format("    {}) options={} ;;\n", quoted(command.path), quoted(joined(names)));
  });
  return fmt::format(
      "# bash completion of mmaudit, written by `mmaudit completions bash`.\n"
      "_mmaudit() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} path={} options i\n"
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case \"$path ${{COMP_WORDS[i]}}\" in\n"
      "      {}) path+=\" ${{COMP_WORDS[i]}}\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$path $before\" in\n{}"
      "  esac\n"
      "  case $path in\n{}"
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
      "  if [[ $word != -* && $path != {} ]]; then mapfile -t -O ${{#COMPREPLY[@]}} COMPREPLY < <(compgen -f "
      "-- \"$word\"); fi\n"
      "}}\n"
      "complete -o filenames -F _mmaudit mmaudit\n",
      program.path, paths, values, offers, program.path);
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

std::string zsh_action(const std::string& offer) {
  if (offer == "files") return "_files";
  if (offer == "folders") return "_files -/";
  return offer.empty() ? " " : fmt::format("({})", offer);
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
                            zsh_action(offered(option.value, words)));
      if (option.argument) {
        const std::string offer = offered(option.value, words);
        specs +=
            fmt::format(" \\\n    {}", quoted(fmt::format("{}:{}:{}", place++, zsh_text(option.names[0]),
                                                          offer.empty() ? "_files" : zsh_action(offer))));
        return;
      }
      for (const std::string& name : option.names)
        specs +=
            fmt::format(" \\\n    {}", quoted(fmt::format("*{}[{}]{}", name, zsh_text(option.text), value)));
    });
    out += fmt::format("\n{}() {{\n", zsh_function(command));
    if (command.commands.empty()) {
      out += fmt::format("  _arguments{}\n}}\n", specs);
      return;
    }
    std::string described, cases;
    for (const CommandText& one : command.commands) {
      described += " " + quoted(one.name() + ":" + one.text);
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
  std::string paths, lines;
  for_each_command(program, [&](const CommandText& command) {
    if (command.path != program.path) paths += " " + quoted(command.path);
    const std::string here = fmt::format("complete -c mmaudit -n {} ",
                                         quoted(fmt::format("test (__mmaudit_path) = \"{}\"", command.path)));
    for (const CommandText& one : command.commands)
      lines += fmt::format("{}-a {} -d {}\n", here, one.name(), quoted(one.text));
    for_each_option(command, [&](const OptionText& option) {
      if (option.argument) {
        const std::string offer = offered(option.value, words);
        lines += here + (offer == "files" || offer.empty() ? "-F\n" : fmt::format("-a {}\n", quoted(offer)));
        return;
      }
      std::string line = here;
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? "-l " + name.substr(2) + " " : "-s " + name.substr(1) + " ";
      if (!option.value.empty()) {
        const std::string offer = offered(option.value, words);
        line += offer == "files"     ? "-r -F "
                : offer == "folders" ? "-x -a '(__fish_complete_directories)' "
                                     : fmt::format("-x -a {} ", quoted(offer));
      }
      lines += line + "-d " + quoted(option.text) + "\n";
    });
  });
  return fmt::format(
      "# fish completion of mmaudit, written by `mmaudit completions fish`.\n"
      "function __mmaudit_path\n"
      "  set -l path {}\n"
      "  for word in (commandline -opc)[2..]\n"
      "    if contains -- \"$path $word\"{}\n"
      "      set path \"$path $word\"\n"
      "    end\n"
      "  end\n"
      "  echo $path\n"
      "end\n"
      "complete -c mmaudit -f\n{}",
      program.path, paths, lines);
}

}  // namespace

std::string completion_script(const CommandText& program, const std::string& shell, const ValueWords& words) {
  if (shell == "bash") return bash_script(program, words);
  if (shell == "zsh") return zsh_script(program, words);
  if (shell == "fish") return fish_script(program, words);
  throw InputError(fmt::format("SHELL: found {}, allowed: bash, zsh, fish", shell));
}

}  // namespace mmaudit::cli
