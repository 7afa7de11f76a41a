// The fault simulation, by instruction.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mmaudit/screen/fault_simulation.hpp"
#include "screen/report.hpp"

namespace mmaudit::screen {
namespace {

std::string percent(std::size_t part, std::size_t whole) {
  return fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

/// "exponent bit 8 at 1; addend bit 27 at 1 (17 lanes)".
std::string hidden_text(const std::vector<Fault>& faults, const std::vector<bool>& shown) {
  std::map<std::string, int> lanes;
  for (std::size_t i = 0; i < faults.size(); ++i)
    if (!shown[i])
      ++lanes[fmt::format("{} bit {:2} at {}", name_of(faults[i].site), faults[i].bit,
                          faults[i].stuck ? 1 : 0)];
  std::string text;
  for (const auto& [what, count] : lanes)
    text += fmt::format("{}{}{}", text.empty() ? "" : "; ", what,
                        count > 1 ? fmt::format(" ({} lanes)", count) : "");
  return text;
}

}  // namespace

report::Table coverage_table(const Architecture& architecture, const std::vector<Instruction>& instructions,
                             const std::vector<InputSet>& inputs, std::string& undetected) {
  report::Table table{.title = "Stuck-at faults that show"};
  table.columns = {{"instruction"}, {"faults", true}, {"shown", true}};
  for (const InputSet set : inputs) table.columns.emplace_back(name_of(set), true);
  for (const Instruction& is : instructions) {
    const DatapathEntry* entry = find_datapath(architecture, is);
    if (entry == nullptr) continue;
    const DotPlan plan = make_plan(is, entry->datapath);
    const std::vector<Fault> faults = faults_of(plan);
    std::vector<bool> any(faults.size());
    std::vector<report::Cell> row = {name_of(is), std::to_string(faults.size()), ""};
    for (const InputSet set : inputs) {
      const std::vector<bool> shown = shown_faults(plan, make_operands(is, entry->datapath, set), faults);
      row.emplace_back(
          percent(static_cast<std::size_t>(std::count(shown.begin(), shown.end(), true)), faults.size()));
      std::transform(any.begin(), any.end(), shown.begin(), any.begin(), std::logical_or<>());
    }
    row[2] = percent(static_cast<std::size_t>(std::count(any.begin(), any.end(), true)), faults.size());
    table.rows.push_back(std::move(row));
    if (const std::string hidden = hidden_text(faults, any); !hidden.empty())
      undetected += fmt::format("{}: {}\n", name_of(is), hidden);
  }
  return table;
}

}  // namespace mmaudit::screen
