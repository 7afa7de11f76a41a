#include <fmt/format.h>

#include "mmaudit/report/render.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

/// Text that stays text: nothing in it starts a cell, a tag, a link or emphasis.
std::string escaped(std::string_view text) {
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
    out += fmt::format(" {} |", escaped(column.header));
    rule += column.number ? "---:|" : "---|";
  }
  out += '\n' + rule + '\n';
  for (const auto& row : table.rows) {
    out += '|';
    for (const Cell& cell : row)
      out += cell.tone == Tone::bad ? fmt::format(" **{}** |", escaped(cell.text))
                                    : fmt::format(" {} |", escaped(cell.text));
    out += '\n';
  }
  return out;
}

}  // namespace

std::string to_markdown(const AuditResult& result) {
  std::string out =
      fmt::format("# Tensor-core audit: {}\n\n**{}**\n", escaped(capitalised(result.provenance.architecture)),
                  escaped(verdict_sentence(result.verification)));
  if (const std::string sentence = published_sentence(result); !sentence.empty())
    out += fmt::format("\n{}\n", escaped(sentence));
  const auto section = [&](int level, const Table& table, std::string_view remark) {
    if (table.rows.empty()) return;
    out +=
        fmt::format("\n{} {}\n\n", std::string(static_cast<std::size_t>(level), '#'), escaped(table.title));
    if (!remark.empty()) out += fmt::format("{}\n\n", escaped(remark));
    out += markdown_table(table);
  };
  section(2, dtype_table(result), dtype_remark(result) + " " + adds_remark());
  out += "\n## Not covered\n\n";
  for (const std::string& line : result.not_covered) out += fmt::format("- {}\n", escaped(line));
  if (!result.chains.empty()) section(2, chain_table(result), result.chain_method);
  section(2, published_table(result), "Mean absolute error, Sun et al. 2023, Tables XII to XV (A100).");
  for (const std::string& note : notes(result)) out += fmt::format("\n{}\n", escaped(note));
  if (!result.cells.empty()) out += "\n## Every cell\n";
  for (const Table& table : profile_tables(result)) section(3, table, "");
  section(2, format_table(result), "");
  section(2, verification_table(result.verification, false), "");
  section(2, provenance_table(result.provenance), "");
  return out;
}

}  // namespace mmaudit::report
