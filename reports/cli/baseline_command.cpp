// mmaudit baseline record, mmaudit diff.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>

#include "baseline.hpp"
#include "mmaudit/version.hpp"

namespace mmaudit::cli {
namespace {

struct RecordBaselineOptions {
  std::string on, architecture, out;
  std::vector<std::string> instructions;
  std::uint64_t seed = 1, tiles = 1;
  int n = 8;
};

struct DiffOptions {
  std::string before, after, json;
};

int record_baseline_file(const RecordBaselineOptions& options) {
  const bool hardware = on_hardware(options.on);
  Baseline baseline;
  baseline.on = hardware ? "hardware" : "model";
  baseline.version = kVersion;
  baseline.git_revision = kGitRevision;
  baseline.date = today();
  baseline.seed = options.seed;
  baseline.tiles = options.tiles;
  if (!hardware) {
    const BaselineBackend model = [](const DatapathEntry& entry, const Instruction& instruction,
                                     const TileView& batch) { emulate(instruction, entry.datapath, batch); };
    record_baseline(
        require_architecture(options.architecture), options.n, options.instructions, model,
        [](const Instruction&) { return std::string(); }, baseline);
  } else {
    const device::DeviceInfo gpu = require_device();
    const Architecture* architecture = find_architecture(gpu.compute_capability);
    if (architecture == nullptr)
      throw EnvironmentError(fmt::format("{}: compute capability {}: the model has no row for it", gpu.name,
                                         gpu.compute_capability));
    if (!options.architecture.empty() && options.architecture != architecture->name)
      throw InputError(fmt::format("--arch: found {}, allowed: {} with --on hardware", options.architecture,
                                   architecture->name));
    baseline.gpu = gpu.name;
    baseline.compute_capability =
        fmt::format("{}.{}", gpu.compute_capability / 10, gpu.compute_capability % 10);
    baseline.driver = gpu.driver;
    baseline.cuda = gpu.cuda;
    const BaselineBackend run = [&gpu](const DatapathEntry&, const Instruction& instruction,
                                       const TileView& batch) { device::run(gpu, instruction, batch); };
    record_baseline(
        *architecture, options.n, options.instructions, run,
        [&gpu](const Instruction& instruction) { return device::why_not(gpu, instruction); }, baseline);
    record_products(gpu, baseline);
  }
  if (baseline.instructions.empty())
    throw InputError("--inst: found no such instruction, allowed: part of a name of `mmaudit list`");
  emit(options.out, to_json(baseline));
  if (options.out != "-")
    emit("-",
         fmt::format("{} instructions of {} on {}{} in {}\n", baseline.instructions.size(),
                     baseline.architecture, baseline.on == "model" ? "the model" : baseline.gpu,
                     baseline.left_out.empty() ? "" : fmt::format(", {} left out", baseline.left_out.size()),
                     options.out));
  return kAllGood;
}

Baseline read_baseline(const std::string& file) { return baseline_of_json(text_of_file(file), file); }

int diff(const DiffOptions& options) {
  const BaselineDiff found = diff_baselines(read_baseline(options.before), read_baseline(options.after));
  if (!options.json.empty()) emit(options.json, to_json(found));
  if (options.json != "-") emit("-", to_text(found));
  return found.same() ? kAllGood : kMismatch;
}

}  // namespace

void add_baseline(CLI::App& app, Action& action) {
  CLI::App* group =
      app.add_subcommand("baseline", "What every instruction answers to fixed inputs, kept as bits");
  group->require_subcommand(1);
  auto options = std::make_shared<RecordBaselineOptions>();
  CLI::App* command = group->add_subcommand("record", "Write the bits of every instruction to one JSON file");
  command->add_option("--on", options->on, "model or hardware; by default hardware where there is a GPU");
  command->add_option("--arch", options->architecture, "of the model")->default_str(kDefaultArchitecture);
  add_model_option(*command);
  command->add_option("--inst", options->instructions, "parts of names of instructions; by default all")
      ->delimiter(',');
  command->add_option("--out", options->out, "the file; - prints it")->required();
  command->add_option("--seed", options->seed, "seed of the generators")->capture_default_str();
  command->add_option("--tiles", options->tiles, "tiles a family")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, kMostBaselineTiles));
  command->add_option("--n", options->n, "N of wgmma and tcgen05")
      ->capture_default_str()
      ->check(CLI::Range(8, 256));
  command->callback([&action, options] { action = [options] { return record_baseline_file(*options); }; });
}

void add_diff(CLI::App& app, Action& action) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command =
      app.add_subcommand("diff", "What changed between two baselines; exit code 1 if anything did");
  command->add_option("OLD", options->before, "a file of `mmaudit baseline record`")->required();
  command->add_option("NEW", options->after, "another one")->required();
  command->add_option("--json", options->json, "write the differences as JSON; - prints it");
  command->callback([&action, options] { action = [options] { return diff(*options); }; });
}

}  // namespace mmaudit::cli
