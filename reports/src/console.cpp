#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/report/render.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

constexpr std::size_t kColumns = 110;

/// Code points, not bytes: what a terminal advances by for the text written here.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string painted(std::string text, Tone tone, bool colour) {
  if (!colour || tone == Tone::plain) return text;
  const std::string_view code = tone == Tone::good ? "32" : tone == Tone::bad ? "31" : "33";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

/// Words of `text` on lines of at most kColumns, the later ones indented like the first.
std::string wrapped(std::string_view text, std::string_view first_indent) {
  std::string out(first_indent), line_indent(first_indent.size(), ' ');
  std::size_t used = first_indent.size();
  bool start = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!start && used + 1 + width_of(word) > kColumns) {
      out += '\n' + line_indent;
      used = line_indent.size();
      start = true;
    }
    if (!start) out += ' ', ++used;
    out += word;
    used += width_of(word);
    start = false;
  }
  return out + '\n';
}

/// Header words on two lines where one is too long: a column is as wide as its cells need, within reason.
std::vector<std::string> header_lines(const std::string& header, std::size_t width) {
  if (width_of(header) <= width) return {"", header};
  const std::size_t middle = header.size() / 2;
  const std::size_t before = header.rfind(' ', middle), after = header.find(' ', middle);
  const std::size_t cut =
      before != std::string::npos && (after == std::string::npos || middle - before <= after - middle)
          ? before
          : after;
  if (cut == std::string::npos) return {"", header};
  return {header.substr(0, cut), header.substr(cut + 1)};
}

std::string laid_out(const Table& table, bool colour) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (!table.columns[i].wide_only) shown.push_back(i);
  std::vector<std::size_t> widths(table.columns.size(), 0);
  std::vector<std::vector<std::string>> headers(table.columns.size());
  for (const std::size_t i : shown) {
    for (const auto& row : table.rows) widths[i] = std::max(widths[i], width_of(row[i].text));
    headers[i] = header_lines(table.columns[i].header, std::max<std::size_t>(widths[i], 8));
    for (const std::string& line : headers[i]) widths[i] = std::max(widths[i], width_of(line));
  }
  std::string out;
  const auto put = [&](std::size_t column, const std::string& text, Tone tone, bool last) {
    const std::string padding(widths[column] - width_of(text), ' ');
    out += "  ";
    if (table.columns[column].number) out += padding;
    out += painted(text, tone, colour);
    if (!table.columns[column].number && !last) out += padding;
  };
  for (std::size_t line = 0; line < 2; ++line) {
    if (line == 0 &&
        std::all_of(shown.begin(), shown.end(), [&](std::size_t i) { return headers[i][0].empty(); }))
      continue;
    for (const std::size_t i : shown) put(i, headers[i][line], Tone::plain, i == shown.back());
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  for (const auto& row : table.rows) {
    for (const std::size_t i : shown) put(i, row[i].text, row[i].tone, i == shown.back());
    out += '\n';
  }
  return out;
}

}  // namespace

std::string to_console(const AuditResult& result, bool colour) {
  const Provenance& from = result.provenance;
  std::string out =
      fmt::format("mmaudit {} audit: {} on {}\n\n", from.version, capitalised(from.architecture),
                  from.backend.empty() ? "unnamed backend" : from.backend);
  const Tone tone = tone_of(result.verification.verdict());
  out += painted(wrapped(verdict_sentence(result.verification), ""), tone, colour);
  if (result.verification.mismatches() != 0)
    out += '\n' + laid_out(verification_table(result.verification, true), colour);
  if (const std::string sentence = published_sentence(result); !sentence.empty())
    out += wrapped(sentence, "");

  const auto section = [&](const Table& table, std::string_view remark) {
    if (table.rows.empty()) return;
    out += fmt::format("\n{}\n", table.title);
    if (!remark.empty()) out += wrapped(remark, "");
    out += laid_out(table, colour);
  };
  section(dtype_table(result), dtype_remark(result));
  section(published_table(result), "Mean absolute error, Sun et al. 2023, Tables XII to XV (A100).");
  for (const std::string& note : notes(result)) out += wrapped(note, "  Note: ");
  if (!result.chains.empty()) section(chain_table(result), result.chain_method);
  out += "\nNot covered\n";
  for (const std::string& line : result.not_covered) out += wrapped(line, "  - ");
  return out;
}

}  // namespace mmaudit::report
