#include <fmt/format.h>

#include "text_layout.hpp"

namespace mmaudit::report {

std::string markdown_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n' || c == '\r') {
      out += ' ';
      continue;
    }
    if (c == '<') {
      out += "&lt;";
      continue;
    }
    if (c == '&') {
      out += "&amp;";
      continue;
    }
    if (std::string_view("\\`*_[]|#~>").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_table(const Table& table) {
  std::string out = "|", rule = "|";
  for (const Column& column : table.columns) {
    out += fmt::format(" {} |", markdown_escaped(column.header));
    rule += column.number ? "---:|" : "---|";
  }
  out += '\n' + rule + '\n';
  for (const auto& row : table.rows) {
    out += '|';
    for (const Cell& cell : row)
      out += cell.tone == Tone::bad ? fmt::format(" **{}** |", markdown_escaped(cell.text))
                                    : fmt::format(" {} |", markdown_escaped(cell.text));
    out += '\n';
  }
  return out;
}

}  // namespace mmaudit::report
