// What the tensor cores of each generation multiply per clock, type by type, from model/tensor_cores.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "capabilities.hpp"
#include "common.hpp"
#include "json_table.hpp"
#include "mmaudit/model/tensor_cores.hpp"

namespace mmaudit::cli {
namespace {

/// One generation, one pair of types.
struct CoreLine {
  const TensorCores* cores = nullptr;
  const CorePeak* peak = nullptr;
  std::string types;     ///< as in the table of capabilities
  Instruction inst;      ///< the first of them
  int k = 0;             ///< 0: not known
  double to_f16 = 0;     ///< over the most of f16
  double to_before = 0;  ///< over the widest of the types in the generation before; 0: it lacks it
};

double most_of(const std::vector<CoreLine>& lines, std::string_view type) {
  int most = 0;
  for (const CoreLine& line : lines)
    if (line.types.substr(0, line.types.find(',')) == type) most = std::max(most, line.peak->fma);
  return most;
}

/// To two digits after the point.
double ratio(int fma, double to) { return to == 0 ? 0 : std::round(100 * fma / to) / 100; }

/// A line per types and kind of instruction that the tensor cores have, where a peak is known.
std::vector<CoreLine> lines_of(const Architecture& architecture) {
  std::vector<CoreLine> lines;
  for (const Instruction& inst : kInstructions) {
    const std::optional<MatrixPath> path = path_of(architecture, inst);
    if (!path || path->use != UnitUse::native || is_sparse(inst.op) || inst.op == Op::wmma) continue;
    const CorePeak* const peak = find_peak(architecture.name, *core_type_of(inst), is_asynchronous(inst.op));
    if (peak == nullptr) continue;
    const std::string types = types_of(inst), interface = interface_of(inst);
    if (std::none_of(lines.begin(), lines.end(), [&](const CoreLine& one) {
          return one.types == types && interface_of(one.inst) == interface;
        }))
      lines.push_back({find_tensor_cores(architecture.name), peak, types, inst,
                       core_depth(architecture, inst).value_or(0)});
  }
  for (CoreLine& line : lines) line.to_f16 = ratio(line.peak->fma, most_of(lines, "f16"));
  return lines;
}

constexpr std::array kLegend = {
    "FMA/clk/SM: dense multiply-adds that a source gives, or the most that was measured where none does.",
    "A tensor core multiplies A (m x k) by B (k x n) per clock: k is FMA/clk/SM over cores * m * n.",
    "x f16: ratio to the most of f16. x before: to the most of the first of the types on the generation "
    "before.",
    "Numbers are of sm_70, 75, 80, 86, 89, 90, 100 and 120. sm_103 (B300) lacks kind::i8, Orin (sm_87) has "
    "others.",
    "A type without a line: converted, without a tensor core (list --capabilities), or no source gives its "
    "rate."};

std::vector<CoreLine> core_lines(std::span<const Architecture* const> architectures) {
  std::vector<CoreLine> all;
  for (const Architecture* architecture : architectures) {
    std::vector<CoreLine> lines = lines_of(*architecture);
    if (lines.empty()) continue;
    const Architecture* const older = find_architecture(lines.front().cores->before);
    const std::vector<CoreLine> before = older == nullptr ? std::vector<CoreLine>() : lines_of(*older);
    for (CoreLine& line : lines)
      line.to_before = ratio(line.peak->fma, most_of(before, line.types.substr(0, line.types.find(','))));
    all.insert(all.end(), lines.begin(), lines.end());
  }
  return all;
}

}  // namespace

report::Report core_report(std::span<const Architecture* const> architectures) {
  const std::vector<CoreLine> lines = core_lines(architectures);
  if (lines.empty()) {
    std::vector<std::string> known;
    for (const TensorCores& one : kTensorCores) known.emplace_back(one.architecture);
    refuse("--cores: found {}, whose tensor cores have no published rates, allowed: {}",
           architectures.front()->name, known);
  }
  const auto known = [](auto value) { return value == 0 ? Json() : Json(value); };
  Json rows = Json::array();
  std::vector<std::string> sources;
  for (const CoreLine& line : lines) {
    rows.push_back({{"architecture", line.cores->architecture},
                    {"types", line.types},
                    {"instruction", interface_of(line.inst)},
                    {"cores_per_sm", line.cores->per_sm},
                    {"m", known(line.k == 0 ? 0 : line.cores->m)},
                    {"n", known(line.k == 0 ? 0 : line.cores->n)},
                    {"k", known(line.k)},
                    {"fma_per_clock_per_sm", line.peak->fma},
                    {"known", line.peak->measured ? "measured" : "published"},
                    {"ratio_to_f16", known(line.to_f16)},
                    {"before", line.cores->before.empty() ? Json() : Json(line.cores->before)},
                    {"ratio_to_before", known(line.to_before)},
                    {"source", line.peak->source},
                    {"size_source", line.k == 0 ? Json() : Json(line.cores->source)}});
    std::vector<std::string_view> of_line = {line.peak->source};
    if (line.k > 0) of_line.push_back(line.cores->source);
    for (const std::string_view one : of_line)
      if (std::string source = fmt::format("{}: {}.", line.cores->architecture, one);
          std::find(sources.begin(), sources.end(), source) == sources.end())
        sources.push_back(std::move(source));
  }
  report::Report out{.title = "What a tensor core multiplies per clock"};
  out.sections.push_back({.tables = {table_of("", rows,
                                              {{"architecture", "architecture"},
                                               {"types", "A, B"},
                                               {"instruction", "instruction"},
                                               {"cores_per_sm", {"cores", true}},
                                               {"m", {"m", true}},
                                               {"n", {"n", true}},
                                               {"k", {"k", true}},
                                               {"fma_per_clock_per_sm", {"FMA/clk/SM", true}},
                                               {"known", {"known"}},
                                               {"ratio_to_f16", {"x f16", true}},
                                               {"ratio_to_before", {"x before", true}}})}});
  out.sections.push_back({.title = "Legend", .lines = {kLegend.begin(), kLegend.end()}});
  out.sections.push_back({.title = "Sources", .lines = sources});
  out.json = [rows] { return document({{"schema", "mmaudit.cores/1"}, {"rows", rows}}); };
  return out;
}

}  // namespace mmaudit::cli
