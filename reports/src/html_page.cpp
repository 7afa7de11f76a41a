#include "html_page.hpp"

#include <fmt/format.h>

#include "html_assets.hpp"
#include "mmaudit/report/figures.hpp"
#include "mmaudit/report/render.hpp"

namespace mmaudit::report {
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

std::string plain_table(const PageTable& table, const std::string& title) {
  // A scrolling region has to be reachable without a mouse.
  std::string out =
      fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table><thead><tr>",
                  escaped_html(title));
  for (const std::string& cell : table.head)
    out += fmt::format("<th scope=\"col\">{}</th>", escaped_html(cell));
  out += "</tr></thead><tbody>";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      out += i == 0 ? fmt::format("<th scope=\"row\">{}</th>", escaped_html(row[i]))
                    : fmt::format("<td{}>{}</td>", row[i].size() > 60 ? " class=\"wrap\"" : "",
                                  escaped_html(row[i]));
    out += "</tr>";
  }
  return out + "</tbody></table></div>\n";
}

std::string card(const PageSection& section) {
  std::string out = fmt::format("<section class=\"card\"><h2>{}</h2>", escaped_html(section.title));
  if (!section.remark.empty())
    out += fmt::format("<p class=\"soft small\">{}</p>", escaped_html(section.remark));
  if (section.folded) out += "<details><summary><h3>Show</h3></summary>";
  if (!section.figures.empty()) {
    out += "<div class=\"figures\">";
    for (const std::string& figure : section.figures) out += "<div>" + figure + "</div>";
    out += "</div>";
  }
  if (!section.table.rows.empty()) out += plain_table(section.table, section.title);
  return out + (section.folded ? "</details>" : "") + "</section>\n";
}

}  // namespace

std::string page_start(std::string_view title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'; "
      "base-uri 'none'; "
      "form-action 'none'\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style></head>\n<body>\n",
      base64_of_hex(kStyleSha256), escaped_html(title), kStyle);
}

std::string page_end() {
  return "<footer>Made by mmaudit. This page holds everything it shows and loads nothing.</footer>\n"
         "</body></html>\n";
}

std::string page_of(const std::string& title, const std::vector<std::string>& lead,
                    const std::vector<PageSection>& sections) {
  std::string out = page_start(title) + fmt::format("<header><h1>{}</h1>", escaped_html(title));
  for (const std::string& each : lead) out += fmt::format("<p class=\"meta\">{}</p>", escaped_html(each));
  out += "</header>\n<main>\n";
  for (const PageSection& section : sections)
    if (!section.figures.empty() || !section.table.rows.empty()) out += card(section);
  return out + "</main>\n" + page_end();
}

}  // namespace mmaudit::report
