// A page that loads nothing: style sheet and script are inside and admitted by their digests.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "html_assets.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/report/report.hpp"
#include "printed.hpp"
#include "svg_parts.hpp"

namespace mmaudit::report {
namespace {

/// A page with more rows is slow to open; the JSON has all of them.
constexpr std::size_t kMostRows = 2000;

std::string_view class_of(Tone tone) { return kToneNames[static_cast<std::size_t>(tone)]; }

/// The digest as content security policies spell it.
std::string base64_of_hex(std::string_view hex) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto nibble = [](char c) {
    return static_cast<unsigned>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  };
  std::string out;
  unsigned held = 0, bits = 0;
  for (const char c : hex) {
    held = (held << 4 | nibble(c)) & 0xFFF;
    bits += 4;
    if (bits >= 6) {
      bits -= 6;
      out += kDigits[(held >> bits) & 63];
    }
  }
  if (bits != 0) out += kDigits[(held << (6 - bits)) & 63];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

constexpr std::string_view kInstruction = "Instruction";  ///< the column of PTX names

/// Tables of more columns scroll sideways whatever their names do.
constexpr std::size_t kMostThatFit = 14;

/// The name of an instruction, which may go on in a new line after its shape and after kinds.
std::string breakable(std::string_view name) {
  constexpr std::size_t kFormat = 5;  // no name of a format is longer
  std::string out;
  std::size_t start = 0;
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', start)) {
    out += escaped_html(name.substr(start, dot + 1 - start));
    if (dot - start > kFormat) out += "<wbr/>";
    start = dot + 1;
  }
  return out + escaped_html(name.substr(start));
}

/// Longer texts are read, not looked up: they go over several lines on small screens too.
constexpr std::size_t kSentence = 32;

/// Classes and hover text of a cell.
std::string attributes_of(const Column& column, const Cell& cell, bool first) {
  std::string classes = column.number                                         ? "n"
                        : column.header == kInstruction                       ? "code"
                        : column.header == "Value" || column.header == "File" ? "any"
                        : cell.text.size() <= 24 || first                     ? ""
                        : cell.text.size() > kSentence                        ? "wrap long"
                                                                              : "wrap";
  if (cell.heat == kAbsentHeat) classes += " absent";
  if (cell.heat >= 0) classes += fmt::format(" h{}", cell.heat);
  std::string out = classes.empty() ? "" : fmt::format(" class=\"{}\"", classes);
  if (!cell.hint.empty()) out += fmt::format(" title=\"{}\"", escaped_html(cell.hint));
  return out;
}

/// What links to a section say: letters and digits of its title, told apart by numbers.
class Anchors {
 public:
  std::string of(std::string_view title) {
    std::string name;
    for (const char c : title) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
      if (plain)
        name += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
      else if (!name.empty() && name.back() != '-')
        name += '-';
    }
    name = name.empty() || name.back() != '-' ? name : name.substr(0, name.size() - 1);
    const int before = used_[name]++;
    return before == 0 ? name : fmt::format("{}-{}", name, before + 1);
  }

 private:
  std::map<std::string, int> used_;
};

/// The consoles' "Quanti- zation" breaks where a browser needs it to.
std::string header_text(const std::string& header) {
  std::string out = escaped_html(header);
  const auto letter = [&out](std::size_t at) { return at < out.size() && out[at] >= 'a' && out[at] <= 'z'; };
  for (std::size_t at = out.find("- "); at != std::string::npos; at = out.find("- ", at + 2))
    if (at != 0 && letter(at - 1) && letter(at + 2)) out.replace(at, 2, "&shy;");
  return out;
}

std::string folded(bool fold, std::string_view summary, const std::string& content) {
  if (!fold || content.empty()) return content;
  return fmt::format("<details><summary><h3>{}</h3></summary>{}</details>", escaped_html(summary), content);
}

std::string paragraph(std::string_view text, std::string_view classes) {
  return text.empty() ? "" : fmt::format("<p class=\"{}\">{}</p>", classes, escaped_html(text));
}

std::string list_of(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string out = "<ul class=\"plain small\">";
  for (std::size_t i = 0; i < std::min(lines.size(), kMostRows); ++i)
    out += fmt::format("<li>{}</li>", escaped_html(lines[i]));
  return out + "</ul>";
}

/// Markup of figures, and of the table that stands beside them.
std::string figures_of(const Section& section, const std::string& table) {
  std::string out;
  std::vector<std::string> figures = section.figures;
  std::transform(section.plots.begin(), section.plots.end(), std::back_inserter(figures), drawn);
  std::erase(figures, "");
  for (const std::string& figure : figures) {
    const std::string scrolls = fmt::format(" tabindex=\"0\" role=\"group\" aria-label=\"{}: a figure\"",
                                            escaped_html(section.title));
    out += fmt::format("<div class=\"figure\"{}>{}</div>", figure.starts_with(svg::kScrolls) ? scrolls : "",
                       figure);
  }
  if (out.empty()) return table;
  switch (section.layout) {
    case Layout::beside:
      return fmt::format("<div class=\"chart\">{}{}</div>", out, table);
    case Layout::small:
      return fmt::format("<div class=\"small-figures\">{}</div>{}", out, table);
    case Layout::grid:
      return fmt::format("<div class=\"figures\">{}</div>{}", out, table);
    case Layout::wide:
      break;
  }
  return out + table;
}

/// `name`: what the region is called to people who do not see the heading above it.
std::string table_of(const Table& table, std::string_view name) {
  const bool wide = table.columns.size() > kMostThatFit;
  // A scrolling region has to be reachable without a mouse.
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table{}><thead><tr>",
      escaped_html(name), wide ? " class=\"wide\"" : "");
  for (const Column& column : table.columns)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"n\"" : "",
                       header_text(column.header));
  out += "</tr></thead><tbody>";
  const std::size_t shown = std::min(table.rows.size(), kMostRows);
  for (std::size_t r = 0; r < shown; ++r) {
    const auto& row = table.rows[r];
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Column& column = table.columns[i];
      std::string content =
          column.header == kInstruction && !wide ? breakable(row[i].text) : escaped_html(row[i].text);
      if (row[i].tone != Tone::plain)
        content = fmt::format("<span class=\"tag {}\">{}</span>", class_of(row[i].tone), content);
      const std::string attributes = attributes_of(column, row[i], i == 0);
      out += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", attributes, content)
                    : fmt::format("<td{}>{}</td>", attributes, content);
    }
    out += "</tr>";
  }
  out += "</tbody></table></div>\n";
  if (shown != table.rows.size())
    out += fmt::format("<p class=\"small soft\">{} of {} rows; the JSON has all.</p>\n", grouped(shown),
                       grouped(table.rows.size()));
  return out;
}

std::string card(const Section& section, const std::string& anchor) {
  constexpr std::size_t kLong = 16;
  std::string tables;
  int unnamed = 0;
  bool is_long = section.layout == Layout::wide;
  for (const Table& table : section.tables) {
    if (table.rows.empty()) continue;
    is_long = is_long || table.rows.size() > kLong || section.tables.size() > 1;
    if (has_own_title(table, section) && !table.folded)
      tables += fmt::format("<p><b>{}</b></p>", escaped_html(table.title));
    const std::string remark = table.remark == section.remark ? "" : paragraph(table.remark, "small");
    // Regions are told apart by their names.
    const std::string name = has_own_title(table, section) && !section.title.empty()
                                 ? fmt::format("{}: {}", section.title, table.title)
                             : !table.title.empty() ? table.title
                             : section.tables.size() == 1
                                 ? section.title
                                 : fmt::format("{}, table {}", section.title, ++unnamed);
    tables += folded(table.folded, table.title, remark + table_of(table, name));
  }
  std::string content = figures_of(section, tables) + list_of(section.lines);
  if (!section.block.empty())
    content += fmt::format("<pre class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{}</pre>",
                           escaped_html(section.title.empty() ? "Result" : section.title),
                           escaped_html(section.block));
  if (content.empty()) return "";
  const std::string heading = section.title.empty() ? ""
                                                    : fmt::format("<h2><a href=\"#{}\">{}</a></h2>", anchor,
                                                                  escaped_html(section.title));
  std::string out =
      fmt::format("<section class=\"card{}\" id=\"{}\">{}{}{}", is_long ? " long" : "", anchor, heading,
                  paragraph(section.remark, "soft small"), folded(section.folded, "Show", content));
  for (const std::string& note : section.notes) out += paragraph(note, "small");
  return out + "</section>\n";
}

std::string first_screen(const Report& report) {
  std::string out = fmt::format("<header><h1>{}</h1>", escaped_html(report.title));
  for (const std::string& line : report.meta) out += paragraph(line, "meta");
  const Provenance& from = report.provenance;
  if (report.meta.empty() && !from.version.empty())
    out += paragraph(
        fmt::format("mmaudit {}{}{}", from.version, from.date.empty() ? "" : " \u00b7 ", from.date), "meta");
  if (!report.headline.empty()) {
    out += fmt::format("<div class=\"verdict {}\" role=\"status\"><strong>{}</strong>", class_of(report.tone),
                       escaped_html(report.headline));
    for (const std::string& line : report.lead) out += fmt::format("<p>{}</p>", escaped_html(line));
    out += "</div>";
  }
  if (!report.warnings.lines.empty())
    out += fmt::format("<div class=\"verdict note\"><strong>{}</strong>{}</div>",
                       escaped_html(report.warnings.title), list_of(report.warnings.lines));
  if (!report.highlights.empty()) out += "<ul class=\"tiles\">";
  for (const Highlight& one : report.highlights)
    out += fmt::format("<li><b>{}</b><span>{}</span></li>", escaped_html(one.value), escaped_html(one.label));
  return out + (report.highlights.empty() ? "" : "</ul>") + "</header>\n";
}

std::string draw_html(const Report& report, bool /*colour*/) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'; "
      "script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n",
      base64_of_hex(kStyleSha256), base64_of_hex(kScriptSha256), escaped_html(report.title), kStyle);
  Anchors anchors;
  std::string cards, menu;
  std::vector<Section> sections = report.sections;
  if (!report.provenance.version.empty()) sections.push_back(section_of(provenance_table(report.provenance)));
  for (const Section& section : sections) {
    if ((section.shown & kOnPage) == 0) continue;
    const std::string anchor = anchors.of(section.title.empty() ? "Result" : section.title),
                      one = card(section, anchor);
    if (!one.empty() && !section.title.empty())
      menu += fmt::format("<li><a href=\"#{}\">{}</a></li>", anchor, escaped_html(section.title));
    cards += one;
  }
  if (!menu.empty()) menu = fmt::format("<nav aria-label=\"Sections\"><ul>{}</ul></nav>\n", menu);
  return out + first_screen(report) + menu + "<main>\n" + cards +
         fmt::format(
             "</main>\n<footer>Made by mmaudit. This page holds everything it shows and loads "
             "nothing.</footer>\n<script>{}</script>\n</body></html>\n",
             kScript);
}

}  // namespace

std::string escaped_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : made_visible(text)) {
    constexpr std::pair<char, std::string_view> kEntities[] = {
        {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    const auto* at = std::find_if(std::begin(kEntities), std::end(kEntities),
                                  [c](const auto& entity) { return entity.first == c; });
    if (at != std::end(kEntities)) {
      out += at->second;
    } else if (c != '\r') {
      out += c;
    }
  }
  return out;
}

std::string to_html(const Table& table) { return table_of(table, table.title); }

namespace render {
extern const Renderer kHtml{"html", "html", "--html", "one self-contained page", draw_html};
}  // namespace render

}  // namespace mmaudit::report
