// Products of a library against their plans, as a report.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "gemm/compare.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/json_fields.hpp"
#include "mmaudit/printable.hpp"

namespace mmaudit::checks {
namespace {

constexpr std::string_view kSchema = "mmaudit.gemm.compare/1";

using report::Cell;
using report::Table;
using report::Tone;

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

Cell count_of(std::uint64_t wrong) { return {std::to_string(wrong), wrong == 0 ? Tone::plain : Tone::bad}; }

/// The plan or why there is none, and where D differs from it.
Cell plan_of(const GemmOutcome& outcome) {
  if (!outcome.plan)
    return {(outcome.ran ? "unknown plan: " : "not run: ") + printable(outcome.why, 200), Tone::note};
  std::string out = mmaudit::text_of(*outcome.plan);
  if (outcome.wrong != 0)
    out += fmt::format("; first wrong ({}{}, {}): expected {:#x}, found {:#x}",
                       outcome.problem.batch == 1 ? "" : fmt::format("{}, ", outcome.matrix), outcome.row,
                       outcome.column, outcome.expected, outcome.found);
  return out;
}

/// All of them, or those that differ.
Table products_of(const std::vector<GemmOutcome>& outcomes, bool all) {
  Table out{.title = "Products",
            .columns = {"product", {"elements", true}, {"wrong", true}, {"kernel", false, true}, "plan"}};
  const bool decided = std::any_of(outcomes.begin(), outcomes.end(),
                                   [](const GemmOutcome& each) { return !each.source.empty(); });
  if (decided) out.columns.insert(out.columns.begin() + 1, "source");
  for (const GemmOutcome& each : outcomes) {
    if (!all && each.wrong == 0) continue;
    const std::vector<KernelLaunch>& kernels = each.call.kernels;
    out.rows.push_back({name_of(each.problem), std::to_string(each.elements), count_of(each.wrong),
                        kernels.empty() ? "" : printable(short_name(kernels.front().name), 120),
                        plan_of(each)});
    if (decided) out.rows.back().insert(out.rows.back().begin() + 1, each.source);
  }
  return out;
}

struct Count {
  std::uint64_t ran = 0, refused = 0, known = 0, differing = 0, elements = 0, wrong = 0;
  void add(const GemmOutcome& each) {
    ++(each.ran ? ran : refused);
    known += each.plan ? 1 : 0;
    differing += each.wrong != 0 ? 1 : 0;
    elements += each.elements;
    wrong += each.wrong;
  }
};

Table types_of(const std::vector<GemmOutcome>& outcomes) {
  std::map<std::string, Count> types;
  for (const GemmOutcome& each : outcomes) types[type_of(each.problem)].add(each);
  Table out{.title = "Types", .columns = {"type"}};
  for (const char* const what : {"products", "known plan", "known plan, %", "products that differ",
                                 "elements", "wrong elements", "refused by the library"})
    out.columns.emplace_back(what, true);
  for (const auto& [name, count] : types) {
    const double share =
        count.ran == 0 ? 0.0 : 100.0 * static_cast<double>(count.known) / static_cast<double>(count.ran);
    out.rows.push_back({name, std::to_string(count.ran), std::to_string(count.known),
                        fmt::format("{:.1f}", share), count_of(count.differing),
                        std::to_string(count.elements), count_of(count.wrong),
                        std::to_string(count.refused)});
  }
  return out;
}

/// `ran`: of products that ran without a known plan, else of those that the library refused.
Table reasons_of(const std::vector<GemmOutcome>& outcomes, bool ran) {
  std::map<std::string, std::uint64_t> reasons;
  for (const GemmOutcome& each : outcomes)
    if (each.ran == ran && !each.plan) ++reasons[each.why];
  Table out{.title = ran ? "Products without a known plan" : "Products that the library refuses",
            .columns = {{"products", true}, "why"}};
  for (const auto& [why, count] : reasons) out.rows.push_back({std::to_string(count), printable(why, 160)});
  return out;
}

/// Where nothing was compared, without the columns that count differences.
Table shown(Table table, bool compared) {
  constexpr std::string_view kCounts[] = {"elements", "wrong", "wrong elements", "products that differ"};
  for (std::size_t i = table.columns.size(); i-- > 0 && !compared;) {
    if (std::find(std::begin(kCounts), std::end(kCounts), table.columns[i].header) == std::end(kCounts))
      continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    table.columns.erase(table.columns.begin() + at);
    for (auto& row : table.rows) row.erase(row.begin() + at);
  }
  return table;
}

std::string headline_of(const GemmComparison& run, const Count& all) {
  std::string out = all.ran == 0 && all.refused != 0
                        ? "The library refuses every product: " + printable(run.outcomes.front().why, 200)
                    : !run.bits ? fmt::format("{} of {} products have a known plan", all.known, all.ran)
                    : all.elements == 0 ? "Nothing is compared: no product has a known plan"
                    : all.wrong == 0
                        ? fmt::format("Every element is as its plan says: {} elements of {} products",
                                      all.elements, all.known)
                        : fmt::format("{} of {} products differ from their plans, in {} of {} elements",
                                      all.differing, all.known, all.wrong, all.elements);
  if (run.decided) {
    const auto recorded = std::count_if(run.outcomes.begin(), run.outcomes.end(),
                                        [](const GemmOutcome& each) { return each.source == "recorded"; });
    const auto guessed = std::count_if(run.outcomes.begin(), run.outcomes.end(), [](const GemmOutcome& each) {
      return !each.source.empty() && each.source != "recorded";
    });
    out += fmt::format("; {} recorded, {} guessed from the nearest layer", recorded, guessed);
  }
  if (all.ran != 0 && all.refused != 0) out += fmt::format("; the library refuses {} more", all.refused);
  if (run.outcomes.size() != run.asked)
    out += fmt::format("; stopped after {} of {} products", run.outcomes.size(), run.asked);
  return out;
}

std::string json_of(const GemmComparison& run) {
  Json all = Json::array();
  for (const GemmOutcome& each : run.outcomes) {
    Json one = {{"problem", corpus::to_json(each.problem)},
                {"call", corpus::to_json(each.call)},
                {"ran", each.ran},
                {"elements", each.elements},
                {"wrong", each.wrong}};
    if (each.plan)
      one["plan"] = corpus::to_json(*each.plan);
    else
      one["why"] = each.why;
    if (!each.source.empty()) one["source"] = each.source;
    if (each.wrong != 0)
      one["first"] = {
          {"row", each.row}, {"column", each.column}, {"expected", each.expected}, {"found", each.found}};
    if (each.wrong != 0 && each.problem.batch != 1) one["first"]["matrix"] = each.matrix;
    all.push_back(std::move(one));
  }
  Count count;
  for (const GemmOutcome& each : run.outcomes) count.add(each);
  return document({{"schema", kSchema},
                   {"elements", count.elements},
                   {"wrong", count.wrong},
                   {"complete", run.outcomes.size() == run.asked},
                   {"asked", run.asked},
                   {"seed", run.seed},
                   {"library", run.library},
                   {"gpu", run.gpu},
                   {"outcomes", std::move(all)}},
                  1);
}

}  // namespace

std::string why_unproven(const std::string& library, const std::string& compared) {
  constexpr std::string_view kBefore = "cuBLAS ";
  std::set<std::string> recorded;
  for (const KernelFamily& row : kernel_families()) {
    unsigned major = 0, minor = 0, patch = 0;
    const std::size_t at = row.source.find(kBefore);
    if (at != std::string_view::npos &&
        std::sscanf(row.source.data() + at + kBefore.size(), "%u.%u.%u", &major, &minor, &patch) == 3)
      recorded.insert(std::to_string(major * 10000 + minor * 100 + patch));
  }
  if (!compared.empty()) {
    const Json run = corpus::parse_bounded(corpus::text_of_file(compared), compared, "a JSON object");
    std::uint64_t elements = 0, wrong = 0;
    std::string of;
    JsonFields fields(run, compared);
    if (const std::string schema = fields.text("schema").value_or("nothing"); schema != kSchema)
      fields.refuse("schema", schema, kSchema);
    fields.text("library", of);
    fields.count("elements", elements);
    fields.count("wrong", wrong);
    fields.require({"library", "elements", "wrong"});
    if (of == library && elements != 0 && wrong == 0) return {};
  }
  if (library.empty() || recorded.count(library) != 0) return {};
  return fmt::format(
      "unproven for this version (cuBLASLt {}; recorded: {}; `mmaudit gemm compare` proves it)", library,
      fmt::join(recorded, ", "));
}

report::Report report_of(const GemmComparison& run) {
  Count all;
  for (const GemmOutcome& each : run.outcomes) all.add(each);
  report::Report out;
  out.title = run.bits ? "Products of a library against their plans" : "Plans of a library's products";
  out.text_title =
      fmt::format("{}cuBLASLt {} on {}", run.decided ? "Recorded decisions of " : "", run.library, run.gpu);
  out.meta = {out.text_title};
  out.headline = headline_of(run, all);
  out.headline_last = true;
  out.tone = all.ran == 0                          ? Tone::bad
             : !run.bits                           ? Tone::plain
             : all.elements != 0 && all.wrong == 0 ? Tone::good
                                                   : Tone::bad;
  if (!run.unproven.empty() && out.tone != Tone::good) out.headline += "; " + run.unproven;
  out.json = [&run] { return json_of(run); };
  out.records = shown(products_of(run.outcomes, true), run.bits);
  const bool whole = run.verbose || !run.bits;
  out.sections = {section_of(out.records, whole ? report::kEverywhere : report::kInDocuments),
                  section_of(shown(types_of(run.outcomes), run.bits)),
                  section_of(reasons_of(run.outcomes, true)), section_of(reasons_of(run.outcomes, false))};
  if (!whole)
    out.sections.insert(out.sections.begin(),
                        section_of(products_of(run.outcomes, false), report::kOnTerminal));
  return out;
}

report::Report families_report() {
  const auto or_else = [](std::string_view text, std::string_view none) {
    return text.empty() ? none : text;
  };
  Table table{.columns = {"kernels", "types", "instruction", "known on", "without a sample"}};
  std::vector<std::string> notes = {"Types without a sample: CI can't replay their plan."};
  for (const KernelFamily& row : kernel_families()) {
    table.rows.push_back({row.name, row.types, or_else(row.instruction, "fma"),
                          or_else(row.architectures, "any: exact sums"), or_else(row.unsampled, "none")});
    const std::string source = fmt::format("Samples: {}", row.source);
    if (std::find(notes.begin(), notes.end(), source) == notes.end()) notes.push_back(source);
  }
  return {.title = "Kernels that have a plan", .sections = {{.tables = {table}, .notes = notes}}};
}

}  // namespace mmaudit::checks
