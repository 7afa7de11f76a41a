#include "sweeps/published.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "mmaudit/csv.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "published_machine.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr std::string_view kHead = "table,gpu,subject,point,cycles,rate,unit,mhz,watts,per_watt";

/// Rows of as many columns as the head. Errors: std::logic_error, which a test would find.
std::vector<std::vector<std::string_view>> rows_in(std::string_view file, std::string_view head) {
  std::vector<std::vector<std::string_view>> rows = csv::rows_of(file, head);
  for (const auto& cells : rows)
    if (cells.size() != csv::fields_of(head).size())
      throw std::logic_error("corpus/published: a row of other columns: " + csv::line_of(cells, ""));
  return rows;
}

PublishedRow row_of(const std::vector<std::string_view>& cells) {
  PublishedRow row{cells[0], cells[1], split(cells[2], '|'), {}, cells[4], cells[5], cells[6], cells[7],
                   cells[8], cells[9]};
  if (!cells[3].empty())
    for (const std::string_view pair : split(cells[3], ' ')) {
      const std::size_t equals = pair.find('=');
      row.axes.emplace_back(pair.substr(0, equals), pair.substr(equals + 1));
    }
  return row;
}

bool contains(const std::vector<std::string_view>& list, std::string_view wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

bool same_point(const PublishedRow& row, const Point& point, bool any_grid) {
  if (!contains(row.subjects, point.subject)) return false;
  const Benchmark* benchmark = find_benchmark(point.subject);
  if (benchmark != nullptr && !contains(benchmark->published, row.table)) return false;
  return std::all_of(row.axes.begin(), row.axes.end(), [&](const auto& printed) {
    if (any_grid && (printed.first == kWarpsAxis.name || printed.first == kIlpAxis.name)) return true;
    const std::string_view value = point.axis(printed.first);
    return value.empty() || value == printed.second;
  });
}

enum class Unit { left_out, printed };

/// Multiprocessors of a GPU by the paper's table of machines; 0: not there.
double multiprocessors_of(std::string_view gpu) {
  for (const PublishedFact& fact : published_facts())
    if (fact.what == "multiprocessors" && fact.gpu.starts_with(gpu))
      return std::strtod(std::string(fact.value).c_str(), nullptr);
  return 0;
}

/// "1800 GB/s (H800, Luo 5)"; bytes per clock of a whole GPU per multiprocessor, as ours are, with what was
/// printed: "39.2 B/clk/SM (H800, Luo V: 4472.3 B/clk)".
std::string rate_text(const PublishedRow& row) {
  const double count = row.unit == "B/clk" ? multiprocessors_of(row.gpu) : 0;
  if (count == 0) return fmt::format("{} {} ({}, {})", row.rate, row.unit, row.gpu, row.table);
  return fmt::format("{:.1f} B/clk/SM ({}, {}: {} {})",
                     std::strtod(std::string(row.rate).c_str(), nullptr) / count, row.gpu, row.table,
                     row.rate, row.unit);
}

template <typename Wanted>
std::string text_of(const Point& point, bool any_grid, std::string_view PublishedRow::*value, Wanted wanted,
                    Unit unit = Unit::left_out) {
  std::string text;
  for (const PublishedRow& row : published_rows()) {
    if ((row.*value).empty() || !wanted(row) || !same_point(row, point, any_grid)) continue;
    if (!text.empty()) text += ", ";
    text +=
        unit == Unit::printed ? rate_text(row) : fmt::format("{} ({}, {})", row.*value, row.gpu, row.table);
  }
  return text;
}

bool any_row(const PublishedRow&) { return true; }

}  // namespace

const std::vector<PublishedRow>& published_rows() {
  static const std::vector<PublishedRow> all = [] {
    std::vector<PublishedRow> rows;
    for (const std::string_view file : published_files())
      for (const auto& cells : rows_in(file, kHead)) rows.push_back(row_of(cells));
    return rows;
  }();
  return all;
}

const std::vector<PublishedFact>& published_facts() {
  static const std::vector<PublishedFact> all = [] {
    std::vector<PublishedFact> facts;
    for (const auto& cells : rows_in(kLuo2025Machine, "table,gpu,what,value,unit"))
      facts.push_back({cells[0], cells[1], cells[2], cells[3], cells[4]});
    return facts;
  }();
  return all;
}

std::string published_fact(std::string_view what) {
  std::string text;
  for (const PublishedFact& fact : published_facts())
    if (fact.what == what)
      text += (text.empty() ? "" : ", ") + std::string(fact.value) + " (" + std::string(fact.gpu) + ", " +
              std::string(fact.table) + ")";
  return text;
}

std::string published_cycles(const Point& point) {
  return point.axis("scope") != "sm" ? "" : text_of(point, false, &PublishedRow::cycles, any_row);
}

std::string published_rates(const Point& point) {
  // With a clock beside it, it is a rate under a power limit.
  const auto wanted = [](const PublishedRow& row) { return row.unit == "TFLOPS" && row.mhz.empty(); };
  return point.axis("scope") != "gpu" ? "" : text_of(point, true, &PublishedRow::rate, wanted);
}

std::string published_bytes(const Point& point) {
  const auto wanted = [](const PublishedRow& row) { return row.unit != "TFLOPS"; };
  return point.axis("scope") != "gpu" ? "" : text_of(point, true, &PublishedRow::rate, wanted, Unit::printed);
}

std::string published_efficiency(const Point& point) {
  return point.axis("scope") != "energy" ? "" : text_of(point, true, &PublishedRow::per_watt, any_row);
}

std::string published_gemm_cycles(std::string_view kernel, int size) {
  const Point point{.subject = std::string(kernel), .axes = {{"size", std::to_string(size)}}};
  return text_of(point, false, &PublishedRow::cycles, any_row);
}

}  // namespace mmaudit::sweeps
