#pragma once
// Why something is refused, in one line and one grammar: "FIELD: found X, allowed: Y". The model returns the
// line; the modules around it throw it: refuse() of error.hpp. What is allowed is made from the table it
// speaks of: names_of().
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace mmaudit {

/// A value inside a refusal: text with hidden characters as printable() shows them, but whole; a number in
/// its shortest form; a list with commas.
class Shown {
 public:
  Shown(std::string_view text);                 // NOLINT(google-explicit-constructor)
  Shown(const std::string& text);               // NOLINT(google-explicit-constructor)
  Shown(const char* text);                      // NOLINT(google-explicit-constructor)
  Shown(const std::vector<std::string>& list);  // NOLINT(google-explicit-constructor)
  Shown(double number);                         // NOLINT(google-explicit-constructor)
  Shown(float number);                          // NOLINT(google-explicit-constructor)
  template <std::integral Number>
  Shown(Number number) : text_(std::to_string(number)) {  // NOLINT(google-explicit-constructor)
    static_assert(!std::same_as<Number, char> && !std::same_as<Number, bool>, "text or a number");
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The line as a literal with a {} per value: "--part: found {}, allowed: 0 to {}". What it is about may be
/// left out, for a caller that puts it in front. It does not compile without "found" and ", allowed: ", in
/// this order, nor with another number of values.
template <class... Values>
class RefusalText {
 public:
  template <std::size_t Size>
  consteval RefusalText(const char (&text)[Size]) : text_(text) {  // NOLINT(google-explicit-constructor)
    std::size_t values = 0;
    for (std::size_t at = text_.find("{}"); at != std::string_view::npos; at = text_.find("{}", at + 2))
      ++values;
    const std::size_t found = text_.starts_with("found ") ? 0 : text_.find(": found ");
    if (found == std::string_view::npos || text_.find(", allowed: ", found) == std::string_view::npos)
      a_refusal_says_found_and_allowed();
    if (values != sizeof...(Values)) a_refusal_has_a_value_per_braces();
  }
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  // Never defined: a call is the compiler's message.
  static void a_refusal_says_found_and_allowed();
  static void a_refusal_has_a_value_per_braces();
  std::string_view text_;
};

/// `text` with `values` in the place of its {}.
std::string with_values(std::string_view text, std::initializer_list<Shown> values);

/// The line.
template <class... Values>
std::string refusal(std::type_identity_t<RefusalText<Values...>> text, const Values&... values) {
  return with_values(text.text(), {Shown(values)...});
}

/// Text from outside as a refusal quotes it: printable(), cut, in double quotes.
std::string in_quotes(std::string_view text);
/// "a, b, c".
std::string with_commas(const std::vector<std::string>& list);

/// The one of `allowed` that is at most a third of its letters away from `name`; empty when none is.
std::string nearest_word(std::string_view name, const std::vector<std::string>& allowed);
/// " (did you mean X?)" with that word; empty when there is none.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& allowed);

/// The names of a table that `keep` keeps, in its order. An entry is a name, a row with .name, or has a
/// name_of().
template <class Table, class Keep>
std::vector<std::string> names_of(const Table& table, const Keep& keep) {
  std::vector<std::string> names;
  for (const auto& entry : table) {
    if (!keep(entry)) continue;
    if constexpr (requires { std::string(entry); })
      names.emplace_back(entry);
    else if constexpr (requires { std::string(entry.name); })
      names.emplace_back(entry.name);
    else
      names.emplace_back(name_of(entry));
  }
  return names;
}

/// All of them.
template <class Table>
std::vector<std::string> names_of(const Table& table) {
  return names_of(table, [](const auto& /*entry*/) { return true; });
}

}  // namespace mmaudit
