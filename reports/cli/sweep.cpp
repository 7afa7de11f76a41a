// mmaudit sweep: how fast the instructions are on the GPU of this machine.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <tuple>

#include "common.hpp"
#include "interruptible.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/sweeps/gemm.hpp"
#include "mmaudit/sweeps/sweep.hpp"
#include "sweeps/accuracy.hpp"
#include "sweeps/census.hpp"
#include "sweeps/compare.hpp"
#include "sweeps/memory_report.hpp"
#include "sweeps/published.hpp"
#include "sweeps/report.hpp"
#include "sweeps/roofline.hpp"

namespace mmaudit::cli {
namespace {

struct SweepGemmOptions {
  std::vector<int> sizes;
  std::string out;
  bool quick = false, json = false;
};

struct SweepReportOptions {
  std::string sweep, gemm, html, markdown;
  std::vector<std::string> ceilings;
};

struct SweepOptions {
  std::vector<std::string> instructions, axes;
  std::string out = "out", resume;
  double energy_seconds = sweeps::RunRule{}.energy_seconds;
  bool quick = false, list = false, json = false, no_files = false;
};

std::string listing() {
  std::string text;
  for (const sweeps::Benchmark& benchmark : sweeps::benchmarks()) {
    std::string axes;
    for (const sweeps::AxisSpec& axis : benchmark.axes) axes += fmt::format(" {}", axis.name);
    text += fmt::format("{:42}{}\n", benchmark.name, axes);
  }
  text += "\naxes (-a NAME=VALUE, NAME=[a,b,c], NAME=[start:end:step], NAME[pow2]=...):\n";
  for (const sweeps::AxisSpec& axis : sweeps::axis_specs())
    text += fmt::format("  {:6} {:60} usual {}, quick {}\n", axis.name, axis.meaning, axis.usual, axis.quick);
  return text;
}

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

void write_sweep(const std::filesystem::path& folder, const sweeps::SweepResult& result) {
  corpus::write_file_atomically(folder / "sweep.json", std::string_view(sweeps::to_json(result)));
  corpus::write_file_atomically(folder / "sweep.md",
                                std::string_view(report::rendered(sweeps::report_of(result), "markdown")));
  corpus::write_file_atomically(folder / "sweep.csv", std::string_view(sweeps::to_csv(result)));
}

int sweep(const SweepOptions& options, const Context& context) {
  if (options.list) {
    emit("-", listing());
    return kAllGood;
  }
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
  const auto save = [&] {
    if (!options.no_files)
      corpus::write_file_atomically(folder / "sweep.json", std::string_view(sweeps::to_json(result)));
  };
  const auto started = std::chrono::steady_clock::now();
  {
    const Interruptible interruptible;
    Progress progress(context.quiet, "sweeping", how.benchmarks.size());
    if (!options.no_files)
      progress.will_write(
          {options.out + "/sweep.json", options.out + "/sweep.md", options.out + "/sweep.csv"});
    sweeps::run_sweep(*target, how,
                      {.keep_going = [] { return !Interruptible::stopped(); },
                       .progress = [&](const std::string& name, std::size_t done,
                                       std::size_t) { progress.advance(done == 0 ? 0 : 1, name); },
                       .save = save},
                      result);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const report::Report report = sweeps::report_of(result);
  if (!options.no_files) write_sweep(folder, result);
  if (options.json) {
    emit("-", sweeps::to_json(result));
  } else {
    emit("-", report::rendered(report, "text"));
    emit("-", fmt::format("\n{} points in {:.1f} s\n", result.points.size(), seconds));
    if (!options.no_files)
      emit("-", fmt::format("written: {0}/sweep.json {0}/sweep.md {0}/sweep.csv\n", options.out));
  }
  if (result.interrupted) return kInterrupted;
  return result.wrong() == 0 ? kAllGood : kMismatch;
}

struct SweepGateOptions {
  std::string sweep, sass, out;
};

int gate(const SweepGateOptions& options) {
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
  const int read = sweeps::apply_gate(result, code);
  if (read == 0)
    refuse("{}: found no code of a measured point of {}, allowed: cuobjdump -sass of the program that swept",
           options.sass, options.sweep);
  make_folder(options.out);
  std::vector<NamedFile> outputs;
  for (const char* name : {"sweep.json", "sweep.md", "sweep.csv"})
    outputs.push_back({"--out", fmt::format("{}/{}", options.out, name)});
  try_outputs(outputs, {{"SWEEP", options.sweep}, {"SASS", options.sass}});
  result.gate =
      fmt::format("the code of {} timed kernels was read afterwards, for {} points: {} were refused",
                  code.size(), read, before - measured());
  write_sweep(options.out, result);
  emit("-",
       fmt::format("{0}\nwritten: {1}/sweep.json {1}/sweep.md {1}/sweep.csv\n", result.gate, options.out));
  return before == measured() ? kAllGood : kMismatch;
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
  gate_command.option("--out DIR", options->out, "folder for sweep.json, sweep.md, sweep.csv").required();
  gate_command.runs([options](const Context&) { return gate(*options); });
}

int gemm(const SweepGemmOptions& options, const Context& context) {
  sweeps::GemmOptions how;
  if (!options.sizes.empty()) how.sizes = options.sizes;
  if (options.quick) how.rule.most = how.rule.least;
  for (const int size : how.sizes)
    if (const std::string why = sweeps::why_no_gemm_size(size); !why.empty())
      throw InputError(fmt::format("--size: {}", why));
  const device::DeviceInfo gpu = require_device();
  Progress progress(context.quiet, "timing, rounds",
                    how.sizes.size() * static_cast<std::size_t>(how.rule.most));
  progress.will_write({options.out});
  how.keep_going = [&progress] {  // asked before every round; a size ends early when its spread is small
    progress.advance(1);
    return true;
  };
  sweeps::GemmResult result = sweeps::run_gemms(gpu, how);
  name_program(result.provenance);
  const std::string json = sweeps::gemm_json(result);
  if (!options.out.empty()) corpus::write_file_atomically(options.out, std::string_view(json));
  emit("-", options.json ? json : report::rendered(sweeps::gemm_report(json, options.out), "text"));
  return result.wrong() == 0 ? kAllGood : kMismatch;
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

int report_on(const SweepReportOptions& options) {
  std::vector<NamedFile> inputs = {{"SWEEP", options.sweep}, {"--gemm", options.gemm}};
  for (const std::string& file : options.ceilings) inputs.push_back({"--ceilings", file});
  try_outputs({{"--html", options.html}, {"--md", options.markdown}}, inputs);
  const sweeps::SweepResult result = sweeps::from_json(text_of_file(options.sweep), options.sweep);
  const std::vector<sweeps::SweepResult> ceilings = ceilings_of(options, result);
  const std::vector<sweeps::AccuracyRow> accuracy = sweeps::accuracy_rows(result);
  const std::string gemm = options.gemm.empty() ? "" : text_of_file(options.gemm);
  if (!gemm.empty() && options.html.empty())
    refuse("--gemm: found without --html, allowed: with it: it is for the page");
  if (!options.html.empty()) {
    report::Report report = sweeps::report_of(result, ceilings);
    sweeps::add_context(report, result, accuracy, gemm, options.gemm);
    corpus::write_file_atomically(options.html, std::string_view(report::rendered(report, "html")));
  }
  if (!options.markdown.empty())
    corpus::write_file_atomically(options.markdown, std::string_view(report::rendered(
                                                        sweeps::report_of(result, ceilings), "markdown")));
  std::string text;
  report::Report memory{.sections = sweeps::memory_sections(result)};
  if (report::Section roofline = sweeps::roofline_section(result, ceilings);
      !roofline.tables.front().rows.empty())
    memory.sections.push_back(std::move(roofline));
  if (!memory.sections.empty()) text = report::rendered(memory, "text") + "\n";
  if (!accuracy.empty())
    text +=
        fmt::format("{}\n\n{}", sweeps::kAccuracyTitle, report::to_text(sweeps::accuracy_table(accuracy)));
  emit("-", text.empty() ? "no rate and no level of memory: --html writes the other tables\n" : text);
  for (const std::string& file : {options.html, options.markdown})
    if (!file.empty()) emit("-", fmt::format("\nwritten: {}\n", file));
  return kAllGood;
}

int compare(const std::string& before, const std::string& after) {
  const sweeps::SweepResult old = sweeps::from_json(text_of_file(before), before);
  const sweeps::Compared compared = sweeps::compare(old, sweeps::from_json(text_of_file(after), after));
  if (compared.points.empty())
    refuse("{}: found no point of {}, allowed: sweeps that share points", after, before);
  emit("-", sweeps::comparison_text(compared));
  return compared.count(sweeps::Change::slow) == 0 ? kAllGood : kMismatch;
}

void add_compare(Command& command) {
  auto files = std::make_shared<std::pair<std::string, std::string>>();
  Command compare_command = command.command(
      "compare",
      "two sweep.json: SAME, FAST, SLOW or AMBIGUOUS by their noise; exit 1 when something is slower",
      {"mmaudit sweep compare before/sweep.json after/sweep.json",
       "mmaudit sweep compare driver-570.json driver-580.json"});
  compare_command.option("OLD FILE", files->first, "a sweep.json").required();
  compare_command.option("NEW FILE", files->second, "another").required();
  compare_command.runs([files](const Context&) { return compare(files->first, files->second); });
}

int census(const std::vector<std::string>& files) {
  if (files.empty()) {
    emit("-", std::string(sweeps::shipped_census()));
    return kAllGood;
  }
  std::vector<sweeps::CensusRow> rows;
  for (const std::string& file : files) {
    const std::vector<sweeps::CensusRow> found = sweeps::census_of(text_of_file(file));
    if (found.empty()) refuse("{}: found no timed kernel, allowed: what cuobjdump -sass prints of one", file);
    rows.insert(rows.end(), found.begin(), found.end());
  }
  emit("-", sweeps::census_csv(rows));
  return kAllGood;
}

void add_census(Command& command) {
  auto files = std::make_shared<std::vector<std::string>>();
  Command census_command = command.command(
      "census",
      "what the timed instructions become on seven targets: a CSV table; with files, of their disassembly",
      {"mmaudit sweep census", "mmaudit sweep census timed.sass"});
  census_command.option("SASS FILE", *files, "text of cuobjdump -sass, by device/sweeps/census.sh");
  census_command.runs([files](const Context&) { return census(*files); });
}

void add_report(Command& command) {
  auto options = std::make_shared<SweepReportOptions>();
  Command report_command = command.command(
      "report",
      "a sweep.json as a page: levels of memory, roofline, accuracy against speed, heat maps, "
      "curves; prints the first three",
      {"mmaudit sweep report out/sweep.json --html sweep.html",
       "mmaudit sweep report out/sweep.json --gemm gemm.json --html sweep.html",
       "mmaudit sweep report memory/sweep.json --ceilings matrix/sweep.json --html sweep.html"});
  report_command.option("SWEEP FILE", options->sweep, "a sweep.json").required();
  report_command.option("--gemm FILE", options->gemm, "what sweep gemm --out wrote, for the page");
  report_command
      .option("--ceilings FILE", options->ceilings,
              "another sweep of the same GPU: its best rates count in the roofline")
      .one_value_per_use();
  report_command.option("--html FILE", options->html, "a file for the page");
  report_command.option("--md FILE", options->markdown, "a file for the tables, as sweep.md");
  report_command.runs([options](const Context&) { return report_on(*options); });
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
  gemm_command.flag("--json", options->json, "print the JSON instead of the table");
  gemm_command.runs([options](const Context& context) { return gemm(*options, context); });
}

}  // namespace

void add_sweep(Command& app) {
  auto options = std::make_shared<SweepOptions>();
  Command command =
      app.command("sweep", "How fast: latency and throughput of every instruction on the GPU of this machine",
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
  command.flag("--json", options->json, "print the JSON instead of the tables");
  command.runs([options](const Context& context) { return sweep(*options, context); });
  add_compare(command);
  add_census(command);
  add_gate(command);
  add_products(command);
  add_report(command);
}

}  // namespace mmaudit::cli
