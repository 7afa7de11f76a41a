#include "sweep_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/report/figures.hpp"
#include "mmaudit/report/report.hpp"
#include "mmaudit/sweeps/census.hpp"
#include "mmaudit/sweeps/gemm.hpp"
#include "mmaudit/sweeps/render.hpp"
#include "mmaudit/sweeps/tables.hpp"
#include "sweep_accuracy.hpp"

namespace mmaudit::cli {
namespace {

using report::Section;
using sweeps::State;
using sweeps::SweepResult;

constexpr char kAccuracyTitle[] = "Accuracy against speed";
constexpr char kAccuracyRemark[] =
    "Error of a product of N(0, 1) operands with K = 4096 by the model, relative to the exact one; rates of "
    "this "
    "sweep, the whole GPU, operands on the spot: what a library can reach at most. FP8 scaled by one factor "
    "a tensor.";
constexpr std::string_view kGrid = "What the grid says";

/// Values of an axis among the measured points of a subject, in order.
std::vector<std::string> values_of(const std::vector<const State*>& states, std::string_view axis) {
  std::vector<int> numbers;
  numbers.reserve(states.size());
  for (const State* state : states) numbers.push_back(state->number(axis));
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<std::string> values;
  values.reserve(numbers.size());
  for (const int number : numbers) values.push_back(std::to_string(number));
  return values;
}

/// Points of one multiprocessor that have a grid of warps and chains, by subject and the axes beside those.
struct Grid {
  std::string title;
  std::vector<const State*> states;
};

std::vector<Grid> grids_of(const SweepResult& result) {
  std::vector<Grid> grids;
  for (const State& state : result.states) {
    if (!state.skipped.empty() || state.axis("scope") != "sm" || state.axis("ilp").empty()) continue;
    std::string title = state.subject;
    for (const auto& [axis, value] : state.axes)
      if (axis != "scope" && axis != "warps" && axis != "ilp") title += fmt::format(" {}={}", axis, value);
    auto at = std::find_if(grids.begin(), grids.end(), [&](const Grid& grid) { return grid.title == title; });
    if (at == grids.end()) at = grids.insert(at, {title, {}});
    at->states.push_back(&state);
  }
  return grids;
}

std::string heat_map_of(const Grid& grid, std::size_t number) {
  const bool bytes = grid.states.front()->get(sweeps::tag::kBytes).has_value();
  report::HeatMap map;
  map.id = fmt::format("grid{}", number);
  map.title = fmt::format("{}: {}/clk/SM", grid.title, bytes ? "B" : "FMA");
  map.x_title = "independent chains of a warp";
  map.y_title = "warps";
  map.columns = values_of(grid.states, "ilp");
  map.rows = values_of(grid.states, "warps");
  map.values.resize(map.rows.size(), std::vector<std::optional<double>>(map.columns.size()));
  for (const State* state : grid.states) {
    const auto place = [&](const std::vector<std::string>& values, std::string_view axis) {
      return static_cast<std::size_t>(std::find(values.begin(), values.end(), state->axis(axis)) -
                                      values.begin());
    };
    map.values[place(map.rows, "warps")][place(map.columns, "ilp")] =
        state->get(bytes ? sweeps::tag::kBytes : sweeps::tag::kFma);
  }
  return report::heat_map(map);
}

/// Cycles of one warpgroup's instruction against n, A from shared memory and from registers.
std::string columns_figure(const SweepResult& result, const std::string& subject, std::size_t number) {
  std::vector<const State*> states;
  for (const State& state : result.states)
    if (state.subject == subject && state.skipped.empty() && state.axis("scope") == "sm" &&
        state.number("warps") == 4)
      states.push_back(&state);
  if (states.empty()) return "";
  report::Curves plot{fmt::format("n{}", number),
                      subject + ", cycles of one warpgroup",
                      subject + ": cycles against N",
                      values_of(states, "n"),
                      {}};
  if (plot.labels.size() < 2) return "";
  for (const std::string_view from : {"shared", "registers"}) {
    report::Curves::Curve curve;
    curve.name = fmt::format("A from {}", from == "shared" ? "shared memory" : "registers");
    curve.colour = from == "shared" ? Format::tf32 : Format::bf16;
    curve.values.resize(plot.labels.size());
    for (const State* state : states)
      if (state->axis("a") == from)
        curve.values[static_cast<std::size_t>(
            std::find(plot.labels.begin(), plot.labels.end(), state->axis("n")) - plot.labels.begin())] =
            state->get(sweeps::tag::kCycles);
    plot.curves.push_back(std::move(curve));
  }
  return report::curves(plot);
}

std::vector<std::string> subjects_of(const SweepResult& result) {
  std::vector<std::string> names;
  for (const State& state : result.states)
    if (std::find(names.begin(), names.end(), state.subject) == names.end()) names.push_back(state.subject);
  return names;
}

struct Family {
  std::string_view prefix, title;
};
constexpr Family kFamilies[] = {{"mma.m", "mma: warps and chains"},
                                {"mma.sp", "mma.sp: warps and chains"},
                                {"wmma.m", "wmma: warps and chains"},
                                {"ld", "Loads of shared memory: warps and chains"},
                                {"stmatrix", "Stores to shared memory: warps and chains"},
                                {"wmma.", "wmma loads and stores: warps and chains"}};

/// Errors: InputError for anything but what gemm_json() writes.
Section products_of(const std::string& path) {
  report::Table table{.title = "Whole products, bfloat16 to binary32",
                      .columns = {"kernel", "size", "us", "TFLOPS", "cycles", "sampled bits", "what"}};
  try {
    const auto whole = nlohmann::json::parse(text_of_file(path));
    if (whole.at("meta").at("schema") != sweeps::kGemmSchema)
      throw InputError(fmt::format("{}: meta.schema: allowed: {}", path, sweeps::kGemmSchema));
    table.remark = "Ceiling: " + whole.at("ceiling").get<std::string>();
    for (const auto& point : whole.at("points")) {
      std::vector<report::Cell> row = {point.at("kernel").get<std::string>(),
                                       std::to_string(point.at("size").get<int>())};
      if (point.contains("skipped")) {
        row.insert(row.end(), {"-", "-", "-", point.at("skipped").get<std::string>()});
      } else {
        const auto& bits = point.at("bits");
        row.emplace_back(fmt::format("{:.1f}", 1e6 * point.at("seconds").at("median").get<double>()));
        row.emplace_back(fmt::format("{:.1f}", 1e-12 * point.at("flops").get<double>()));
        row.emplace_back(point.contains("cycles") ? fmt::format("{:.0f}", point.at("cycles").get<double>())
                                                  : "-");
        row.emplace_back(fmt::format("{} of {} differ", bits.at("differing").get<std::uint64_t>(),
                                     bits.at("compared").get<std::uint64_t>()));
      }
      row.emplace_back(point.at("what").get<std::string>());
      table.rows.push_back(std::move(row));
    }
  } catch (const nlohmann::json::exception&) {
    throw InputError(fmt::format("{}: not what sweep gemm --out writes", path));
  }
  return section_of(std::move(table));
}

Section folded(report::Table table) {
  Section section = section_of(std::move(table));
  section.folded = true;
  return section;
}

/// Rows of the shipped census for the GPU of the sweep.
Section census_of_target(int compute_capability) {
  report::Table table{.title = "What the instructions become", .columns = {"instruction", "SASS", ""}};
  const std::string target = fmt::format("sm_{}", compute_capability);
  std::istringstream lines{std::string(sweeps::shipped_census())};
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream parts{line};
    for (std::string cell; std::getline(parts, cell, ',');) cells.push_back(cell);
    if (cells.size() >= 4 && (cells[0] == target || cells[0] == target + "a"))
      table.rows.push_back({cells[1], cells[2], cells[3]});
  }
  return folded(std::move(table));
}

report::Table converted(const sweeps::Table& from) {
  report::Table table{.title = from.title, .columns = {from.head.begin(), from.head.end()}};
  for (const auto& row : from.rows) table.rows.emplace_back(row.begin(), row.end());
  return table;
}

std::vector<Section> sections_of(const SweepResult& result, const std::vector<AccuracyRow>& accuracy,
                                 const std::string& gemm) {
  std::vector<Section> sections;
  sections.push_back({.title = kAccuracyTitle,
                      .remark = kAccuracyRemark,
                      .figures = accuracy_figures(accuracy),
                      .tables = {accuracy_table(accuracy)}});
  const std::vector<sweeps::Table> tables = sweeps::tables_of(result);
  for (const sweeps::Table& table : tables)
    if (table.title == kGrid) sections.push_back(section_of(converted(table)));
  if (!gemm.empty()) sections.push_back(products_of(gemm));
  Section columns{.title = "wgmma: cycles against N"};
  std::size_t number = 0;
  for (const std::string& subject : subjects_of(result))
    if (subject.starts_with("wgmma"))
      if (std::string figure = columns_figure(result, subject, ++number); !figure.empty())
        columns.figures.push_back(std::move(figure));
  sections.push_back(std::move(columns));
  std::vector<Grid> grids = grids_of(result);
  for (const Family& family : kFamilies) {
    Section section{.title = std::string(family.title), .folded = true};
    for (Grid& grid : grids) {
      if (grid.states.empty() || !grid.title.starts_with(family.prefix)) continue;
      section.figures.push_back(heat_map_of(grid, ++number));
      grid.states.clear();
    }
    sections.push_back(std::move(section));
  }
  sections.push_back(census_of_target(result.device.compute_capability));
  for (const sweeps::Table& table : tables)
    if (table.title != kGrid) sections.push_back(folded(converted(table)));
  return sections;
}

}  // namespace

int sweep_report(const SweepReportOptions& options) {
  const SweepResult result = sweeps::from_json(text_of_file(options.sweep), options.sweep);
  const std::vector<AccuracyRow> accuracy = accuracy_rows(result);
  if (!options.html.empty()) {
    report::Report report{.title = fmt::format("Sweep of an {}", result.device.name)};
    report.meta = sweeps::facts_of(result);
    report.sections = sections_of(result, accuracy, options.gemm);
    corpus::write_file_atomically(options.html, std::string_view(report::rendered(report, "html")));
  }
  emit("-", fmt::format("{}\n\n{}", kAccuracyTitle, report::to_text(accuracy_table(accuracy))));
  if (!options.html.empty()) emit("-", fmt::format("\nwritten: {}\n", options.html));
  return kAllGood;
}

}  // namespace mmaudit::cli
