#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <type_traits>

#include "beside.hpp"
#include "common.hpp"
#include "describe.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"
#include "respelled.hpp"

namespace mmaudit::cli {
namespace {

using Refusal = std::string;  ///< of a validator; empty: the text is allowed

template <typename T>
struct Element {
  using Type = T;
};
template <typename T>
struct Element<std::vector<T>> {
  using Type = T;
};

template <typename T>
bool has_default(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return true;
  } else {
    return !value.empty();
  }
}

Refusal found_not(const std::string& text, const std::string& allowed) {
  return refusal("found {}, allowed: {}", text.empty() ? "no number" : printable(text), allowed);
}

/// What an unset variable of a shell gives. The check's name is for options that take it.
constexpr const char* kNotEmpty = "not empty";
Refusal refuse_nothing(const std::string& text) {
  return text.empty() ? refusal("found nothing, allowed: a value") : Refusal();
}

/// CLI11 reads "" as 0, -1 as the largest unsigned number, a number that is too large as the largest there
/// is, and nan and inf as they are.
template <typename T>
Refusal refuse_no_number(const std::string& text) {
  T value{};
  const bool read = !text.empty() && CLI::detail::lexical_cast(text, value);
  if constexpr (std::is_floating_point_v<T>) {
    return read && std::isfinite(value) ? Refusal() : found_not(text, "a number");
  } else {
    errno = 0;
    if constexpr (std::is_unsigned_v<T>)
      static_cast<void>(std::strtoull(text.c_str(), nullptr, 0));
    else
      static_cast<void>(std::strtoll(text.c_str(), nullptr, 0));
    if (std::is_unsigned_v<T> && text.find('-') != std::string::npos) return found_not(text, "0 or more");
    if (read && errno == 0) return {};
    return found_not(text, fmt::format("an integer from {} to {}", std::numeric_limits<T>::min(),
                                       std::numeric_limits<T>::max()));
  }
}

/// Refuses what is no number that `fits` takes; the help shows `shown`.
CLI::Validator number_that(const std::function<bool(double)>& fits, const std::string& allowed,
                           const std::string& shown) {
  return CLI::Validator(
      [=](const std::string& text) {
        double value = 0;
        return CLI::detail::lexical_cast(text, value) && fits(value) ? Refusal() : found_not(text, allowed);
      },
      shown);
}

/// The command inside which parsing ended.
const CLI::App& innermost(const CLI::App& program) {
  const std::vector<CLI::App*> chosen = program.get_subcommands();
  return chosen.empty() ? program : innermost(*chosen.back());
}

/// A command inside another one ignores the options of the outer command, so they are refused. The options of
/// the program count everywhere.
void refuse_options_of_others(const CLI::App& program) {
  for (const CLI::App* at = &innermost(program); at->get_parent() != nullptr; at = at->get_parent()) {
    const CLI::App& outer = *at->get_parent();
    if (&outer == &program) return;
    for (const CLI::Option* option : outer.get_options())
      if (option->count() != 0)
        refuse("{}: found with `{}`, allowed: with `{}`", option->get_name(), path_of(*at), path_of(outer));
  }
}

/// What a program that is not ours gets: all but the name of the command.
std::vector<std::string> words_behind(CommandLine line) {
  line.words.erase(std::find(line.words.begin(), line.words.end(), line.command));
  return line.words;
}

/// What is wrong with `word`, which no command or option of `at` is; empty: a command is missing.
Refusal refuse_word(const CLI::App& at, const std::string& word) {
  const bool of_options = word.starts_with('-');
  std::vector<std::string> allowed;
  const auto add_options = [&](const CLI::App& app) {
    for (const CLI::Option* option : app.get_options())
      for (const std::string& name : option->get_lnames())
        if (const std::string dashed = "--" + name;
            std::find(allowed.begin(), allowed.end(), dashed) == allowed.end())
          allowed.push_back(dashed);
  };
  if (of_options) {
    add_options(at);
    add_options(program_of(at));
    if (std::find(allowed.begin(), allowed.end(), word) != allowed.end())
      return refusal("{}: found before the command, allowed: behind it", word);
  } else {
    for (const CLI::App* one : shown_commands(at)) allowed.push_back(one->get_name());
  }
  std::vector<std::string> known = allowed;
  if (!of_options && at.get_parent() == nullptr)
    for (const Respelled& one : kRespelled) known.emplace_back(one.was);
  std::string meant = word.empty() ? "" : nearest_word(word, known);
  if (const std::string_view now = new_spelling(meant); at.get_parent() == nullptr && !now.empty())
    meant = now;
  return refusal("{}: found {}, allowed: {}{}",
                 of_options        ? "option"
                 : allowed.empty() ? "argument"
                                   : "command",
                 word.empty() ? "none" : printable(word),
                 allowed.empty() ? "none here"
                 : word.empty()  ? with_commas(allowed)
                                 : allowed_near(word, allowed),
                 meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant));
}

/// What CLI11 refuses, as found and allowed: its own words say neither. `words`: what it could not place.
Refusal refusal_of(const CLI::ParseError& error, const CLI::App& at, const std::vector<std::string>& words) {
  std::string text = error.what();
  const auto before = [&](std::string_view end) { return text.substr(0, text.find(end)); };
  const auto after = [&](std::string_view start) { return text.substr(text.find(start) + start.size()); };
  switch (static_cast<CLI::ExitCodes>(error.get_exit_code())) {
    case CLI::ExitCodes::ExtrasError:
      return refuse_word(at, words.empty() ? "" : words.front());
    case CLI::ExitCodes::RequiredError:
      if (at.get_require_subcommand_min() != 0 && at.get_subcommands().empty())
        return refuse_word(at, words.empty() ? "" : words.front());
      return refusal("{}: found nothing, allowed: a value", before(" is required"));
    case CLI::ExitCodes::ExcludesError:
      return refusal("{}: found with {}, allowed: one of them", before(" excludes "), after(" excludes "));
    case CLI::ExitCodes::ArgumentMismatch:
      if (text.ends_with(" missing")) return refusal("{}: found nothing, allowed: a value", before(": "));
      if (text.find(": At Most ") != std::string::npos)
        return refusal("{}: found {} values, allowed: {}", before(": "), after(" received "),
                       after(": At Most ").substr(0, after(": At Most ").find(' ')));
      return text;
    case CLI::ExitCodes::ConversionError:
      if (text.starts_with("Could not convert: "))
        return refusal("{}: found {}, allowed: no value",
                       after("convert: ").substr(0, after("convert: ").find(" = ")), printable(after(" = ")));
      return text;
    default:
      return text;
  }
}

}  // namespace

template <typename Change>
Option& Option::with(const Change& change) {
  change(*option_);
  return *this;
}

Option& Option::required() {
  return with([&](CLI::Option& own) { own.required(); });
}

Option& Option::group(const std::string& name) {
  return with([&](CLI::Option& own) { own.group(name); });
}

Option& Option::default_text(const std::string& text) {
  return with([&](CLI::Option& own) { own.default_str(text); });
}

Option& Option::comma_separated() {
  return with([&](CLI::Option& own) {
    own.delimiter(',');
    own.transform(CLI::Validator(
        [](std::string& text) {
          text = CLI::detail::trim(text);
          return Refusal();
        },
        ""));
  });
}

Option& Option::one_of(const std::vector<std::string>& words) {
  option_->type_name(
      fmt::format("{}{}", fmt::join(words, "|"), option_->get_delimiter() == ',' ? ",..." : ""));
  option_->check(CLI::Validator(
      [words](const std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return Refusal();
        return found_not(text, with_commas(words));
      },
      ""));
  return *this;
}

Option& Option::range(double low, double high) {
  const std::string limits = fmt::format("{} to {}", low, high);
  option_->check(number_that([=](double x) { return x >= low && x <= high; }, limits, limits));
  return *this;
}

Option& Option::positive() {
  option_->check(number_that([](double x) { return x > 0; }, "a number above 0", "above 0"));
  return *this;
}

Option& Option::or_percent() {
  option_->transform(CLI::Validator(
      [](std::string& text) {
        double value = 0;
        if (text.ends_with('%') && CLI::detail::lexical_cast(text.substr(0, text.size() - 1), value))
          text = fmt::format("{}", value / 100);
        return Refusal();
      },
      ""));
  return *this;
}

Option& Option::multiple_of(int divisor) {
  option_->check(number_that([=](double x) { return std::fmod(x, divisor) == 0; },
                             fmt::format("a multiple of {}", divisor), ""));
  return *this;
}

Option& Option::excludes(const Option& other) {
  return with([&](CLI::Option& own) { own.excludes(other.option_); });
}

Option& Option::once() {
  return with([](CLI::Option& own) { own.multi_option_policy(CLI::MultiOptionPolicy::Throw); });
}

Option& Option::may_be_empty() {
  return with([](CLI::Option& own) { own.get_validator(kNotEmpty)->active(false); });
}

Option& Option::takes_last() {
  return with([&](CLI::Option& own) { own.take_last(); });
}

Option& Option::alone_means(const std::string& alone) {
  return with([&](CLI::Option& own) { own.expected(0, 1)->default_str(alone); });
}

Option& Option::one_value_per_use() {
  return with([&](CLI::Option& own) { own.allow_extra_args(false); });
}

bool Option::given() const { return option_->count() > 0; }

Command Command::command(const std::string& name, const std::string& description,
                         std::initializer_list<std::string_view> examples) {
  CLI::App* added = app_->add_subcommand(name, description);
  added->group(heading_);
  // One command is chosen: later words of the same spelling are values.
  if (app_->get_require_subcommand_max() == 0) app_->require_subcommand(0, 1);
  added->footer(fmt::format("{}", fmt::join(examples, "\n")));
  return {added, chosen_, context_};
}

void Command::requires_command() { app_->require_subcommand(1); }

void Command::hide() { app_->group(""); }

template <typename T>
Option Command::option(const std::string& names, T& value, const std::string& text) {
  const std::size_t space = names.rfind(' ');
  CLI::Option* added = app_->add_option(names.substr(0, space), value, text)->group(section_);
  if (space != std::string::npos) added->type_name(names.substr(space + 1));
  if (has_default(value)) added->capture_default_str();
  using Value = typename Element<T>::Type;
  if constexpr (std::is_arithmetic_v<Value>) {
    added->check(CLI::Validator(refuse_no_number<Value>, ""));
  } else {
    added->check(CLI::Validator(refuse_nothing, "", kNotEmpty));
  }
  return Option(added);
}

template Option Command::option(const std::string&, std::string&, const std::string&);
template Option Command::option(const std::string&, int&, const std::string&);
template Option Command::option(const std::string&, unsigned&, const std::string&);
template Option Command::option(const std::string&, std::uint64_t&, const std::string&);
template Option Command::option(const std::string&, double&, const std::string&);
template Option Command::option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::option(const std::string&, std::vector<int>&, const std::string&);

Option Command::flag(const std::string& names, bool& value, const std::string& text) {
  return Option(app_->add_flag(names, value, text)->group(section_));
}

void Command::runs(Action action) {
  // CLI11 calls an inner command before the outer one, whose action must not replace it.
  app_->callback([chosen = chosen_, action = std::move(action)] {
    if (!*chosen) *chosen = action;
  });
}

CommandText Command::described() const { return describe(*app_); }

std::string Command::given_of(const std::string& group) const {
  for (const CLI::Option* option : app_->get_options())
    if (option->get_group() == group && option->count() != 0) return option->get_name();
  return {};
}

Action parse(int argc, const char* const* argv, const ProgramText& text, Context& context,
             const std::function<void(Command&)>& define) {
  // The handles that actions keep point into it.
  const auto app = std::make_shared<CLI::App>(text.description, "mmaudit");
  app->set_help_flag("-h,--help", "print this help and exit")->group(kEverywhere);
  app->set_version_flag("--version", text.version, "print the version and exit")->group(kEverywhere);
  app->require_subcommand(1);
  app->fallthrough();
  app->footer(fmt::format("{}", fmt::join(text.examples, "\n")));
  app->formatter_fn([&text](const CLI::App* asked, const std::string&, CLI::AppFormatMode) {
    CommandText described = describe(*asked);
    described.exit_codes = text.exit_codes;
    return text.show_help(described);
  });
  Action action;
  Command program(app.get(), &action, &context);
  define(program);
  CommandLine line = respelled({argv + 1, argv + argc}, [&](const std::string& word) {
    const CLI::Option* option = app->get_option_no_throw(word);
    return option != nullptr && option->get_items_expected_max() != 0;
  });
  const auto say = [&] {
    if (!context.quiet) std::fputs(line.note.c_str(), stderr);
  };
  if (const std::filesystem::path other = text.elsewhere(line.command); !other.empty())
    return become(other, bench_text(line.command).empty() ? words_behind(line) : line.words);
  // CLI11 drops empty items of a list: one of commas alone would take the next word for its value.
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    const std::size_t end = line.words[i].find_last_not_of(',') + 1;
    if (end == 0) line.words[i].clear();
    const bool inline_value = line.words[i].starts_with("--") && end < line.words[i].size();
    if (end == 0 || !inline_value || line.words[i][end - 1] != '=') continue;
    line.words[i].resize(end - 1);
    line.words.insert(line.words.begin() + static_cast<std::ptrdiff_t>(++i), std::string());
  }
  std::reverse(line.words.begin(), line.words.end());  // as CLI11 takes them
  try {
    app->parse(std::move(line.words));
    refuse_options_of_others(*app);
    say();
  } catch (const CLI::ParseError& error) {
    const std::vector<std::string> unread = app->remaining(true);
    const bool failed = error.get_exit_code() != 0;
    if (failed || (line.of_help && !unread.empty())) {
      const CLI::App& at = innermost(*app);
      throw InputError(fmt::format("{} (see `{} --help`)",
                                   failed ? refusal_of(error, at, unread) : refuse_word(at, unread.front()),
                                   path_of(at)));
    }
    std::ostringstream shown;  // --help, --version
    app->exit(error, shown);
    say();
    return [shown = shown.str()](const Context&) {
      print(shown);
      return kAllGood;
    };
  }
  return [app, action](const Context& given) { return action(given); };
}

}  // namespace mmaudit::cli
