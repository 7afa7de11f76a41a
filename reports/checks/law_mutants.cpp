#include "law_mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "recorded_mutants.hpp"

namespace mmaudit::checks {
namespace {

/// wgmma and tcgen05 of any n have one datapath.
std::string key_of(Instruction instruction, const Mutant& mutant) {
  if (is_wgmma(instruction.op) || instruction.op == Op::tcgen05) instruction.n = 0;
  return name_of(instruction) + "\n" + mutant.rule + "\n" + mutant.change;
}

struct Recorded {
  std::uint64_t dots = 0;
  std::string input_class;
};

std::map<std::string, Recorded> recorded_kills(const std::filesystem::path& corpus,
                                               const std::vector<laws::Subject>& subjects,
                                               Progress& progress) {
  std::map<std::string, Recorded> kills;
  std::vector<std::string> names;
  for (const laws::Subject& one : subjects) {
    // The name up to the n, which recordings choose themselves.
    const std::string name = name_of(one.instruction);
    const bool any_n = is_wgmma(one.instruction.op) || one.instruction.op == Op::tcgen05;
    names.push_back(any_n ? name.substr(name.find('k', name.find(".m"))) : name);
  }
  const auto scores = score_recordings(corpus, names, progress, subjects.front().architecture);
  for (const InstructionScore& score : scores)
    for (const RecordedMutant& one : score.mutants) {
      Recorded& sum = kills[key_of(score.instruction, one.mutant)];
      sum.dots += one.dots;
      if (one.dots > 0) sum.input_class = one.input_class;
    }
  return kills;
}

/// One rule and change over all instructions of a unit and output format.
struct RuleLine {
  std::size_t mutants = 0, noticed = 0, with_recording = 0, contradicted = 0;
  std::uint64_t dots = 0;
  std::map<std::string_view, std::size_t> laws;
  std::string input_class, invisible, survives_in, wrongly_in;

  void add(const ScoredMutant& one) {
    const std::string name = name_of(one.mutant.instruction);
    ++mutants;
    noticed += !one.mutant.broken.empty();
    for (const laws::Law* law : one.mutant.broken) ++laws[law->name];
    with_recording += one.recorded.has_value();
    contradicted += one.contradicted();
    dots += one.recorded.value_or(0);
    if (!one.input_class.empty()) input_class = one.input_class;
    if (!one.mutant.invisible.empty()) invisible = one.mutant.invisible;
    if (one.survives()) survives_in += (survives_in.empty() ? "" : ", ") + name;
    if (one.wrongly_excused()) wrongly_in += (wrongly_in.empty() ? "" : ", ") + name;
  }

  [[nodiscard]] std::string text() const {
    std::string out;
    const auto clause = [&](const std::string& more) { out += (out.empty() ? "" : "; ") + more; };
    if (noticed > 0) {
      std::string names;
      for (const auto& [law, count] : laws)
        names += fmt::format("{}{}{}", names.empty() ? "" : ", ", law,
                             count == noticed ? "" : fmt::format(" ({})", count));
      clause(fmt::format("laws, {} of {}: {}", noticed, mutants, names));
    }
    if (contradicted > 0)
      clause(fmt::format("recordings, {} of {}: {} dots, most by {}", contradicted, with_recording, dots,
                         input_class));
    if (!invisible.empty()) clause("invisible: " + invisible);
    if (!wrongly_in.empty()) clause("TOLD APART ALTHOUGH INVISIBLE in " + wrongly_in);
    if (!survives_in.empty()) clause("SURVIVES in " + survives_in);
    return out;
  }
};

/// How many mutants one law notices, and how many of them no other law does.
struct Share {
  std::size_t noticed = 0, alone = 0;
};

std::map<std::string_view, Share> shares(const LawScore& score) {
  std::map<std::string_view, Share> all;
  for (const laws::Law& law : laws::lawbook()) all[law.name] = {};
  for (const ScoredMutant& one : score.mutants)
    for (const laws::Law* law : one.mutant.broken) {
      ++all[law->name].noticed;
      all[law->name].alone += one.mutant.broken.size() == 1;
    }
  return all;
}

template <typename Test>
std::size_t how_many(const LawScore& score, const Test& test) {
  return static_cast<std::size_t>(std::count_if(score.mutants.begin(), score.mutants.end(), test));
}

}  // namespace

std::size_t LawScore::survivors() const {
  return how_many(*this, [](const ScoredMutant& one) { return one.survives(); });
}

std::size_t LawScore::wrongly_excused() const {
  return how_many(*this, [](const ScoredMutant& one) { return one.wrongly_excused(); });
}

LawScore score_laws(const std::vector<laws::Subject>& subjects, const laws::MutationRun& how,
                    const std::optional<std::filesystem::path>& corpus, Progress& progress) {
  LawScore score;
  score.seed = how.seed;
  score.architecture = subjects.front().architecture->name;
  std::map<std::string, Recorded> kills;
  if (corpus) kills = recorded_kills(*corpus, subjects, progress);
  for (laws::JudgedMutant& mutant : laws::judge_mutants(subjects, how)) {
    ScoredMutant& one = score.mutants.emplace_back();
    if (const auto found = kills.find(key_of(mutant.instruction, mutant)); found != kills.end()) {
      one.recorded = found->second.dots;
      one.input_class = found->second.input_class;
    }
    one.mutant = std::move(mutant);
  }
  return score;
}

std::string law_score_text(const LawScore& score) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::pair<std::string, RuleLine>>> blocks;
  for (const ScoredMutant& one : score.mutants) {
    const Instruction& inst = one.mutant.instruction;
    const std::string block = fmt::format("{} -> {}", name_of(inst.unit), name_of(inst.d));
    if (blocks.find(block) == blocks.end()) order.push_back(block);
    auto& lines = blocks[block];
    const std::string label = fmt::format("{:<22} {}", one.mutant.rule, one.mutant.change);
    auto line = std::find_if(lines.begin(), lines.end(), [&](const auto& x) { return x.first == label; });
    if (line == lines.end()) line = lines.insert(lines.end(), {label, {}});
    line->second.add(one);
  }
  std::string text =
      fmt::format("wrong models of {} under the laws, seed {}\n", score.architecture, score.seed);
  for (const std::string& block : order) {
    text += block + "\n";
    for (const auto& [label, line] : blocks[block]) text += fmt::format("  {:<62} {}\n", label, line.text());
  }
  text += fmt::format("\n  {:<34} {:>8} {:>8}\n", "law", "notices", "alone");
  const auto all = shares(score);
  for (const laws::Law& law : laws::lawbook())
    text += fmt::format("  {:<34} {:>8} {:>8}\n", law.name, all.at(law.name).noticed, all.at(law.name).alone);
  const std::size_t by_laws = how_many(score, [](const ScoredMutant& x) { return !x.mutant.broken.empty(); });
  const std::size_t by_recordings = how_many(score, [](const ScoredMutant& x) { return x.contradicted(); });
  const std::size_t by_recordings_alone =
      how_many(score, [](const ScoredMutant& x) { return x.contradicted() && x.mutant.broken.empty(); });
  const std::size_t invisible =
      how_many(score, [](const ScoredMutant& x) { return !x.mutant.invisible.empty(); });
  return text +
         fmt::format(
             "{} wrong models: {} noticed by laws, {} by recordings ({} by them alone), {} that no input "
             "can tell apart ({} told apart all the same), {} survive\n",
             score.mutants.size(), by_laws, by_recordings, by_recordings_alone, invisible,
             score.wrongly_excused(), score.survivors());
}

std::string law_score_json(const LawScore& score) {
  nlohmann::json models = nlohmann::json::array();
  for (const ScoredMutant& one : score.mutants) {
    nlohmann::json names = nlohmann::json::array();
    for (const laws::Law* law : one.mutant.broken) names.push_back(law->name);
    nlohmann::json row = {{"instruction", name_of(one.mutant.instruction)},
                          {"rule", one.mutant.rule},
                          {"change", one.mutant.change},
                          {"laws", std::move(names)},
                          {"survives", one.survives()}};
    if (one.recorded) row["recorded_dots"] = *one.recorded;
    if (!one.input_class.empty()) row["family"] = one.input_class;
    if (!one.mutant.invisible.empty()) row["invisible"] = one.mutant.invisible;
    models.push_back(std::move(row));
  }
  return nlohmann::json({{"schema", "mmaudit.law_strength/1"},
                         {"architecture", score.architecture},
                         {"seed", score.seed},
                         {"survivors", score.survivors()},
                         {"wrongly_excused", score.wrongly_excused()},
                         {"wrong_models", std::move(models)}})
             .dump(2) +
         "\n";
}

}  // namespace mmaudit::checks
