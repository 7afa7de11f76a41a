#include "mmaudit/report/report.hpp"

namespace mmaudit::report {
namespace {

/// Quoted where a comma, a quote or the end of a line would end the field.
std::string field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string to_csv(const Table& table) {
  std::string out;
  std::string_view separator;
  const auto put = [&](const std::string& text) {
    out.append(separator).append(field(text));
    separator = ",";
  };
  const auto end_line = [&] {
    out += "\r\n";
    separator = "";
  };
  for (const Column& column : table.columns) put(column.header);
  end_line();
  for (const auto& row : table.rows) {
    for (const Cell& cell : row) put(cell.text);
    end_line();
  }
  return out;
}

namespace render {
extern const Renderer kCsv{"csv", "csv", [](const Report& report, bool) { return to_csv(report.records); }};
}  // namespace render

}  // namespace mmaudit::report
