#include "mmaudit/csv.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::report {
std::string to_csv(const Table& table) {
  constexpr std::string_view kEnd = "\r\n";
  std::vector<std::string_view> fields;
  for (const Column& column : table.columns) fields.emplace_back(column.header);
  std::string out = csv::line_of(fields, kEnd);
  for (const auto& row : table.rows) {
    fields.clear();
    for (const Cell& cell : row) fields.emplace_back(cell.text);
    out += csv::line_of(fields, kEnd);
  }
  return made_visible(out);  // names of a user's file may hold what a terminal obeys
}

namespace {

/// A report without records and with several tables: one line per cell.
Table cells_of(const Report& report) {
  Table out{.columns = {"table", {"row", true}, "column", "value"}};
  for (const Section& section : report.sections)
    for (const Table& table : section.tables)
      for (std::size_t r = 0; r < table.rows.size(); ++r)
        for (std::size_t i = 0; i < table.rows[r].size(); ++i)
          out.rows.push_back({table.title.empty() ? section.title : table.title, std::to_string(r + 1),
                              table.columns[i].header, table.rows[r][i].text});
  if (out.rows.empty()) out.rows.push_back({report.title, "1", "headline", report.headline});
  return out;
}

std::string draw_csv(const Report& report, bool /*colour*/) {
  if (!report.records.columns.empty()) return to_csv(report.records);
  const Table* only = nullptr;
  for (const Section& section : report.sections)
    for (const Table& table : section.tables) {
      if (only != nullptr) return to_csv(cells_of(report));
      only = &table;
    }
  return to_csv(only == nullptr ? cells_of(report) : *only);
}

}  // namespace

namespace render {
extern const Renderer kCsv{"csv", "csv", "--csv", "CSV", draw_csv};
}  // namespace render

}  // namespace mmaudit::report
