#pragma once
// The mutation score of a corpus: which mutants of a datapath its recordings contradict.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "mmaudit/model/architecture.hpp"
#include "mmaudit/mutants/mutants.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

struct RecordedMutant {
  Mutant mutant;
  std::uint64_t dots = 0;   ///< recorded results that contradict the mutant
  std::string input_class;  ///< the input class that contradicts it most often

  /// Some input could tell the mutant apart but no recording does.
  [[nodiscard]] bool survived() const { return dots == 0 && mutant.invisible.empty(); }
};

struct InstructionScore {
  Instruction instruction;
  std::uint64_t dots = 0;
  std::vector<RecordedMutant> mutants;
};

/// Replays every recording (of `only`'s GPUs, where given) through every mutant of its datapath.
std::vector<InstructionScore> score_recordings(const std::filesystem::path& folder,
                                               const std::vector<std::string>& filters, Progress& progress,
                                               const Architecture* only = nullptr);

std::size_t survivors(const std::vector<InstructionScore>& scores);

std::string score_text(const std::vector<InstructionScore>& scores, bool every_instruction);
std::string score_json(const std::vector<InstructionScore>& scores);

}  // namespace mmaudit::checks
