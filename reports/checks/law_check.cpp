#include "law_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "choice.hpp"
#include "mmaudit/generators/tiles.hpp"
#include "verify.hpp"

namespace mmaudit::checks {
namespace {

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

std::vector<laws::Tile> tiles_of(const corpus::Recording& recording, const Instruction& inst) {
  std::vector<laws::Tile> tiles;
  const auto take = [](const corpus::Tensor& from, Format format, std::size_t tile,
                       std::vector<std::uint64_t>& to) {
    const std::size_t bytes = spec_of(format).storage_bytes();
    for (std::size_t i = 0; i < to.size(); ++i)
      to[i] = gen::load_bits(from.data, bytes, tile * to.size() + i);
  };
  for (std::size_t t = 0; t < recording.tiles; ++t) {
    laws::Tile& tile = tiles.emplace_back(inst, recording.modifiers[t]);
    tile.d.resize(tile.c.size());
    take(recording.a, inst.a, t, tile.a);
    take(recording.b, inst.b, t, tile.b);
    take(recording.c, inst.c, t, tile.c);
    take(recording.d, inst.d, t, tile.d);
    const auto first = recording.metadata.begin() + static_cast<std::ptrdiff_t>(t * tile.metadata.size());
    std::copy_n(first, tile.metadata.size(), tile.metadata.begin());
  }
  return tiles;
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

std::size_t CheckedLaw::applied() const {
  return static_cast<std::size_t>(std::count_if(results.begin(), results.end(),
                                                [](const LawResult& one) { return one.skipped.empty(); }));
}

std::size_t CheckedLaw::bad() const {
  return static_cast<std::size_t>(
      std::count_if(results.begin(), results.end(), [](const LawResult& one) { return !one.good(); }));
}

std::uint64_t CheckedLaw::judged() const { return sum_of(results, &LawResult::judged); }

bool LawReport::judged_something() const {
  return std::any_of(laws.begin(), laws.end(), [](const CheckedLaw& one) { return one.judged() != 0; });
}

bool LawReport::good() const {
  return judged_something() &&
         std::all_of(laws.begin(), laws.end(), [](const CheckedLaw& one) { return one.good(); });
}

std::vector<laws::Subject> subjects_of(const Architecture& architecture,
                                       const std::vector<std::string>& instructions) {
  std::vector<laws::Subject> all = laws::subjects_of(architecture);
  std::erase_if(all, [&](const laws::Subject& one) { return !selected(one.instruction, instructions); });
  if (all.empty())
    throw InputError(
        fmt::format("--inst: found no such instruction on {}, allowed: part of a name of `mmaudit list`{}",
                    architecture.name, nearest_text(instructions)));
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
  const std::size_t files = corpus::find_recordings(folder).size();
  for_each_recording(
      folder, question.instructions, progress,
      [&](const corpus::Recording& recording, const Instruction& inst, const std::string& file) {
        if (&architecture_of_recording(recording, file) != &architecture) return;
        const laws::Subject subject(architecture, inst,
                                    datapath_of_recording(recording, inst, file).datapath);
        const std::vector<laws::Tile> tiles = tiles_of(recording, inst);
        const std::vector<laws::Tile> some = sample(tiles, question.dots / files + 1);
        for (std::size_t law = 0; law < results.size(); ++law)
          results[law].push_back(
              laws::check_recorded(*question.laws[law], subject, question.laws[law]->slow ? some : tiles));
        gpus.insert(gpu_of(recording));
      });
  if (gpus.empty())
    throw InputError(
        fmt::format("--inst: found no recording of such an instruction on {}, allowed: part of a recorded "
                    "instruction's name",
                    architecture.name));
  LawReport report{fmt::format("recordings of {}", fmt::join(gpus, ", ")), question.seed, {}, {}};
  for (std::size_t law = 0; law < results.size(); ++law) {
    CheckedLaw& one =
        report.laws.emplace_back(checked(question, *question.laws[law], std::move(results[law])));
    // No recording holds what these compare.
    one.may_be_silent = one.may_be_silent || one.law->related != nullptr || one.law->exhibit;
  }
  return report;
}

std::string to_text(const LawReport& report, bool reasons) {
  std::string text = fmt::format("laws on {}, seed {}\n  {:<34} {:>5} {:>8} {:>15} {:>7}\n", report.on,
                                 report.seed, "law", "inst", "skipped", "dot products", "broken");
  for (const CheckedLaw& one : report.laws) {
    text += fmt::format("  {:<34} {:>5} {:>8} {:>15} {:>7}\n", one.law->name, one.applied(),
                        one.results.size() - one.applied(), one.judged(), one.bad());
    std::map<std::string, int> skipped;
    for (const LawResult& result : one.results)
      if (reasons && !result.skipped.empty()) ++skipped[result.skipped];
    for (const auto& [reason, count] : skipped)
      text += fmt::format("      {:>4} skipped: {}\n", count, reason);
    if (one.applied() == 0 && !one.may_be_silent) text += "      applied to nothing\n";
    for (const LawResult& result : one.results)
      if (!result.good())
        text += fmt::format("    {}: {}\n", name_of(result.instruction), result.complaint());
  }
  if (!report.judged_something()) text += "nothing was judged\n";
  return text;
}

std::string to_json(const LawReport& report) {
  nlohmann::json laws = nlohmann::json::array();
  for (const CheckedLaw& one : report.laws) {
    nlohmann::json skipped = nlohmann::json::object();
    for (const LawResult& result : one.results)
      if (!result.skipped.empty()) skipped[name_of(result.instruction)] = result.skipped;
    laws.push_back({{"law", one.law->name},
                    {"statement", one.law->statement},
                    {"source", one.law->source},
                    {"rows", one.applied()},
                    {"dots", one.judged()},
                    {"broken", one.bad()},
                    {"skipped", std::move(skipped)}});
  }
  const nlohmann::json out = {{"schema", "mmaudit.laws/1"},
                              {"on", report.on},
                              {"seed", report.seed},
                              {"date", report.date},
                              {"laws", std::move(laws)}};
  return out.dump(2) + "\n";
}

}  // namespace mmaudit::checks
