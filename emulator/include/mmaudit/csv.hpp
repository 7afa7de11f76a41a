#pragma once
// Comma-separated values: the one reader and the one writer.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace mmaudit::csv {

/// What: the fields of a line, as views into it. One in quotes may hold commas; quotes inside it stay
/// doubled.
inline std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> out;
  while (true) {
    const bool quoted = line.starts_with('"');
    if (quoted) line.remove_prefix(1);
    const std::size_t end = std::min(line.find(quoted ? '"' : ','), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + (quoted ? 1 : 0), line.size()));
    if (line.empty()) return out;
    line.remove_prefix(1);
  }
}

/// What: the fields of the lines that hold a row: no empty ones, comments (#) and no `head`.
inline std::vector<std::vector<std::string_view>> rows_of(std::string_view text, std::string_view head) {
  std::vector<std::vector<std::string_view>> out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (!line.empty() && !line.starts_with('#') && line != head) out.push_back(fields_of(line));
  }
  return out;
}

/// What: a line of these fields, quoted where a comma, a quote or the end of a line would end one.
inline std::string line_of(const std::vector<std::string_view>& fields, std::string_view end = "\n") {
  std::string out;
  for (const std::string_view& field : fields) {
    if (&field != &fields.front()) out += ',';
    const bool quoted = field.find_first_of(",\"\r\n") != std::string_view::npos;
    if (quoted) out += '"';
    for (const char c : field) out.append(c == '"' ? 2 : 1, c);
    if (quoted) out += '"';
  }
  return out.append(end);
}

}  // namespace mmaudit::csv
