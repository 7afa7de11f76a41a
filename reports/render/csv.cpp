#include "mmaudit/csv.hpp"
#include "mmaudit/report/report.hpp"

namespace mmaudit::report {
std::string to_csv(const Table& table) {
  constexpr std::string_view kEnd = "\r\n";
  std::vector<std::string_view> head;
  head.reserve(table.columns.size());
  for (const Column& column : table.columns) head.emplace_back(column.header);
  std::string out = csv::line_of(head, kEnd);
  for (const auto& row : table.rows) {
    std::vector<std::string_view> fields;
    fields.reserve(row.size());
    for (const Cell& cell : row) fields.emplace_back(cell.text);
    out += csv::line_of(fields, kEnd);
  }
  return out;
}

namespace render {
extern const Renderer kCsv{"csv", "csv", [](const Report& report, bool) { return to_csv(report.records); }};
}  // namespace render

}  // namespace mmaudit::report
