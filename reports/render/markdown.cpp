#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/printable.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::report {
namespace {

/// Text as it is, between fences that are longer than any in it.
std::string fenced(std::string text) {
  std::size_t longest = 2, run = 0;
  for (const char c : text) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  if (!text.ends_with('\n')) text += '\n';
  const std::string fence(longest + 1, '`');
  return fmt::format("\n{0}text\n{1}{0}\n", fence, text);
}

std::string markdown_of(const Section& section) {
  std::string out = section.title.empty() ? "" : fmt::format("\n## {}\n", escaped_markdown(section.title));
  if (!section.remark.empty()) out += fmt::format("\n{}\n", escaped_markdown(section.remark));
  for (const Table& table : section.tables) {
    if (has_own_title(table, section)) out += fmt::format("\n### {}\n", escaped_markdown(table.title));
    out += fmt::format("\n{}", to_markdown(table));
  }
  if (!section.lines.empty()) out += "\n";
  for (const std::string& line : section.lines) out += fmt::format("- {}\n", escaped_markdown(line));
  if (!section.block.empty()) out += fenced(made_visible(section.block));
  for (const std::string& note : section.notes) out += fmt::format("\n{}\n", escaped_markdown(note));
  return out;
}

std::string draw_markdown(const Report& report, bool /*colour*/) {
  std::string out = fmt::format("# {}\n", escaped_markdown(report.title));
  if (report.headline.empty()) {
    if (!report.meta.empty()) out += "\n";
    for (const std::string& line : report.meta) out += fmt::format("- {}\n", escaped_markdown(line));
  } else {
    out += fmt::format("\n**{}**\n", escaped_markdown(report.headline));
  }
  for (const std::string& line : report.lead) out += fmt::format("\n{}\n", escaped_markdown(line));
  if (has_text(report.warnings)) out += markdown_of(report.warnings);
  for (const Section& section : report.sections)
    if ((section.shown & kInMarkdown) != 0 && has_text(section)) out += markdown_of(section);
  return out;
}

}  // namespace

std::string escaped_markdown(std::string_view text) {
  std::string out;
  for (const char c : made_visible(text)) {
    if (c == '\n' || c == '\r') {
      out += ' ';
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      if (std::string_view("\\`*_[]|#~>").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string to_markdown(const Table& table) {
  std::string out = "|", rule = "|";
  for (const Column& column : table.columns) {
    out += fmt::format(" {} |", escaped_markdown(column.header));
    rule += column.number ? "---:|" : "---|";
  }
  out += '\n' + rule + '\n';
  for (const auto& row : table.rows) {
    out += '|';
    for (const Cell& cell : row)
      out += cell.tone == Tone::bad ? fmt::format(" **{}** |", escaped_markdown(cell.text))
                                    : fmt::format(" {} |", escaped_markdown(cell.text));
    out += '\n';
  }
  return out;
}

namespace render {
extern const Renderer kMarkdown{"markdown", "md", "--md", "Markdown", draw_markdown};
}  // namespace render

}  // namespace mmaudit::report
