// A page that loads nothing: style sheet and script are inside and admitted by their digests.
#include "html_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "html_assets.hpp"
#include "mmaudit/report/render.hpp"
#include "printed.hpp"

namespace mmaudit::report {

std::string escaped_html(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
    }
  }
  return out;
}

std::string_view class_of(Tone tone) {
  switch (tone) {
    case Tone::good:
      return "good";
    case Tone::note:
      return "note";
    case Tone::bad:
      return "bad";
    case Tone::plain:
      break;
  }
  return "plain";
}

namespace {

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

std::string_view class_of(const Column& column, const std::string& text) {
  if (column.number) return " class=\"n\"";
  if (column.header == kInstruction) return " class=\"code\"";
  if (column.header == "Value" || column.header == "File") return " class=\"any\"";
  return text.size() > 24 ? " class=\"wrap\"" : "";
}

/// The consoles' "Quanti- zation" breaks where a browser needs it to.
std::string header_text(const std::string& header) {
  std::string out = escaped_html(header);
  const auto letter = [&out](std::size_t at) { return at < out.size() && out[at] >= 'a' && out[at] <= 'z'; };
  for (std::size_t at = out.find("- "); at != std::string::npos; at = out.find("- ", at + 2))
    if (at != 0 && letter(at - 1) && letter(at + 2)) out.replace(at, 2, "&shy;");
  return out;
}

}  // namespace

std::string html_table(const Table& table) {
  const bool wide = table.columns.size() > kMostThatFit;
  // A scrolling region has to be reachable without a mouse.
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table{}><thead><tr>",
      escaped_html(table.title), wide ? " class=\"wide\"" : "");
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
      const std::string_view cls = class_of(column, row[i].text);
      out += i == 0 ? fmt::format("<th scope=\"row\"{}>{}</th>", cls, content)
                    : fmt::format("<td{}>{}</td>", cls, content);
    }
    out += "</tr>";
  }
  out += "</tbody></table></div>\n";
  if (shown != table.rows.size())
    out += fmt::format("<p class=\"small soft\">{} of {} rows; the JSON has all.</p>\n", grouped(shown),
                       grouped(table.rows.size()));
  return out;
}

std::string section(const Table& table, std::string_view remark, std::string_view classes) {
  if (table.rows.empty()) return "";
  std::string out = fmt::format("<section class=\"{}\"><h2>{}</h2>", classes, escaped_html(table.title));
  if (!remark.empty()) out += fmt::format("<p class=\"soft small\">{}</p>", escaped_html(remark));
  return out + html_table(table) + "</section>\n";
}

std::string tile(std::string_view value, std::string_view label) {
  return fmt::format("<li><b>{}</b><span>{}</span></li>", escaped_html(value), escaped_html(label));
}

std::string page_start(std::string_view title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'; "
      "script-src 'sha256-{}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n",
      base64_of_hex(kStyleSha256), base64_of_hex(kScriptSha256), escaped_html(title), kStyle);
}

std::string page_end() {
  return fmt::format(
      "</main>\n<footer>Made by mmaudit. This page holds everything it shows and loads nothing.</footer>\n"
      "<script>{}</script>\n</body></html>\n",
      kScript);
}

}  // namespace mmaudit::report
