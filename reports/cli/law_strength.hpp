#pragma once
// How strong the laws are: which wrong model each notices, beside the recordings that contradict it.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "mmaudit/laws/mutation.hpp"

namespace mmaudit::cli {

/// One wrong model of one instruction.
struct WrongModel {
  laws::JudgedMutant mutant;
  std::optional<std::uint64_t> recorded;  ///< recorded results that contradict it; none: no recording
  std::string family;                     ///< the family of inputs that contradicts it most often

  [[nodiscard]] bool contradicted() const { return recorded.value_or(0) > 0; }
  /// Noticed by no law and no recording, and nothing says why it could not be.
  [[nodiscard]] bool survives() const { return mutant.survives() && !contradicted(); }
  /// Said to be equal to its row, and yet told apart.
  [[nodiscard]] bool wrongly_excused() const {
    return mutant.wrongly_excused() || (!mutant.invisible.empty() && contradicted());
  }
};

struct LawStrength {
  std::string architecture;
  std::uint64_t seed = 0;
  std::vector<WrongModel> models;

  [[nodiscard]] std::size_t survivors() const;
  [[nodiscard]] std::size_t wrongly_excused() const;
};

/// The wrong models of `subjects`, all of one architecture, under every law and, where `corpus` is a folder,
/// under the recordings of that architecture. Throws InputError as reading the corpus does.
LawStrength measure_laws(const std::vector<laws::Subject>& subjects, const laws::MutationRun& how,
                         const std::optional<std::filesystem::path>& corpus);

/// A block a datapath row, a line a wrong model; then the laws with what each notices.
std::string law_strength_text(const LawStrength& strength);
std::string law_strength_json(const LawStrength& strength);

}  // namespace mmaudit::cli
