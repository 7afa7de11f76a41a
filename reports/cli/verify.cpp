// mmaudit verify: the model against recordings, or against the GPU of this machine.
#include <fmt/format.h>

#include <memory>
#include <random>

#include "common.hpp"
#include "mmaudit/comparison.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/report/report.hpp"
#include "mmaudit/value_text.hpp"
#include "mutation_score.hpp"
#include "verify.hpp"

namespace mmaudit::cli {
namespace {

struct VerifyOptions {
  std::string corpus, dataset, json, junit;
  std::vector<std::string> instructions;
  bool strength = false, live = false, families = false, every_n = false;
  double dots = 1e6;
  std::uint64_t seed = 0;
  bool has_seed = false;
};

std::string report_text(const VerifyReport& report, bool families) {
  std::string text = fmt::format("model against {}\n", report.against);
  text += fmt::format("  {:<38} {:>16} {:>12}  {}\n", "instruction", "dot products", "mismatches", "known");
  for (const VerifiedInstruction& one : report.instructions) {
    text += fmt::format("  {:<38} {:>16} {:>12}  {}\n", name_of(one.instruction), one.dots(),
                        one.mismatches(), one.evidence);
    for (const ClassCount& one_class : one.classes) {
      if (families || one_class.mismatches > 0)
        text += fmt::format("    {:<36} {:>16} {:>12}\n", one_class.input_class, one_class.dots,
                            one_class.mismatches);
    }
    for (const Mismatch& example : one.examples) text += describe(example, one.instruction);
  }
  return text + fmt::format("{} instructions, {} dot products, {} mismatches\n", report.instructions.size(),
                            report.dots(), report.mismatches());
}

Json example_json(const Mismatch& example, const Instruction& instruction) {
  const FormatSpec d = spec_of(instruction.d);
  const DotCase& dot = example.dot;
  Json out = {{"family", dot.input_class},
              {"tile", dot.tile},
              {"row", dot.row},
              {"column", dot.column},
              {"modifiers", dot.modifiers},
              {"a", hex_texts(dot.a, instruction.a)},
              {"b", hex_texts(dot.b, instruction.b)},
              {"c", hex_text(dot.c, spec_of(instruction.c).storage_bits)},
              {"expected", hex_text(example.expected, d.storage_bits)},
              {"model", hex_text(example.found, d.storage_bits)},
              {"ulps", ulps_text(example.expected, example.found, d)}};
  if (!dot.metadata.empty()) out["metadata"] = dot.metadata;
  for (const auto& [key, scales] : {std::pair{"scale_a", &dot.scale_a}, {"scale_b", &dot.scale_b}})
    if (!scales->empty()) out[key] = hex_texts({scales->begin(), scales->end()}, instruction.scale);
  return out;
}

std::string report_json(const VerifyReport& report) {
  Json rows = Json::array();
  for (const VerifiedInstruction& one : report.instructions) {
    Json families = Json::array();
    for (const ClassCount& one_class : one.classes)
      families.push_back({{"family", one_class.input_class},
                          {"dots", one_class.dots},
                          {"mismatches", one_class.mismatches}});
    Json examples = Json::array();
    for (const Mismatch& example : one.examples) examples.push_back(example_json(example, one.instruction));
    rows.push_back({{"instruction", name_of(one.instruction)},
                    {"source", one.source},
                    {"row_evidence", one.evidence},
                    {"dots", one.dots()},
                    {"mismatches", one.mismatches()},
                    {"families", families},
                    {"examples", examples}});
  }
  return document({{"schema", "mmaudit.verify/1"},
                   {"against", report.against},
                   {"dots", report.dots()},
                   {"mismatches", report.mismatches()},
                   {"instructions", rows}});
}

/// One test case per instruction, as CI systems read it.
std::string report_junit(const VerifyReport& verified) {
  report::Report out;
  out.suite = "mmaudit verify";
  for (const VerifiedInstruction& one : verified.instructions) {
    report::TestCase& test = out.cases.emplace_back();
    test.group = "mmaudit.verify";
    test.name = name_of(one.instruction);
    if (one.mismatches() == 0) continue;
    test.outcome = report::TestCase::Outcome::failure;
    test.message = fmt::format("{} of {} dot products differ", one.mismatches(), one.dots());
    for (const Mismatch& example : one.examples) test.text += describe(example, one.instruction);
  }
  return report::rendered(out, "junit");
}

int verify(VerifyOptions options, const Context& context) {
  try_outputs({{"--json", options.json}, {"--junit", options.junit}}, {{"--model", context.model_file}});
  Progress progress(context.quiet);
  progress.will_write({options.json, options.junit});
  if (context.own() != nullptr && (options.strength || options.live))
    refuse("--model: found with --strength or --live, allowed: with recordings or --dataset");
  if (options.strength) {
    const std::vector<RecordingScore> scores =
        score_recordings(corpus_folder(options.corpus), options.instructions, progress);
    if (scores.empty())
      refuse(
          "--inst: found no recording of such an instruction, allowed: part of a recorded instruction's "
          "name");
    publish(
        options.json, [&] { return score_json(scores); },
        [&] { return score_text(scores, !options.instructions.empty()); });
    return survived(scores) == 0 ? kAllGood : kMismatch;
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
  if (!options.junit.empty()) emit(options.junit, report_junit(report));
  publish(
      options.json, [&] { return report_json(report); },
      [&] { return options.dataset.empty() ? report_text(report, options.families) : dataset_text(report); });
  return report.mismatches() == 0 ? kAllGood : kMismatch;
}

}  // namespace

void add_verify(Command& app) {
  auto options = std::make_shared<VerifyOptions>();
  Command command = app.command(
      "verify", "The model against recordings of real GPUs (or, with --live, this GPU), bit for bit",
      {"mmaudit verify", "mmaudit verify --inst wgmma --strength", "mmaudit verify --live --dots 1e9"});
  command.section("What is compared");
  add_corpus_option(command, options->corpus);
  add_model_option(command);
  Option dataset = command.option(
      "--dataset DIR", options->dataset,
      "a public data set in place of the corpus: the folder model_validation of MATLAB-tensor-core");
  add_filter_option(command, options->instructions).comma_separated();
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
  command.section("Output");
  add_result_option(command, options->json);
  command.option("--junit FILE", options->junit, "write the result as JUnit XML");
  command.runs([options, seed](const Context& context) {
    options->has_seed = seed.given();
    return verify(*options, context);
  });
  add_laws(command);
  add_campaign(command);
}

}  // namespace mmaudit::cli
