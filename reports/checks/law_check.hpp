#pragma once
// Laws against a backend, or against recordings: what a real GPU answered once, judged without it.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/laws/report.hpp"
#include "mmaudit/report/report.hpp"
#include "progress.hpp"

namespace mmaudit::checks {

/// Dot products that broke laws, kept from run to run. One JSON object per line. An empty path: nothing is
/// read or kept.
class RegressionFile {
 public:
  /// Throws InputError for a line that is none, naming file, line and field; a missing file is empty.
  explicit RegressionFile(std::string path);
  [[nodiscard]] std::vector<laws::Dot> dots(std::string_view law, const Instruction& instruction) const;
  void add(const laws::Failure& failure, const Architecture& architecture);
  /// Writes the file anew when something was added.
  void save() const;

 private:
  struct Entry {
    std::string law;
    Instruction instruction;
    laws::Dot dot;
  };
  std::string path_, text_;
  std::vector<Entry> entries_;
  bool changed_ = false;
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
laws::LawReport check_laws(const LawQuestion& question, const Backend& backend, std::uint64_t launch,
                           const RegressionFile& known, Progress& progress);

/// Every law over every recording under `folder` that is of a GPU of the architecture. A law that an oracle
/// judges gets at least `dots` dot products, spread over the recordings, every other law all of them.
/// InputError when there is no such recording.
laws::LawReport check_recorded_laws(const LawQuestion& question, const std::filesystem::path& folder,
                                    Progress& progress);

/// Writes FOLDER/<law>-<instruction>.cu, which runs the instruction on the failing dot product and compares;
/// a line that names the file, or says why there is none.
std::string write_repro(const laws::Failure& failure, const std::string& folder);

/// A row per law, and what does not hold; `reasons`: on a terminal also why instructions are skipped.
/// `failures`: the dot products that broke laws, in words. The report keeps `checked`. A check that judged
/// nothing is bad.
report::Report report_of(const laws::LawReport& checked, bool reasons, const std::string& failures);
/// The laws with their statements and sources.
report::Report lawbook_report();

/// Values, what was found and what the law allows, and the commands that explain (`where`: its --arch and
/// --model) and replay it.
std::string describe(const laws::Failure& failure, const laws::Law& law, const std::string& where,
                     const std::string& replay);
std::string replay_command(const laws::Failure& failure, const std::string& backend,
                           const Architecture& architecture, const std::string& regressions);

}  // namespace mmaudit::checks
