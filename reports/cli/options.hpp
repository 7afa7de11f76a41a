#pragma once
// What a command takes on the command line. CLI11 stands behind it in options.cpp alone: its header costs
// seconds in every file that reads it.
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
class Option;
}  // namespace CLI

namespace mmaudit::cli {

struct CommandText;
struct Context;

/// A command after parsing: does the work and returns the exit code.
using Action = std::function<int(const Context&)>;

/// One option, flag or positional argument. A handle that is valid as long as the program runs.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  Option& group(const std::string& name);
  /// What the help shows in place of the value that the variable has before parsing.
  Option& default_text(const std::string& text);
  /// Several values in one argument, with commas between them.
  Option& comma_separated();
  Option& one_of(const std::vector<std::string>& words);
  Option& range(double low, double high);
  Option& positive();
  /// "5%" is 0.05.
  Option& or_percent();
  Option& multiple_of(int divisor);
  Option& excludes(const Option& other);
  Option& takes_last();
  /// Refuses a second use: where a flag has an opposite, the two may not meet.
  Option& once();
  /// An empty text, which an unset variable of a shell gives, is refused unless this allows it.
  Option& may_be_empty();
  /// The option may stand alone and then means `alone`.
  Option& alone_means(const std::string& alone);
  /// Each use takes one value; the option can be repeated.
  Option& one_value_per_use();

  [[nodiscard]] bool given() const;

 private:
  template <typename Change>
  Option& with(const Change& change);

  CLI::Option* option_;
};

/// The program, one of its commands or a command inside a command. A handle like Option.
class Command {
 public:
  Command(CLI::App* app, Action* chosen, Context* context) : app_(app), chosen_(chosen), context_(context) {}

  Command command(const std::string& name, const std::string& description,
                  std::initializer_list<std::string_view> examples);
  void requires_command();
  /// Leaves it out of help, manual pages and completions.
  void hide();
  /// The purpose under which help lists the commands that are added from here on.
  void heading(const std::string& title) { heading_ = title; }
  /// The group in which help lists the options that are added from here on.
  void section(const std::string& title) { section_ = title; }

  /// Text, an integer, a floating-point number, or a vector of them. Parsing writes `value`, which has to
  /// outlive it; its value before is the default that the help shows. Names without dashes: positional.
  /// Capitals behind the names ("--out FILE") are what help shows for the value; shells complete FILE, DIR,
  /// ARCH, INST, FORMAT, DTYPE, SCALE, POLICY and what stands between bars ("a|b").
  template <typename T>
  Option option(const std::string& names, T& value, const std::string& text);
  Option flag(const std::string& names, bool& value, const std::string& text);
  /// Where options that several commands share leave their values.
  [[nodiscard]] Context& context() const { return *context_; }

  /// What the program does when this command was chosen.
  void runs(Action action);
  /// The first option of this group that the command line has; empty: none.
  [[nodiscard]] std::string given_of(const std::string& group) const;
  /// The command as help, manual pages and completions show it, with what is defined so far.
  [[nodiscard]] CommandText described() const;

 private:
  CLI::App* app_;
  Action* chosen_;
  Context* context_;
  std::string heading_ = "Commands", section_ = "Options";
};

/// Title of the group of options that every command takes.
inline constexpr const char* kEverywhere = "Options of every command";

/// What the help says about the whole program. `show_help` has the form of --help.
struct ProgramText {
  std::string description, version, exit_codes;
  std::vector<std::string> examples;
  std::function<std::string(const CommandText&)> show_help;
  /// The program of a command that is not defined here; empty where there is none.
  std::function<std::filesystem::path(const std::string&)> elsewhere;
};

/// What: reads the command line of a program whose commands `define` names. Returns: what the chosen command
/// does. After --help and --version, and after one line on standard error for what could not be read, nothing
/// is left to do: the action returns only the exit code.
Action parse(int argc, const char* const* argv, const ProgramText& text, Context& context,
             const std::function<void(Command&)>& define);

}  // namespace mmaudit::cli
