// mmaudit laws: sentences about matrix instructions, held against the model, an oracle, or this machine's
// GPU.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "common.hpp"
#include "law_failures.hpp"
#include "law_mutants.hpp"
#include "law_recordings.hpp"
#include "law_regressions.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/laws/check.hpp"
#include "mmaudit/model/architecture.hpp"
#include "mmaudit/oracles/reference.hpp"

namespace mmaudit::cli {
namespace {

using laws::Law;
using laws::LawResult;
using laws::Subject;

struct LawsOptions {
  std::string architecture, backend = "model", regressions, json, repro, corpus;
  std::vector<std::string> laws, instructions;
  double dots = 1e5;
  std::uint64_t seed = 0;
  unsigned threads = 0;
  bool list = false, verbose = false, has_seed = false, has_dots = false, no_slow = false, strength = false;
};

/// All results of one law.
struct LawRow {
  const Law* law = nullptr;
  std::vector<LawResult> results;

  [[nodiscard]] std::size_t applied() const {
    return static_cast<std::size_t>(
        std::count_if(results.begin(), results.end(), [](const LawResult& r) { return r.skipped.empty(); }));
  }
  [[nodiscard]] std::size_t bad() const {
    return static_cast<std::size_t>(
        std::count_if(results.begin(), results.end(), [](const LawResult& r) { return !r.good(); }));
  }
  [[nodiscard]] std::uint64_t judged() const {
    std::uint64_t sum = 0;
    for (const LawResult& one : results) sum += one.judged;
    return sum;
  }
};

/// A law that applies to nothing is a failure only where nothing was left out by the user, recordings hold
/// what it compares, and the architecture has rows of its kind.
bool may_be_silent(const LawRow& row, const LawsOptions& options) {
  return !options.instructions.empty() ||
         (options.backend == "corpus" && (row.law->related != nullptr || row.law->exhibit)) ||
         (row.law->scales == laws::Scales::own &&
          std::all_of(row.results.begin(), row.results.end(),
                      [](const LawResult& one) { return one.instruction.scale == Format::none; }));
}

Backend chosen_backend(const LawsOptions& options, const Architecture& architecture) {
  if (options.backend == "model") return model_backend(architecture);
  if (options.backend == "reference") return oracle::reference_backend(architecture);
  const device::DeviceInfo gpu = require_device();
  return options.backend == "hardware" ? device::hardware_backend(gpu)
                                       : device::gpu_model_backend(gpu, architecture);
}

const Architecture& chosen_architecture(const LawsOptions& options, const Context& context) {
  if (options.backend != "hardware") return require_architecture(context, options.architecture);
  const device::DeviceInfo gpu = require_device();
  const Architecture* own = find_architecture(gpu.compute_capability);
  if (own == nullptr)
    throw EnvironmentError(fmt::format("{}: compute capability {}: no row of the model says what to expect",
                                       gpu.name, gpu.compute_capability));
  if (!options.architecture.empty() && &require_architecture(context, options.architecture) != own)
    throw InputError(fmt::format("--arch: found {}, allowed with --on hardware: {}, which this GPU is",
                                 options.architecture, own->name));
  return *own;
}

std::vector<Subject> chosen_subjects(const LawsOptions& options, const Architecture& architecture) {
  std::vector<Subject> all = laws::subjects_of(architecture);
  std::erase_if(
      all, [&](const Subject& one) { return !selected(name_of(one.instruction), options.instructions); });
  if (all.empty())
    throw InputError(
        fmt::format("--inst: found no such instruction on {}, allowed: part of a name of `mmaudit list`",
                    architecture.name));
  return all;
}

/// Rows in the order of the lawbook.
std::vector<LawRow> check(const LawsOptions& options, const Context& context,
                          const std::vector<const Law*>& chosen, const std::vector<Subject>& subjects,
                          const Backend& backend, const RegressionFile& known) {
  // A share of the law's dots, among the rows it applies to.
  std::map<const Law*, std::uint64_t> share;
  for (const Law* law : chosen) {
    const auto applying = std::count_if(subjects.begin(), subjects.end(),
                                        [&](const Subject& one) { return law->why_not(one).empty(); });
    share[law] = static_cast<std::uint64_t>(options.dots / std::max(1.0, static_cast<double>(applying))) + 1;
  }
  const bool slow_backend = options.backend == "model" || options.backend == "reference";
  Progress progress(context.quiet, "laws", chosen.size() * subjects.size());
  auto results = laws::check_laws(
      chosen, subjects, backend,
      {.options =
           [&](const Law& law, const Subject& subject) {
             return laws::LawOptions{.seed = options.seed,
                                     .dots = share.at(&law),
                                     .launch = slow_backend ? 100'000U : 500'000U,
                                     .first = known.dots(law.name, subject.instruction)};
           },
       .done = [&](const LawResult& result) { progress.advance(1, std::string(result.law->name)); },
       .threads = options.threads});
  std::vector<LawRow> rows;
  rows.reserve(chosen.size());
  for (std::size_t law = 0; law < chosen.size(); ++law)
    rows.push_back({chosen[law], std::move(results[law])});
  return rows;
}

/// The same over recordings; `name` becomes whose they are.
std::vector<LawRow> check_recordings(const LawsOptions& options, const Context& context,
                                     const std::vector<const Law*>& chosen, const Architecture& architecture,
                                     std::string& name) {
  Progress progress(context.quiet);
  RecordedLaws recorded =
      check_recorded_laws(corpus_folder(options.corpus), options.instructions, chosen, architecture,
                          static_cast<std::uint64_t>(options.dots), progress);
  name = "recordings of " + recorded.gpus;
  std::vector<LawRow> rows;
  for (std::size_t law = 0; law < chosen.size(); ++law)
    rows.push_back({chosen[law], std::move(recorded.results[law])});
  return rows;
}

std::string law_table(const std::vector<LawRow>& rows, const std::string& on, const LawsOptions& options) {
  std::string text = fmt::format("laws on {}, seed {}\n  {:<34} {:>5} {:>8} {:>15} {:>7}\n", on, options.seed,
                                 "law", "rows", "skipped", "dot products", "broken");
  for (const LawRow& row : rows) {
    text += fmt::format("  {:<34} {:>5} {:>8} {:>15} {:>7}\n", row.law->name, row.applied(),
                        row.results.size() - row.applied(), row.judged(), row.bad());
    if (options.verbose) {
      std::map<std::string, int> reasons;
      for (const LawResult& one : row.results)
        if (!one.skipped.empty()) ++reasons[one.skipped];
      for (const auto& [reason, count] : reasons)
        text += fmt::format("      {:>4} skipped: {}\n", count, reason);
    }
    if (row.applied() == 0 && !may_be_silent(row, options)) text += "      applied to nothing\n";
    for (const LawResult& one : row.results)
      if (!one.good()) text += fmt::format("    {}: {}\n", name_of(one.instruction), one.complaint());
  }
  return text;
}

nlohmann::json laws_json(const std::vector<LawRow>& rows, const std::string& on, const LawsOptions& options) {
  nlohmann::json laws = nlohmann::json::array();
  for (const LawRow& row : rows) {
    nlohmann::json one = {{"law", row.law->name},
                          {"statement", row.law->statement},
                          {"source", row.law->source},
                          {"rows", row.applied()},
                          {"dots", row.judged()},
                          {"broken", row.bad()},
                          {"skipped", nlohmann::json::object()}};
    for (const LawResult& result : row.results)
      if (!result.skipped.empty()) one["skipped"][name_of(result.instruction)] = result.skipped;
    laws.push_back(std::move(one));
  }
  return {
      {"schema", "mmaudit.laws/1"}, {"on", on}, {"seed", options.seed}, {"date", today()}, {"laws", laws}};
}

int run_strength(const LawsOptions& options, const Context& context) {
  const Architecture& architecture = require_architecture(context, options.architecture);
  const std::vector<Subject> subjects = chosen_subjects(options, architecture);
  std::size_t wrong = 0;
  for (const Subject& one : subjects) wrong += mutants_of(one.instruction, one.datapath).size();
  Progress progress(context.quiet, "wrong models", wrong);
  laws::MutationRun how{.seed = options.seed, .threads = options.threads};
  if (options.has_dots) how.dots = static_cast<std::uint64_t>(options.dots);
  how.done = [&](const laws::JudgedMutant& one) { progress.advance(1, name_of(one.instruction)); };
  Progress replaying(context.quiet);
  const LawScore score = score_laws(subjects, how, corpus_folder(options.corpus), replaying);
  if (!options.json.empty()) emit(options.json, law_score_json(score));
  if (options.json != "-") emit("-", law_score_text(score));
  return score.survivors() + score.wrongly_excused() == 0 ? kAllGood : kMismatch;
}

int run(LawsOptions options, const Context& context) {
  if (options.list) {
    std::string text;
    for (const Law& law : laws::lawbook())
      text += fmt::format("{}\n    {}\n    source: {}\n", law.name, law.statement, law.source);
    emit("-", text);
    return kAllGood;
  }
  if (!options.has_seed) options.seed = std::random_device{}();
  if (options.strength) return run_strength(options, context);
  std::vector<const Law*> chosen;
  for (const Law& law : laws::lawbook())
    if (selected(law.name, options.laws) && !(options.no_slow && law.slow)) chosen.push_back(&law);
  if (chosen.empty())
    throw InputError("--law: found no such law, allowed: part of a name of `mmaudit laws --list`");
  const Architecture& architecture = chosen_architecture(options, context);
  RegressionFile known(options.regressions);
  std::string on;
  std::vector<LawRow> rows;
  if (options.backend == "corpus") {
    rows = check_recordings(options, context, chosen, architecture, on);
  } else {
    const std::vector<Subject> subjects = chosen_subjects(options, architecture);
    const Backend backend = chosen_backend(options, architecture);
    rows = check(options, context, chosen, subjects, backend, known);
    on = backend.name;
  }

  std::string where = fmt::format(" --arch {}", architecture.name);
  if (&architecture == context.own()) where += fmt::format(" --model {}", context.model_file);
  bool good = true;
  std::string failures;
  for (const LawRow& row : rows) {
    good = good && row.bad() == 0 && (row.applied() > 0 || may_be_silent(row, options));
    for (const LawResult& one : row.results) {
      if (!one.failure) continue;
      const std::string command =
          replay_command(*one.failure, options.backend, architecture, options.regressions);
      failures += describe(*one.failure, *row.law, where, command);
      known.add(*one.failure, architecture);
      if (!options.repro.empty()) failures += write_repro(*one.failure, options.repro);
    }
  }
  known.save();
  if (options.json == "-") {
    emit("-", laws_json(rows, on, options).dump(2) + "\n");
  } else {
    emit("-", law_table(rows, on, options) + failures);
    if (!options.json.empty()) emit(options.json, laws_json(rows, on, options).dump(2) + "\n");
  }
  return good ? kAllGood : kMismatch;
}

}  // namespace

void add_laws(Command& app) {
  auto options = std::make_shared<LawsOptions>();
  Command command = app.command("laws", "Check laws that hardware and model obey, on tiles made for each law",
                                {"mmaudit laws --inst m16n8k16 --dots 1e4", "mmaudit laws --list"});
  const Option on = command
                        .option("--on", options->backend,
                                "what is judged: model, gpu-model, hardware, reference, corpus (recordings)")
                        .one_of({"model", "gpu-model", "hardware", "reference", "corpus"});
  command.option("--arch", options->architecture,
                 fmt::format("architecture (default: {})", kDefaultArchitecture));
  const Option law = command.option("--law", options->laws, "only laws whose name contains one of these");
  command.option("--inst", options->instructions, "only instructions whose name contains one of these");
  const Option dots =
      command
          .option("--dots", options->dots,
                  "at least this many dot products per law, spread over its datapaths; with --strength per "
                  "mutant, 3000 where not given")
          .range(1.0, 1e13);
  const Option seed =
      command.option("--seed", options->seed, "seed (default: fresh, printed)").default_text("");
  command.option("--threads", options->threads, "threads that make and judge tiles; 0: one per core");
  command.flag("--no-slow", options->no_slow, "leave out laws that an oracle judges");
  command.flag("--reasons", options->verbose, "print why instructions are skipped");
  command.option("--regressions", options->regressions,
                 "file of dot products that broke a law before: tried first, new ones are added");
  command.option("--repro", options->repro,
                 "folder for self-contained CUDA files that repeat failures of mma");
  command.option("--json", options->json, "write the result as JSON; - prints it instead of the table")
      .alone_means("-");
  command.flag("--list", options->list, "print the laws and their sources");
  command
      .flag("--strength", options->strength,
            "mutants of the model: which law notices each, and which recordings contradict it")
      .excludes(on)
      .excludes(law);
  command.option("--corpus", options->corpus,
                 "with --strength or --on corpus: folder of recordings (default: the project's own)");
  add_model_option(command);
  command.runs([options, seed, dots](const Context& context) {
    options->has_seed = seed.given();
    options->has_dots = dots.given();
    return run(*options, context);
  });
}

}  // namespace mmaudit::cli
