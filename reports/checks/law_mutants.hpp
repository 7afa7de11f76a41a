#pragma once
// The mutation score of the laws: which mutant each notices, beside the recordings that contradict it.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/laws/mutation.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

/// One mutant of one instruction.
struct ScoredMutant {
  laws::JudgedMutant mutant;
  std::optional<std::uint64_t> recorded;  ///< recorded results that contradict it; none: no recording
  std::string input_class;                ///< the one that contradicts it most often

  [[nodiscard]] bool contradicted() const { return recorded.value_or(0) > 0; }
  /// Noticed by no law and no recording, and nothing says why it could not be.
  [[nodiscard]] bool survives() const { return mutant.survives() && !contradicted(); }
  /// Said to be equal to its datapath, and yet told apart.
  [[nodiscard]] bool wrongly_excused() const {
    return mutant.wrongly_excused() || (!mutant.invisible.empty() && contradicted());
  }
};

struct LawScore {
  std::string architecture;
  std::uint64_t seed = 0;
  std::vector<ScoredMutant> mutants;

  [[nodiscard]] std::size_t survivors() const;
  [[nodiscard]] std::size_t wrongly_excused() const;
};

/// The mutants of `subjects`, all of one architecture, under every law and, where `corpus` is a folder,
/// under the recordings of that architecture. Throws InputError as reading the corpus does.
LawScore score_laws(const std::vector<laws::Subject>& subjects, const laws::MutationRun& how,
                    const std::optional<std::filesystem::path>& corpus, Progress& progress);

/// A block per unit and output format, a line per mutant; then the laws with what each notices.
std::string law_score_text(const LawScore& score);
std::string law_score_json(const LawScore& score);

}  // namespace mmaudit::checks
