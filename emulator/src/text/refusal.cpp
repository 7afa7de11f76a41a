// Refusals, and why a name, a format, an instruction is none of the model's.
#include "mmaudit/refusal.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"
#include "model/not_modelled.hpp"
#include "text/name_words.hpp"

namespace mmaudit {
namespace {

/// How many letters are changed, left out, put in, or swapped with the next one.
std::size_t distance(std::string_view x, std::string_view y) {
  std::vector<std::size_t> before, above, row(y.size() + 1);  // of the first i - 2, i - 1 and i letters of x
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= x.size(); ++i) {
    before = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= y.size(); ++j) {
      row[j] = std::min({above[j - 1] + (x[i - 1] == y[j - 1] ? 0U : 1U), above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

/// With the fewest digits that give the number again, 100000 as such and 1e+20 with its exponent.
template <class Float>
std::string number_text(Float number) {
  const bool plain = number == 0 || (std::abs(number) >= Float(1e-4) && std::abs(number) < Float(1e16));
  char text[32];
  const auto end = std::to_chars(std::begin(text), std::end(text), number,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific)
                       .ptr;
  return {text, end};
}

/// "found X, allowed: ...", and `why` X is refused or else what was probably meant; `where` lists all.
std::string refused(std::string_view name, const std::vector<std::string>& allowed, std::string_view where,
                    const std::string& why = {}) {
  return refusal("found {}{}, allowed: {}", in_quotes(name), why.empty() ? did_you_mean(name, allowed) : why,
                 allowed_near(name, allowed, where));
}

/// `word` and how far it is from `name`, twice, for one more where the first letters differ: of two as near,
/// the one that begins alike, for the first letter is seldom the wrong one.
struct Near {
  std::size_t apart;
  const std::string* word;
};

/// The nearest first.
std::vector<Near> by_nearness(std::string_view name, const std::vector<std::string>& allowed) {
  constexpr std::size_t kCompared = 200;  // letters; a longer text is near to no name
  const std::string typed = lower(name.substr(0, kCompared));
  std::vector<Near> out;
  out.reserve(allowed.size());
  for (const std::string& word : allowed) {
    const std::string other = lower(word);
    out.push_back({2 * distance(typed, other) + (other.substr(0, 1) == typed.substr(0, 1) ? 0U : 1U), &word});
  }
  std::stable_sort(out.begin(), out.end(), [](const Near& x, const Near& y) { return x.apart < y.apart; });
  return out;
}

}  // namespace

Shown::Shown(std::string_view text) : text_(printable(text, text.size())) {}
Shown::Shown(const std::string& text) : Shown(std::string_view(text)) {}
Shown::Shown(const char* text) : Shown(std::string_view(text)) {}
Shown::Shown(const std::vector<std::string>& list) : Shown(with_commas(list)) {}
Shown::Shown(double number) : text_(number_text(number)) {}
Shown::Shown(float number) : text_(number_text(number)) {}

std::string with_values(std::string_view text, std::initializer_list<Shown> values) {
  std::string line;
  for (const Shown& value : values) {
    const std::size_t place = text.find("{}");
    line.append(text.substr(0, place)).append(value.text());
    text.remove_prefix(place + 2);
  }
  return line.append(text);
}

std::string in_quotes(std::string_view text) { return "\"" + printable(text) + "\""; }

std::string with_commas(const std::vector<std::string>& list) {
  std::string line;
  for (const std::string& one : list) line.append(line.empty() ? "" : ", ").append(one);
  return line;
}

std::string nearest_word(std::string_view name, const std::vector<std::string>& allowed) {
  const std::vector<Near> near = by_nearness(name, allowed);
  const std::size_t limit = 2 * std::max<std::size_t>(1, name.size() / 3) + 2;
  return near.empty() || near.front().apart >= limit ? "" : *near.front().word;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& allowed) {
  const std::string nearest = nearest_word(name, allowed);
  return nearest.empty() ? "" : " (did you mean " + nearest + "?)";
}

std::string cut_list(const std::vector<std::string>& first, std::size_t all, std::string_view where) {
  if (first.size() == all) return with_commas(first);
  std::string line = with_commas(first) + ", ... (" + std::to_string(all - first.size()) + " more";
  if (!where.empty()) line.append(": `").append(where).append("`");
  return line + ")";
}

std::string allowed_near(std::string_view name, const std::vector<std::string>& allowed,
                         std::string_view where) {
  constexpr std::size_t kFew = 8;
  if (allowed.size() <= kFew) return with_commas(allowed);
  std::vector<std::string> first;
  for (const Near& one : by_nearness(name, allowed))
    if (first.size() < kNearest) first.push_back(*one.word);
  return cut_list(first, allowed.size(), where);
}

std::string why_no_architecture(std::string_view name, std::string_view own) {
  std::vector<std::string> allowed;
  for (const Architecture& row : architectures()) {
    allowed.emplace_back(row.name);
    allowed.insert(allowed.end(), row.aliases.begin(), row.aliases.end());
  }
  if (!own.empty()) allowed.emplace_back(own);
  return refused(name, allowed, "mmaudit list", not_modelled(name, kGpusNotModelled));
}

std::string why_no_format(std::string_view name) {
  if (const std::string_view meaning = meaning_of(name); !meaning.empty())
    return refusal("found {}, allowed: one format (this is {})", in_quotes(name), meaning);
  return refused(name, names_of(kFormats), "mmaudit convert --help");
}

std::string why_no_datapath(const Architecture& architecture, const Instruction& instruction) {
  constexpr std::size_t kMost = 8;  // more than a line holds: point at the list
  // The nearest that it has: of the same kind and types, else of the same types, else all.
  std::vector<std::string> near, same, all;
  for (const Instruction& other : kInstructions) {
    if (!find_datapath(architecture, other)) continue;
    all.push_back(name_of(other));
    if (other.a != instruction.a || other.b != instruction.b) continue;
    same.push_back(name_of(other));
    if (other.op == instruction.op) near.push_back(name_of(other));
  }
  const std::vector<std::string>& instead = !near.empty() ? near : !same.empty() ? same : all;
  const auto having = names_of(architectures(), [&](const Architecture& other) {
    return find_datapath(other, instruction) != nullptr;
  });
  return refusal("found {}, which {} lacks{}, allowed: {}", name_of(instruction), architecture.name,
                 having.empty() ? "" : " (it is in " + with_commas(having) + ")",
                 instead.size() > kMost
                     ? "an instruction of `mmaudit list --arch " + std::string(architecture.name) + "`"
                     : with_commas(instead));
}

}  // namespace mmaudit
