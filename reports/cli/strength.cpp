#include "strength.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "common.hpp"
#include "replay.hpp"
#include "verify.hpp"

namespace mmaudit::cli {
namespace {

Kill kill_by(const corpus::Recording& recording, const Instruction& instruction, Mutant mutant) {
  Kill kill;
  const ReplayResult result = replay(recording, instruction, mutant.datapath, 0);
  kill.dots = result.mismatches();
  const auto most =
      std::max_element(result.families.begin(), result.families.end(),
                       [](const auto& x, const auto& y) { return x.mismatches < y.mismatches; });
  if (most != result.families.end() && most->mismatches > 0) kill.family = most->family;
  kill.mutant = std::move(mutant);
  return kill;
}

/// Rule and change over all instructions of one datapath row.
struct Summary {
  std::size_t instructions = 0, killed = 0, invisible = 0;
  std::uint64_t dots = 0;
  std::string reason, family;
};

}  // namespace

std::vector<InstructionStrength> measure_strength(const std::filesystem::path& folder,
                                                  const std::vector<std::string>& filters,
                                                  const Architecture* only) {
  std::vector<InstructionStrength> strengths;
  for_each_recording(
      folder, filters, "replaying wrong models",
      [&](const corpus::Recording& recording, const Instruction& instruction, const std::string& file) {
        if (only != nullptr && &architecture_of_recording(recording, file) != only) return;
        InstructionStrength& strength = strengths.emplace_back();
        strength.instruction = instruction;
        strength.dots = recording.d.elements();
        for (Mutant& mutant :
             mutants_of(instruction, row_of_recording(recording, instruction, file).datapath)) {
          strength.kills.push_back(kill_by(recording, instruction, std::move(mutant)));
        }
      });
  return strengths;
}

std::size_t survivors(const std::vector<InstructionStrength>& strengths) {
  std::size_t count = 0;
  for (const InstructionStrength& strength : strengths)
    for (const Kill& kill : strength.kills)
      if (kill.dots == 0 && kill.mutant.invisible.empty()) ++count;
  return count;
}

std::string strength_text(const std::vector<InstructionStrength>& strengths, bool every_instruction) {
  // One block a datapath row (or instruction), one line a wrong model.
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::pair<std::string, Summary>>> blocks;
  std::map<std::string, std::string> survivors_of;
  for (const InstructionStrength& strength : strengths) {
    const Instruction& instruction = strength.instruction;
    const std::string block =
        every_instruction ? name_of(instruction)
                          : fmt::format("{} -> {}", name_of(instruction.unit), name_of(instruction.d));
    if (blocks.find(block) == blocks.end()) order.push_back(block);
    auto& lines = blocks[block];
    for (const Kill& kill : strength.kills) {
      const std::string label = fmt::format("{:<22} {}", kill.mutant.rule, kill.mutant.change);
      auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& x) { return x.first == label; });
      if (line == lines.end()) line = lines.insert(lines.end(), {label, {}});
      Summary& summary = line->second;
      ++summary.instructions;
      summary.dots += kill.dots;
      if (kill.dots > 0) {
        ++summary.killed;
        summary.family = kill.family;
      } else if (!kill.mutant.invisible.empty()) {
        ++summary.invisible;
        summary.reason = kill.mutant.invisible;
      } else {
        survivors_of[block + label] +=
            (survivors_of[block + label].empty() ? "" : ", ") + name_of(instruction);
      }
    }
  }
  std::string text;
  for (const std::string& block : order) {
    text += fmt::format("{}\n", block);
    for (const auto& [label, summary] : blocks[block]) {
      std::string verdict = summary.killed > 0
                                ? fmt::format("killed by {} dots in {} of {}, most by {}", summary.dots,
                                              summary.killed, summary.instructions, summary.family)
                                : std::string("not killed");
      if (summary.invisible > 0)
        verdict += fmt::format("; invisible in {}: {}", summary.invisible, summary.reason);
      const auto alive = survivors_of.find(block + label);
      if (alive != survivors_of.end()) verdict += "; SURVIVES in " + alive->second;
      text += fmt::format("  {:<62} {}\n", label, verdict);
    }
  }
  std::size_t total = 0;
  std::size_t invisible = 0;
  for (const InstructionStrength& strength : strengths) {
    total += strength.kills.size();
    for (const Kill& kill : strength.kills)
      invisible += kill.dots == 0 && !kill.mutant.invisible.empty() ? 1 : 0;
  }
  const std::size_t alive = survivors(strengths);
  text += fmt::format(
      "{} wrong models of {} instructions: {} killed, {} that no input can tell apart, {} survive\n", total,
      strengths.size(), total - invisible - alive, invisible, alive);
  return text;
}

std::string strength_json(const std::vector<InstructionStrength>& strengths) {
  nlohmann::json rows = nlohmann::json::array();
  for (const InstructionStrength& strength : strengths) {
    nlohmann::json kills = nlohmann::json::array();
    for (const Kill& kill : strength.kills) {
      nlohmann::json one = {{"rule", kill.mutant.rule}, {"change", kill.mutant.change}, {"dots", kill.dots}};
      if (!kill.family.empty()) one["family"] = kill.family;
      if (!kill.mutant.invisible.empty()) one["invisible"] = kill.mutant.invisible;
      kills.push_back(one);
    }
    rows.push_back(
        {{"instruction", name_of(strength.instruction)}, {"dots", strength.dots}, {"wrong_models", kills}});
  }
  return nlohmann::json(
             {{"schema", "mmaudit.strength/1"}, {"survivors", survivors(strengths)}, {"instructions", rows}})
             .dump(2) +
         "\n";
}

}  // namespace mmaudit::cli
