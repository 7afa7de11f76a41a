// The fault simulation, by instruction.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <optional>
#include <thread>

#include "mmaudit/screen/fault_simulation.hpp"
#include "screen/report.hpp"

namespace mmaudit::screen {
namespace {

/// Rounded down: 100.00% is all of them.
std::string percent(std::size_t part, std::size_t whole) {
  const double hundredths = 1e4 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.2f}%", std::floor(hundredths) / 100);
}

std::size_t count(const std::vector<bool>& shown) {
  return static_cast<std::size_t>(std::count(shown.begin(), shown.end(), true));
}

/// "exponent bit 8 at 1; addend bits 26 to 27 at 1 (17 lanes)".
std::string hidden_text(const DotSpec& spec, const std::vector<Fault>& faults,
                        const std::vector<bool>& shown) {
  std::map<std::string, int> lanes;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const Fault& fault = faults[i];
    if (shown[i] || undetectable(spec, fault)) continue;
    const std::string bits = fault.width == 1
                                 ? fmt::format("bit {:2}", fault.bit)
                                 : fmt::format("bits {:2} to {}", fault.bit, fault.bit + fault.width - 1);
    ++lanes[fmt::format("{} {} at {}", name_of(fault.site), bits, fault.stuck ? 1 : 0)];
  }
  std::string text;
  for (const auto& [what, number] : lanes)
    text += fmt::format("{}{}{}", text.empty() ? "" : "; ", what,
                        number > 1 ? fmt::format(" ({} lanes)", number) : "");
  return text;
}

Coverage simulate(const Instruction& is, const DatapathEntry& entry, const std::vector<InputSet>& inputs) {
  const DotSpec spec = make_dot_spec(is, entry.datapath);
  const std::vector<Fault> faults = faults_of(spec);
  std::vector<Fault> wide;
  for (int width = 2; width <= kMostBits; ++width)
    for (const Fault& one : faults_of(spec, width)) wide.push_back(one);
  std::vector<bool> any(faults.size()), any_wide(wide.size());
  const auto count_undetectable = [&](const std::vector<Fault>& of) {
    return static_cast<std::size_t>(
        std::count_if(of.begin(), of.end(), [&](const Fault& one) { return undetectable(spec, one); }));
  };
  Coverage out{.instruction = is,
               .faults = faults.size(),
               .undetectable = count_undetectable(faults),
               .wide_faults = wide.size(),
               .wide_undetectable = count_undetectable(wide)};
  for (const InputSet set : inputs) {
    const TileBatch tiles = make_operands(is, entry.datapath, set);
    const std::vector<bool> shown = shown_faults(spec, tiles, faults);
    out.shown_by_set.push_back(count(shown));
    std::transform(any.begin(), any.end(), shown.begin(), any.begin(), std::logical_or<>());
    add_shown(spec, tiles, wide, any_wide);
  }
  out.shown = count(any);
  out.wide_shown = count(any_wide);
  out.hidden = hidden_text(spec, faults, any);
  if (const std::string more = hidden_text(spec, wide, any_wide); !more.empty())
    out.hidden += (out.hidden.empty() ? "" : "; ") + more;
  return out;
}

}  // namespace

std::vector<Coverage> simulate_coverage(const Architecture& architecture,
                                        const std::vector<Instruction>& instructions,
                                        const std::vector<InputSet>& inputs) {
  std::vector<std::optional<Coverage>> found(instructions.size());
  std::atomic<std::size_t> next = 0;
  std::vector<std::thread> threads;
  const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
  for (std::size_t i = 0; i < std::min(most, instructions.size()); ++i)
    threads.emplace_back([&] {
      for (std::size_t at = next++; at < instructions.size(); at = next++)
        if (const DatapathEntry* entry = find_datapath(architecture, instructions[at]); entry != nullptr)
          found[at] = simulate(instructions[at], *entry, inputs);
    });
  for (std::thread& thread : threads) thread.join();
  std::vector<Coverage> all;
  for (std::optional<Coverage>& one : found)
    if (one) all.push_back(std::move(*one));
  return all;
}

report::Report report_of(const std::vector<Coverage>& coverage, const std::vector<InputSet>& inputs) {
  report::Table table{.title = "Stuck-at faults that show"};
  table.columns = {{"instruction"}, {"faults", true}, {"undetectable", true}, {"shown of the rest", true}};
  for (const InputSet set : inputs) table.columns.emplace_back(name_of(set), true);
  table.columns.emplace_back(fmt::format("2 to {} bits", kMostBits), true);
  table.columns.emplace_back("shown of the rest", true);
  report::Section hidden{.title = "Faults that none of these input sets shows"};
  for (const Coverage& one : coverage) {
    std::vector<report::Cell> row = {name_of(one.instruction), std::to_string(one.faults),
                                     std::to_string(one.undetectable),
                                     percent(one.shown, one.faults - one.undetectable)};
    for (const std::size_t shown : one.shown_by_set)
      row.emplace_back(percent(shown, one.faults - one.undetectable));
    row.emplace_back(std::to_string(one.wide_faults));
    row.emplace_back(percent(one.wide_shown, one.wide_faults - one.wide_undetectable));
    table.rows.push_back(std::move(row));
    if (!one.hidden.empty()) hidden.lines.push_back(name_of(one.instruction) + ": " + one.hidden);
  }
  report::Report out{.title = "Stuck-at faults of the modelled datapaths"};
  out.sections = {section_of(std::move(table)), std::move(hidden)};
  return out;
}

}  // namespace mmaudit::screen
