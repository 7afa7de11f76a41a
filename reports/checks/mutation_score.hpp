#pragma once
// The mutation score: which mutants the recordings of a corpus contradict, and which the laws notice.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/laws/mutation.hpp"
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

/// Replays every recording (of `only`'s GPUs, where given) through every mutant of its datapath.
std::vector<RecordingScore> score_recordings(const std::filesystem::path& folder,
                                             const std::vector<std::string>& filters, Progress& progress,
                                             const Architecture* only = nullptr);
std::size_t survived(const std::vector<RecordingScore>& scores);

/// A block per unit and output format, or per instruction, and a line per mutant.
std::string score_text(const std::vector<RecordingScore>& scores, bool every_instruction);
std::string score_json(const std::vector<RecordingScore>& scores);

struct LawScore {
  std::string architecture;
  std::uint64_t seed = 0;
  std::vector<ScoredMutant> mutants;

  [[nodiscard]] std::size_t survived() const;
  [[nodiscard]] std::size_t wrongly_excused() const;
};

/// The mutants of `subjects`, all of one architecture, under every law and under the recordings of that
/// architecture. Errors: InputError as reading the corpus.
LawScore score_laws(const std::vector<laws::Subject>& subjects, const laws::MutationRun& how,
                    const std::filesystem::path& corpus, Progress& progress);

/// A block per unit and output format and a line per mutant; then what each law notices.
std::string score_text(const LawScore& score);
std::string score_json(const LawScore& score);

}  // namespace mmaudit::checks
