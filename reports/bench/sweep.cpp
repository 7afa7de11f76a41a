// mmaudit sweep: how fast the instructions are on the GPU of this machine.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <tuple>

#include "beside.hpp"
#include "commands.hpp"
#include "common.hpp"
#include "interruptible.hpp"
#include "mmaudit/sweeps/benchmark.hpp"
#include "mmaudit/sweeps/gemm.hpp"
#include "mmaudit/sweeps/sweep.hpp"
#include "outputs.hpp"
#include "sweeps/accuracy.hpp"
#include "sweeps/census.hpp"
#include "sweeps/compare.hpp"
#include "sweeps/published.hpp"
#include "sweeps/report.hpp"
#include "sweeps/roofline.hpp"

namespace mmaudit::cli {
namespace {

struct SweepGemmOptions {
  std::vector<int> sizes;
  std::string out;
  Outputs outputs;
  bool quick = false;
};

struct SweepReportOptions {
  std::string sweep, gemm;
  std::vector<std::string> ceilings;
  Outputs outputs;
};

struct SweepOptions {
  std::vector<std::string> instructions, axes;
  std::string out = "out", resume;
  double energy_seconds = sweeps::RunRule{}.energy_seconds;
  bool quick = false, list = false, no_files = false;
  Outputs outputs;
};

/// Empty, or what --resume names; with provenance, rule and axes of this sweep.
sweeps::SweepResult start_of(const SweepOptions& options, sweeps::BenchTarget& target,
                             const sweeps::SweepOptions& how) {
  const Provenance gpu = target.provenance();
  sweeps::SweepResult result;
  if (!options.resume.empty()) {
    result = sweeps::from_json(text_of_file(options.resume), options.resume);
    const auto same = [](const Provenance& of) {
      return std::tie(of.gpu, of.driver, of.cuda, of.compute_capability, of.multiprocessors, of.nominal_hz);
    };
    const Provenance& found = result.provenance;
    if (same(found) != same(gpu))
      refuse("{}: devices: found {} (driver {}), allowed: this machine's {} (driver {})", options.resume,
             found.gpu, found.driver, gpu.gpu, gpu.driver);
  }
  result.provenance = gpu;
  result.properties = target.properties();
  name_program(result.provenance);
  result.rule = how.rule;
  result.axes = how.axes;
  std::vector<std::string>& command = result.provenance.command;
  command = {"mmaudit", "sweep"};
  if (options.quick) command.emplace_back("--quick");
  for (const std::string& axis : options.axes) command.insert(command.end(), {"-a", axis});
  if (!options.instructions.empty())
    command.insert(command.end(), {"--inst", fmt::format("{}", fmt::join(options.instructions, ","))});
  return result;
}

constexpr const char* kFiles[] = {"sweep.json", "sweep.md", "sweep.csv"};

/// The files of a sweep, as kFiles names them.
std::vector<corpus::TextFile> files_of(const std::filesystem::path& folder,
                                       const sweeps::SweepResult& result) {
  return {{folder / kFiles[0], sweeps::to_json(result)},
          {folder / kFiles[1], report::rendered(sweeps::report_of(result), "markdown")},
          {folder / kFiles[2], sweeps::to_csv(result)}};
}

/// With the options of the command, and those three.
std::vector<NamedFile> outputs_of(const Outputs& outputs, const std::string& folder) {
  std::vector<NamedFile> files = outputs.files();
  for (const char* name : kFiles) files.push_back({"--out", fmt::format("{}/{}", folder, name)});
  return files;
}

int sweep(const SweepOptions& options, const Context& context) {
  if (options.list) return options.outputs.publish(sweeps::benchmarks_report(), context);
  sweeps::SweepOptions how{
      sweeps::select_benchmarks(options.instructions), sweeps::resolve_axes(options.axes, options.quick), {}};
  how.rule.energy_seconds = options.energy_seconds;
  if (options.quick) {
    how.rule.most = how.rule.least;
    how.rule.gpu_milliseconds = 1;
  }
  const std::unique_ptr<sweeps::BenchTarget> target = sweeps::gpu_target(require_device());
  sweeps::SweepResult result = start_of(options, *target, how);
  std::string no_code;
  how.code =
      sweeps::sass_of_this_program(sweeps::symbols_of(how), result.provenance.compute_capability, no_code);
  result.gate = no_code.empty() ? fmt::format(
                                      "the code of {} timed kernels was read by cuobjdump: points whose "
                                      "loops do not hold what they time are refused",
                                      how.code.size())
                                : fmt::format("the code of the timed kernels was not read: {}", no_code);
  const std::filesystem::path folder = options.out;
  if (!options.no_files) make_folder(options.out);
  const std::vector<NamedFile> outputs =
      options.no_files ? options.outputs.files() : outputs_of(options.outputs, options.out);
  try_outputs(outputs, {});
  const auto save = [&] {
    if (!options.no_files)
      corpus::write_file_atomically(folder / kFiles[0], std::string_view(sweeps::to_json(result)));
  };
  const auto started = std::chrono::steady_clock::now();
  {
    const Interruptible interruptible;
    Progress progress(context.quiet, "sweeping", how.benchmarks.size());
    for (const NamedFile& file : outputs) progress.will_write({file.path});
    sweeps::run_sweep(*target, how,
                      {.keep_going = [] { return !Interruptible::stopped(); },
                       .progress = [&](const std::string& name, std::size_t done,
                                       std::size_t) { progress.advance(done == 0 ? 0 : 1, name); },
                       .save = save},
                      result);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  report::Report report = sweeps::report_of(result);
  report.headline_last = true;
  report.headline += fmt::format("; {:.1f} s", seconds);
  if (!options.no_files) report.headline += "; written to " + options.out;
  const int code =
      options.outputs.publish(std::move(report), context,
                              options.no_files ? std::vector<corpus::TextFile>{} : files_of(folder, result));
  return result.interrupted ? kInterrupted : code;
}

void add_share(Command& command, double& share) {
  command.option("--min-share", share, "least share of the old points that has to be seen; 50% is 0.5")
      .positive()
      .or_percent();
}

struct SweepGateOptions {
  std::string sweep, sass, out;
  double share = sweeps::kLeastShare;
  Outputs outputs;
};

int gate(const SweepGateOptions& options, const Context& context) {
  sweeps::SweepResult result = sweeps::from_json(text_of_file(options.sweep), options.sweep);
  sweeps::SassReader reader;
  const std::string sass = text_of_file(options.sass);
  for (const std::string_view line : sweeps::split(sass, '\n')) reader.line(line);
  const sweeps::SassBySymbol code =
      sweeps::code_of_gpu(reader.kernels(), result.provenance.compute_capability);
  if (code.empty())
    refuse("{}: found no timed kernel for {}, allowed: what cuobjdump -sass prints of the program that swept",
           options.sass, result.provenance.gpu);
  const auto measured = [&] {
    return std::count_if(result.points.begin(), result.points.end(),
                         [](const sweeps::Point& point) { return point.skipped.empty(); });
  };
  const auto before = measured();
  const auto timed =
      std::count_if(result.points.begin(), result.points.end(), [](const sweeps::Point& point) {
        const sweeps::Benchmark* const of = sweeps::find_benchmark(point.subject);
        return point.skipped.empty() && of != nullptr && of->kernel;
      });
  const int read = sweeps::apply_gate(result, code);
  if (read == 0)
    refuse("{}: found no code of a measured point of {}, allowed: cuobjdump -sass of the program that swept",
           options.sass, options.sweep);
  make_folder(options.out);
  try_outputs(outputs_of(options.outputs, options.out), {{"SWEEP", options.sweep}, {"SASS", options.sass}});
  const auto refused = before - measured();
  result.gate =
      fmt::format("the code of {} timed kernels was read afterwards, for {}: {} were refused", code.size(),
                  sweeps::share_text(static_cast<std::uint64_t>(read), static_cast<std::uint64_t>(timed),
                                     "timed points", options.share),
                  refused);
  report::Report report = sweeps::report_of(result);
  report.headline = result.gate;
  const bool seen = read >= options.share * static_cast<double>(timed);
  report.tone = refused == 0 && seen ? report::Tone::good : report::Tone::bad;
  for (report::Section& section : report.sections) section.shown &= ~report::kOnTerminal;
  return options.outputs.publish(std::move(report), context, files_of(options.out, result));
}

void add_gate(Command& command) {
  auto options = std::make_shared<SweepGateOptions>();
  Command gate_command = command.command(
      "gate",
      "a sweep of a machine without cuobjdump: refuses points whose code is not what they time; exit 1 then",
      {"mmaudit sweep gate out/sweep.json code.sass --out gated",
       "mmaudit sweep gate h200/sweep.json h200/mmaudit.sass --out h200-gated"});
  gate_command.option("SWEEP FILE", options->sweep, "a sweep.json").required();
  gate_command.option("SASS FILE", options->sass, "text of cuobjdump -sass of the program that swept")
      .required();
  add_share(gate_command, options->share);
  gate_command.option("--out DIR", options->out, "folder for sweep.json, sweep.md, sweep.csv").required();
  options->outputs.add_to(gate_command);
  gate_command.runs([options](const Context& context) { return gate(*options, context); });
}

int gemm(const SweepGemmOptions& options, const Context& context) {
  sweeps::GemmOptions how;
  if (!options.sizes.empty()) how.sizes = options.sizes;
  if (options.quick) how.rule.most = how.rule.least;
  for (const int size : how.sizes)
    if (const std::string why = sweeps::why_no_gemm_size(size); !why.empty())
      throw InputError(fmt::format("--size: {}", why));
  std::vector<NamedFile> files = options.outputs.files();
  files.push_back({"--out", options.out});
  try_outputs(files, {});
  const device::DeviceInfo gpu = require_device();
  Progress progress(context.quiet, "timing, rounds",
                    how.sizes.size() * static_cast<std::size_t>(how.rule.most));
  progress.will_write(options.outputs.names());
  progress.will_write({options.out});
  how.keep_going = [&progress] {  // asked before every round; a size ends early when its spread is small
    progress.advance(1);
    return true;
  };
  sweeps::GemmResult result = sweeps::run_gemms(gpu, how);
  name_program(result.provenance);
  const std::string json = sweeps::gemm_json(result);
  std::vector<corpus::TextFile> out;
  if (!options.out.empty()) out.push_back({options.out, json});
  return options.outputs.publish(sweeps::gemm_report(json, options.out), context, std::move(out));
}

/// What --ceilings names, for the roofline of `result`.
std::vector<sweeps::SweepResult> ceilings_of(const SweepReportOptions& options,
                                             const sweeps::SweepResult& result) {
  std::vector<sweeps::SweepResult> ceilings;
  for (const std::string& file : options.ceilings) {
    ceilings.push_back(sweeps::from_json(text_of_file(file), file));
    sweeps::require_ceilings(result, ceilings.back(), file);
  }
  if (!ceilings.empty() && sweeps::roofline_table(sweeps::ceilings_of(result, ceilings)).rows.empty())
    refuse(
        "--ceilings: found no roofline, allowed: with {}, files that have rates of matrix instructions and "
        "reads of memory or of the second-level cache, of the whole GPU",
        options.sweep);
  return ceilings;
}

int report_on(const SweepReportOptions& options, const Context& context) {
  std::vector<NamedFile> inputs = {{"SWEEP", options.sweep}, {"--gemm", options.gemm}};
  for (const std::string& file : options.ceilings) inputs.push_back({"--ceilings", file});
  try_outputs(options.outputs.files(), inputs);
  const sweeps::SweepResult result = sweeps::from_json(text_of_file(options.sweep), options.sweep);
  report::Report report = sweeps::report_of(result, ceilings_of(options, result));
  sweeps::add_context(report, result, sweeps::accuracy_rows(result),
                      options.gemm.empty() ? "" : text_of_file(options.gemm), options.gemm);
  if (report.tone == report::Tone::bad) report.tone = report::Tone::note;  // the sweep itself said so
  return options.outputs.publish(std::move(report), context);
}

struct SweepCompareOptions {
  std::string before, after;
  double share = sweeps::kLeastShare;
  Outputs outputs;
};

int compare(const SweepCompareOptions& options, const Context& context) {
  const auto& [before, after, share, outputs] = options;
  try_outputs(outputs.files(), {{"OLD", before}, {"NEW", after}});
  const sweeps::SweepResult old = sweeps::from_json(text_of_file(before), before);
  const sweeps::Compared compared = sweeps::compare(old, sweeps::from_json(text_of_file(after), after));
  if (compared.points.empty())
    refuse("{}: found no point of {}, allowed: sweeps that share points", after, before);
  return outputs.publish(sweeps::report_of(compared, share), context);
}

void add_compare(Command& command) {
  auto options = std::make_shared<SweepCompareOptions>();
  Command compare_command = command.command(
      "compare",
      "two sweep.json: SAME, FAST, SLOW or AMBIGUOUS by their noise; exit 1 when something is slower",
      {"mmaudit sweep compare before/sweep.json after/sweep.json",
       "mmaudit sweep compare driver-570.json driver-580.json"});
  compare_command.option("OLD FILE", options->before, "a sweep.json").required();
  compare_command.option("NEW FILE", options->after, "another").required();
  add_share(compare_command, options->share);
  options->outputs.add_to(compare_command);
  compare_command.runs([options](const Context& context) { return compare(*options, context); });
}

struct SweepCensusOptions {
  std::vector<std::string> files;
  Outputs outputs;
};

/// Prints the lines of the table, in which other programs read it, unless another form is asked for.
int census(const SweepCensusOptions& options, const Context& context) {
  std::vector<NamedFile> inputs;
  for (const std::string& file : options.files) inputs.push_back({"SASS", file});
  try_outputs(options.outputs.files(), inputs);
  std::vector<sweeps::CensusRow> rows;
  for (const std::string& file : options.files) {
    const std::vector<sweeps::CensusRow> found = sweeps::census_of(text_of_file(file));
    if (found.empty()) refuse("{}: found no timed kernel, allowed: what cuobjdump -sass prints of one", file);
    rows.insert(rows.end(), found.begin(), found.end());
  }
  const std::string csv =
      options.files.empty() ? std::string(sweeps::shipped_census()) : sweeps::census_csv(rows);
  report::Report report{.title = "What the timed instructions become"};
  report.sections = {section_of(sweeps::census_table(csv))};
  std::vector<corpus::TextFile> lines;
  if (!options.outputs.printed()) lines.push_back({"-", csv});
  return options.outputs.publish(std::move(report), context, std::move(lines));
}

void add_census(Command& command) {
  auto options = std::make_shared<SweepCensusOptions>();
  Command census_command = command.command(
      "census",
      "what the timed instructions become on seven targets: a CSV table; with files, of their disassembly",
      {"mmaudit sweep census", "mmaudit sweep census timed.sass"});
  census_command.option("SASS FILE", options->files, "text of cuobjdump -sass, by device/sweeps/census.sh");
  options->outputs.add_to(census_command);
  census_command.runs([options](const Context& context) { return census(*options, context); });
}

void add_report(Command& command) {
  auto options = std::make_shared<SweepReportOptions>();
  Command report_command = command.command(
      "report",
      "a sweep.json as a report: findings, levels of memory, roofline, accuracy against speed; as a page "
      "also "
      "heat maps and curves",
      {"mmaudit sweep report out/sweep.json --html sweep.html",
       "mmaudit sweep report out/sweep.json --gemm gemm.json --html sweep.html",
       "mmaudit sweep report memory/sweep.json --ceilings matrix/sweep.json --html sweep.html"});
  report_command.option("SWEEP FILE", options->sweep, "a sweep.json").required();
  report_command.option("--gemm FILE", options->gemm,
                        "what sweep gemm --out wrote: its products beside the sweep");
  report_command
      .option("--ceilings FILE", options->ceilings,
              "another sweep of the same GPU: its best rates count in the roofline")
      .one_value_per_use();
  options->outputs.add_to(report_command);
  report_command.runs([options](const Context& context) { return report_on(*options, context); });
}

void add_products(Command& command) {
  auto options = std::make_shared<SweepGemmOptions>();
  Command gemm_command = command.command(
      "gemm", "whole products, bfloat16 to binary32: what each step of a kernel's design brings, and cuBLAS",
      {"mmaudit sweep gemm --quick", "mmaudit sweep gemm --size 2048,8192 --out gemm.json"});
  gemm_command.option("--size", options->sizes, "m, n and k, e.g. 2048,8192 (which is the default)")
      .comma_separated();
  gemm_command.option("--out FILE", options->out, "a file for the JSON");
  gemm_command.flag("--quick", options->quick, "21 runs of each kernel, whatever their spread");
  options->outputs.add_to(gemm_command);
  gemm_command.runs([options](const Context& context) { return gemm(*options, context); });
}

}  // namespace

void add_sweep(Command& app) {
  auto options = std::make_shared<SweepOptions>();
  Command command = app.command("sweep", std::string(bench_text("sweep")),
                                {"mmaudit sweep --list", "mmaudit sweep --inst m16n8k16 --quick",
                                 "mmaudit sweep -a ilp=[1:6:1] --out out"});
  command.option("--inst INST", options->instructions, "only those whose name contains one of these")
      .comma_separated();
  command
      .option("-a,--axis AXIS=VALUES", options->axes,
              "values of an axis, e.g. -a warps=[1,4,8] -a ilp=[1:6:1]")
      .one_value_per_use();
  command.flag("--quick", options->quick, "fewer values of every axis: seconds, not minutes");
  command
      .option("--energy-seconds", options->energy_seconds, "with -a scope=energy: time of a point, at most")
      .range(0.1, 3600.0);
  command.flag("--list", options->list, "print what can be swept, and the axes");
  command.section("Output");
  command.option("--out DIR", options->out, "folder for sweep.json, sweep.md, sweep.csv");
  command.option("--resume FILE", options->resume, "a sweep.json: its points are not measured again");
  command.flag("--no-files", options->no_files, "print only");
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return sweep(*options, context); });
  add_compare(command);
  add_census(command);
  add_gate(command);
  add_products(command);
  add_report(command);
}

}  // namespace mmaudit::cli
