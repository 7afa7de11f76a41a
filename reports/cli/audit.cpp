// mmaudit audit: the main job. Verify, then the error levels of every data type, as console table and files.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "common.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/device/backends.hpp"
#include "mmaudit/report/audit.hpp"
#include "mmaudit/report/capture_audit.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/report/slices_audit.hpp"
#include "outputs.hpp"
#include "verify.hpp"

namespace mmaudit::cli {
namespace {

struct Options {
  std::string architecture, corpus, out = "out", on;
  bool no_gpu = false, no_files = false, no_study = false;
  double dots = 1e6;
  std::uint64_t seed = 20220601;
};

constexpr const char* kTensorGroup = "Your own tensors";  ///< of the options, in --help

struct TensorOptions {
  report::TensorAuditRequest request;
  std::vector<std::string> architectures;
  std::string capture, plan;
  double output_limit = 0;      ///< 0: none
  double element_limit = 0;     ///< 0: none
  double rtol = -1, atol = -1;  ///< below 0: not given
  bool b_transposed = false;
};

/// What only the program knows; the file of --model, where there is one, is among the inputs.
void name_origin(const Context& context, report::Origin& provenance) {
  name_program(provenance);
  provenance.command = context.command;
  if (context.model)
    provenance.inputs.push_back(
        {"model", context.model->file, context.model->bytes, context.model->checksum});
}

report::Verification verification_of(const VerifyReport& found) {
  report::Verification out;
  out.against = found.against;
  for (const VerifiedInstruction& one : found.instructions)
    out.rows.push_back({name_of(one.instruction), one.dots(), one.mismatches(), one.evidence});
  return out;
}

constexpr const char* kFormatsOfFolder[] = {"html", "markdown", "json"};

/// The files of the folder of `audit` without tensors.
std::vector<std::string> files_of(const Options& options) {
  std::vector<std::string> out;
  if (!options.no_files)
    for (const char* format : kFormatsOfFolder)
      out.push_back(fmt::format("{}/audit.{}", options.out, report::find_renderer(format)->extension));
  return out;
}

int audit(const Options& options, const Outputs& outputs, const Context& context) {
  const Architecture& architecture = require_architecture(context, options.architecture);
  const std::vector<std::string> files = files_of(options);
  if (!options.no_files) make_folder(options.out);
  std::vector<NamedFile> written = outputs.files();
  for (const std::string& file : files) written.push_back({"--out", file});
  try_outputs(written, {{"--model", context.model_file}});
  std::vector<device::DeviceInfo> gpus;
  if (on_hardware(options.no_gpu ? "model" : options.on)) gpus = device::devices();
  const bool live = !gpus.empty() && find_architecture(gpus.front().compute_capability) == &architecture;
  if (options.on == "hardware" && !live)
    refuse("--arch: found {}, allowed: the architecture of {} with --on hardware", architecture.name,
           gpus.front().name);

  Progress replaying(context.quiet);
  replaying.will_write(files);
  replaying.will_write(outputs.names());
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
  name_origin(context, result.provenance);
  result.provenance.backend =
      live ? fmt::format("{} (driver {})", gpus.front().name, gpus.front().driver) : std::string("model");
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
  std::vector<corpus::TextFile> folder;
  for (std::size_t i = 0; i < files.size(); ++i)
    folder.push_back({files[i], report::rendered(report, kFormatsOfFolder[i])});
  const int code = outputs.publish(report, context, std::move(folder));
  if (!options.no_files && !outputs.printed())
    print(fmt::format("\nwritten: {0}/audit.html {0}/audit.md {0}/audit.json\n", options.out));
  return code;
}

/// --capture: every product of a network, and the layer recipes that --plan asks for.
int audit_capture(const TensorOptions& options, const Outputs& outputs,
                  const report::TensorAuditProgress& progress, const Context& context) {
  const report::TensorAuditRequest& request = options.request;
  if (!request.a.empty() || !request.b.empty() || !request.c.empty() || request.b_transposed)
    refuse("--capture: found with --a, --b, --c or --b-transposed, allowed: without them");
  if (request.tolerances) refuse("--rtol, --atol: found with --capture, allowed: with --a and --b");
  const bool of_output = options.output_limit > 0;
  if (!options.plan.empty() && request.limit <= 0 && !of_output)
    refuse("--plan: found without --max-rel-fro and --max-output-error, allowed: with one of them");
  report::CaptureAudit audit = report::audit_capture(
      request, options.capture, progress, of_output ? std::optional(options.output_limit) : std::nullopt);
  name_origin(context, audit.provenance);
  std::vector<corpus::TextFile> more;
  if (!options.plan.empty()) more.push_back({options.plan, report::layer_recipes_of(audit)});
  return outputs.publish(report::report_of(audit), context, std::move(more));
}

/// f64 or f32 of --dtype: schemes of slices are studied, docs/slices.md; none: types are.
Format sliced_format(const TensorOptions& options) {
  const report::TensorAuditRequest& request = options.request;
  const auto is = [](const std::string& name) { return name == "f64" || name == "f32"; };
  if (std::none_of(request.dtypes.begin(), request.dtypes.end(), is)) return Format::none;
  const std::string& name = *std::find_if(request.dtypes.begin(), request.dtypes.end(), is);
  if (request.dtypes.size() != 1)
    refuse("--dtype: found {} of {}, allowed: {} alone", name, request.dtypes.size(), name);
  const std::pair<const char*, bool> others[] = {{"--c", !request.c.empty()},
                                                 {"--scale", !request.scales.empty()},
                                                 {"--policy", !request.policies.empty()},
                                                 {"--d-format", !request.output.empty()},
                                                 {"--unit", !request.unit.empty()},
                                                 {"--max-row-error", request.row_limit > 0},
                                                 {"--rtol, --atol", request.tolerances.has_value()},
                                                 {"--plan", !options.plan.empty()},
                                                 {"--capture", !options.capture.empty()},
                                                 {"several of --arch", request.architectures.size() > 1}};
  for (const auto& [option, given] : others)
    if (given) refuse("{}: found with --dtype {}, allowed: without it", option, name);
  return name == "f64" ? Format::f64 : Format::f32;
}

int audit_tensors(TensorOptions& options, const Outputs& outputs, const Context& context) {
  const std::pair<const char*, double> limits[] = {{"--max-rel-fro", options.request.limit},
                                                   {"--max-element-error", options.element_limit},
                                                   {"--max-row-error", options.request.row_limit},
                                                   {"--max-output-error", options.output_limit}};
  for (const auto& [option, limit] : limits)
    if (limit >= 1)
      refuse("{}: found {}, allowed: below 1, the error of a D of zeros; 5% is 0.05", option, limit);
  if (options.request.row_limit > 0 && options.request.limit <= 0)
    refuse("--max-row-error: found without --max-rel-fro, allowed: with it");
  if (options.rtol >= 0 || options.atol >= 0)
    options.request.tolerances = report::Tolerances{std::max(options.rtol, 0.0), std::max(options.atol, 0.0)};
  const std::vector<std::string> one = {""};
  for (const std::string& name : options.architectures.empty() ? one : options.architectures)
    options.request.architectures.push_back(&require_architecture(context, name));
  const report::TensorAuditRequest& request = options.request;
  std::vector<NamedFile> written = outputs.files();
  written.push_back({"--plan", options.plan});
  try_outputs(written, {{"--a", request.a},
                        {"--b", request.b},
                        {"--c", request.c},
                        {"--capture", options.capture},
                        {"--model", context.model_file}});
  Progress progress(context.quiet);
  progress.will_write(outputs.names());
  const report::TensorAuditProgress shown = {
      [&](std::string_view what, std::uint64_t total) { progress.begin(std::string(what), total); },
      [&](std::uint64_t steps) { progress.advance(steps); }};
  if (const Format number = sliced_format(options); number != Format::none) {
    report::SliceAudit sliced = report::audit_slices(options.request, number, options.element_limit);
    name_origin(context, sliced.provenance);
    return outputs.publish(report::report_of(sliced), context);
  }
  if (options.element_limit > 0)
    refuse("--max-element-error: found without --dtype f64 or f32, allowed: with one of them");
  if (!options.capture.empty()) return audit_capture(options, outputs, shown, context);
  if (!options.plan.empty()) refuse("--plan: found without --capture, allowed: with it");
  if (options.output_limit > 0) refuse("--max-output-error: found without --capture, allowed: with it");
  report::GemmAudit audit = report::audit_tensors(options.request, shown);
  name_origin(context, audit.provenance);
  return outputs.publish(report::report_of(audit), context);
}

/// Returns --b-transposed, which may be left out.
Option add_tensor_options(Command& command, TensorOptions& options) {
  const auto add = [&](const char* name, auto& value, const std::string& text) {
    return command.option(name, value, text).group(kTensorGroup);
  };
  report::TensorAuditRequest& request = options.request;
  add("--a FILE", request.a,
      "A (M, K), or (..., K): .npy[:format] or .safetensors[:tensor]; F64, F32, BF16, F16 or FP8");
  add("--b FILE", request.b, "B (K, N)");
  add("--c FILE", request.c, "C (M, N), added in the epilogue");
  add("--capture FILE", options.capture,
      "instead of A and B: every product of a network, as mmaudit.torch.capture writes them");
  add("--plan FILE", options.plan,
      "with --capture: write which combination each layer takes, for mmaudit.torch.emulate: the cheapest "
      "within "
      "--max-rel-fro, or the cheapest of all layers together whose estimate is within --max-output-error; - "
      "prints it");
  Option transposed = command.flag("--b-transposed,!--no-b-transposed", options.b_transposed,
                                   "the file of B is (N, K), or is not; a square B needs one of them");
  transposed.group(kTensorGroup).once();
  add("--dtype DTYPE", request.dtypes,
      "of " + with_commas(names_of(gemm_dtypes())) +
          "; default: e4m3, e5m2, bf16, f16, tf32, and e4m3fnuz, e5m2fnuz, mxf8, mxf6, mxf4, nvf4 where an "
          "architecture has them; f64 or f32: how many slices of smaller formats such a product needs")
      .comma_separated();
  add("--dtype-a DTYPE", request.dtype_a,
      "of A, with --dtype-b, where the two differ: e4m3 and e5m2, e4m3fnuz and e5m2fnuz, mxf8 and mxf8-e5m2");
  add("--dtype-b DTYPE", request.dtype_b, "of B");
  add("--scale SCALE", request.scales,
      fmt::format("of {} (mx is both of the last); default: what is usual for the dtype",
                  fmt::join(scaling_names(), ", ")))
      .comma_separated();
  add("--policy POLICY", request.policies,
      "of plain, promote:P, split-k:S, half; default: plain and promote:128")
      .comma_separated();
  add("--d-format f32|f16|bf16", request.output, "type of D; default: what is usual for the dtype");
  add("--unit mma|wgmma|tcgen05|mfma", request.unit, "default: the newest that the architecture has");
  add("--max-rel-fro", request.limit, "largest relative Frobenius error that passes; 5% is 0.05")
      .default_text("")
      .positive()
      .or_percent();
  add("--max-element-error", options.element_limit,
      "with --dtype f64 or f32: largest |D - exact| of an element over its sum of all |a b| that passes")
      .default_text("")
      .positive();
  add("--max-row-error", request.row_limit,
      "with --max-rel-fro: largest relative error of a row or of a column of D that passes")
      .default_text("")
      .positive()
      .or_percent();
  constexpr double kMost = 1e300;
  add("--rtol", options.rtol,
      "says whether a test |D - exact| <= atol + rtol |exact| of every element would pass, and where not; "
      "--atol alone: 0")
      .default_text("")
      .range(0.0, kMost)
      .or_percent();
  add("--atol", options.atol, "the same; --rtol alone: 0").default_text("").range(0.0, kMost);
  command
      .flag("--allow-missing", request.allow_missing,
            "a dtype, scale or policy that a GPU has no combination with is left out; else exit code 1")
      .group(kTensorGroup);
  add("--max-output-error", options.output_limit,
      "with --capture: largest relative error of the network's output, by an estimate from the file's gains; "
      "mmaudit.torch.tighten measures it")
      .default_text("")
      .positive()
      .or_percent();
  add("--sample", request.sample, "elements of D: auto (65536 at most), all, or a number");
  add("--threads", request.threads, "threads; 0: one per core; the result does not depend on it")
      .range(0, 4096);
  return transposed;
}

}  // namespace

void add_audit(Command& app) {
  auto options = std::make_shared<Options>();
  auto tensors = std::make_shared<TensorOptions>();
  auto outputs = std::make_shared<Outputs>();
  Command command = app.command(
      "audit",
      "The main job: verify the model, then report the error level of every data type; with --a and --b the "
      "errors of that product",
      {"mmaudit audit",
       "mmaudit audit --a x.npy --b w.npy --arch b200 --dtype mxf8,nvf4 --max-rel-fro 5% --html audit.html",
       "mmaudit audit --a x.npy --b w.npy --dtype f64 --max-rel-fro 1e-14 --html slices.html"});
  command
      .option("--arch ARCH", tensors->architectures, "architecture to report on (with --a and --b several)")
      .comma_separated()
      .default_text(kDefaultArchitectureText);
  add_model_option(command);
  add_corpus_option(command, options->corpus);
  command.option("--out DIR", options->out, "folder for audit.html, audit.md, audit.json");
  command.flag("--no-files", options->no_files, "print only");
  const Option on =
      command.option("--on model|hardware", options->on,
                     "what computes profile and chains (default: hardware where there is a GPU)");
  command.flag("--no-gpu", options->no_gpu, "the same as --on model").excludes(on);
  command.option("--dots", options->dots, "on a GPU: fresh dot products per instruction").range(1.0, 1e15);
  command.flag("--no-study", options->no_study, "leave out the errors of whole products");
  const Option seed =
      command.option("--seed", options->seed,
                     "seed of the fresh inputs on a GPU; of a sample of tensors, there 1 by default");
  const Option transposed = add_tensor_options(command, *tensors);
  outputs->add_to(command);
  command.runs([options, tensors, outputs, command, seed, transposed](const Context& context) {
    if (seed.given()) tensors->request.seed = options->seed;
    if (transposed.given()) tensors->request.b_transposed = tensors->b_transposed;
    if (const std::string first = command.given_of(kTensorGroup); !first.empty()) {
      const report::TensorAuditRequest& request = tensors->request;
      if (request.a.empty() && request.b.empty() && tensors->capture.empty())
        refuse("{}: found without tensors, allowed: with --a and --b, or --capture", first);
      if (options->on == "hardware")
        refuse("--on: found hardware with tensors, allowed: model (whole products are the model's)");
      const std::pair<const char*, bool> others[] = {{"--corpus", !options->corpus.empty()},
                                                     {"--out", options->out != Options{}.out},
                                                     {"--no-files", options->no_files},
                                                     {"--no-study", options->no_study}};
      for (const auto& [option, given] : others)
        if (given) refuse("{}: found with tensors, allowed: without them", option);
      return audit_tensors(*tensors, *outputs, context);
    }
    if (tensors->architectures.size() > 1)
      refuse("--arch: found {}, allowed: one (several with --a and --b)", tensors->architectures.size());
    if (!tensors->architectures.empty()) options->architecture = tensors->architectures.front();
    return audit(*options, *outputs, context);
  });
}

}  // namespace mmaudit::cli
