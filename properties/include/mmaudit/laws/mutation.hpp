#pragma once
// The mutation score: which mutants the laws notice, and which recordings contradict.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/laws/check.hpp"
#include "mmaudit/mutants/mutants.hpp"

namespace mmaudit::laws {

/// A mutant of one instruction and the laws that it breaks, in the order of the book. Laws that an oracle
/// judges are asked only where no other law notices.
struct JudgedMutant : Mutant {
  Instruction instruction;
  std::vector<const Law*> broken;

  /// Some law tells it apart although its reason says that no input can.
  [[nodiscard]] bool wrongly_excused() const { return !invisible.empty() && !broken.empty(); }
  /// No law notices it, and no reason says why.
  [[nodiscard]] bool survives() const { return invisible.empty() && broken.empty(); }
};

struct MutationRun {
  std::uint64_t seed = 0;
  std::uint64_t dots = 3000;  ///< per law and mutant; ten times as many where no law notices
  unsigned threads = 0;       ///< 0: as many as there are cores
  std::function<void(const JudgedMutant&)> done = nullptr;  ///< told of every one, one at a time
};

/// Every mutant of every subject, in the order of the subjects and of mutants_of().
std::vector<JudgedMutant> judge_mutants(std::span<const Subject> subjects, const MutationRun& how);

/// One mutant of one instruction, the laws that notice it, and what recordings say of it.
struct ScoredMutant : JudgedMutant {
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

/// A block per unit and output format and a line per mutant; then what each law notices.
std::string score_text(const LawScore& score);
std::string score_json(const LawScore& score);

}  // namespace mmaudit::laws
