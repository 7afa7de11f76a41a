#pragma once
// Fields of a plan in words, back from words, and as values: what for_each_field() of a plan visits.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mmaudit/gemm_plan.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/whole_number.hpp"

namespace mmaudit::plan_words {

inline constexpr std::string_view kFma = "fma of ", kAnd = " and ";
/// A plan with a single instruction leaves its name out.
inline constexpr std::string_view kOnlyInstruction = "instruction";

inline std::string spaced(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', ' ');
  return out;
}

inline bool is_scalar(const Instruction& value) { return value == scalar_instruction(value.a, value.b); }

inline std::string words_of(const Instruction& value) {
  if (!is_scalar(value)) return name_of(value);
  return std::string(kFma) + std::string(name_of(value.a)) + std::string(kAnd) +
         std::string(name_of(value.b));
}

inline std::optional<Instruction> instruction_in(std::string_view words) {
  if (words.substr(0, kFma.size()) != kFma) return find_instruction(words);
  words.remove_prefix(kFma.size());
  const std::size_t at = words.find(kAnd);
  if (at == std::string_view::npos) return std::nullopt;
  const auto a = read_format(words.substr(0, at)), b = read_format(words.substr(at + kAnd.size()));
  return a && b ? std::optional(scalar_instruction(*a, *b)) : std::nullopt;
}

/// Collects the fields that differ from the defaults, as words.
struct Words {
  std::string text;

  void add(const std::string& words) { text += (text.empty() ? "" : ", ") + words; }
  void instruction(std::string_view name, const Instruction& value) {
    add((name == kOnlyInstruction ? "" : spaced(name) + " ") + words_of(value));
  }
  void count(std::string_view name, std::uint64_t value, std::uint64_t least) {
    if (value != least) add(spaced(name) + " " + std::to_string(value));
  }
  template <typename Enum, std::size_t Count>
  void choice(std::string_view name, const std::string_view (&names)[Count], Enum value) {
    if (value != Enum{}) add(spaced(name) + " " + spaced(name_in(names, value)));
  }
  void boolean(std::string_view name, bool value) {
    if (value) add(spaced(name));
  }
  void format(std::string_view name, Format value) {
    if (value != Format::f32) add(spaced(name) + " " + std::string(name_of(value)));
  }
};

/// Sets the fields that words name; what is left of the words at the end is no field.
class WordsReader {
 public:
  explicit WordsReader(std::string_view text) {
    for (bool more = true; more;) {
      const std::size_t at = text.find(", ");
      more = at != std::string_view::npos;
      items_.emplace_back(text.substr(0, at));
      text.remove_prefix(more ? at + 2 : text.size());
    }
  }
  [[nodiscard]] bool understood() const { return good_ && items_.empty(); }

  void instruction(std::string_view name, Instruction& value) {
    std::optional<std::string> words;
    if (name != kOnlyInstruction) {
      words = take(name);
    } else {
      words = items_.front();
      items_.erase(items_.begin());
    }
    const auto found = words ? instruction_in(*words) : std::nullopt;
    good_ = good_ && found.has_value();
    value = found.value_or(value);
  }
  void count(std::string_view name, std::uint64_t& value, std::uint64_t least) {
    const auto words = take(name);
    if (!words) return;
    const auto found = whole_number<std::uint64_t>(*words);
    good_ = good_ && found.value_or(0) >= least && found.has_value();
    value = found.value_or(value);
  }
  template <typename Enum, std::size_t Count>
  void choice(std::string_view name, const std::string_view (&names)[Count], Enum& value) {
    const auto words = take(name);
    if (!words) return;
    const auto* const found =
        std::find_if(names, names + Count, [&](std::string_view each) { return spaced(each) == *words; });
    good_ = good_ && found != names + Count;
    if (good_) value = static_cast<Enum>(found - names);
  }
  void boolean(std::string_view name, bool& value) {
    const auto found = std::find(items_.begin(), items_.end(), spaced(name));
    if (found == items_.end()) return;
    value = true;
    items_.erase(found);
  }
  void format(std::string_view name, Format& value) {
    const auto words = take(name);
    if (!words) return;
    const auto found = read_format(*words);
    good_ = good_ && found.has_value();
    value = found.value_or(value);
  }

 private:
  /// What stands behind the name of a field.
  std::optional<std::string> take(std::string_view name) {
    const std::string before = spaced(name) + " ";
    const auto found = std::find_if(items_.begin(), items_.end(), [&](const std::string& each) {
      return each.compare(0, before.size(), before) == 0;
    });
    if (found == items_.end()) return std::nullopt;
    std::string out = found->substr(before.size());
    items_.erase(found);
    return out;
  }
  std::vector<std::string> items_;
  bool good_ = true;
};

/// Every field with its value, defaults too.
struct Values {
  std::vector<std::pair<std::string, std::string>> fields;

  void add(std::string_view name, std::string value) { fields.emplace_back(spaced(name), std::move(value)); }
  void instruction(std::string_view name, const Instruction& value) { add(name, words_of(value)); }
  void count(std::string_view name, std::uint64_t value, std::uint64_t /*least*/) {
    add(name, value == 0 ? "none" : std::to_string(value));
  }
  template <typename Enum, std::size_t Count>
  void choice(std::string_view name, const std::string_view (&names)[Count], Enum value) {
    add(name, spaced(name_in(names, value)));
  }
  void boolean(std::string_view name, bool value) { add(name, value ? "yes" : "no"); }
  void format(std::string_view name, Format value) { add(name, std::string(name_of(value))); }
};

/// "name was -> is; ...", of the fields that differ.
inline std::string change_between(const Values& was, const Values& is) {
  std::string out;
  for (std::size_t i = 0; i < was.fields.size(); ++i)
    if (was.fields[i].second != is.fields[i].second)
      out += (out.empty() ? "" : "; ") + was.fields[i].first + " " + was.fields[i].second + " -> " +
             is.fields[i].second;
  return out;
}

template <typename Plan>
std::string words_of_plan(const Plan& plan) {
  Words words;
  for_each_field(plan, words);
  return words.text;
}
/// Words leave out what `out` has.
template <typename Plan>
std::optional<Plan> plan_in(std::string_view words, Plan out) {
  WordsReader reader(words);
  for_each_field(out, reader);
  return reader.understood() ? std::optional(out) : std::nullopt;
}
template <typename Plan>
std::string change_of_plan(const Plan& before, const Plan& after) {
  Values was, is;
  for_each_field(before, was);
  for_each_field(after, is);
  return change_between(was, is);
}

}  // namespace mmaudit::plan_words
