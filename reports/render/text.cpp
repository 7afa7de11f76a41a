// Aligned text for a terminal, at most 110 columns.
#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/report/report.hpp"

namespace mmaudit::report {
namespace {

constexpr std::size_t kColumns = 110;
constexpr std::size_t kLeastHeader = 8;  ///< a header up to this long is one line
constexpr std::size_t kLeastRoom = 24;   ///< of the last column of a table, for its cells to be broken

/// Code points, not bytes: what a terminal advances by for the text written here.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
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

std::string painted(std::string text, Tone tone, bool colour) {
  if (!colour || tone == Tone::plain) return text;
  const std::string_view code = tone == Tone::good ? "32" : tone == Tone::bad ? "31" : "33";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

/// Words of `text` on lines of at most `room` columns.
std::vector<std::string> broken(std::string_view text, std::size_t room) {
  std::vector<std::string> out(1);
  std::size_t used = 0;
  for (bool start = true; !text.empty(); start = false) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!start && used + 1 + width_of(word) > room)
      out.emplace_back(), used = 0;
    else if (!start)
      out.back() += ' ', ++used;
    out.back() += word;
    used += width_of(word);
  }
  return out;
}

/// Words of `text` on lines of at most kColumns, the later ones indented like the first.
std::string wrapped(std::string_view text, std::string_view first_indent = "") {
  std::string out, indent(first_indent);
  for (const std::string& line : broken(text, kColumns - first_indent.size())) {
    out += indent + line + '\n';
    indent.assign(first_indent.size(), ' ');
  }
  return out;
}

/// The last cells on several lines where they are longer than `room`.
std::vector<std::vector<Cell>> with_last_broken(const std::vector<std::vector<Cell>>& rows,
                                                std::size_t room) {
  std::vector<std::vector<Cell>> out;
  for (const auto& row : rows) {
    out.push_back(row);
    const std::vector<std::string> lines = broken(row.back().text, room);
    out.back().back().text = lines.front();
    for (std::size_t i = 1; i < lines.size(); ++i) {
      out.emplace_back(row.size() - 1, Cell(""));
      out.back().emplace_back(lines[i], row.back().tone);
    }
  }
  return out;
}

std::string text_of(const Section& section, bool colour) {
  std::string out = section.title.empty() ? "" : '\n' + wrapped(section.title);
  if (!section.remark.empty()) out += wrapped(section.remark);
  for (const Table& table : section.tables) {
    if (has_own_title(table, section)) out += '\n' + wrapped(table.title);
    out += to_text(table, colour);
  }
  for (const std::string& line : section.lines) out += wrapped(line, "  - ");
  out += section.block;
  for (const std::string& note : section.notes) out += wrapped(note);
  return out;
}

std::string draw_text(const Report& report, bool colour) {
  std::string out = report.text_title.empty() ? "" : report.text_title + "\n";
  if (!out.empty() && !(report.headline_last && report.lead.empty())) out += '\n';
  const std::string headline =
      report.headline.empty() ? "" : painted(wrapped(report.headline), report.tone, colour);
  if (headline.empty())
    for (const std::string& line : report.meta) out += wrapped(line);
  if (!report.headline_last) out += headline;
  for (const std::string& line : report.lead) out += wrapped(line);
  for (const std::string& line : report.warnings.lines) out += painted(wrapped(line), Tone::note, colour);
  for (const Section& section : report.sections)
    if ((section.shown & kOnTerminal) != 0 && has_text(section)) out += text_of(section, colour);
  return report.headline_last ? out + headline : out;
}

}  // namespace

std::string aligned(std::vector<Place> places, const std::vector<std::vector<Cell>>& rows, bool colour) {
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      if (i + 1 < row.size() || places[i].right)
        places[i].width = std::max(places[i].width, width_of(row[i].text));
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string fill(places[i].width - std::min(places[i].width, width_of(row[i].text)), ' ');
      out += std::string(places[i].gap, ' ') + (places[i].right ? fill : "") +
             painted(row[i].text, row[i].tone, colour) + (places[i].right ? "" : fill);
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    out += '\n';
  }
  return out;
}

std::string to_text(const Table& table, bool colour) {
  std::vector<Place> places;
  std::vector<std::vector<Cell>> lines(2 + table.rows.size());
  std::size_t before_last = 0, columns = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].wide_only) continue;
    places.push_back({.right = table.columns[i].number});
    std::size_t width = 0;
    for (std::size_t row = 0; row < table.rows.size(); ++row) {
      lines[2 + row].push_back(table.rows[row][i]);
      width = std::max(width, width_of(table.rows[row][i].text));
    }
    const std::vector<std::string> header =
        header_lines(table.columns[i].header, std::max(width, kLeastHeader));
    for (std::size_t line = 0; line < 2; ++line) {
      lines[line].emplace_back(header[line]);
      width = std::max(width, width_of(header[line]));
    }
    before_last = columns + places.back().gap;
    columns = before_last + width;
  }
  if (columns > kColumns && before_last + kLeastRoom <= kColumns && !places.back().right)
    lines = with_last_broken(lines, kColumns - before_last);
  const bool facts = table.columns.size() == 2 && table.columns[0].header == "what";
  if (facts) lines.erase(lines.begin(), lines.begin() + 2);  // each row says what it is
  if (!facts &&
      std::all_of(lines[0].begin(), lines[0].end(), [](const Cell& cell) { return cell.text.empty(); }))
    lines.erase(lines.begin());
  return aligned(std::move(places), lines, colour);
}

namespace render {
extern const Renderer kText{"text", "txt", "", "", draw_text};
}  // namespace render

}  // namespace mmaudit::report
