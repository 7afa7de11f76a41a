// mmaudit verify laws: sentences about matrix instructions, held against the model, an oracle, or this
// machine's GPU.
#include <fmt/format.h>

#include <memory>
#include <random>

#include "common.hpp"
#include "every_part.hpp"
#include "law_check.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/oracles/reference.hpp"
#include "mutation_score.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

using laws::Law;

struct LawsOptions {
  std::string architecture, backend = "model", regressions, repro, corpus;
  Outputs outputs;
  std::vector<std::string> laws, instructions;
  double dots = 1e5;
  std::uint64_t seed = 0;
  unsigned threads = 0;
  bool list = false, verbose = false, has_seed = false, has_dots = false, no_slow = false, strength = false;
};

Backend chosen_backend(const LawsOptions& options, const Architecture& architecture) {
  if (options.backend == "model") return model_backend(architecture);
  if (options.backend == "reference") return oracle::reference_backend(architecture);
  const device::DeviceInfo gpu = require_device();
  return options.backend == "hardware" ? device::hardware_backend(gpu)
                                       : device::gpu_model_backend(gpu, architecture);
}

const Architecture& chosen_architecture(const LawsOptions& options, const Context& context) {
  if (options.backend != "hardware") return require_architecture(context, options.architecture);
  const Architecture& own = architecture_of(require_device());
  if (!options.architecture.empty() && &require_architecture(context, options.architecture) != &own)
    refuse("--arch: found {} with --on hardware, allowed: {}, which this GPU is", options.architecture,
           own.name);
  return own;
}

int run_strength(const LawsOptions& options, const Context& context) {
  const std::vector<laws::Subject> subjects =
      subjects_of(require_architecture(context, options.architecture), options.instructions);
  std::size_t mutants = 0;
  for (const laws::Subject& one : subjects) mutants += mutants_of(one.instruction, one.datapath).size();
  Progress progress(context.quiet, "mutants", mutants);
  progress.will_write(options.outputs.names());
  laws::MutationRun how{.seed = options.seed, .threads = options.threads};
  if (options.has_dots) how.dots = static_cast<std::uint64_t>(options.dots);
  how.done = [&](const laws::JudgedMutant& one) { progress.advance(1, name_of(one.instruction)); };
  Progress replaying(context.quiet);
  const LawScore score = score_laws(subjects, how, corpus_folder(options.corpus), replaying);
  return options.outputs.publish(report_of(score), context);
}

laws::LawReport check(const LawsOptions& options, const Context& context, const LawQuestion& question,
                      const RegressionFile& known) {
  Progress progress(context.quiet);
  progress.will_write(options.outputs.names());
  progress.will_write({options.regressions, options.repro});
  if (options.backend == "corpus")
    return check_recorded_laws(question, corpus_folder(options.corpus), progress);
  const bool on_host = options.backend == "model" || options.backend == "reference";
  return check_laws(question, chosen_backend(options, *question.architecture), on_host ? 100'000 : 500'000,
                    known, progress);
}

int run(LawsOptions options, const Context& context) {
  if (options.list) return options.outputs.publish(lawbook_report(), context);
  try_outputs(options.outputs.files(),
              {{"--model", context.model_file}, {"--regressions", options.regressions}});
  if (!options.has_seed) options.seed = std::random_device{}();
  if (options.strength) return run_strength(options, context);
  LawQuestion question{.instructions = options.instructions,
                       .dots = static_cast<std::uint64_t>(options.dots),
                       .seed = options.seed,
                       .threads = options.threads};
  for (const Law& law : laws::lawbook())
    if (selected(law.name, options.laws) && !(options.no_slow && law.slow)) question.laws.push_back(&law);
  require_each("--law", options.laws, question.laws,
               options.no_slow ? "part of the name of a law that --no-slow leaves"
                               : "part of a name of `mmaudit verify laws --list`",
               &Law::name);
  const Architecture& architecture = chosen_architecture(options, context);
  question.architecture = &architecture;
  RegressionFile known(options.regressions);
  laws::LawReport report = check(options, context, question, known);
  report.date = today();

  std::string where = fmt::format(" --arch {}", architecture.name);
  if (&architecture == context.own()) where += fmt::format(" --model {}", context.model_file);
  std::string failures;
  for (const laws::CheckedLaw& checked : report.laws)
    for (const laws::LawResult& one : checked.results) {
      if (!one.failure) continue;
      failures += describe(*one.failure, *checked.law, where,
                           replay_command(*one.failure, options.backend, architecture, options.regressions));
      known.add(*one.failure, architecture);
      if (!options.repro.empty()) failures += write_repro(*one.failure, options.repro);
    }
  known.save();
  return options.outputs.publish(report_of(report, options.verbose, failures), context);
}

}  // namespace

void add_laws(Command& verify) {
  auto options = std::make_shared<LawsOptions>();
  Command command =
      verify.command("laws", "Check laws that hardware and model obey, on tiles made for each law",
                     {"mmaudit verify laws --inst m16n8k16 --dots 1e4",
                      "mmaudit verify laws --law zero_is_plus_zero --on reference --dots 1000",
                      "mmaudit verify laws --list"});
  command.section("What is judged");
  const Option on = command
                        .option("--on", options->backend,
                                "what is judged: model, gpu-model, hardware, reference, corpus (recordings)")
                        .one_of({"model", "gpu-model", "hardware", "reference", "corpus"});
  command.option("--arch ARCH", options->architecture,
                 fmt::format("architecture (default: {})", kDefaultArchitectureText));
  const Option law =
      command.option("--law", options->laws, "only laws whose name contains one of these").comma_separated();
  add_filter_option(command, options->instructions).comma_separated();
  command.section("How much");
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
  command.section("Output");
  command.flag("--reasons", options->verbose, "print why instructions are skipped");
  command.option("--regressions FILE", options->regressions,
                 "file of dot products that broke a law before: tried first, new ones are added");
  command.option("--repro DIR", options->repro,
                 "folder for self-contained CUDA files that repeat failures of mma");
  command.flag("--list", options->list, "print the laws and their sources");
  options->outputs.add_to(command);
  command.section("Mutants and recordings");
  command
      .flag("--strength", options->strength,
            "mutants of the model: which law notices each, and which recordings contradict it")
      .excludes(on)
      .excludes(law);
  command.option("--corpus DIR", options->corpus,
                 "with --strength or --on corpus: folder of recordings (default: the project's own)");
  add_model_option(command);
  command.runs([options, seed, dots](const Context& context) {
    options->has_seed = seed.given();
    options->has_dots = dots.given();
    return run(*options, context);
  });
}

}  // namespace mmaudit::cli
