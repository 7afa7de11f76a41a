#include "cores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "capabilities.hpp"
#include "mmaudit/json.hpp"

namespace mmaudit::cli {
namespace {

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

/// "fp8" of "fp8, fp6, fp4".
std::string widest_type(const CoreLine& line) { return line.types.substr(0, line.types.find(',')); }

double ratio_to(const CoreLine& line, const std::vector<CoreLine>& before) {
  const auto same = std::find_if(before.begin(), before.end(),
                                 [&](const CoreLine& one) { return widest_type(one) == widest_type(line); });
  return same == before.end() ? 0 : static_cast<double>(line.fma) / same->fma;
}

}  // namespace

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

report::Table core_table(const std::vector<CoreLine>& lines) {
  const auto ratio = [](double value) { return value == 0 ? std::string("-") : fmt::format("{:g}", value); };
  return report::table_of<CoreLine>(
      "Tensor cores", lines,
      {{{"architecture"}, [](const CoreLine& line) { return std::string(line.cores->architecture); }},
       {{"A, B"}, [](const CoreLine& line) { return line.types; }},
       {{"instruction"}, [](const CoreLine& line) { return interface_of(line.inst); }},
       {{"cores", true}, [](const CoreLine& line) { return std::to_string(line.cores->per_sm); }},
       {{"m", true}, [](const CoreLine& line) { return std::to_string(line.cores->m); }},
       {{"n", true}, [](const CoreLine& line) { return std::to_string(line.cores->n); }},
       {{"k", true}, [](const CoreLine& line) { return std::to_string(line.k); }},
       {{"FMA/clk/SM", true}, [](const CoreLine& line) { return std::to_string(line.fma); }},
       {{"x f16", true}, [=](const CoreLine& line) { return ratio(line.to_f16); }},
       {{"x before", true}, [=](const CoreLine& line) { return ratio(line.to_before); }}});
}

std::string core_json(const std::vector<CoreLine>& lines) {
  const auto ratio = [](double value) { return value == 0 ? Json() : Json(value); };
  Json out = {{"schema", "mmaudit.cores/1"}, {"rows", Json::array()}};
  for (const CoreLine& line : lines)
    out["rows"].push_back({{"architecture", line.cores->architecture},
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
  return document(out);
}

}  // namespace mmaudit::cli
