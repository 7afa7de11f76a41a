// mmaudit screen: silent data corruption in tensor cores.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "beside.hpp"
#include "campaign/ranks.hpp"
#include "commands.hpp"
#include "common.hpp"
#include "interruptible.hpp"
#include "mmaudit/screen/values_named.hpp"
#include "outputs.hpp"
#include "screen/report.hpp"

namespace mmaudit::cli {
namespace {

constexpr double kQuickSeconds = 22;

struct ScreenOptions {
  std::vector<std::string> instructions, inputs, feeds;
  std::vector<int> gpus;
  double minutes = 10;
  bool quick = false, steady = false, beside_others = false, coverage = false, list = false;
  std::string prometheus, inject, reproducer, from;
  Outputs outputs;
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

/// Every work of these instructions with a feed that --feed names. Errors: InputError where there is none.
std::vector<screen::Work> chosen_works(const ScreenOptions& options,
                                       const std::vector<Instruction>& instructions) {
  const std::vector<screen::Feed> feeds = screen::feeds_named(options.feeds);
  std::vector<screen::Work> works;
  for (const screen::Work& work : screen::screened())
    if (std::find(instructions.begin(), instructions.end(), work.instruction) != instructions.end() &&
        std::find(feeds.begin(), feeds.end(), work.feed) != feeds.end())
      works.push_back(work);
  if (!works.empty()) return works;
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

report::Report coverage(const ScreenOptions& options) {
  const std::vector<screen::InputSet> inputs =
      screen::values_named<screen::InputSet>("--inputs", screen::kInputSets, options.inputs);
  return report_of(screen::simulate_coverage(*find_architecture("hopper"), chosen(options), inputs), inputs);
}

report::Report list(const ScreenOptions& options) {
  report::Table table{.columns = {"type"}};
  for (const screen::Work& work : chosen_works(options, chosen(options))) table.rows.push_back({work.name()});
  report::Report out{.title = "What can be screened"};
  out.sections = {section_of(std::move(table))};
  return out;
}

/// --from: no screen, but the file of an earlier one's first finding.
int reproduce(const ScreenOptions& options, const Context& context) {
  if (options.reproducer.empty()) refuse("--from: found no --reproducer, allowed: with --reproducer FILE.cu");
  std::vector<NamedFile> files = options.outputs.files();
  files.push_back({"--reproducer", options.reproducer});
  try_outputs(files, {{"--from", options.from}});
  report::Report out{.title = "A finding as a CUDA file"};
  out.headline = fmt::format("The first finding of {} became {}", options.from, options.reproducer);
  return options.outputs.publish(
      out, context,
      {{options.reproducer, screen::reproducer_of_json(text_of_file(options.from), options.from)}});
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
  progress.will_write(options.outputs.names());
  progress.will_write({options.prometheus, options.reproducer});
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
int publish(const ScreenOptions& options, screen::Together all, const Context& context) {
  std::vector<corpus::TextFile> files;
  if (!options.prometheus.empty()) files.push_back({options.prometheus, std::move(all.prometheus)});
  if (!options.reproducer.empty() && !all.reproducer.empty())
    files.push_back({options.reproducer, std::move(all.reproducer)});
  return options.outputs.publish(std::move(all.report), context, std::move(files));
}

int run(const ScreenOptions& options, const Context& context) {
  if ((options.list || options.coverage || !options.from.empty()) && !options.prometheus.empty())
    refuse("--prometheus: found {} with --list, --coverage or --from, allowed: with a screen",
           options.prometheus);
  if (!options.from.empty()) return reproduce(options, context);
  if (options.list || options.coverage) {
    try_outputs(options.outputs.files(), {});
    return options.outputs.publish(options.list ? list(options) : coverage(options), context);
  }
  const auto ranks = campaign::join_ranks();
  const bool first = ranks == nullptr || ranks->rank == 0;
  // Rank 0 looks at the options before the others, so that a refusal is one line.
  if (!first) ranks->share(0);
  screen::Options how;
  how.instructions = chosen(options);
  how.inputs = screen::values_named<screen::InputSet>("--inputs", screen::kInputSets, options.inputs);
  static_cast<void>(chosen_works(options, how.instructions));
  how.feeds = screen::feeds_named(options.feeds);
  how.seconds = options.quick ? kQuickSeconds : 60 * options.minutes;
  how.bursts = !options.steady && !options.quick;
  how.beside_others = options.beside_others;
  how.injection = chosen_injection(options.inject);
  if (first) {
    std::vector<NamedFile> files = options.outputs.files();
    files.insert(files.end(), {{"--prometheus", options.prometheus}, {"--reproducer", options.reproducer}});
    try_outputs(files, {});
  }
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
    all = {.report = report_of(results, provenance),
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
  const bool failed = all.failed;
  const int code = publish(options, std::move(all), context);
  if (failed) return end(code);
  return Interruptible::stopped() ? kInterrupted : code;
}

}  // namespace

void add_screen(Command& app) {
  auto options = std::make_shared<ScreenOptions>();
  Command command = app.command(
      "screen", std::string(bench_text("screen")),
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
  options->outputs.add_to(command);
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
