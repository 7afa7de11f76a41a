#include <fmt/format.h>

#include "html_parts.hpp"
#include "mmaudit/report/figures.hpp"
#include "mmaudit/report/render.hpp"

namespace mmaudit::report {
namespace {

Table table_of(const PageTable& table, const std::string& title) {
  Table out{title, {}, {}};
  for (const std::string& header : table.head) out.columns.push_back({header});
  for (const auto& row : table.rows) {
    auto& cells = out.rows.emplace_back();
    for (const std::string& cell : row) cells.push_back({cell});
  }
  return out;
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
  if (!section.table.rows.empty()) out += html_table(table_of(section.table, section.title));
  return out + (section.folded ? "</details>" : "") + "</section>\n";
}

}  // namespace

std::string page_of(const std::string& title, const std::vector<std::string>& lead,
                    const std::vector<PageSection>& sections) {
  std::string out = page_start(title) + fmt::format("<header><h1>{}</h1>", escaped_html(title));
  for (const std::string& each : lead) out += fmt::format("<p class=\"meta\">{}</p>", escaped_html(each));
  out += "</header>\n<main>\n";
  for (const PageSection& section : sections)
    if (!section.figures.empty() || !section.table.rows.empty()) out += card(section);
  return out + page_end();
}

}  // namespace mmaudit::report
