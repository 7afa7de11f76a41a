#pragma once
// Fields of a plan or of a problem as text of the C interface: "name=value name=value".
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "guard.hpp"
#include "mmaudit/library_log.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::capi {

/// Reads the fields of a plan or of a problem from "name=value name=value".
class FieldReader {
 public:
  FieldReader(const char* whole, std::string_view text) : whole_(whole), text_(text) {}

  void instruction(std::string_view name, Instruction& value) {
    const auto word = take(name);
    if (!word) return;
    if (value.k == 1)  // scalar
      refuse("{}: {}: found {} beside scalar, allowed: one of both", whole_, name, *word);
    value = capi::instruction_of(std::string(*word).c_str());
  }
  void boolean(std::string_view name, bool& value) {
    const auto word = take(name);
    if (!word) return;
    value = *word == "1" || *word == "True" || *word == "true";
    if (!value && *word != "0" && *word != "False" && *word != "false")
      refuse("{}: {}: found {}, allowed: true, false", whole_, name, *word);
  }
  template <typename Number>
  void number(std::string_view name, Number& value) {
    const auto word = take(name);
    if (!word) return;
    const auto found = whole_number<Number>(*word);
    if (!found) refuse("{}: {}: found {}, allowed: a number", whole_, name, *word);
    value = *found;
  }
  void count(std::string_view name, std::uint64_t& value, std::uint64_t least) {
    const auto word = take(name);
    if (!word) return;
    const auto found = whole_number<std::uint64_t>(*word);
    if (!found || *found < least)
      refuse("{}: {}: found {}, allowed: an integer from {}", whole_, name, *word, least);
    value = *found;
  }
  void format(std::string_view name, Format& value) {
    if (const auto word = take(name)) value = capi::format_of(name, std::string(*word).c_str()).id;
  }
  template <typename Enum, std::size_t Count>
  void choice(std::string_view name, const std::string_view (&names)[Count], Enum& value) {
    const auto word = take(name);
    if (!word) return;
    const auto* const found = std::find(names, names + Count, *word);
    if (found == names + Count) refuse("{}: {}: found {}, allowed: {}", whole_, name, *word, names_of(names));
    value = static_cast<Enum>(found - names);
  }
  /// Refuses words that no field has taken, that have no value, and second ones of a field.
  void finish(const char* page = "docs/gemm.md") const {
    std::vector<std::string_view> names;
    std::string_view rest = text_;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      const std::string_view name = word.substr(0, word.find('='));
      if (!word.empty() && std::find(taken_.begin(), taken_.end(), name) == taken_.end())
        refuse("{}: found {}, allowed: a field of {}", whole_, name, page);
      if (!word.empty() && name.size() == word.size())
        refuse("{}: found {} without a value, allowed: name=value", whole_, name);
      if (!word.empty() && std::find(names.begin(), names.end(), name) != names.end())
        refuse("{}: found {} twice, allowed: once", whole_, name);
      names.push_back(name);
    }
  }

 private:
  std::optional<std::string_view> take(std::string_view name) {
    taken_.push_back(name);
    return log::value_in(text_, name);
  }
  const char* whole_;
  std::string_view text_;
  std::vector<std::string_view> taken_;
};

}  // namespace mmaudit::capi
