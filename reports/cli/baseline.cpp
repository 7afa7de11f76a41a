// mmaudit baseline record, mmaudit baseline diff.

#include <memory>

#include "baseline.hpp"
#include "choice.hpp"
#include "common.hpp"
#include "every_part.hpp"
#include "gemm/check.hpp"
#include "gemm_files.hpp"
#include "mmaudit/device/backends.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct RecordBaselineOptions {
  Outputs outputs;
  std::string on, architecture, out, problems;
  std::vector<std::string> instructions;
  std::uint64_t seed = 1, tiles = 1;
  int n = 8;
};

struct DiffOptions {
  std::string before, after;
  Outputs outputs;
  std::vector<std::string> instructions;
};

/// The architecture of this GPU; --arch may only repeat it.
const Architecture& required_of(const device::DeviceInfo& gpu, const std::string& named) {
  const Architecture& architecture = architecture_of(gpu);
  if (!named.empty() && named != architecture.name)
    refuse("--arch: found {}, allowed: {} with --on hardware", named, architecture.name);
  return architecture;
}

int record_baseline_file(const RecordBaselineOptions& options, const Context& context) {
  std::vector<NamedFile> outputs = options.outputs.files();
  outputs.push_back({"--out", options.out});
  try_outputs(outputs, {{"--model", context.model_file}});
  const bool hardware = on_hardware(options.on);
  std::vector<GemmProblem> problems;
  if (!options.problems.empty()) {
    if (!hardware && options.on.empty()) static_cast<void>(require_device());
    if (!hardware)
      refuse("--problems: found {} with --on model, allowed: with --on hardware, where cuBLASLt is",
             options.problems);
    problems = problems_of_file(options.problems);
  }
  Baseline baseline;
  baseline.on = hardware ? "hardware" : "model";
  baseline.tiles = options.tiles;
  Progress progress(context.quiet);
  progress.will_write({options.out});
  const auto record = [&](const Architecture& architecture, const Backend& backend) {
    name_program(baseline.provenance);
    baseline.provenance.seed = options.seed;
    record_baseline(architecture, options.n, options.instructions, backend, progress, baseline);
  };
  if (hardware) {
    const device::DeviceInfo gpu = require_device();
    baseline.provenance = device::provenance_of(gpu);
    record(required_of(gpu, options.architecture), device::hardware_backend(gpu));
    record_products(gpu, problems, baseline);
  } else {
    const Architecture& architecture = require_architecture(context, options.architecture);
    record(architecture, model_backend(architecture));
  }
  if (baseline.instructions.empty() && !baseline.left_out.empty())
    throw EnvironmentError("no instruction was recorded: " + baseline.left_out.front());
  return options.outputs.publish(report_of(baseline, options.out), context,
                                 {{options.out, to_json(baseline)}});
}

/// The instructions of it that `filters` select; products of cuBLASLt are no instructions and stay.
Baseline read_baseline(const std::string& file, const std::vector<std::string>& filters) {
  Baseline baseline = baseline_of_json(text_of_file(file), file);
  std::erase_if(baseline.instructions,
                [&](const BaselineInstruction& each) { return !selected(each.instruction, filters); });
  return baseline;
}

bool is_gemm_check(const std::string& file) {
  return text_of_file(file).find("\"mmaudit.gemm.check/1\"") != std::string::npos;
}

int diff(const DiffOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {{"OLD", options.before}, {"NEW", options.after}});
  if (is_gemm_check(options.before) || is_gemm_check(options.after)) {
    if (!options.instructions.empty())
      refuse(
          "--inst: found {} with files of `mmaudit gemm check`, allowed: with files of `mmaudit baseline "
          "record`",
          options.instructions.front());
    const auto read = [](const std::string& file) { return gemm_check_of_json(text_of_file(file), file); };
    return options.outputs.publish(report_of(diff_gemm_checks(read(options.before), read(options.after))),
                                   context);
  }
  const Baseline before = read_baseline(options.before, options.instructions);
  const Baseline after = read_baseline(options.after, options.instructions);
  std::vector<BaselineInstruction> either = before.instructions;
  either.insert(either.end(), after.instructions.begin(), after.instructions.end());
  require_each("--inst", options.instructions, either, "part of a name in OLD or NEW",
               &BaselineInstruction::instruction);
  const BaselineDiff found = diff_baselines(before, after);
  if (found.same() && found.dots == 0 && found.products == 0)
    refuse("{}: found no bits to compare with {}, allowed: files of `mmaudit baseline record`", options.after,
           options.before);
  return options.outputs.publish(report_of(found), context);
}

void add_record_baseline(Command& baseline) {
  auto options = std::make_shared<RecordBaselineOptions>();
  Command command = baseline.command("record", "Write the bits of every instruction to one JSON file",
                                     {"mmaudit baseline record --on model --arch hopper --out hopper.json",
                                      "mmaudit baseline record --inst wgmma --out wgmma.json"});
  command.option("--on", options->on, "model or hardware (default: hardware where there is a GPU)");
  add_architecture_options(command, options->architecture);
  add_filter_option(command, options->instructions).comma_separated();
  command.option("--out FILE", options->out, "the file; - prints it").required();
  command.option(
      "--problems FILE", options->problems,
      "products of cuBLASLt to run instead of the usual ones: JSON lines, or its log (docs/gemm.md)");
  command.section("What the generators make");
  command.option("--seed", options->seed, "seed of the generators");
  command.option("--tiles", options->tiles, "tiles per input class")
      .range(1, static_cast<double>(kMostBaselineTiles));
  command.option("--n", options->n, "N of wgmma and tcgen05").range(8, 256);
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return record_baseline_file(*options, context); });
}

void add_diff(Command& baseline) {
  auto options = std::make_shared<DiffOptions>();
  Command command =
      baseline.command("diff", "What changed between two baselines; exit code 1 if anything did",
                       {"mmaudit baseline diff driver-570.json driver-580.json --json changes.json",
                        "mmaudit baseline diff cublas-13.1.json cublas-13.2.json",
                        "mmaudit baseline diff all.json wgmma.json --inst wgmma"});
  command
      .option("OLD FILE", options->before,
              "a file of `mmaudit baseline record`, or of `mmaudit gemm check --json`")
      .required();
  command.option("NEW FILE", options->after, "another one").required();
  add_filter_option(command, options->instructions).comma_separated();
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return diff(*options, context); });
}

}  // namespace

void add_baseline(Command& app) {
  Command group = app.command("baseline", "What a GPU answers to fixed inputs, kept as bits",
                              {"mmaudit baseline record --out driver-580.json",
                               "mmaudit baseline diff driver-570.json driver-580.json",
                               "mmaudit baseline corpus --inst all --out recordings"});
  group.requires_command();
  add_record_baseline(group);
  add_diff(group);
  add_record(group);
}

}  // namespace mmaudit::cli
