// mmaudit screen: silent data corruption in tensor cores.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "campaign/ranks.hpp"
#include "common.hpp"
#include "interruptible.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/screen/values_named.hpp"
#include "screen/report.hpp"

namespace mmaudit::cli {
namespace {

constexpr double kQuickSeconds = 22;

struct ScreenOptions {
  std::vector<std::string> instructions, inputs, feeds;
  std::vector<int> gpus;
  double minutes = 10;
  bool quick = false, steady = false, beside_others = false, coverage = false, list = false;
  std::string json, prometheus, inject, reproducer, from;
};

std::vector<Instruction> chosen(const ScreenOptions& options) {
  std::vector<Instruction> found;
  for (const screen::Work& work : screen::screened())
    if (!work.registers && work.feed == screen::Feed::loads &&
        selected(work.instruction, options.instructions))
      found.push_back(work.instruction);
  // A part that names nothing would be left out without a word.
  for (const std::string& part : options.instructions)
    if (std::none_of(found.begin(), found.end(),
                     [&](const Instruction& one) { return selected(one, {part}); }))
      refuse("--inst: found {}, allowed: part of the first word of a line of `mmaudit screen --list`{}", part,
             nearest_text({part}));
  return found;
}

/// Of these instructions.
std::vector<screen::Feed> chosen_feeds(const ScreenOptions& options,
                                       const std::vector<Instruction>& instructions) {
  std::vector<screen::Feed> feeds = screen::feeds_named(options.feeds);
  for (const screen::Work& work : screen::screened())
    if (std::find(instructions.begin(), instructions.end(), work.instruction) != instructions.end() &&
        std::find(feeds.begin(), feeds.end(), work.feed) != feeds.end())
      return feeds;
  refuse(
      "--feed: found {}, which none of these instructions has, allowed: as `mmaudit screen --list` names "
      "them",
      fmt::format("{}", fmt::join(options.feeds, ",")));
}

std::vector<device::DeviceInfo> chosen_gpus(const ScreenOptions& options) {
  for (const int one : options.gpus)
    if (one < 0) refuse("--gpu: found {}, allowed: from 0", one);
  const device::DeviceInfo any = require_device();
  std::vector<device::DeviceInfo> gpus = device::devices();
  for (const int one : options.gpus)
    if (static_cast<std::size_t>(one) >= gpus.size())
      refuse("--gpu: found {}, allowed: 0 to {}", one, gpus.size() - 1);
  std::erase_if(gpus, [&](const device::DeviceInfo& gpu) {
    const auto& wanted = options.gpus;
    return !wanted.empty() && std::find(wanted.begin(), wanted.end(), gpu.ordinal) == wanted.end();
  });
  for (const device::DeviceInfo& gpu : gpus)
    if (gpu.compute_capability != gpus.front().compute_capability)
      refuse("--gpu: found {} and {}, allowed: GPUs of one generation at a time", gpus.front().name,
             gpu.name);
  return gpus;
}

screen::Injection chosen_injection(const std::string& text) {
  if (text.empty()) return {};
  const screen::Injection one = screen::injection_of(text);
  if (!screen::injects())
    refuse("--inject: found in a build without faults, allowed: in one with MMAUDIT_SCREEN_INJECTION=ON");
  return one;
}

int coverage(const ScreenOptions& options) {
  const std::vector<screen::InputSet> inputs =
      screen::values_named<screen::InputSet>("--inputs", screen::kInputSets, options.inputs);
  const auto coverage = screen::simulate_coverage(*find_architecture("hopper"), chosen(options), inputs);
  std::string hidden;
  for (const screen::Coverage& one : coverage)
    if (!one.hidden.empty()) hidden += fmt::format("{}: {}\n", name_of(one.instruction), one.hidden);
  print(report::to_text(screen::coverage_table(coverage, inputs)));
  if (!hidden.empty()) print("\nFaults that none of these input sets shows:\n" + hidden);
  return kAllGood;
}

int list(const ScreenOptions& options) {
  const std::vector<Instruction> instructions = chosen(options);
  const std::vector<screen::Feed> feeds = chosen_feeds(options, instructions);
  std::string text;
  for (const screen::Work& work : screen::screened())
    if (std::find(instructions.begin(), instructions.end(), work.instruction) != instructions.end() &&
        std::find(feeds.begin(), feeds.end(), work.feed) != feeds.end())
      text += work.name() + "\n";
  print(text);
  return kAllGood;
}

/// --from: no screen, but the file of an earlier one's first finding.
int reproduce(const ScreenOptions& options) {
  if (options.reproducer.empty()) refuse("--from: found no --reproducer, allowed: with --reproducer FILE.cu");
  try_outputs({{"--reproducer", options.reproducer}}, {{"--from", options.from}});
  emit(options.reproducer, screen::reproducer_of_json(text_of_file(options.from), options.from));
  return kAllGood;
}

/// The GPUs of this rank: of those of its host each local_size-th.
std::vector<device::DeviceInfo> of_this_rank(std::vector<device::DeviceInfo> gpus,
                                             const campaign::Ranks& ranks) {
  std::vector<device::DeviceInfo> own;
  for (std::size_t i = static_cast<std::size_t>(ranks.local_rank); i < gpus.size();
       i += static_cast<std::size_t>(ranks.local_size))
    own.push_back(gpus[i]);
  if (own.empty())
    throw EnvironmentError(
        refusal("mpirun: found {} ranks and {} GPUs on this host, allowed: at most as many ranks as GPUs",
                ranks.local_size, gpus.size()));
  return own;
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

/// Screens until the time is over or Ctrl-C comes.
std::vector<screen::GpuResult> screen_gpus(const std::vector<device::DeviceInfo>& gpus,
                                           const screen::Options& how, const ScreenOptions& options,
                                           bool quiet) {
  const Interruptible interruptible;
  Progress progress(quiet, "screening", static_cast<std::uint64_t>(1000 * how.seconds));
  progress.will_write({options.json, options.prometheus, options.reproducer});
  std::uint64_t done = 0;
  screen::Hooks hooks;
  hooks.keep_going = [] { return !Interruptible::stopped(); };
  hooks.progress = [&](double seconds, const std::string& label) {
    const auto now = static_cast<std::uint64_t>(1000 * std::min(seconds, how.seconds));
    progress.advance(now > done ? now - done : 0, label);
    done = std::max(done, now);
  };
  return screen::run_screen(gpus, how, hooks);
}

/// What one process has found, or all ranks.
void publish(const ScreenOptions& options, const screen::Together& all) {
  if (!options.prometheus.empty())
    corpus::write_file_atomically(options.prometheus, std::string_view(all.prometheus));
  if (!options.reproducer.empty() && !all.reproducer.empty())
    corpus::write_file_atomically(options.reproducer, std::string_view(all.reproducer));
  cli::publish(
      options.json, [&] { return all.json; }, [&] { return all.text; });
}

int run(const ScreenOptions& options, const Context& context) {
  if (options.list || options.coverage || !options.from.empty())
    for (const auto& [name, value] :
         {std::pair{"--json", options.json}, {"--prometheus", options.prometheus}})
      if (!value.empty())
        refuse("{}: found {} with --list, --coverage or --from, allowed: with a screen", name, value);
  if (options.list) return list(options);
  if (!options.from.empty()) return reproduce(options);
  if (options.coverage) return coverage(options);
  const auto ranks = campaign::join_ranks();
  const bool first = ranks == nullptr || ranks->rank == 0;
  // Rank 0 looks at the options before the others, so that a refusal is one line.
  if (!first) ranks->share(0);
  screen::Options how;
  how.instructions = chosen(options);
  how.inputs = screen::values_named<screen::InputSet>("--inputs", screen::kInputSets, options.inputs);
  how.feeds = chosen_feeds(options, how.instructions);
  how.seconds = options.quick ? kQuickSeconds : 60 * options.minutes;
  how.bursts = !options.steady && !options.quick;
  how.beside_others = options.beside_others;
  how.injection = chosen_injection(options.inject);
  if (first)
    for (const std::string& file : {options.json, options.prometheus, options.reproducer})
      corpus::require_writable(file);
  if (ranks != nullptr && first) ranks->share(0);
  std::vector<screen::GpuResult> results;
  Provenance provenance;
  try {
    std::vector<device::DeviceInfo> gpus = chosen_gpus(options);
    if (ranks != nullptr) gpus = of_this_rank(std::move(gpus), *ranks);
    provenance = device::provenance_of(gpus.front());
    results = screen_gpus(gpus, how, options, context.quiet || !first);
  } catch (const std::exception& error) {
    if (ranks == nullptr) throw;
    results = {screen::no_gpu(error.what(), ranks->local_rank)};  // the other ranks go on
  }
  name_program(provenance);
  provenance.command = context.command;
  const bool hangs = screen::hangs(results);
  // CUDA's clean-up would wait for a GPU that hangs.
  const auto end = [hangs](int code) {
    if (!hangs) return code;
    std::fflush(nullptr);
    std::_Exit(code);
  };
  screen::Together all;
  if (ranks == nullptr) {
    all = {.json = screen::json_of(results, provenance),
           .text = screen::text_of(results),
           .prometheus = screen::prometheus_of(results),
           .reproducer = options.reproducer.empty() ? "" : screen::first_reproducer(results),
           .failed = screen::failed(results),
           .passed = screen::passed(results)};
  } else {
    const auto parts = ranks->gather(screen::part_of(results, provenance, host_name()));
    if (!first)
      return end(kAllGood);  // mpirun ends everybody when one exit code is not 0: rank 0 has the last word
    all = screen::put_together(parts);
  }
  publish(options, all);
  if (all.failed) return end(kMismatch);
  if (Interruptible::stopped()) return kInterrupted;
  return all.passed ? kAllGood : kMismatch;
}

}  // namespace

void add_screen(Command& app) {
  auto options = std::make_shared<ScreenOptions>();
  Command command = app.command(
      "screen",
      "Silent data corruption: every accumulator of chains at full rate against the model, on every "
      "sub-core; under mpirun on many hosts",
      {"mmaudit screen --quick", "mmaudit screen --minutes 10 --json screen.json --prometheus screen.prom",
       "mmaudit screen --coverage --inst m64n256k16.f32"});
  command.section("What runs");
  command.option("--minutes", options->minutes, "how long, per GPU; all GPUs run beside each other")
      .range(0.05, 1e5);
  command.flag("--quick", options->quick,
               "half a minute: every type on every sub-core with every input set once");
  command.option("--inst INST", options->instructions, "only those whose name contains one of these")
      .comma_separated();
  command.option("--inputs", options->inputs, "only these input sets").comma_separated();
  command
      .option("--feed", options->feeds,
              "only operands that come so: loads, ldmatrix, bulk_l2, bulk_hbm, tensor_hbm")
      .comma_separated();
  command.option("--gpu", options->gpus, "only these GPUs, by number (default: all)").comma_separated();
  command.flag("--steady", options->steady,
               "no bursts; without it every other pass switches all SMs on and off at 1 Hz to 100 kHz");
  command.flag("--beside-others", options->beside_others, "also where other processes use the GPU");
  command.option("--inject", options->inject,
                 "a build with faults: accumulator:SM,SUBCORE,LANE,WORD,FLIPS,EVERY, or "
                 "shared:SM,WORD,FLIPS,EVERY, or load:SM,WORD,FLIPS,EVERY, or lost:SM,EVERY");
  command.section("Output");
  add_result_option(command, options->json);
  command.option("--prometheus FILE", options->prometheus,
                 "a file for the text file collector of node_exporter");
  command.option("--reproducer FILE", options->reproducer,
                 "where bits were wrong: the first finding as a CUDA file that nvcc alone compiles");
  command.option("--from FILE", options->from,
                 "with --reproducer: takes the finding from this --json of an earlier screen; needs no GPU");
  command.flag("--coverage", options->coverage,
               "which stuck-at faults of the modelled datapaths the inputs show; needs no GPU");
  command.flag("--list", options->list, "print the instructions; needs no GPU");
  command.runs([options](const Context& context) { return run(*options, context); });
}

}  // namespace mmaudit::cli
