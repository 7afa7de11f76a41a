// mmaudit sweep: how fast the instructions are on the GPU of this machine.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <filesystem>
#include <memory>

#include "common.hpp"
#include "interruptible.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/sweeps/census.hpp"
#include "mmaudit/sweeps/compare.hpp"
#include "mmaudit/sweeps/render.hpp"
#include "mmaudit/sweeps/sweep.hpp"
#include "mmaudit/version.hpp"
#include "sweep_gemm.hpp"
#include "sweep_report.hpp"

namespace mmaudit::cli {
namespace {

struct SweepOptions {
  std::vector<std::string> instructions, axes;
  std::string out = "out", resume;
  double energy_seconds = sweeps::RunRule{}.energy_seconds;
  bool quick = false, list = false, json = false, no_files = false;
};

std::string listing() {
  std::string text;
  for (const sweeps::Subject& subject : sweeps::subjects())
    text += fmt::format("{:42} {}\n", subject.name, fmt::join(subject.axes, " "));
  text += "\naxes (-a NAME=VALUE, NAME=[a,b,c], NAME=[start:end:step], NAME[pow2]=...):\n";
  for (const sweeps::AxisSpec& axis : sweeps::axis_specs())
    text += fmt::format("  {:6} {:60} usual {}, quick {}\n", axis.name, axis.what, axis.usual, axis.quick);
  return text;
}

sweeps::SweepResult start_of(const SweepOptions& options, const sweeps::DeviceFacts& device,
                             const sweeps::SweepOptions& plan) {
  sweeps::SweepResult result;
  if (!options.resume.empty()) {
    result = sweeps::from_json(text_of_file(options.resume), options.resume);
    if (result.device != device)
      throw InputError(
          fmt::format("{}: devices: found {} (driver {}), allowed: this machine's {} (driver {})",
                      options.resume, result.device.name, result.device.driver, device.name, device.driver));
  }
  result.version = kVersion;
  result.revision = kGitRevision;
  result.date = today();
  result.device = device;
  result.rule = plan.rule;
  result.axes = plan.axes;
  result.command = {"mmaudit", "sweep"};
  if (options.quick) result.command.emplace_back("--quick");
  for (const std::string& axis : options.axes) result.command.insert(result.command.end(), {"-a", axis});
  if (!options.instructions.empty())
    result.command.insert(result.command.end(),
                          {"--inst", fmt::format("{}", fmt::join(options.instructions, ","))});
  return result;
}

int sweep(const SweepOptions& options) {
  if (options.list) {
    emit("-", listing());
    return kAllGood;
  }
  sweeps::SweepOptions plan{
      sweeps::select_subjects(options.instructions), sweeps::resolve_axes(options.axes, options.quick), {}};
  plan.rule.energy_seconds = options.energy_seconds;
  if (options.quick) {
    plan.rule.most = plan.rule.least;
    plan.rule.gpu_milliseconds = 1;
  }
  const std::unique_ptr<sweeps::Machine> machine = sweeps::gpu_machine(require_device());
  sweeps::SweepResult result = start_of(options, machine->facts(), plan);
  const std::filesystem::path folder = options.out;
  if (!options.no_files) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw InputError(fmt::format("{}: cannot create: {}", options.out, error.message()));
  }
  const auto save = [&] {
    if (!options.no_files)
      corpus::write_file_atomically(folder / "sweep.json", std::string_view(sweeps::to_json(result)));
  };
  const auto started = std::chrono::steady_clock::now();
  {
    const Interruptible interruptible;
    Progress progress("sweeping", plan.subjects.size());
    sweeps::run_sweep(*machine, plan,
                      {.keep_going = [] { return !Interruptible::stopped(); },
                       .progress = [&](const std::string& subject, std::size_t done,
                                       std::size_t) { progress.advance(done == 0 ? 0 : 1, subject); },
                       .save = save},
                      result);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (!options.no_files) {
    corpus::write_file_atomically(folder / "sweep.md", std::string_view(sweeps::to_markdown(result)));
    corpus::write_file_atomically(folder / "sweep.csv", std::string_view(sweeps::to_csv(result)));
  }
  if (options.json) {
    emit("-", sweeps::to_json(result));
  } else {
    emit("-", sweeps::to_console(result));
    emit("-", fmt::format("\n{} points in {:.1f} s\n", result.states.size(), seconds));
    if (!options.no_files)
      emit("-", fmt::format("written: {0}/sweep.json {0}/sweep.md {0}/sweep.csv\n", options.out));
  }
  if (result.interrupted) return kInterrupted;
  return result.wrong() == 0 ? kAllGood : kMismatch;
}

int compare(const std::string& before, const std::string& after) {
  const sweeps::SweepResult old = sweeps::from_json(text_of_file(before), before);
  const sweeps::Compared compared = sweeps::compare(old, sweeps::from_json(text_of_file(after), after));
  if (compared.points.empty())
    throw InputError(
        fmt::format("{}: found no point of {}, allowed: sweeps that share points", after, before));
  emit("-", sweeps::comparison_text(compared));
  return compared.count(sweeps::Change::slow) == 0 ? kAllGood : kMismatch;
}

void add_compare(CLI::App& command, Action& action) {
  auto files = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App* compare_command = command.add_subcommand(
      "compare",
      "two sweep.json: SAME, FAST, SLOW or AMBIGUOUS by their noise; exit 1 when something is slower");
  compare_command->add_option("OLD", files->first, "a sweep.json")->required();
  compare_command->add_option("NEW", files->second, "another")->required();
  compare_command->callback(
      [&action, files] { action = [files] { return compare(files->first, files->second); }; });
}

int census(const std::vector<std::string>& files) {
  if (files.empty()) {
    emit("-", std::string(sweeps::shipped_census()));
    return kAllGood;
  }
  std::vector<sweeps::CensusRow> rows;
  for (const std::string& file : files) {
    const std::vector<sweeps::CensusRow> found = sweeps::census_of(text_of_file(file));
    if (found.empty())
      throw InputError(
          fmt::format("{}: found no timed kernel, allowed: what cuobjdump -sass prints of one", file));
    rows.insert(rows.end(), found.begin(), found.end());
  }
  emit("-", sweeps::census_csv(rows));
  return kAllGood;
}

void add_census(CLI::App& command, Action& action) {
  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* census_command = command.add_subcommand(
      "census",
      "what the timed instructions become on seven targets: a CSV table; with files, of their disassembly");
  census_command->add_option("SASS", *files, "text of cuobjdump -sass, by device/sweeps/census.sh");
  census_command->callback([&action, files] { action = [files] { return census(*files); }; });
}

void add_report(CLI::App& command, Action& action) {
  auto options = std::make_shared<SweepReportOptions>();
  CLI::App* report_command = command.add_subcommand(
      "report", "a sweep.json as a page: accuracy against speed, heat maps, curves; prints the first");
  report_command->add_option("SWEEP", options->sweep, "a sweep.json")->required();
  report_command->add_option("--gemm", options->gemm, "what sweep gemm --out wrote, for the page");
  report_command->add_option("--html", options->html, "a file for the page");
  report_command->callback([&action, options] { action = [options] { return sweep_report(*options); }; });
}

void add_gemm(CLI::App& command, Action& action) {
  auto options = std::make_shared<SweepGemmOptions>();
  CLI::App* gemm_command = command.add_subcommand(
      "gemm", "whole products, bfloat16 to binary32: what each step of a kernel's design brings, and cuBLAS");
  gemm_command->add_option("--size", options->sizes, "m, n and k, e.g. 2048,8192 (which is the default)")
      ->delimiter(',');
  gemm_command->add_option("--out", options->out, "a file for the JSON");
  gemm_command->add_flag("--quick", options->quick, "21 runs of each kernel, whatever their spread");
  gemm_command->add_flag("--json", options->json, "print the JSON instead of the table");
  gemm_command->callback([&action, options] { action = [options] { return sweep_gemm(*options); }; });
}

}  // namespace

void add_sweep(CLI::App& app, Action& action) {
  auto options = std::make_shared<SweepOptions>();
  CLI::App* command = app.add_subcommand(
      "sweep", "How fast: latency and throughput of every instruction on the GPU of this machine");
  command->add_option("--inst", options->instructions, "only those whose name contains one of these")
      ->delimiter(',');
  command->add_option("-a,--axis", options->axes, "values of an axis, e.g. -a warps=[1,4,8] -a ilp=[1:6:1]")
      ->allow_extra_args(false);
  command->add_flag("--quick", options->quick, "fewer values of every axis: seconds, not minutes");
  command
      ->add_option("--energy-seconds", options->energy_seconds,
                   "with -a scope=energy: time of a point, at most")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  command->add_flag("--list", options->list, "print what can be swept, and the axes");
  command->add_option("--out", options->out, "folder for sweep.json, sweep.md, sweep.csv")
      ->capture_default_str();
  command->add_option("--resume", options->resume, "a sweep.json: its points are not measured again");
  command->add_flag("--no-files", options->no_files, "print only");
  command->add_flag("--json", options->json, "print the JSON instead of the tables");
  // The callback of an inner subcommand runs first: it must not be overwritten.
  command->callback([&action, options] {
    if (!action) action = [options] { return sweep(*options); };
  });
  add_compare(*command, action);
  add_census(*command, action);
  add_gemm(*command, action);
  add_report(*command, action);
}

}  // namespace mmaudit::cli
