#pragma once
// What the page asks: fields of text, and numbers as people paste them.
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/convert.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/refusal.hpp"
#include "mmaudit/value_text.hpp"
#include "text/json/writer.hpp"

namespace mmaudit::explorer {

/// A request: its fields, each ended by a null byte. A field that is missing is empty.
struct Request {
  std::vector<std::string> fields;

  [[nodiscard]] const std::string& at(std::size_t i) const {
    static const std::string nothing;
    return i < fields.size() ? fields[i] : nothing;
  }
};

inline std::string error_text(std::string_view why) {
  json::Writer out;
  return out.begin_object().field("error", why).end_object().text();
}

/// The values of a list as people paste it: commas, semicolons, brackets and white space separate.
inline std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    const int code = static_cast<unsigned char>(c);
    if (std::isspace(code) != 0 || std::string_view(",;[](){}|").find(c) != std::string_view::npos) {
      if (!words.back().empty()) words.emplace_back();
    } else if (c != '+' || !words.back().empty()) {
      words.back() += static_cast<char>(std::tolower(code));
    }
  }
  if (words.back().empty()) words.pop_back();
  for (std::string& word : words)
    if (word.ends_with("infinity")) word.resize(word.size() - 5);
  return words;
}

struct Read {
  std::vector<std::uint64_t> bits;
  std::string error;  ///< empty: all were read
};

/// At most `count` values, the rest `missing`. A number that the format lacks becomes the nearest that it
/// has, never an infinity, and `notes` says so.
inline Read read_list(const char* field, const std::string& text, const FormatSpec& format, int count,
                      std::uint64_t missing, std::vector<std::string>& notes) {
  Read list;
  const auto here = [&] {
    return std::string(field) + (count == 1 ? "" : " " + std::to_string(list.bits.size())) + ": ";
  };
  for (const std::string& word : words_of(text)) {
    ParsedValue value = parse_value(word, format);
    if (!value.error.empty()) {
      const ParsedValue real = parse_value(word, spec_of(Format::f64));
      const bool raw = word.find('x') != std::string::npos && word.find('p') == std::string::npos;
      if (!real.error.empty() || raw) {
        list.error = here() + value.error;
        return list;
      }
      value.bits = encode_value(decode_value(real.bits, spec_of(Format::f64)), format,
                                {CastRounding::nearest_even, true});
      notes.push_back(here() + printable(word) + " is not a number of " + std::string(name_of(format.id)) +
                      "; " + value_text(value.bits, format) + " is taken");
    }
    list.bits.push_back(value.bits);
  }
  const auto most = static_cast<std::size_t>(count);
  if (list.bits.size() > most)
    list.error = refusal("{}: found {} values, allowed: at most {}", field, list.bits.size(), count);
  list.bits.resize(most, missing);
  return list;
}

}  // namespace mmaudit::explorer
