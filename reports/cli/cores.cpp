// What one tensor core of each generation multiplies per clock, type by type; k comes from the rows of the
// architectures, the rest from model/tensor_cores.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "capabilities.hpp"
#include "common.hpp"
#include "json_table.hpp"
#include "mmaudit/model/tensor_cores.hpp"

namespace mmaudit::cli {
namespace {

/// One generation, one pair of types.
struct CoreLine {
  const TensorCores* cores = nullptr;
  std::string types;  ///< as in the table of capabilities
  Instruction inst;   ///< one that reaches k
  int k = 0;
  int fma = 0;        ///< per clock per SM
  double to_f16 = 0;  ///< fma over the fma of f16
  double to_before =
      0;  ///< fma over the fma of the widest of the types in the generation before; 0: it lacks it
};

std::vector<CoreLine> lines_of(const Architecture& architecture) {
  const TensorCores* const cores = find_tensor_cores(architecture.name);
  std::vector<CoreLine> lines;
  if (cores == nullptr) return lines;
  const bool asynchronous =
      std::any_of(std::begin(kInstructions), std::end(kInstructions), [&](const Instruction& inst) {
        return is_asynchronous(inst.op) && find_datapath(architecture, inst) != nullptr;
      });
  for (const Instruction& inst : kInstructions) {
    if (is_asynchronous(inst.op) != asynchronous) continue;
    const std::optional<int> k = core_depth(architecture, inst);
    if (!k) continue;
    const std::string types = types_of(inst);
    auto line = std::find_if(lines.begin(), lines.end(), [&](const CoreLine& one) {
      return one.types == types && one.inst.scale == inst.scale && one.inst.scale_block == inst.scale_block;
    });
    if (line == lines.end()) line = lines.insert(lines.end(), CoreLine{cores, types, inst});
    if (*k > line->k) {
      line->inst = inst;
      line->k = *k;
    }
  }
  const auto f16 =
      std::find_if(lines.begin(), lines.end(), [](const CoreLine& one) { return one.types == "f16"; });
  for (CoreLine& line : lines) {
    line.fma = fma_per_clock(*cores, line.k);
    if (f16 != lines.end()) line.to_f16 = static_cast<double>(line.k) / f16->k;
  }
  return lines;
}

constexpr std::array kLegend = {
    "A tensor core multiplies A (m x k) by B (k x n) per clock. FMA/clk/SM: cores * m * n * k.",
    "k: products per step of the datapath; of int8 twice the k of f16, because exact sums show no steps.",
    "x f16: ratio to f16. x before: ratio to the first of the types on the generation before.",
    "blackwell is sm_100. sm_103 (B300) lacks kind::i8: the int8 row is of sm_100 alone.",
    "The other architectures have no published sizes that fit their datapaths."};

/// "fp8" of "fp8, fp6, fp4".
std::string widest_type(const CoreLine& line) { return line.types.substr(0, line.types.find(',')); }

double ratio_to(const CoreLine& line, const std::vector<CoreLine>& before) {
  const auto same = std::find_if(before.begin(), before.end(),
                                 [&](const CoreLine& one) { return widest_type(one) == widest_type(line); });
  return same == before.end() ? 0 : static_cast<double>(line.fma) / same->fma;
}

/// A line per generation with published sizes and per types. Of several instructions the one with the largest
/// k counts; where a generation has asynchronous ones, these alone, because Hopper's mma reaches less.
std::vector<CoreLine> core_lines(std::span<const Architecture* const> architectures) {
  std::vector<CoreLine> all;
  for (const Architecture* architecture : architectures) {
    std::vector<CoreLine> lines = lines_of(*architecture);
    if (lines.empty()) continue;
    const Architecture* const older = find_architecture(lines.front().cores->before);
    const std::vector<CoreLine> before = older == nullptr ? std::vector<CoreLine>() : lines_of(*older);
    for (CoreLine& line : lines) line.to_before = ratio_to(line, before);
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
    refuse("--cores: found {}, whose tensor cores have no published sizes that fit, allowed: {}",
           architectures.front()->name, known);
  }
  const auto ratio = [](double value) { return value == 0 ? Json() : Json(value); };
  Json rows = Json::array();
  std::vector<std::string> sources;
  for (const CoreLine& line : lines) {
    rows.push_back({{"architecture", line.cores->architecture},
                    {"types", line.types},
                    {"instruction", interface_of(line.inst)},
                    {"cores_per_sm", line.cores->per_sm},
                    {"m", line.cores->m},
                    {"n", line.cores->n},
                    {"k", line.k},
                    {"fma_per_clock_per_sm", line.fma},
                    {"ratio_to_f16", ratio(line.to_f16)},
                    {"before", line.cores->before.empty() ? Json() : Json(line.cores->before)},
                    {"ratio_to_before", ratio(line.to_before)},
                    {"source", line.cores->source}});
    std::string source = fmt::format("{}: {}.", line.cores->architecture, line.cores->source);
    if (sources.empty() || sources.back() != source) sources.push_back(std::move(source));
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
                                               {"ratio_to_f16", {"x f16", true}},
                                               {"ratio_to_before", {"x before", true}}})}});
  out.sections.push_back({.title = "Legend", .lines = {kLegend.begin(), kLegend.end()}});
  out.sections.push_back({.title = "Sources of cores, m and n", .lines = sources});
  out.json = [rows] { return document({{"schema", "mmaudit.cores/1"}, {"rows", rows}}); };
  return out;
}

}  // namespace mmaudit::cli
