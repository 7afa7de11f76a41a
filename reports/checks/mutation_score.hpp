#pragma once
// The mutation score: which mutants of the model the laws notice, and which the recordings of a corpus
// contradict.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/laws/mutation.hpp"
#include "mmaudit/report/report.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

/// One mutant of one instruction, the laws that notice it, and what recordings say of it.
struct ScoredMutant : laws::JudgedMutant {
  std::optional<std::uint64_t> recorded = {};  ///< recorded results that contradict it; none: no recording
  std::string input_class = {};                ///< the one that contradicts it most often

  [[nodiscard]] bool contradicted() const { return recorded.value_or(0) > 0; }
  [[nodiscard]] bool killed() const { return contradicted() || !broken.empty(); }
  /// Not killed, although some input could tell it from its datapath.
  [[nodiscard]] bool survived() const { return !killed() && invisible.empty(); }
  /// Killed, although a reason says that no input can tell it from its datapath.
  [[nodiscard]] bool wrongly_excused() const { return killed() && !invisible.empty(); }
};

/// The mutants of one recording's datapath under that recording.
struct RecordingScore {
  Instruction instruction;
  std::uint64_t dots = 0;
  std::vector<ScoredMutant> mutants;
};

/// The mutants of one architecture under every law and under its recordings.
struct LawScore {
  std::string architecture;
  std::uint64_t seed = 0;
  std::vector<ScoredMutant> mutants;
};

/// Replays every recording (of `only`'s GPUs, where given) through every mutant of its datapath.
std::vector<RecordingScore> score_recordings(const std::filesystem::path& folder,
                                             const std::vector<std::string>& filters, Progress& progress,
                                             const Architecture* only = nullptr);

/// The mutants of `subjects`, all of one architecture, under every law and under the recordings of that
/// architecture. Errors: InputError as reading the corpus.
LawScore score_laws(const std::vector<laws::Subject>& subjects, const laws::MutationRun& how,
                    const std::filesystem::path& corpus, Progress& progress);

/// A table per unit and output format (`every_instruction`: per instruction) with a row per change. A mutant
/// that survived is bad. The report keeps `scores`.
report::Report report_of(const std::vector<RecordingScore>& scores, bool every_instruction);
/// The same beside the laws, and how many mutants each law notices. A mutant that was told apart although a
/// reason calls it equal is bad too.
report::Report report_of(const LawScore& score);

}  // namespace mmaudit::checks
