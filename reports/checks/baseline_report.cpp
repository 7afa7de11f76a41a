// A baseline, and what changed between two, for a person: the instructions of each cause, with one example.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "baseline.hpp"
#include "gemm/compare.hpp"
#include "mmaudit/comparison.hpp"
#include "mmaudit/report/fields.hpp"
#include "mmaudit/value_text.hpp"

namespace mmaudit::checks {
namespace {

using report::Report;
using report::Section;
using report::Table;
using report::Tone;

/// Of a cause; --json lists them all.
constexpr std::size_t kInstructionsShown = 8;
/// Of an instruction; more are counted.
constexpr std::size_t kClassesShown = 3;

std::vector<const BaselineChange*> changes_of(const BaselineDiff& diff, const std::string& instruction) {
  std::vector<const BaselineChange*> out;
  for (const BaselineChange& each : diff.changes)
    if (name_of(each.instruction) == instruction) out.push_back(&each);
  return out;
}

std::string classes_text(const std::vector<const BaselineChange*>& changes) {
  if (changes.size() > kClassesShown) return fmt::format("{} input classes", changes.size());
  std::string out;
  for (const BaselineChange* each : changes) out += (out.empty() ? "" : ", ") + each->first.dot.input_class;
  return out;
}

std::string bits_text(const BaselineChange& change, std::uint64_t bits) {
  return "0x" + hex_text(bits, spec_of(change.instruction.d).storage_bits);
}

std::string example(const BaselineChange& change) {
  const DotCase& dot = change.first.dot;
  std::string out =
      fmt::format("  {}: tile {}, row {}, column {}: OLD {}, NEW {}{}\n", dot.input_class, dot.tile, dot.row,
                  dot.column, bits_text(change, change.first.expected), bits_text(change, change.first.found),
                  change.model.empty() ? "" : "; the model: " + change.model);
  if (!change.explain.empty()) out += "  " + change.explain + "\n";
  return out;
}

Section section_of(const BaselineDiff& diff, const BaselineCause& cause) {
  const std::size_t count = cause.instructions.size();
  Section out{.title = fmt::format("{} instruction{}: {}", count, count == 1 ? "" : "s", cause.text)};
  Table& table = out.tables.emplace_back(
      Table{.columns = {"instruction", "input classes", {"differ", true}, {"dot products", true}}});
  for (std::size_t i = 0; i < std::min(count, kInstructionsShown); ++i) {
    const auto changes = changes_of(diff, cause.instructions[i]);
    const std::uint64_t dots = sum_of(changes, &BaselineChange::dots),
                        differing = sum_of(changes, &BaselineChange::differing);
    table.rows.push_back({cause.instructions[i], classes_text(changes),
                          differing == 0 ? "other inputs" : std::to_string(differing), std::to_string(dots)});
    const auto first = std::find_if(changes.begin(), changes.end(),
                                    [](const BaselineChange* each) { return each->differing != 0; });
    if (i == 0 && first != changes.end()) out.block = example(**first);
  }
  if (count > kInstructionsShown)
    out.notes.push_back(fmt::format("and {} more, which --json lists", count - kInstructionsShown));
  return out;
}

std::string product_text(const BaselineProductChange& change) {
  const bool same_algorithm = change.algorithm.empty();
  return fmt::format("cuBLASLt {}: {}{}{}", change.problem,
                     change.differing == 0
                         ? fmt::format("another {}, the same bits", same_algorithm ? "plan" : "algorithm")
                         : fmt::format("{} of {} elements differ", change.differing, change.elements),
                     same_algorithm ? "; the same algorithm" : "; " + change.algorithm,
                     change.plan.empty() ? "" : "; plan: " + change.plan);
}

std::string headline_of(const BaselineDiff& diff) {
  const std::string compared =
      fmt::format("{} instructions, {} dot products", diff.instructions, diff.dots) +
      (diff.products == 0 ? "" : fmt::format(", {} products of cuBLASLt", diff.products));
  if (diff.same()) return "no difference: " + compared + ", bit for bit";
  std::size_t changed = 0, unexplained = 0;
  for (const BaselineCause& each : diff.causes) {
    changed += each.instructions.size();
    if (!each.explained) unexplained += each.instructions.size();
  }
  std::string out =
      fmt::format("compared: {}; {} of {} instructions changed", compared, changed, diff.instructions);
  if (unexplained != 0) out += fmt::format(", {} of them unexplained", unexplained);
  if (!diff.gone.empty()) out += fmt::format("; {} in OLD only", diff.gone.size());
  if (!diff.added.empty()) out += fmt::format("; {} in NEW only", diff.added.size());
  return out;
}

}  // namespace

Report report_of(const BaselineDiff& diff) {
  Report out{.title = "What changed between two baselines", .headline = headline_of(diff)};
  out.headline_last = true;  // the last line is the answer, which docs/ci/mmaudit_ci.sh shows
  const bool nothing = diff.dots == 0 && diff.products == 0;
  out.tone = !diff.same() || nothing ? Tone::bad : Tone::good;
  out.suite = "mmaudit diff";
  out.json = [&diff] { return to_json(diff); };
  out.sections.push_back({.title = "Where NEW was recorded", .lines = diff.provenance});
  Section& alone = out.sections.emplace_back(Section{.title = "In one file only"});
  for (const std::string& name : diff.gone) alone.lines.push_back(name + ": in OLD only");
  for (const std::string& name : diff.added) alone.lines.push_back(name + ": in NEW only");
  for (const BaselineCause& each : diff.causes) out.sections.push_back(section_of(diff, each));
  Section& products = out.sections.emplace_back(Section{.title = "Products of cuBLASLt"});
  std::transform(diff.product_changes.begin(), diff.product_changes.end(), std::back_inserter(products.lines),
                 product_text);
  return out;
}

Report report_of(const Baseline& baseline, const std::string& file) {
  Report out{.title = fmt::format("Baseline of {}", baseline.architecture)};
  out.headline = fmt::format(
      "{} instructions of {} on {}{} in {}", baseline.instructions.size(), baseline.architecture,
      baseline.on == "model" ? "the model" : baseline.provenance.gpu,
      baseline.left_out.empty() ? "" : fmt::format(", {} left out", baseline.left_out.size()), file);
  if (baseline.products_refused != 0)
    out.headline += fmt::format("; the library refuses {} of {} products", baseline.products_refused,
                                baseline.products_refused + baseline.products.size());
  if (baseline.products_refused != 0 && baseline.products.empty()) {
    out.headline += ", as the last: " + baseline.left_out.back();
    out.tone = Tone::bad;
  }
  if (const std::string why = why_unproven(baseline.cublaslt); !why.empty() && !baseline.products.empty())
    out.headline += "; plans of products are " + why;
  out.provenance = baseline.provenance;
  out.json = [&baseline] { return to_json(baseline); };
  out.sections.push_back(report::section_of(
      report::table_of<BaselineInstruction>(
          "Instructions", baseline.instructions,
          {{{"instruction"}, [](const BaselineInstruction& one) { return name_of(one.instruction); }},
           report::number<BaselineInstruction>(
               "input classes", [](const BaselineInstruction& one) { return one.families.size(); }),
           report::number<BaselineInstruction>("bytes of D",
                                               [](const BaselineInstruction& one) {
                                                 return sum_of(one.families,
                                                               [](const BaselineFamily& family) {
                                                                 return family.d.size();
                                                               });
                                               })}),
      report::kInDocuments));
  out.sections.push_back({.title = "Left out", .lines = baseline.left_out});
  if (!baseline.why_no_products.empty())
    out.sections.back().lines.push_back("products of cuBLASLt: " + baseline.why_no_products);
  return out;
}

}  // namespace mmaudit::checks
