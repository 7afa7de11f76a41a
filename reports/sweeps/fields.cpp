#include "sweeps/fields.hpp"

#include <fmt/args.h>
#include <fmt/format.h>

namespace mmaudit::sweeps {

std::string number_text(std::optional<double> value, int digits, double scale) {
  return value ? fmt::format("{:.{}f}", scale * *value, digits) : "-";
}

std::string share_text(std::optional<double> share, int digits) {
  return share ? fmt::format("{:.{}f}%", 100 * *share, digits) : "-";
}

std::string bytes_text(double bytes_per_second) {
  return bytes_per_second >= 1e12 ? fmt::format("{:.2f} TB/s", 1e-12 * bytes_per_second)
                                  : fmt::format("{:.0f} GB/s", 1e-9 * bytes_per_second);
}

std::vector<report::Section> table_or_lines(report::Table table, std::string_view line) {
  report::Section list{.title = table.title, .shown = report::kOnTerminal};
  for (const auto& row : table.rows) {
    fmt::dynamic_format_arg_store<fmt::format_context> cells;
    for (const report::Cell& cell : row) cells.push_back(cell.text);
    list.lines.push_back(fmt::vformat(line, cells));
  }
  return {section_of(std::move(table), report::kInDocuments), std::move(list)};
}

}  // namespace mmaudit::sweeps
