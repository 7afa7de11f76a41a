#include "sweeps/accuracy.hpp"

#include <fmt/format.h>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/report/gemm_errors.hpp"
#include "mmaudit/report/gemm_study.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "sweeps/fields.hpp"
#include "sweeps/point_groups.hpp"

namespace mmaudit::sweeps {
namespace {

constexpr std::uint64_t kRows = 8, kColumns = 32, kSeed = 1;
constexpr std::uint64_t kPromotions[] = {32, 64, 128, 256, 512};

std::vector<Accumulation> accumulations_of(const GemmDtype& dtype) {
  std::vector<Accumulation> out = {{}, {.promote = 0, .split_k = 1, .half = true}};
  if (dtype.scale == Format::none && dtype.scalable && spec_of(dtype.element).storage_bits == 8)
    for (const std::uint64_t promote : kPromotions)
      out.push_back({.promote = promote, .split_k = 1, .half = false});
  return out;
}

/// The point with the highest rate among those that time `instruction` and promote its sums after so much of
/// k: of random operands, of zeros where those were not measured.
const Point* fastest(const SweepResult& result, const Instruction& instruction, std::uint64_t promote,
                     std::string_view scope) {
  for (const std::string_view init : {"random", "zero"}) {
    const auto wanted = [&](const Point& point) {
      if (point.axis("scope") != scope || point.axis("init") != init ||
          point.number("promote") != static_cast<int>(promote))
        return false;
      const Benchmark* benchmark = find_benchmark(point.subject);
      return benchmark != nullptr && benchmark->instruction == instruction;
    };
    if (const Point* best =
            highest(points_with(result, wanted), [](const Point& one) { return one.get(tag::kFlops); }))
      return best;
  }
  return nullptr;
}

void add_rates(const SweepResult& result, const Instruction& instruction, std::uint64_t promote,
               AccuracyRow& row) {
  if (const Point* best = fastest(result, instruction, promote, "gpu")) {
    row.flops = best->get(tag::kFlops);
    for (const auto& [axis, value] : best->axes)
      if (axis != "scope") row.point += fmt::format("{}{}={}", row.point.empty() ? "" : " ", axis, value);
  }
  if (const Point* best = fastest(result, instruction, promote, "energy"))
    row.flops_per_watt = best->get(tag::kFlopsPerWatt);
}

std::string error_text(double value) { return value == 0 ? "0" : fmt::format("{:.2e}", value); }

std::string name_of(const AccuracyRow& row) {
  return row.accumulation == "plain" ? row.title : row.title + ", " + row.accumulation;
}

report::Scatter figure_of(const std::vector<AccuracyRow>& rows, std::string id, std::string what,
                          double AccuracyRow::*error) {
  report::Scatter plot{std::move(id), what + " against speed", "TFLOPS", what, {}};
  for (const AccuracyRow& row : rows)
    if (row.flops)
      plot.points.push_back(
          {name_of(row), row.element, row.accumulation != "plain", 1e-12 * *row.flops, row.*error});
  return plot;
}

}  // namespace

std::vector<AccuracyRow> accuracy_rows(const SweepResult& result) {
  std::vector<AccuracyRow> rows;
  const Architecture* architecture = find_architecture(result.provenance.compute_capability);
  if (architecture == nullptr) return rows;
  const std::vector<double> a = report::draw_a(report::Distribution::normal, kRows, kAccuracyK, kSeed),
                            b = report::draw_b(report::Distribution::normal, kAccuracyK, kColumns, kSeed);
  const report::GemmOperands operands{kRows, kColumns, kAccuracyK, a, b, {}, 0, 0};
  const std::vector<double> exact = report::exact_product(operands);
  for (const GemmDtype& dtype : gemm_dtypes())
    for (const Accumulation& accumulation : accumulations_of(dtype)) {
      if (dtype.of_recipe && !dtype.integer()) continue;
      GemmCombination combination;
      combination.architecture = architecture;
      combination.dtype = dtype;
      // Sums of binary16 overflow where operands are scaled up to the format's largest number.
      combination.scaling = accumulation.half ? scalings::none : *dtype.usual;
      combination.accumulation = accumulation;
      combination.output = accumulation.half ? Format::f16 : dtype.output;
      combination = settled(combination);
      const GemmPath path = find_path(combination);
      if (!path.why_not.empty()) continue;
      Instruction open = path.instruction;
      if (is_wgmma(open.op)) open.n = 0;
      AccuracyRow row;
      add_rates(result, open, accumulation.promote, row);
      if (!row.flops) continue;
      const report::ConvertedOperands converted =
          report::convert_operands(combination.dtype, combination.scaling, operands);
      const report::GemmErrors errors = report::errors_of(
          exact, converted, report::compute_elements(combination, path, converted, {}), combination.output);
      row.title = dtype.title;
      row.accumulation = name_of(accumulation);
      row.element = dtype.element;
      row.instruction = mmaudit::name_of(open);
      row.total = errors.total;
      row.quantization = errors.quantization;
      row.accumulated = errors.accumulation;
      rows.push_back(std::move(row));
    }
  return rows;
}

report::Table accuracy_table(const std::vector<AccuracyRow>& rows) {
  const auto error = [](std::string_view header, double AccuracyRow::*value) -> report::Field<AccuracyRow> {
    return {{header, true}, [value](const AccuracyRow& row) { return error_text(row.*value); }};
  };
  return report::table_of<AccuracyRow>("", rows,
                                       {{"data type", &AccuracyRow::title},
                                        {"sum", &AccuracyRow::accumulation},
                                        error("error", &AccuracyRow::total),
                                        error("of operands", &AccuracyRow::quantization),
                                        error("of the sum", &AccuracyRow::accumulated),
                                        number_column("TFLOPS", &AccuracyRow::flops, 1, 1e-12),
                                        number_column("TFLOPS/W", &AccuracyRow::flops_per_watt, 2, 1e-12),
                                        {"instruction", &AccuracyRow::instruction},
                                        {{"at", false, true}, &AccuracyRow::point}});
}

std::vector<std::string> accuracy_figures(const std::vector<AccuracyRow>& rows) {
  std::vector<std::string> figures;
  for (const std::string& figure :
       {report::scatter(figure_of(rows, "total", "relative error of the product", &AccuracyRow::total)),
        report::scatter(
            figure_of(rows, "accumulation", "relative error of the sum", &AccuracyRow::accumulated))})
    if (!figure.empty()) figures.push_back(figure);
  return figures;
}

}  // namespace mmaudit::sweeps
