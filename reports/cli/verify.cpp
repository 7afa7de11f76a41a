// mmaudit verify: the model against recordings, or against the GPU of this machine.

#include <memory>
#include <random>

#include "common.hpp"
#include "every_part.hpp"
#include "functions.hpp"
#include "mutation_score.hpp"
#include "outputs.hpp"
#include "verify.hpp"

namespace mmaudit::cli {
namespace {

struct VerifyOptions {
  std::string corpus, dataset;
  Outputs outputs;
  std::vector<std::string> instructions;
  bool strength = false, live = false, families = false, every_n = false;
  double dots = 1e6;
  std::uint64_t seed = 0;
  bool has_seed = false;
};

int verify(VerifyOptions options, const Context& context) {
  try_outputs(options.outputs.files(), {{"--model", context.model_file}});
  Progress progress(context.quiet);
  progress.will_write(options.outputs.names());
  if (context.own() != nullptr && (options.strength || options.live))
    refuse("--model: found with --strength or --live, allowed: with recordings or --dataset");
  if (options.strength) {
    const std::vector<RecordingScore> scores =
        score_recordings(corpus_folder(options.corpus), options.instructions, progress);
    require_each("--inst", options.instructions, scores, kRecordedPart, &RecordingScore::instruction);
    return options.outputs.publish(report_of(scores, !options.instructions.empty()), context);
  }
  if (const auto chosen = checks::functions_of(options.instructions); !chosen.empty()) {
    if (!options.dataset.empty() || context.own() != nullptr)
      refuse("--inst: found a special function with --dataset or --model, allowed: without them");
    const auto verified = options.live ? checks::check_functions(require_device(), chosen, progress)
                                       : checks::replay_functions(corpus_folder(options.corpus), chosen);
    return options.outputs.publish(checks::report_of(verified), context);
  }
  if (!options.has_seed) options.seed = std::random_device{}();
  const VerifyReport report =
      !options.dataset.empty()
          ? verify_dataset(options.dataset, options.instructions, progress, context.own())
      : options.live
          ? verify_live(require_device(), options.instructions, static_cast<std::uint64_t>(options.dots),
                        options.seed, options.every_n, progress)
          : verify_corpus(corpus_folder(options.corpus), options.instructions, progress, nullptr,
                          context.own());
  const auto columns = !options.dataset.empty() ? VerifyColumns::files
                       : options.families       ? VerifyColumns::families
                                                : VerifyColumns::instructions;
  return options.outputs.publish(report_of(report, columns), context);
}

}  // namespace

void add_verify(Command& app) {
  auto options = std::make_shared<VerifyOptions>();
  Command command = app.command(
      "verify", "The model against recordings of real GPUs (or, with --live, this GPU), bit for bit",
      {"mmaudit verify", "mmaudit verify --inst ex2,rcp,expf", "mmaudit verify --live --dots 1e9"});
  command.section("What is compared");
  add_corpus_option(command, options->corpus);
  add_model_option(command);
  Option dataset = command.option(
      "--dataset DIR", options->dataset,
      "a public data set in place of the corpus: the folder model_validation of MATLAB-tensor-core");
  command
      .option(
          "--inst INST", options->instructions,
          "only instructions whose name contains one of these; or special functions: expf, ex2 (its forms), "
          "functions (all)")
      .comma_separated();
  command.flag("--families", options->families, "count every input class");
  const Option strength = command.flag("--strength", options->strength,
                                       "replay mutants of the model: which does the corpus contradict?");
  command.section("On the GPU of this machine");
  const Option live = command.flag("--live", options->live,
                                   "against the GPU of this machine, on fresh inputs, compared on the GPU");
  dataset.excludes(live).excludes(strength);
  command.option("--dots", options->dots, "with --live: at least this many dot products per instruction")
      .range(1.0, 1e15);
  const Option seed =
      command.option("--seed", options->seed, "with --live: seed (default: fresh, printed)").default_text("");
  command.flag("--every-n", options->every_n, "with --live: every N of wgmma, not N = 64 alone");
  options->outputs.add_to(command);
  command.runs([options, seed](const Context& context) {
    options->has_seed = seed.given();
    return verify(*options, context);
  });
  add_laws(command);
  add_campaign(command);
}

}  // namespace mmaudit::cli
