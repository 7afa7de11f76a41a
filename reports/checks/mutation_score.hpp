#pragma once
// The mutation score of the recordings of a corpus, alone or beside the laws.
#include <filesystem>
#include <string>
#include <vector>

#include "mmaudit/laws/mutation.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

using laws::LawScore;
using laws::RecordingScore;
using laws::ScoredMutant;

/// Replays every recording (of `only`'s GPUs, where given) through every mutant of its datapath.
std::vector<RecordingScore> score_recordings(const std::filesystem::path& folder,
                                             const std::vector<std::string>& filters, Progress& progress,
                                             const Architecture* only = nullptr);

/// The mutants of `subjects`, all of one architecture, under every law and under the recordings of that
/// architecture. Errors: InputError as reading the corpus.
LawScore score_laws(const std::vector<laws::Subject>& subjects, const laws::MutationRun& how,
                    const std::filesystem::path& corpus, Progress& progress);

}  // namespace mmaudit::checks
