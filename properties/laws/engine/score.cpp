#include "mmaudit/json.hpp"
#include "mmaudit/laws/mutation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace mmaudit::laws {
namespace {

/// Values by name, in the order in which the names first come up.
template <typename Value>
struct Named : std::vector<std::pair<std::string, Value>> {
  Value& operator[](const std::string& name) {
    for (auto& [known, value] : *this)
      if (known == name) return value;
    return this->emplace_back(name, Value()).second;
  }
};

/// One rule and change over all instructions of a block.
struct RuleLine {
  std::size_t mutants = 0, noticed = 0, recorded = 0, contradicted = 0, invisible = 0;
  std::uint64_t dots = 0;
  std::map<std::string_view, std::size_t> laws;
  std::string input_class, reason;
  std::vector<std::string> survived_in, excused_in;

  void add(const ScoredMutant& one) {
    ++mutants;
    noticed += !one.broken.empty();
    for (const Law* law : one.broken) ++laws[law->name];
    recorded += one.recorded.has_value();
    contradicted += one.contradicted();
    dots += one.recorded.value_or(0);
    if (!one.input_class.empty()) input_class = one.input_class;
    if (!one.invisible.empty()) reason = one.invisible;
    invisible += !one.killed() && !one.invisible.empty();
    if (one.survived()) survived_in.push_back(name_of(one.instruction));
    if (one.wrongly_excused()) excused_in.push_back(name_of(one.instruction));
  }

  /// LawVerdict of the recordings alone.
  [[nodiscard]] std::string recordings_text() const {
    std::string text = contradicted == 0 ? std::string("not killed")
                                         : fmt::format("killed by {} dots in {} of {}, most by {}", dots,
                                                       contradicted, mutants, input_class);
    if (invisible > 0) text += fmt::format("; invisible in {}: {}", invisible, reason);
    return text + survived_text("; ");
  }

  /// LawVerdict of laws and recordings.
  [[nodiscard]] std::string laws_text() const {
    std::vector<std::string> clauses;
    if (noticed > 0) {
      std::vector<std::string> names;
      for (const auto& [law, count] : laws)
        names.push_back(count == noticed ? std::string(law) : fmt::format("{} ({})", law, count));
      clauses.push_back(fmt::format("laws, {} of {}: {}", noticed, mutants, fmt::join(names, ", ")));
    }
    if (contradicted > 0)
      clauses.push_back(fmt::format("recordings, {} of {}: {} dots, most by {}", contradicted, recorded, dots,
                                    input_class));
    if (!reason.empty()) clauses.push_back("invisible: " + reason);
    if (!excused_in.empty())
      clauses.push_back(fmt::format("TOLD APART ALTHOUGH INVISIBLE in {}", fmt::join(excused_in, ", ")));
    return fmt::format("{}{}", fmt::join(clauses, "; "), survived_text(clauses.empty() ? "" : "; "));
  }

 private:
  [[nodiscard]] std::string survived_text(const char* before) const {
    if (survived_in.empty()) return {};
    return fmt::format("{}SURVIVED in {}", before, fmt::join(survived_in, ", "));
  }
};

using Blocks = Named<Named<RuleLine>>;

void add(Blocks& blocks, const ScoredMutant& one, bool every_instruction) {
  const Instruction& inst = one.instruction;
  const std::string block =
      every_instruction ? name_of(inst) : fmt::format("{} -> {}", name_of(inst.unit), name_of(inst.d));
  blocks[block][fmt::format("{:<22} {}", one.rule, one.change)].add(one);
}

std::string text_of(const Blocks& blocks, std::string (RuleLine::*verdict)() const) {
  std::string text;
  for (const auto& [block, lines] : blocks) {
    text += block + "\n";
    for (const auto& [label, line] : lines) text += fmt::format("  {:<62} {}\n", label, (line.*verdict)());
  }
  return text;
}

Json json_of(const ScoredMutant& one, const char* dots) {
  Json json = {{"rule", one.rule}, {"change", one.change}};
  if (one.recorded) json[dots] = *one.recorded;
  if (!one.input_class.empty()) json["family"] = one.input_class;
  if (!one.invisible.empty()) json["invisible"] = one.invisible;
  return json;
}

template <typename Test>
std::size_t how_many(const std::vector<ScoredMutant>& mutants, const Test& test) {
  return static_cast<std::size_t>(std::count_if(mutants.begin(), mutants.end(), test));
}

bool not_killed(const ScoredMutant& one) { return one.survived(); }

}  // namespace

std::size_t survived(const std::vector<RecordingScore>& scores) {
  std::size_t count = 0;
  for (const RecordingScore& score : scores) count += how_many(score.mutants, not_killed);
  return count;
}

std::string score_text(const std::vector<RecordingScore>& scores, bool every_instruction) {
  Blocks blocks;
  std::size_t total = 0, killed = 0, alive = survived(scores);
  for (const RecordingScore& score : scores)
    for (const ScoredMutant& one : score.mutants) {
      add(blocks, one, every_instruction);
      ++total;
      killed += one.killed();
    }
  return text_of(blocks, &RuleLine::recordings_text) +
         fmt::format(
             "{} mutants of {} instructions: {} killed, {} that no input can tell apart, {} survived\n",
             total, scores.size(), killed, total - killed - alive, alive);
}

std::string score_json(const std::vector<RecordingScore>& scores) {
  Json instructions = Json::array();
  for (const RecordingScore& score : scores) {
    Json mutants = Json::array();
    for (const ScoredMutant& one : score.mutants) mutants.push_back(json_of(one, "dots"));
    instructions.push_back(
        {{"instruction", name_of(score.instruction)}, {"dots", score.dots}, {"wrong_models", mutants}});
  }
  return document(
      {{"schema", "mmaudit.strength/1"}, {"survivors", survived(scores)}, {"instructions", instructions}});
}

std::size_t LawScore::survived() const { return how_many(mutants, not_killed); }

std::size_t LawScore::wrongly_excused() const {
  return how_many(mutants, [](const ScoredMutant& one) { return one.wrongly_excused(); });
}

std::string score_text(const LawScore& score) {
  struct Share {
    std::size_t noticed = 0, alone = 0;  ///< alone: no other law notices the mutant
  };
  Blocks blocks;
  std::map<std::string_view, Share> shares;
  for (const ScoredMutant& one : score.mutants) {
    add(blocks, one, false);
    for (const Law* law : one.broken) {
      ++shares[law->name].noticed;
      shares[law->name].alone += one.broken.size() == 1;
    }
  }
  std::string text = fmt::format("mutants of {} under the laws, seed {}\n", score.architecture, score.seed) +
                     text_of(blocks, &RuleLine::laws_text) +
                     fmt::format("\n  {:<34} {:>8} {:>8}\n", "law", "notices", "alone");
  for (const Law& law : lawbook())
    text += fmt::format("  {:<34} {:>8} {:>8}\n", law.name, shares[law.name].noticed, shares[law.name].alone);
  const auto count = [&](const auto& test) { return how_many(score.mutants, test); };
  return text + fmt::format(
                    "{} mutants: {} noticed by laws, {} by recordings ({} by them alone), {} that no input "
                    "can tell apart ({} told apart all the same), {} survived\n",
                    score.mutants.size(), count([](const ScoredMutant& one) { return !one.broken.empty(); }),
                    count([](const ScoredMutant& one) { return one.contradicted(); }),
                    count([](const ScoredMutant& one) { return one.contradicted() && one.broken.empty(); }),
                    count([](const ScoredMutant& one) { return !one.invisible.empty(); }),
                    score.wrongly_excused(), score.survived());
}

std::string score_json(const LawScore& score) {
  Json mutants = Json::array();
  for (const ScoredMutant& one : score.mutants) {
    Json json = json_of(one, "recorded_dots");
    json["instruction"] = name_of(one.instruction);
    json["laws"] = Json::array();
    for (const Law* law : one.broken) json["laws"].push_back(law->name);
    json["survives"] = one.survived();
    mutants.push_back(std::move(json));
  }
  return document({{"schema", "mmaudit.law_strength/1"},
                   {"architecture", score.architecture},
                   {"seed", score.seed},
                   {"survivors", score.survived()},
                   {"wrongly_excused", score.wrongly_excused()},
                   {"wrong_models", mutants}});
}

}  // namespace mmaudit::laws
