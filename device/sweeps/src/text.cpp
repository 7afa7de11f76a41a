// Console, Markdown and CSV.
#include <fmt/format.h>

#include <algorithm>

#include "mmaudit/sweeps/render.hpp"
#include "mmaudit/sweeps/tables.hpp"

namespace mmaudit::sweeps {
namespace {

/// Quoted where a comma, a quote or a line break would end the field.
std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

void append_row(std::string& out, const std::vector<std::string>& cells) {
  for (const std::string& cell : cells) out += "| " + markdown_cell(cell) + " ";
  out += "|\n";
}

}  // namespace

std::string to_console(const SweepResult& result) {
  std::string out;
  for (const std::string& fact : facts_of(result)) out += fact + "\n";
  for (const Table& table : tables_of(result)) {
    out += "\n" + table.title + "\n";
    std::vector<std::size_t> widths;
    for (const std::string& cell : table.head) widths.push_back(cell.size());
    for (const auto& row : table.rows)
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    const auto line = [&](const std::vector<std::string>& row) {
      std::string text;
      for (std::size_t i = 0; i < row.size(); ++i)
        text += i + 1 == row.size() ? row[i] : fmt::format("{:{}}  ", row[i], widths[i]);
      while (text.ends_with(' ')) text.pop_back();
      out += "  " + text + "\n";
    };
    line(table.head);
    for (const auto& row : table.rows) line(row);
  }
  return out;
}

std::string to_markdown(const SweepResult& result) {
  std::string out = fmt::format("# Speed of {}\n\n", result.device.name);
  for (const std::string& fact : facts_of(result)) out += "- " + fact + "\n";
  for (const Table& table : tables_of(result)) {
    out += "\n## " + table.title + "\n\n";
    append_row(out, table.head);
    append_row(out, std::vector<std::string>(table.head.size(), "---"));
    for (const auto& row : table.rows) append_row(out, row);
  }
  return out;
}

std::string to_csv(const SweepResult& result) {
  std::vector<std::string> axes;
  for (const AxisSpec& spec : axis_specs()) axes.emplace_back(spec.name);
  std::string out = "device,subject";
  for (const std::string& axis : axes) out += "," + axis;
  out += ",skipped";
  for (const SummarySpec& spec : summary_specs()) out += "," + std::string(spec.tag);
  out += "\n";
  for (const State& state : result.states) {
    out += csv_field(result.device.name) + "," + csv_field(state.subject);
    for (const std::string& axis : axes) out += "," + csv_field(state.axis(axis));
    out += "," + csv_field(state.skipped);
    for (const SummarySpec& spec : summary_specs()) {
      const std::optional<double> value = state.get(spec.tag);
      out += value ? fmt::format(",{}", *value) : ",";
    }
    out += "\n";
  }
  return out;
}

}  // namespace mmaudit::sweeps
