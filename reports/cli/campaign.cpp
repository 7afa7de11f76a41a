// mmaudit verify campaign: instructions against the model, as many dot products as there is time for.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>

#include "campaign/ranks.hpp"
#include "campaign/workers.hpp"
#include "common.hpp"
#include "every_part.hpp"
#include "interruptible.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

using campaign::Schedule;
using campaign::Setup;
using campaign::Shard;

struct CampaignOptions {
  Context context;
  Outputs outputs;
  std::vector<std::string> instructions, families, merge;
  std::string on = "hardware", architecture, out, journal, show, part;
  double dots = 1e9, seconds = 0;
  std::uint64_t seed = 0;
  bool has_seed = false, keep_going = false, list = false;
  unsigned gpus = 1, first_gpu = 0, threads = 0;
  int n = 64;
};

/// The user's datapaths are checked; the built-in ones of that compute capability are the reference.
Setup on_model(const CampaignOptions& options) {
  const Architecture* own = options.context.own();
  Setup setup;
  if (own != nullptr && options.architecture.empty())
    setup.reference = find_architecture(own->compute_capability);
  if (setup.reference == nullptr)
    setup.reference =
        find_architecture(options.architecture.empty() ? kDefaultArchitecture : options.architecture);
  if (setup.reference == nullptr)
    setup.reference = &require_architecture(options.context, options.architecture);
  setup.model = own != nullptr ? own : setup.reference;
  setup.kernels = options.on == "gpu-model";
  return setup;
}

Setup on_threads(const CampaignOptions& options, int processes) {
  if (options.gpus != 1) refuse("--gpus: found with --on model, allowed: with --on hardware, gpu-model");
  Setup setup = on_model(options);
  const unsigned cores = std::thread::hardware_concurrency() / static_cast<unsigned>(processes);
  setup.threads = options.threads != 0 ? options.threads : std::max(1U, cores);
  return setup;
}

/// The GPUs that the options ask for.
std::vector<device::DeviceInfo> gpus_of(const CampaignOptions& options) {
  if (options.threads != 0)
    refuse("--threads: found with --on {}, allowed: with --on model (the GPU computes)", options.on);
  const device::DeviceInfo any = require_device();
  std::vector<device::DeviceInfo> gpus = device::devices();
  std::erase_if(gpus, [&](const device::DeviceInfo& x) { return x.name != any.name; });
  if (options.gpus > gpus.size())
    refuse("--gpus: found {}, allowed: up to {}, as many {} as this machine has", options.gpus, gpus.size(),
           any.name);
  std::rotate(gpus.begin(), gpus.begin() + static_cast<std::ptrdiff_t>(options.first_gpu % gpus.size()),
              gpus.end());
  if (options.gpus != 0) gpus.resize(options.gpus);
  return gpus;
}

Setup on_gpus(const CampaignOptions& options) {
  if (!options.architecture.empty())
    refuse("--arch: found with --on hardware, allowed: with --on model, gpu-model (the GPU says what it is)");
  Setup setup;
  setup.gpus = gpus_of(options);
  setup.model =
      options.context.own() != nullptr ? options.context.own() : &architecture_of(setup.gpus.front());
  return setup;
}

Schedule schedule_of(const CampaignOptions& options, const Setup& setup) {
  Schedule schedule;
  schedule.seed = options.seed;
  schedule.dots = static_cast<std::uint64_t>(options.dots);
  schedule.architecture = setup.model->name;
  schedule.batches_version = device::kBatchesVersion;
  std::vector<Instruction> candidates = all_instructions(options.n);
  std::erase_if(candidates, [&](const Instruction& one) { return !selected(one, options.instructions); });
  schedule.instructions = campaign::schedule_instructions(setup, candidates);
  require_each("--inst", options.instructions, schedule.instructions,
               fmt::format("part of a name of `mmaudit list` that {} has",
                           setup.reference == nullptr ? "this GPU" : setup.reference->name),
               &campaign::ScheduledInstruction::instruction);
  for (int i = 0; i < gen::kInputClasses; ++i)
    if (const auto one = static_cast<gen::InputClass>(i); selected(gen::name_of(one), options.families))
      schedule.input_classes.push_back(one);
  require_each("--family", options.families, schedule.input_classes,
               fmt::format("part of {} ... {}", gen::name_of(gen::InputClass{}),
                           gen::name_of(static_cast<gen::InputClass>(gen::kInputClasses - 1))),
               [](gen::InputClass one) { return gen::name_of(one); });
  return schedule;
}

int list_schedule(const CampaignOptions& options) {
  Setup setup;
  if (options.on != "hardware")
    setup = on_model(options);
  else
    setup.model = &require_architecture(options.context, options.architecture);
  return options.outputs.publish(report_of(schedule_of(options, setup)), options.context);
}

/// Writes --out and what else is asked for. A full disk must not lose what hours have counted: then the text
/// is printed all the same.
int publish(const CampaignOptions& options, report::Report report, const std::string& result) {
  report.json = [&result] { return result; };
  std::vector<corpus::TextFile> more;
  if (!options.out.empty()) more.push_back({options.out, result});
  try {
    return options.outputs.publish(report, options.context, more);
  } catch (const EnvironmentError&) {
    print(report::rendered(report, "text"));
    throw;
  }
}

int merge_files(const CampaignOptions& options) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& file : options.merge) files.emplace_back(file, text_of_file(file));
  const std::string result = campaign::merge_campaigns(files);
  const campaign::CampaignResult found = campaign::read_campaign(result, "the result");
  return publish(options, report_of(found, found.complete), result);
}

std::string temporary_journal() {
  const std::string name = fmt::format("mmaudit-campaign-{}-{}.jsonl", getpid(), std::random_device{}());
  return (std::filesystem::temp_directory_path() / name).string();
}

std::string text_of(const campaign::Speed& speed, const Setup& setup, std::size_t workers) {
  return fmt::format(
      "this run: {} dot products in {:.1f} s on {} {}{}, {:.3g} dot products/s, {:.3g} multiply-adds/s",
      speed.dots, speed.seconds, workers, setup.gpus.empty() ? "thread" : "GPU", workers == 1 ? "" : "s",
      static_cast<double>(speed.dots) / speed.seconds, speed.products / speed.seconds);
}

/// This process's shard, and of rank 0 the merged result of all shards.
int run_shard(CampaignOptions options, campaign::Ranks* ranks) {
  const bool first = ranks == nullptr || ranks->rank == 0;
  Shard shard = campaign::parse_shard(options.part);
  if (ranks != nullptr) {
    // Rank 0 shares the seed after it has looked at the options, so that a refusal is one line.
    if (!first) options.seed = ranks->share(options.seed);
    options.first_gpu += static_cast<unsigned>(ranks->local_rank) * options.gpus;
    if (!options.journal.empty()) options.journal += fmt::format(".rank{}", ranks->rank);
    shard = {static_cast<std::size_t>(ranks->rank), static_cast<std::size_t>(ranks->size)};
  }
  const int processes = ranks == nullptr ? 1 : ranks->local_size;
  Setup setup = options.on == "model"       ? on_threads(options, processes)
                : options.on == "gpu-model" ? on_model(options)
                                            : on_gpus(options);
  if (setup.kernels) setup.gpus = gpus_of(options);
  const Schedule schedule = schedule_of(options, setup);
  if (const std::size_t items = items_of(schedule).size(); ranks == nullptr && shard.index >= items)
    refuse(
        "--part: found {}, which has no work items, allowed: one of the {} parts that have (--merge needs no "
        "other)",
        options.part, items);
  if (ranks != nullptr && first) ranks->share(options.seed);

  const Interruptible interruptible;
  const bool temporary = options.journal.empty();
  const std::string file = temporary ? temporary_journal() : options.journal;
  campaign::Journal journal(file, schedule, shard);
  if (temporary) std::filesystem::remove(file);
  campaign::RunOptions how{.shard = shard, .seconds = options.seconds, .keep_going = options.keep_going};
  how.interrupted = Interruptible::stopped;
  std::unique_ptr<Progress> progress;
  if (first)
    how.progress = [&](std::uint64_t dots, std::uint64_t of, const std::string& label) {
      if (progress == nullptr) {
        progress = std::make_unique<Progress>(options.context.quiet, "checking", of);
        progress->will_write(options.outputs.names());
        progress->will_write({options.journal, options.out});
      }
      progress->advance(dots, label);
    };
  const auto workers = setup.workers();
  const campaign::Speed speed = campaign::run_campaign(schedule, workers, journal, how);
  progress.reset();
  Provenance provenance = setup.provenance();
  name_program(provenance);
  std::string result =
      campaign::campaign_json(schedule, journal.tally(), provenance, setup.gpus.size(), shard);
  if (ranks != nullptr) {
    std::vector<std::pair<std::string, std::string>> all;
    for (std::string& one : ranks->gather(result))
      all.emplace_back(fmt::format("rank {}", all.size()), std::move(one));
    if (!first)
      return kAllGood;  // mpirun ends everybody when one exit code is not 0: rank 0 has the last word
    result = campaign::merge_campaigns(all);
  }
  const campaign::CampaignResult found = campaign::read_campaign(result, "the result");
  report::Report report = report_of(found, ranks == nullptr ? speed.complete : found.complete);
  if (ranks == nullptr) report.sections.push_back({.lines = {text_of(speed, setup, workers.size())}});
  if (found.example)
    report.sections.push_back({.title = "The first difference",
                               .block = explain_difference(setup, found.example->first, found.example->second,
                                                           options.context.model_file)});
  const int code = publish(options, std::move(report), result);
  return found.mismatches == 0 && Interruptible::stopped() ? kInterrupted : code;
}

/// --show, which judges nothing: exit code 0 whatever the result says.
int show(const CampaignOptions& options) {
  try_outputs(options.outputs.files(), {{"--show", options.show}});
  const std::string text = text_of_file(options.show);
  report::Report report = report_of(campaign::read_campaign(text, options.show), true);
  report.json = [&text] { return std::string(text); };
  options.outputs.publish(std::move(report), options.context);
  return kAllGood;
}

int run(CampaignOptions options) {
  if (!options.show.empty()) return show(options);
  std::vector<NamedFile> outputs = options.outputs.files(),
                         inputs = {{"--journal", options.journal}, {"--model", options.context.model_file}};
  outputs.push_back({"--out", options.out});
  for (const std::string& file : options.merge) inputs.push_back({"--merge", file});
  try_outputs(outputs, inputs);
  if (!options.merge.empty()) return merge_files(options);
  if (options.list) return list_schedule(options);
  static_cast<void>(campaign::parse_shard(options.part));
  if (!options.has_seed && (!options.journal.empty() || !options.part.empty()))
    refuse("{}: found without --seed, allowed: with it (a campaign goes on with the seed it had)",
           options.journal.empty() ? "--part" : "--journal");
  if (!options.has_seed) options.seed = std::random_device{}();
  const auto ranks = options.part.empty() ? campaign::join_ranks() : nullptr;
  return run_shard(options, ranks.get());
}

}  // namespace

void add_campaign(Command& verify) {
  auto options = std::make_shared<CampaignOptions>();
  Command command = verify.command(
      "campaign",
      "Instructions against the model, on a GPU billions of dot products per second; under mpirun on many "
      "hosts",
      {"mmaudit verify campaign --dots 1e9 --seed 1 --journal campaign.jsonl --out campaign.json",
       "mmaudit verify campaign --on model --inst m16n8k16 --dots 1e6"});
  command.section("What is compared");
  command
      .option(
          "--on", options->on,
          "hardware: this GPU; model: no GPU, the fast path of the model is the reference; gpu-model: the "
          "same on this GPU, whose kernels of products are the reference")
      .one_of({"hardware", "model", "gpu-model"});
  command.option("--arch ARCH", options->architecture,
                 "with --on model, gpu-model: architecture of the reference (default: the compute capability "
                 "of --model, "
                 "else hopper)");
  add_filter_option(command, options->instructions).comma_separated();
  command.option("--family", options->families, "only input classes whose name contains one of these")
      .comma_separated();
  command.option("--dots", options->dots, "at least this many dot products per instruction").range(1.0, 1e15);
  const Option seed = command.option("--seed", options->seed, "seed (default: fresh, in the result)")
                          .default_text("")
                          .takes_last();
  command.option("--wgmma-n", options->n, "N of wgmma").range(8, 256).multiple_of(8);
  command.section("Where it runs");
  command.option("--gpus", options->gpus, "GPUs of this host; 0: all of the first one's kind");
  command.option("--first-gpu", options->first_gpu, "number of the first GPU, modulo how many there are")
      .takes_last();
  command.option("--threads", options->threads, "with --on model; 0: one per core")
      .range(0, 4096)
      .takes_last();
  command.option("--seconds", options->seconds, "begin no work item after this time").range(0, 1e9);
  command.section("Files, parts and results");
  command
      .option("--journal FILE", options->journal,
              "file that records finished work items: the same command goes on where the file ends")
      .takes_last();
  command.option("--out FILE", options->out, "file of the result, JSON");
  const Option part =
      command
          .option("--part I/N", options->part,
                  "I/N: only shard I of N, every N-th work item; --merge puts the results together")
          .takes_last();
  command.option("--merge FILE", options->merge, "merge these results of shards; needs no GPU");
  command.flag("--keep-going", options->keep_going, "go on after a difference");
  command.flag("--list", options->list, "print what would be done; needs no GPU").excludes(part);
  command.option("--show FILE", options->show, "print a result file and check its checksum; needs no GPU");
  add_model_option(command);
  options->outputs.add_to(command);
  command.runs([options, seed](const Context& context) {
    options->context = context;
    options->has_seed = seed.given();
    return run(*options);
  });
}

}  // namespace mmaudit::cli
