#include <fmt/format.h>

#include <map>

#include "gemm/compare.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::checks {
namespace {

std::string type_of(const GemmProblem& problem) {
  return std::string(name_of(problem.type)) + (problem.fast_accum ? "-fast" : "") +
         (problem.batch != 1 ? " batches" : "");
}

/// A mangled CUTLASS name without what is the same in all of them.
std::string short_name(const std::string& kernel) {
  const std::size_t at = kernel.find("cutlass_"), end = kernel.find("EEvNT_");
  if (at == std::string::npos || kernel.find("nvjet") != std::string::npos) return kernel.substr(0, 90);
  return kernel.substr(at, end == std::string::npos ? 90 : end - at);
}

}  // namespace

std::string text_of(const GemmOutcome& outcome) {
  std::string out = name_of(outcome.problem) + ": ";
  if (!outcome.plan)
    return out + (outcome.ran ? "unknown plan: " : "not run: ") + printable(outcome.why, 200) + "\n";
  out += mmaudit::text_of(*outcome.plan);
  if (!outcome.call.kernels.empty())
    out += "; " + printable(short_name(outcome.call.kernels.front().name), 120);
  if (outcome.wrong != 0)
    out += fmt::format("; {} of {} elements differ, first ({}{}, {}): expected {:#x}, found {:#x}",
                       outcome.wrong, outcome.elements,
                       outcome.problem.batch == 1 ? "" : fmt::format("{}, ", outcome.matrix), outcome.row,
                       outcome.column, outcome.expected, outcome.found);
  return out + "\n";
}

std::string summary_of(const std::vector<GemmOutcome>& outcomes) {
  struct Count {
    std::uint64_t ran = 0, known = 0, refused = 0, differing = 0, elements = 0, wrong = 0;
  };
  std::map<std::string, Count> types;
  std::map<std::string, std::uint64_t> unknown;
  for (const GemmOutcome& each : outcomes) {
    Count& count = types[type_of(each.problem)];
    ++(each.ran ? count.ran : count.refused);
    if (each.ran && !each.plan) ++unknown[each.why];
    count.known += each.plan ? 1 : 0;
    count.differing += each.wrong != 0 ? 1 : 0;
    count.elements += each.elements;
    count.wrong += each.wrong;
  }
  std::string out;
  for (const auto& [name, count] : types)
    out += fmt::format(
        "{:10} {} products, {} with a known plan ({:.1f}%), {} of them differ; {} elements, {} wrong{}\n",
        name, count.ran, count.known,
        count.ran == 0 ? 0.0 : 100.0 * static_cast<double>(count.known) / static_cast<double>(count.ran),
        count.differing, count.elements, count.wrong,
        count.refused == 0 ? "" : fmt::format("; {} that the library refuses", count.refused));
  for (const auto& [why, count] : unknown) out += fmt::format("{} x {}\n", count, printable(why, 160));
  return out;
}

std::string json_of(const std::vector<GemmOutcome>& outcomes, std::size_t asked, std::uint64_t seed) {
  Json all = Json::array();
  for (const GemmOutcome& each : outcomes) {
    Json one = {{"problem", corpus::to_json(each.problem)},
                {"call", corpus::to_json(each.call)},
                {"ran", each.ran},
                {"elements", each.elements},
                {"wrong", each.wrong}};
    if (each.plan)
      one["plan"] = corpus::to_json(*each.plan);
    else
      one["why"] = each.why;
    if (each.wrong != 0)
      one["first"] = {
          {"row", each.row}, {"column", each.column}, {"expected", each.expected}, {"found", each.found}};
    if (each.wrong != 0 && each.problem.batch != 1) one["first"]["matrix"] = each.matrix;
    all.push_back(std::move(one));
  }
  return document({{"schema", "mmaudit.gemm.compare/1"},
                   {"complete", outcomes.size() == asked},
                   {"asked", asked},
                   {"seed", seed},
                   {"outcomes", std::move(all)}},
                  1);
}

}  // namespace mmaudit::checks
