// mmaudit audit: the main job. Verify, then the error levels of every data type, as console table and files.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "audit_tensors.hpp"
#include "command_line.hpp"
#include "common.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/report/audit.hpp"
#include "mmaudit/report/render.hpp"
#include "mmaudit/version.hpp"
#include "verify.hpp"

namespace mmaudit::cli {
namespace {

struct Options {
  std::string architecture, corpus, out = "out", json, on;
  bool no_gpu = false, no_files = false, no_study = false;
  double dots = 1e6;
  std::uint64_t seed = 20220601;
};

report::Verification verification_of(const VerifyReport& found) {
  report::Verification out;
  out.against = found.against;
  for (const VerifiedInstruction& one : found.instructions)
    out.rows.push_back(
        {name_of(one.result.instruction), one.result.dots(), one.result.mismatches(), one.evidence});
  return out;
}

void write_files(const Options& options, const report::Report& report) {
  std::error_code error;
  const std::filesystem::path folder = options.out;
  std::filesystem::create_directories(folder, error);
  if (error) throw InputError(fmt::format("{}: cannot create: {}", options.out, error.message()));
  for (const std::string_view format : {"html", "markdown", "json"})
    corpus::write_file_atomically(folder / fmt::format("audit.{}", report::find_renderer(format)->extension),
                                  std::string_view(report::rendered(report, format)));
}

int audit(const Options& options, const Context& context) {
  const Architecture& architecture = require_architecture(context, options.architecture);
  std::vector<device::DeviceInfo> gpus;
  if (on_hardware(options.no_gpu ? "model" : options.on)) gpus = device::devices();
  const bool live = !gpus.empty() && find_architecture(gpus.front().compute_capability) == &architecture;
  if (options.on == "hardware" && !live)
    throw InputError(fmt::format("--arch: found {}, allowed: that of {} with --on hardware",
                                 architecture.name, gpus.front().name));

  Progress replaying(context.quiet);
  VerifyReport verified = verify_corpus(corpus_folder(options.corpus), {}, replaying, &architecture);
  if (live) {
    const VerifyReport fresh = verify_live(gpus.front(), {}, static_cast<std::uint64_t>(options.dots),
                                           options.seed, false, replaying);
    verified.against += (verified.against.empty() ? "" : " and ") + fresh.against;
    verified.instructions.insert(verified.instructions.end(), fresh.instructions.begin(),
                                 fresh.instructions.end());
  }
  report::AuditResult result = report::run_audit(
      architecture, live ? device::hardware_backend(gpus.front()) : model_backend(architecture));
  result.provenance = {
      kVersion,
      kGitRevision,
      today(),
      live ? fmt::format("{} (driver {})", gpus.front().name, gpus.front().driver) : std::string("model"),
      std::string(architecture.name),
      context.command_line};
  add_model_file(context, result.provenance);
  result.verification = verification_of(verified);
  if (!options.no_study) {
    Progress progress(context.quiet, "whole products", 100);
    std::uint64_t shown = 0;
    report::GemmStudyOptions study;
    study.progress = [&](std::uint64_t done, std::uint64_t total) {
      progress.advance(100 * done / total - shown);
      shown = 100 * done / total;
    };
    result.gemm = report::study_gemm(architecture, study);
  }
  const report::Report report = report::report_of(result);
  if (!options.no_files) write_files(options, report);
  const bool print_json = options.json == "-";
  if (!options.json.empty() && !print_json) emit(options.json, report.json());
  if (print_json) {
    emit("-", report.json());
  } else {
    emit("-", report::rendered(report, "text", isatty(STDOUT_FILENO) == 1));
    if (!options.no_files)
      emit("-", fmt::format("\nwritten: {0}/audit.html {0}/audit.md {0}/audit.json\n", options.out));
  }
  return verified.mismatches() == 0 ? kAllGood : kMismatch;
}

}  // namespace

void add_audit(Command& app) {
  auto options = std::make_shared<Options>();
  auto tensors = std::make_shared<TensorAuditOptions>();
  Command command = app.command(
      "audit",
      "The main job: verify the model, then report the error level of every data type; with --a and --b the "
      "errors of that product",
      {"mmaudit audit", "mmaudit audit --a x.npy --b w.npy --dtype e4m3,bf16 --html audit.html"});
  command.option("--arch", tensors->architectures, "architecture to report on (with --a and --b several)")
      .comma_separated()
      .default_text(kDefaultArchitecture);
  add_model_option(command);
  command.option("--corpus", options->corpus, "folder of recordings (default: the project's own)");
  command.option("--out", options->out, "folder for audit.html, audit.md, audit.json");
  command.flag("--no-files", options->no_files, "print only");
  const Option on = command.option(
      "--on", options->on,
      "what computes profile and chains: model or hardware (default: hardware where there is a GPU)");
  command.flag("--no-gpu", options->no_gpu, "the same as --on model").excludes(on);
  command.option("--dots", options->dots, "on a GPU: fresh dot products per instruction").range(1.0, 1e15);
  command.flag("--no-study", options->no_study, "leave out the errors of whole products");
  const Option seed =
      command.option("--seed", options->seed, "seed of the fresh inputs on a GPU and of a sample");
  command.option("--json", options->json, "write the JSON; without a file print it instead").alone_means("-");
  add_tensor_options(command, *tensors);
  command.runs([options, tensors, command, seed](const Context& context) {
    if (seed.given()) tensors->seed = options->seed;
    tensors->json = options->json;
    if (command.any_given(kTensorGroup)) {
      if (options->on == "hardware")
        throw InputError(
            "--on: found hardware with tensors, allowed: model (whole products are the model's)");
      return audit_tensors(*tensors, context);
    }
    if (tensors->architectures.size() > 1)
      throw InputError(fmt::format("--arch: found {}, allowed: one (several with --a and --b)",
                                   tensors->architectures.size()));
    if (!tensors->architectures.empty()) options->architecture = tensors->architectures.front();
    return audit(*options, context);
  });
}

}  // namespace mmaudit::cli
