// mmaudit audit: the main job. Verify, then the error levels of every data type, as console table and files.
#include <fmt/format.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <filesystem>
#include <memory>

#include "common.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/report/audit.hpp"
#include "mmaudit/report/render.hpp"
#include "mmaudit/version.hpp"
#include "verify.hpp"

namespace mmaudit::cli {
namespace {

struct Options {
  std::string architecture, corpus, out = "out";
  bool no_gpu = false, no_files = false, json = false;
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

void write_files(const Options& options, const report::AuditResult& result) {
  std::error_code error;
  const std::filesystem::path folder = options.out;
  std::filesystem::create_directories(folder, error);
  if (error) throw InputError(fmt::format("{}: cannot create: {}", options.out, error.message()));
  corpus::write_file_atomically(folder / "audit.html", std::string_view(report::to_html(result)));
  corpus::write_file_atomically(folder / "audit.md", std::string_view(report::to_markdown(result)));
  corpus::write_file_atomically(folder / "audit.json", std::string_view(report::to_json(result)));
}

int audit(const Options& options) {
  const Architecture& architecture = require_architecture(options.architecture);
  std::vector<device::DeviceInfo> gpus;
  if (!options.no_gpu) gpus = device::devices();
  const bool live = !gpus.empty() && find_architecture(gpus.front().compute_capability) == &architecture;

  VerifyReport verified = verify_corpus(corpus_folder(options.corpus), {}, &architecture);
  if (live) {
    const VerifyReport fresh =
        verify_live(gpus.front(), {}, static_cast<std::uint64_t>(options.dots), options.seed, false);
    verified.against += (verified.against.empty() ? "" : " and ") + fresh.against;
    verified.instructions.insert(verified.instructions.end(), fresh.instructions.begin(),
                                 fresh.instructions.end());
  }
  const report::Backend hardware = [&](const Instruction& instruction, const TileBatch& batch) {
    device::run(gpus.front(), instruction, batch);
  };
  report::AuditResult result =
      report::run_audit(architecture, live ? hardware : report::model_backend(architecture));
  result.provenance = {
      kVersion,
      kGitRevision,
      today(),
      live ? fmt::format("{} (driver {})", gpus.front().name, gpus.front().driver) : std::string("model"),
      std::string(architecture.name),
      "mmaudit audit --arch " + std::string(architecture.name)};
  result.verification = verification_of(verified);
  if (!options.no_files) write_files(options, result);
  if (options.json) {
    emit("-", report::to_json(result));
  } else {
    emit("-", report::to_console(result, isatty(STDOUT_FILENO) == 1));
    if (!options.no_files)
      emit("-", fmt::format("\nwritten: {0}/audit.html {0}/audit.md {0}/audit.json\n", options.out));
  }
  return verified.mismatches() == 0 ? kAllGood : kMismatch;
}

}  // namespace

void add_audit(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "audit", "The main job: verify the model, then report the error level of every data type");
  command->add_option("--arch", options->architecture, "architecture to report on")
      ->default_str(kDefaultArchitecture);
  add_model_option(*command);
  command->add_option("--corpus", options->corpus, "folder of recordings (default: the project's own)");
  command->add_option("--out", options->out, "folder for audit.html, audit.md, audit.json")
      ->capture_default_str();
  command->add_flag("--no-files", options->no_files, "print only");
  command->add_flag("--no-gpu", options->no_gpu, "the model alone, even where there is a GPU");
  command->add_option("--dots", options->dots, "on a GPU: fresh dot products an instruction")
      ->capture_default_str()
      ->check(CLI::Range(1.0, 1e15));
  command->add_option("--seed", options->seed, "on a GPU: seed of the fresh inputs")->capture_default_str();
  command->add_flag("--json", options->json, "print the JSON instead of the tables");
  command->callback([&action, options] { action = [options] { return audit(*options); }; });
}

}  // namespace mmaudit::cli
