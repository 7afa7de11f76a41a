// An audit of tensors for people: console and Markdown.
#include <fmt/format.h>

#include "audit_tables.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "text_layout.hpp"

namespace mmaudit::report {

std::string to_console(const GemmAudit& audit, bool colour) {
  std::string out = painted(wrapped(headline(audit), ""), tone_of(audit), colour) + wrapped(audit.method, "");
  for (const std::string& line : findings(audit)) out += painted(wrapped(line, ""), Tone::note, colour);
  const auto section = [&](const Table& table) {
    if (!table.rows.empty()) out += fmt::format("\n{}\n{}", table.title, console_table(table, colour));
  };
  section(tensor_table(audit));
  section(row_table(audit));
  const std::vector<std::string> lines = reasons(audit);
  if (!lines.empty()) out += "\nWhy, and what would help\n";
  for (const std::string& line : lines) out += wrapped(line, "  ");
  if (!audit.rows_of.empty()) out += "\n" + wrapped(columns_remark(), "");
  for (const std::string& remark : audit.remarks) out += wrapped(printable(remark, kLongestLine), "");
  if (!audit.left_out.empty()) out += "\nLeft out\n";
  for (const std::string& line : audit.left_out) out += wrapped(printable(line, kLongestLine), "  ");
  return out;
}

std::string to_markdown(const GemmAudit& audit) {
  std::string out = fmt::format("# Error of A B by data type\n\n**{}**\n\n{}\n",
                                markdown_escaped(headline(audit)), markdown_escaped(audit.method));
  const auto section = [&](const Table& table) {
    if (!table.rows.empty())
      out += fmt::format("\n## {}\n\n{}", markdown_escaped(table.title), markdown_table(table));
  };
  const auto list = [&](std::string_view title, const std::vector<std::string>& lines) {
    if (!lines.empty()) out += fmt::format("\n## {}\n\n", title);
    for (const std::string& line : lines) out += fmt::format("- {}\n", markdown_escaped(line));
  };
  list("What is wrong with the tensors", findings(audit));
  section(row_table(audit));
  if (!audit.rows_of.empty()) out += fmt::format("\n{}\n", markdown_escaped(columns_remark()));
  list("Why, and what would help", reasons(audit));
  section(tensor_table(audit));
  list("Remarks", audit.remarks);
  list("Left out", audit.left_out);
  section(provenance_table(audit.provenance));
  return out;
}

}  // namespace mmaudit::report
