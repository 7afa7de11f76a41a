#include "law_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "choice.hpp"
#include "every_part.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "verify.hpp"

namespace mmaudit::checks {
namespace {

using laws::CheckedLaw;
using laws::LawReport;
using laws::LawResult;

/// A law that applies to nothing is a failure only where nothing was left out by the user, and the
/// architecture has datapaths of its kind.
CheckedLaw checked(const LawQuestion& question, const laws::Law& law, std::vector<LawResult> results) {
  const bool no_scales = std::all_of(results.begin(), results.end(), [](const LawResult& one) {
    return one.instruction.scale == Format::none;
  });
  const bool silent = !question.instructions.empty() || (law.scales == laws::Scales::own && no_scales);
  return {&law, std::move(results), silent};
}

/// Tiles at equal distances, with about `dots` dot products: some of every input class.
std::vector<laws::Tile> sample(const std::vector<laws::Tile>& tiles, std::uint64_t dots) {
  const std::uint64_t each = std::max<std::size_t>(tiles.front().c.size(), 1);
  const std::uint64_t step =
      std::max<std::uint64_t>(tiles.size() * each / std::max<std::uint64_t>(dots, 1), 1);
  std::vector<laws::Tile> some;
  for (std::size_t t = 0; t < tiles.size(); t += step) some.push_back(tiles[t]);
  return some;
}

}  // namespace

std::vector<laws::Subject> subjects_of(const Architecture& architecture,
                                       const std::vector<std::string>& instructions) {
  std::vector<laws::Subject> all = laws::subjects_of(architecture);
  require_each("--inst", instructions, all,
               fmt::format("part of a name of `mmaudit list --arch {}`", architecture.name),
               &laws::Subject::instruction);
  std::erase_if(all, [&](const laws::Subject& one) { return !selected(one.instruction, instructions); });
  return all;
}

LawReport check_laws(const LawQuestion& question, const Backend& backend, std::uint64_t launch,
                     const RegressionFile& known, Progress& progress) {
  const std::vector<laws::Subject> subjects = subjects_of(*question.architecture, question.instructions);
  std::map<const laws::Law*, std::uint64_t> share;  // of a law's dots, per datapath that it applies to
  for (const laws::Law* law : question.laws) {
    const auto applying = std::count_if(subjects.begin(), subjects.end(), [&](const laws::Subject& one) {
      return laws::why_silent(*law, one).empty();
    });
    share[law] = question.dots / static_cast<std::uint64_t>(std::max<std::ptrdiff_t>(1, applying)) + 1;
  }
  progress.begin("laws", question.laws.size() * subjects.size());
  auto results = laws::check_laws(
      question.laws, subjects, backend,
      {.options =
           [&](const laws::Law& law, const laws::Subject& subject) {
             return laws::LawOptions{.seed = question.seed,
                                     .dots = share.at(&law),
                                     .launch = launch,
                                     .first = known.dots(law.name, subject.instruction)};
           },
       .done = [&](const LawResult& result) { progress.advance(1, std::string(result.law->name)); },
       .threads = question.threads});
  LawReport report{backend.name, question.seed, {}, {}};
  for (std::size_t law = 0; law < question.laws.size(); ++law)
    report.laws.push_back(checked(question, *question.laws[law], std::move(results[law])));
  return report;
}

LawReport check_recorded_laws(const LawQuestion& question, const std::filesystem::path& folder,
                              Progress& progress) {
  const Architecture& architecture = *question.architecture;
  std::vector<std::vector<LawResult>> results(question.laws.size());
  std::set<std::string> gpus;
  std::vector<Instruction> seen;
  const std::size_t files = corpus::find_recordings(folder).size();
  for_each_recording(
      folder, question.instructions, progress,
      [&](const corpus::Recording& recording, const Instruction& inst, const std::string& file) {
        if (&architecture_of_recording(recording, file) != &architecture) return;
        const laws::Subject subject(architecture, inst,
                                    datapath_of_recording(recording, inst, file).datapath);
        std::vector<laws::Tile> tiles;
        for (std::size_t t = 0; t < recording.tiles; ++t)
          tiles.push_back(laws::tile_at(inst, view_of(recording), t));
        const std::vector<laws::Tile> some = sample(tiles, question.dots / files + 1);
        for (std::size_t law = 0; law < results.size(); ++law)
          results[law].push_back(
              laws::check_recorded(*question.laws[law], subject, question.laws[law]->slow ? some : tiles));
        gpus.insert(gpu_of(recording));
        seen.push_back(inst);
      });
  if (gpus.empty())
    refuse("{}: found no recording of {}, allowed: a folder with some", folder.string(), architecture.name);
  require_each("--inst", question.instructions, seen, kRecordedPart);
  LawReport report{fmt::format("recordings of {}", fmt::join(gpus, ", ")), question.seed, {}, {}};
  for (std::size_t law = 0; law < results.size(); ++law) {
    CheckedLaw& one =
        report.laws.emplace_back(checked(question, *question.laws[law], std::move(results[law])));
    // No recording holds what these compare.
    one.may_be_silent = one.may_be_silent || one.law->related != nullptr || one.law->exhibit;
  }
  return report;
}

std::string write_repro(const laws::Failure& failure, const std::string& folder) {
  const std::string instruction = name_of(failure.instruction), text = laws::cuda_repro(failure);
  if (text.empty()) return fmt::format("  no CUDA file: {} is not a plain mma\n", instruction);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw InputError(fmt::format("--repro: {}: cannot create: {}", folder, error.message()));
  const std::string path = fmt::format("{}/{}-{}.cu", folder, failure.law, instruction);
  corpus::write_file_atomically(path, std::string_view(text));
  return "  repeat on a GPU: " + path + "\n";
}

}  // namespace mmaudit::checks
