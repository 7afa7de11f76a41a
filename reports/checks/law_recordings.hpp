#pragma once
// Laws over recordings: what a real GPU answered once, judged without it.
#include <filesystem>
#include <string>
#include <vector>

#include "mmaudit/laws/check.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

struct RecordedLaws {
  std::string gpus;  ///< whose recordings they are
  std::vector<std::vector<laws::LawResult>>
      results;  ///< a vector per law, its results in the order of the files
};

/// Every law of `chosen` over every recording under `folder` that is of a GPU of `architecture` and whose
/// instruction's name contains one of `filters` (empty: all), by the datapaths of `architecture`. A law that
/// an oracle judges gets at least `slow_dots` dot products, spread over the recordings, every other law all
/// of them. Throws InputError when there is no such recording.
RecordedLaws check_recorded_laws(const std::filesystem::path& folder, const std::vector<std::string>& filters,
                                 const std::vector<const laws::Law*>& chosen,
                                 const Architecture& architecture, std::uint64_t slow_dots,
                                 Progress& progress);

}  // namespace mmaudit::checks
