#include "mutation_score.hpp"

#include <algorithm>
#include <map>

#include "verify.hpp"

namespace mmaudit::checks {
namespace {

/// wgmma and tcgen05 of any n have one datapath.
std::string key_of(const ScoredMutant& one) {
  Instruction instruction = one.instruction;
  if (is_asynchronous(instruction.op)) instruction.n = 0;
  return name_of(instruction) + "\n" + one.rule + "\n" + one.change;
}

/// What the recordings of the subjects' architecture say of each mutant, by key_of().
std::map<std::string, ScoredMutant> recorded_by_key(const std::filesystem::path& corpus,
                                                    const std::vector<laws::Subject>& subjects,
                                                    Progress& progress) {
  std::vector<std::string> names;
  for (const laws::Subject& one : subjects) {
    // The name up to the n, which recordings choose themselves.
    const std::string name = name_of(one.instruction);
    const bool any_n = is_asynchronous(one.instruction.op);
    names.push_back(any_n ? name.substr(name.find('k', name.find(".m"))) : name);
  }
  std::map<std::string, ScoredMutant> by_key;
  for (const RecordingScore& score : score_recordings(corpus, names, progress, subjects.front().architecture))
    for (const ScoredMutant& one : score.mutants) {
      ScoredMutant& sum = by_key[key_of(one)];
      sum.recorded = sum.recorded.value_or(0) + one.recorded.value_or(0);
      if (one.contradicted()) sum.input_class = one.input_class;
    }
  return by_key;
}

}  // namespace

std::vector<RecordingScore> score_recordings(const std::filesystem::path& folder,
                                             const std::vector<std::string>& filters, Progress& progress,
                                             const Architecture* only) {
  std::vector<RecordingScore> scores;
  for_each_recording(
      folder, filters, progress,
      [&](const corpus::Recording& recording, const Instruction& instruction, const std::string& file) {
        if (only != nullptr && &architecture_of_recording(recording, file) != only) return;
        RecordingScore& score = scores.emplace_back(RecordingScore{instruction, recording.d.elements(), {}});
        for (Mutant& mutant :
             mutants_of(instruction, datapath_of_recording(recording, instruction, file).datapath)) {
          const Comparison result = replay(recording, instruction, mutant.datapath, 0);
          ScoredMutant& one = score.mutants.emplace_back(
              ScoredMutant{{std::move(mutant), instruction, {}}, result.mismatches(), {}});
          const auto most =
              std::max_element(result.classes.begin(), result.classes.end(),
                               [](const auto& x, const auto& y) { return x.mismatches < y.mismatches; });
          if (one.contradicted()) one.input_class = most->input_class;
        }
      });
  return scores;
}

LawScore score_laws(const std::vector<laws::Subject>& subjects, const laws::MutationRun& how,
                    const std::filesystem::path& corpus, Progress& progress) {
  LawScore score{std::string(subjects.front().architecture->name), how.seed, {}};
  const auto recorded = recorded_by_key(corpus, subjects, progress);
  for (laws::JudgedMutant& mutant : laws::judge_mutants(subjects, how)) {
    ScoredMutant& one = score.mutants.emplace_back(ScoredMutant{std::move(mutant)});
    if (const auto found = recorded.find(key_of(one)); found != recorded.end()) {
      one.recorded = found->second.recorded;
      one.input_class = found->second.input_class;
    }
  }
  return score;
}

}  // namespace mmaudit::checks
