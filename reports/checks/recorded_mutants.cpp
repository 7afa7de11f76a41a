#include "recorded_mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "replay.hpp"
#include "verify.hpp"

namespace mmaudit::checks {
namespace {

RecordedMutant replay_mutant(const corpus::Recording& recording, const Instruction& instruction,
                             Mutant mutant) {
  const Comparison result = replay(recording, instruction, mutant.datapath, 0);
  const auto most =
      std::max_element(result.classes.begin(), result.classes.end(),
                       [](const auto& x, const auto& y) { return x.mismatches < y.mismatches; });
  const bool any = most != result.classes.end() && most->mismatches > 0;
  return {std::move(mutant), result.mismatches(), any ? most->input_class : ""};
}

/// Rule and change over all instructions of one unit and output format.
struct Summary {
  std::size_t instructions = 0, killed = 0, invisible = 0;
  std::uint64_t dots = 0;
  std::string reason, input_class;
};

}  // namespace

std::vector<InstructionScore> score_recordings(const std::filesystem::path& folder,
                                               const std::vector<std::string>& filters, Progress& progress,
                                               const Architecture* only) {
  std::vector<InstructionScore> scores;
  for_each_recording(
      folder, filters, progress,
      [&](const corpus::Recording& recording, const Instruction& instruction, const std::string& file) {
        if (only != nullptr && &architecture_of_recording(recording, file) != only) return;
        InstructionScore& score = scores.emplace_back();
        score.instruction = instruction;
        score.dots = recording.d.elements();
        for (Mutant& mutant :
             mutants_of(instruction, datapath_of_recording(recording, instruction, file).datapath))
          score.mutants.push_back(replay_mutant(recording, instruction, std::move(mutant)));
      });
  return scores;
}

std::size_t survivors(const std::vector<InstructionScore>& scores) {
  std::size_t count = 0;
  for (const InstructionScore& score : scores)
    count +=
        static_cast<std::size_t>(std::count_if(score.mutants.begin(), score.mutants.end(),
                                               [](const RecordedMutant& one) { return one.survived(); }));
  return count;
}

std::string score_text(const std::vector<InstructionScore>& scores, bool every_instruction) {
  // One block per unit and output format (or per instruction), one line per mutant.
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::pair<std::string, Summary>>> blocks;
  std::map<std::string, std::string> survivors_of;
  for (const InstructionScore& score : scores) {
    const Instruction& instruction = score.instruction;
    const std::string block =
        every_instruction ? name_of(instruction)
                          : fmt::format("{} -> {}", name_of(instruction.unit), name_of(instruction.d));
    if (blocks.find(block) == blocks.end()) order.push_back(block);
    auto& lines = blocks[block];
    for (const RecordedMutant& one : score.mutants) {
      const std::string label = fmt::format("{:<22} {}", one.mutant.rule, one.mutant.change);
      auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& x) { return x.first == label; });
      if (line == lines.end()) line = lines.insert(lines.end(), {label, {}});
      Summary& summary = line->second;
      ++summary.instructions;
      summary.dots += one.dots;
      if (one.dots > 0) {
        ++summary.killed;
        summary.input_class = one.input_class;
      } else if (!one.mutant.invisible.empty()) {
        ++summary.invisible;
        summary.reason = one.mutant.invisible;
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
                                              summary.killed, summary.instructions, summary.input_class)
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
  for (const InstructionScore& score : scores) {
    total += score.mutants.size();
    for (const RecordedMutant& one : score.mutants)
      invisible += one.dots == 0 && !one.mutant.invisible.empty() ? 1 : 0;
  }
  const std::size_t alive = survivors(scores);
  text += fmt::format(
      "{} wrong models of {} instructions: {} killed, {} that no input can tell apart, {} survive\n", total,
      scores.size(), total - invisible - alive, invisible, alive);
  return text;
}

std::string score_json(const std::vector<InstructionScore>& scores) {
  nlohmann::json rows = nlohmann::json::array();
  for (const InstructionScore& score : scores) {
    nlohmann::json mutants = nlohmann::json::array();
    for (const RecordedMutant& one : score.mutants) {
      nlohmann::json row = {{"rule", one.mutant.rule}, {"change", one.mutant.change}, {"dots", one.dots}};
      if (!one.input_class.empty()) row["family"] = one.input_class;
      if (!one.mutant.invisible.empty()) row["invisible"] = one.mutant.invisible;
      mutants.push_back(row);
    }
    rows.push_back(
        {{"instruction", name_of(score.instruction)}, {"dots", score.dots}, {"wrong_models", mutants}});
  }
  return nlohmann::json(
             {{"schema", "mmaudit.strength/1"}, {"survivors", survivors(scores)}, {"instructions", rows}})
             .dump(2) +
         "\n";
}

}  // namespace mmaudit::checks
