#pragma once
// Laws against a backend, or against recordings: what a real GPU answered once, judged without it.
#include <filesystem>
#include <string>
#include <vector>

#include "law_regressions.hpp"
#include "mmaudit/laws/check.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

/// All results of one law.
struct CheckedLaw {
  const laws::Law* law = nullptr;
  std::vector<laws::LawResult> results;
  bool may_be_silent = false;  ///< applying to nothing is no failure

  [[nodiscard]] std::size_t applied() const;
  [[nodiscard]] std::size_t bad() const;
  [[nodiscard]] std::uint64_t judged() const;
  [[nodiscard]] bool good() const { return bad() == 0 && (applied() > 0 || may_be_silent); }
};

struct LawReport {
  std::string on;  ///< the backend, or whose recordings were judged
  std::uint64_t seed = 0;
  std::string date;
  std::vector<CheckedLaw> laws;  ///< in the order of the lawbook

  [[nodiscard]] bool judged_something() const;
  [[nodiscard]] bool good() const;  ///< not where nothing was judged
};

/// What both checks are asked.
struct LawQuestion {
  const Architecture* architecture = nullptr;
  std::vector<const laws::Law*> laws = {};
  std::vector<std::string> instructions = {};  ///< parts of their names; empty: all
  std::uint64_t dots = 0;                      ///< at least as many per law
  std::uint64_t seed = 0;
  unsigned threads = 0;  ///< 0: one per core
};

/// The instructions of `question` with their datapaths; InputError when there are none.
std::vector<laws::Subject> subjects_of(const Architecture& architecture,
                                       const std::vector<std::string>& instructions);

/// Every law on `backend`, its dot products spread over the datapaths it applies to; `known` ones are tried
/// first. `launch`: dot products that run at once.
LawReport check_laws(const LawQuestion& question, const Backend& backend, std::uint64_t launch,
                     const RegressionFile& known, Progress& progress);

/// Every law over every recording under `folder` that is of a GPU of the architecture. A law that an oracle
/// judges gets at least `dots` dot products, spread over the recordings, every other law all of them.
/// InputError when there is no such recording.
LawReport check_recorded_laws(const LawQuestion& question, const std::filesystem::path& folder,
                              Progress& progress);

/// A line per law, and why results are not good; `reasons`: also why instructions are skipped.
std::string to_text(const LawReport& report, bool reasons);
std::string to_json(const LawReport& report);

}  // namespace mmaudit::checks
