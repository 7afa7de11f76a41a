// Help on a terminal, and manual pages.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "command_text.hpp"

namespace mmaudit::cli {
namespace {

constexpr std::size_t kTextColumn = 28;

/// `text` in lines of at most `width` columns, each but the first behind `indent` spaces.
std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::istringstream words(text);
  std::string out, word;
  std::size_t column = indent;
  while (words >> word) {
    if (column != indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column != indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out + "\n";
}

std::string sentence_of(const OptionText& option) {
  std::string text = option.text;
  for (const std::string& note : {option.required ? std::string("required") : std::string(), option.note})
    if (!note.empty()) text += fmt::format("{}[{}]", text.empty() ? "" : " ", note);
  return text;
}

/// Two columns: a name, and a text beside it or, where the name is long, below it.
std::string entry(const std::string& name, const std::string& text, std::size_t width) {
  std::string out = "  " + name;
  if (text.empty()) return out + "\n";
  if (out.size() + 2 > kTextColumn)
    out += "\n" + std::string(kTextColumn, ' ');
  else
    out.resize(kTextColumn, ' ');
  return out + wrapped(text, kTextColumn, width);
}

std::string usage_of(const CommandText& command) {
  std::string usage = command.path;
  if (!command.commands.empty()) {
    const bool own = command.groups.size() > 1;  // sweep measures, and has commands of its own
    usage += own ? " [COMMAND]" : " COMMAND";
  }
  for (const OptionGroup& group : command.groups)
    for (const OptionText& option : group.options)
      if (option.required) usage += " " + option.spelled();
  usage += " [OPTION...]";
  for (const OptionGroup& group : command.groups)
    for (const OptionText& option : group.options)
      if (option.argument && !option.required) usage += fmt::format(" [{}]", option.spelled());
  return usage;
}

/// Headings of the commands inside `command`, in the order of their definition.
std::vector<std::string> purposes_of(const CommandText& command) {
  std::vector<std::string> purposes;
  for (const CommandText& one : command.commands)
    if (std::find(purposes.begin(), purposes.end(), one.purpose) == purposes.end())
      purposes.push_back(one.purpose);
  return purposes;
}

/// A dash of roff is a hyphen, which can't be copied as an option; a point at the start of a line is a
/// request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out.empty() || (out.front() != '.' && out.front() != '\'') ? out : "\\&" + out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

}  // namespace

std::string OptionText::spelled() const {
  std::string out = fmt::format("{}", fmt::join(names, ", "));
  if (!value.empty() && !argument) out += alone ? fmt::format(" [{}]", value) : " " + value;
  return out;
}

std::string CommandText::name() const {
  const std::size_t last = path.rfind(' ');
  return last == std::string::npos ? path : path.substr(last + 1);
}

std::string help_text(const CommandText& command, std::size_t width, bool colored) {
  const auto heading = [colored](const std::string& title) {
    return fmt::format("\n{}{}:{}\n", colored ? "\x1b[1m" : "", title, colored ? "\x1b[0m" : "");
  };
  std::string out = wrapped(command.text, 0, width);
  out += heading("Usage") + "  " + usage_of(command) + "\n";
  for (const std::string& purpose : purposes_of(command)) {
    out += heading(purpose);
    for (const CommandText& one : command.commands)
      if (one.purpose == purpose) out += entry(one.name(), one.text, width);
  }
  for (const OptionGroup& group : command.groups) {
    out += heading(group.title);
    for (const OptionText& option : group.options) out += entry(option.spelled(), sentence_of(option), width);
  }
  if (!command.examples.empty()) {
    out += heading(command.examples.size() == 1 ? "Example" : "Examples");
    for (const std::string& example : command.examples) out += "  " + example + "\n";
  }
  if (!command.commands.empty())
    out +=
        "\n" + wrapped(fmt::format("`{} COMMAND --help` says more about a command.", command.path), 0, width);
  return out + "\n" + wrapped(command.exit_codes, 0, width);
}

std::string manual_name(const CommandText& command) {
  std::string name = command.path;
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string manual_page(const CommandText& command, const std::string& version) {
  const std::string name = manual_name(command);
  std::string out = fmt::format(".TH {} 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n",
                                upper(roff(name)), roff(version), roff(name), roff(command.text));
  out += fmt::format(".SH SYNOPSIS\n.nf\n{}\n.fi\n", roff(usage_of(command)));
  for (const std::string& purpose : purposes_of(command)) {
    out += fmt::format(".SH {}\n", upper(roff(purpose)));
    for (const CommandText& one : command.commands)
      if (one.purpose == purpose) out += fmt::format(".TP\n.B {}\n{}\n", roff(one.name()), roff(one.text));
  }
  out += ".SH OPTIONS\n";
  for (const OptionGroup& group : command.groups) {
    out += fmt::format(".SS {}\n", roff(group.title));
    for (const OptionText& option : group.options)
      out += fmt::format(".TP\n.B {}\n{}\n", roff(option.spelled()), roff(sentence_of(option)));
  }
  if (!command.examples.empty()) {
    out += ".SH EXAMPLES\n.nf\n";
    for (const std::string& example : command.examples) out += roff(example) + "\n";
    out += ".fi\n";
  }
  out += fmt::format(".SH EXIT STATUS\n{}\n", roff(command.exit_codes));
  std::string others;
  for (const CommandText& one : command.commands)
    others += fmt::format("{}.BR {} (1)", others.empty() ? "" : ",\n", roff(manual_name(one)));
  if (command.path.find(' ') != std::string::npos)
    others = ".BR mmaudit (1)" + (others.empty() ? "" : ",\n" + others);
  return out + fmt::format(".SH SEE ALSO\n{}\n", others);
}

}  // namespace mmaudit::cli
