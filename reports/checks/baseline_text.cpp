// What changed between two baselines, for a person: the instructions of each cause, with one example.
#include <fmt/format.h>

#include <algorithm>

#include "baseline.hpp"

namespace mmaudit::checks {
namespace {

/// Of a cause; --json lists them all.
constexpr std::size_t kInstructionsShown = 8;
/// Of an instruction; more are counted.
constexpr std::size_t kClassesShown = 3;

/// "  mma... normal, cancel: 3 of 256 dot products differ"
std::string instruction_line(const BaselineDiff& diff, const std::string& name) {
  std::string classes;
  std::size_t count = 0;
  std::uint64_t dots = 0, differing = 0;
  for (const BaselineChange& each : diff.changes) {
    if (name_of(each.instruction) != name) continue;
    classes += (classes.empty() ? "" : ", ") + each.first.dot.input_class;
    ++count;
    dots += each.dots;
    differing += each.differing;
  }
  if (count > kClassesShown) classes = fmt::format("in {} input classes", count);
  return differing == 0
             ? fmt::format("  {} {}\n", name, classes)
             : fmt::format("  {} {}: {} of {} dot products differ\n", name, classes, differing, dots);
}

std::string example(const BaselineChange& change) {
  const int digits = static_cast<int>(2 * spec_of(change.instruction.d).storage_bytes());
  const DotCase& dot = change.first.dot;
  std::string out =
      fmt::format("    {}: tile {}, row {}, column {}: OLD 0x{:0{}x}, NEW 0x{:0{}x}{}\n", dot.input_class,
                  dot.tile, dot.row, dot.column, change.first.expected, digits, change.first.found, digits,
                  change.model.empty() ? "" : "; the model: " + change.model);
  if (!change.explain.empty()) out += "    " + change.explain + "\n";
  return out;
}

std::string cause_text(const BaselineDiff& diff, const BaselineCause& cause) {
  const std::size_t count = cause.instructions.size();
  std::string out = fmt::format("{} instruction{}: {}\n", count, count == 1 ? "" : "s", cause.text);
  for (std::size_t i = 0; i < std::min(count, kInstructionsShown); ++i) {
    const std::string& name = cause.instructions[i];
    out += instruction_line(diff, name);
    if (i != 0) continue;
    const auto first = std::find_if(
        diff.changes.begin(), diff.changes.end(),
        [&](const BaselineChange& each) { return each.differing != 0 && name_of(each.instruction) == name; });
    if (first != diff.changes.end()) out += example(*first);
  }
  if (count > kInstructionsShown)
    out += fmt::format("  and {} more, which --json lists\n", count - kInstructionsShown);
  return out;
}

}  // namespace

std::string to_text(const BaselineDiff& diff) {
  std::string out;
  for (const std::string& line : diff.provenance) out += line + "\n";
  for (const std::string& name : diff.gone) out += fmt::format("{}: in OLD only\n", name);
  for (const std::string& name : diff.added) out += fmt::format("{}: in NEW only\n", name);
  std::size_t changed = 0, unexplained = 0;
  for (const BaselineCause& each : diff.causes) {
    out += cause_text(diff, each);
    changed += each.instructions.size();
    if (!each.explained) unexplained += each.instructions.size();
  }
  for (const BaselineProductChange& each : diff.product_changes) out += product_text(each);
  const std::string compared =
      fmt::format("{} instructions, {} dot products", diff.instructions, diff.dots) +
      (diff.products == 0 ? "" : fmt::format(", {} products of cuBLASLt", diff.products));
  if (diff.same()) return out + "no difference: " + compared + ", bit for bit\n";
  out += fmt::format("compared: {}; {} of {} instructions changed", compared, changed, diff.instructions);
  if (unexplained != 0) out += fmt::format(", {} of them unexplained", unexplained);
  if (!diff.gone.empty()) out += fmt::format("; {} in OLD only", diff.gone.size());
  if (!diff.added.empty()) out += fmt::format("; {} in NEW only", diff.added.size());
  return out + "\n";
}

}  // namespace mmaudit::checks
