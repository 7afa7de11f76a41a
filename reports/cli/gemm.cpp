// mmaudit gemm: the bits of a library's products.
#include <fmt/format.h>

#include <future>
#include <memory>

#include "common.hpp"
#include "gemm/compare.hpp"
#include "gemm/decisions.hpp"
#include "gemm_files.hpp"
#include "interruptible.hpp"
#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/corpus/operand.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/printable.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct ProblemOptions {
  std::string file, out_dir, samples, compared, like;
  Outputs outputs;
  std::vector<std::string> types;
  std::uint64_t random = 0, seed = 1;
  bool verbose = false, families = false;
  RandomForms forms;
};

std::vector<GemmProblem> problems_of(const ProblemOptions& options) {
  if (options.file.empty() == (options.random == 0))
    refuse("--problems, --random: found {}, allowed: one of them", options.file.empty() ? "neither" : "both");
  for (const auto& [option, asked] :
       {std::pair{"--batches", options.forms.batches}, {"--epilogues", options.forms.epilogues}})
    if (asked && options.random == 0) refuse("{}: found it with --problems, allowed: with --random", option);
  if (!options.file.empty()) return problems_of_file(options.file);
  const std::vector<std::string> usual = {"f16", "bf16", "tf32", "e4m3", "e4m3-fast", "s8"};
  return random_problems(options.seed, options.random, options.types.empty() ? usual : options.types,
                         options.forms);
}

bool is_file(const std::string& path) { return !path.empty() && path != "-"; }

corpus::Tensor tensor_of(const GemmProblem& problem, const std::vector<std::byte>& d) {
  const FormatSpec format = spec_of(output_of(problem));
  corpus::Tensor out =
      corpus::result_tensor(format, {problem.batch, problem.m, problem.n}, corpus::Operand{}, std::nullopt);
  if (problem.batch == 1) out.shape = {problem.m, problem.n};
  out.data = d;
  return out;
}

/// Makes the operands of the next problem while the library and the model work on this one.
class InputsAhead {
 public:
  InputsAhead(const std::vector<GemmProblem>& problems, std::uint64_t seed)
      : problems_(problems), seed_(seed) {
    start(0);
  }
  GemmInputs take(std::size_t index) {
    GemmInputs out = next_.get();
    start(index + 1);
    return out;
  }

 private:
  void start(std::size_t index) {
    if (index < problems_.size())
      next_ = std::async(std::launch::async,
                         [this, index] { return inputs_of(problems_[index], seed_ + index); });
  }
  const std::vector<GemmProblem>& problems_;
  std::uint64_t seed_;
  std::future<GemmInputs> next_;
};

int compare(const ProblemOptions& options, const Context& context, bool bits) {
  try_outputs(options.outputs.files({{"--samples", options.samples}}), {{"--problems", options.file}});
  const std::vector<GemmProblem> problems = problems_of(options);
  if (!options.out_dir.empty()) make_folder(options.out_dir);
  const device::DeviceInfo gpu = require_device();
  device::LibrarySession session(gpu);
  if (const std::string why = device::why_no_kernel_names(); !why.empty())
    throw EnvironmentError("names of kernels, which plans need: " + why);
  GemmComparison found{{},       problems.size(), options.seed,
                       bits,     options.verbose, device::library_version(),
                       gpu.name, false,           why_unproven(device::library_version(), options.compared)};
  std::string samples;
  const auto save = [&](std::size_t index, const GemmOutcome& outcome, const GemmResults& d) {
    if (!outcome.ran) return;
    if (!options.samples.empty())
      samples += line_of(sample_of(outcome.problem, outcome.call, options.seed + index, d.library));
    if (options.out_dir.empty()) return;
    const std::string base = fmt::format("{}/{}_", options.out_dir, index + 1);
    corpus::save_tensor(base + "library.npy", tensor_of(outcome.problem, d.library));
    if (!d.predicted.empty())
      corpus::save_tensor(base + "predicted.npy", tensor_of(outcome.problem, d.predicted));
  };
  const Interruptible interruptible;
  {
    Progress progress(context.quiet, "gemm", problems.size());
    progress.will_write(options.outputs.names());
    progress.will_write({options.samples, options.out_dir});
    InputsAhead ahead(problems, options.seed);
    CompareRun run;
    run.count = problems.size();
    run.stopped = Interruptible::stopped;
    run.compare = [&](std::size_t i) {
      GemmResults d;
      GemmOutcome outcome = compare_problem(session, gpu, problems[i], ahead.take(i), bits, d);
      save(i, outcome, d);
      progress.advance(1);
      return outcome;
    };
    run.keep = [&](const std::vector<GemmOutcome>& so_far) {
      found.outcomes = so_far;
      options.outputs.keep(report_of(found), context);
      if (is_file(options.samples)) emit(options.samples, samples);
    };
    found.outcomes = compare_all(run);
  }
  if (!options.samples.empty()) emit(options.samples, samples);
  const int code = options.outputs.publish(report_of(found), context);
  return found.outcomes.size() == problems.size() ? code : kInterrupted;
}

/// Plans of recorded decisions, without a GPU.
int plans_like(const ProblemOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {{"--problems", options.file}});
  const std::vector<GemmProblem> problems = problems_of(options);
  const corpus::DecisionFile file = decisions_like(options.like);
  GemmComparison found{{},           problems.size(), options.seed, false, options.verbose,
                       file.library, file.gpu,        true};
  for (const GemmProblem& problem : problems) {
    DecidedPlan decided = plan_decided(file, problem);
    GemmOutcome outcome;
    outcome.problem = problem;
    outcome.call = std::move(decided.call);
    outcome.plan = decided.plan;
    outcome.why = std::move(decided.why);
    outcome.source = std::move(decided.source);
    outcome.ran = true;
    found.outcomes.push_back(std::move(outcome));
  }
  return options.outputs.publish(report_of(found), context);
}

void add_problem_options(Command& command, ProblemOptions& options) {
  command.section("Which products");
  command.option("--problems FILE", options.file,
                 "one JSON object per line (docs/gemm.md), or a log of CUBLASLT_LOG_LEVEL=5");
  command.option("--random COUNT", options.random, "so many random products per type instead").range(0, 1e6);
  command
      .option("--type NAMES", options.types,
              "types of --random: f16, bf16, tf32, f32, e4m3, e4m3-fast, e5m2-fast, s8, f64")
      .comma_separated();
  command.flag("--batches", options.forms.batches, "each of the random products is a batch of 2 to 64");
  command.flag("--epilogues", options.forms.epilogues,
               "the random products have random alpha, beta, scales of FP8, bias and activation");
  command.option("--seed", options.seed, "of --random and of the operands");
  command.section("Output");
  command.flag("--verbose", options.verbose, "a line for every product");
  options.outputs.add_to(command);
}

struct PredictOptions {
  std::string problem, call, plan, like, a, b, c, bias, out, architecture;
  Outputs outputs;
};

/// The plan, and in `source` how it is known where it is of a recorded decision.
GemmPlan plan_for(const PredictOptions& options, const GemmProblem& problem, const Architecture& architecture,
                  std::string& source) {
  const int given =
      (options.plan.empty() ? 0 : 1) + (options.call.empty() ? 0 : 1) + (options.like.empty() ? 0 : 1);
  if (given != 1) refuse("--plan, --call, --like: found {} of them, allowed: one", given);
  if (!options.like.empty()) {
    const corpus::DecisionFile file = decisions_like(options.like);
    if (file.architecture != architecture.name)
      refuse("--arch: found {}, allowed: {}, which {} was recorded on", architecture.name, file.architecture,
             options.like);
    const DecidedPlan decided = plan_decided(file, problem);
    if (!decided.plan)
      refuse("--like: found {}, allowed: a product with a known plan", printable(decided.why, 200));
    source = fmt::format("; {} on {}, cuBLAS {}", decided.source, file.gpu, file.library);
    return *decided.plan;
  }
  const auto json_of_file = [](const std::string& file) {
    return corpus::parse_bounded(text_of_file(file), file, "a JSON object");
  };
  if (!options.plan.empty()) return corpus::gemm_plan_of(json_of_file(options.plan), options.plan);
  std::string why;
  const auto plan =
      plan_of(problem, corpus::library_call_of(json_of_file(options.call), options.call), &why, architecture);
  if (!plan) refuse("{}: found {}, allowed: a call with a known plan", options.call, why);
  return *plan;
}

int predict_file(const PredictOptions& options, const Context& context) {
  try_outputs(options.outputs.files({{"--out", options.out}}), {{"--problem", options.problem},
                                                                {"--call", options.call},
                                                                {"--plan", options.plan},
                                                                {"--a", options.a},
                                                                {"--b", options.b},
                                                                {"--c", options.c},
                                                                {"--bias", options.bias},
                                                                {"--model", context.model_file}});
  const Architecture& architecture = require_architecture(context, options.architecture);
  const GemmProblem problem = only_problem(options.problem);
  std::string source;
  const GemmPlan plan = plan_for(options, problem, architecture, source);
  const FormatSpec of_a = spec_of(problem.type), of_b = spec_of(b_type_of(problem));
  const corpus::Operand a =
      corpus::load_operand("--a", options.a, of_a, {matrices_of_a(problem), problem.m, problem.k}, nullptr);
  const corpus::Operand b =
      corpus::load_operand("--b", options.b, of_b, {matrices_of_b(problem), problem.k, problem.n}, nullptr);
  const auto addend = [](const char* option, const std::string& file, const char* field, bool reads,
                         Format format, const corpus::MatrixShape& shape) {
    if (reads == file.empty())
      refuse("{}: found {}, allowed: {} where the problem has {}", option, file.empty() ? "none" : file,
             reads ? "a file" : "none", field);
    return reads ? std::optional(corpus::load_operand(option, file, spec_of(format), shape, nullptr))
                 : std::nullopt;
  };
  const auto c = addend("--c", options.c, "beta", problem.beta != 0, plan.output,
                        {problem.batch, problem.m, problem.n}),
             bias = addend("--bias", options.bias, "bias", problem.bias, bias_type_of(problem),
                           {1, 1, problem.n});
  const std::vector<std::byte> d =
      predicted(architecture, problem, plan,
                {a.data(), b.data(), c ? c->data() : nullptr, bias ? bias->data() : nullptr}, nullptr);
  corpus::save_tensor(options.out, tensor_of(problem, d));
  report::Report found{.title = "D of one product by its plan"};
  found.headline = fmt::format("{} -> {}", name_of(problem), options.out);
  found.lead = {fmt::format("Plan, on {}: {}{}", architecture.name, mmaudit::text_of(plan), source)};
  return options.outputs.publish(found, context);
}

}  // namespace

void add_gemm(Command& app) {
  Command group =
      app.command("gemm", "Which bits cuBLASLt and cublasGemmEx return, predicted from plans",
                  {"mmaudit gemm compare --random 20", "mmaudit gemm plans --problems layers.jsonl"});
  group.requires_command();

  auto of_compare = std::make_shared<ProblemOptions>();
  Command compared =
      group.command("compare", "Run the library on this GPU and compare every bit with its plan",
                    {"mmaudit gemm compare --random 20 --type bf16,e4m3-fast --seed 7",
                     "mmaudit gemm compare --problems layers.jsonl --out-dir d"});
  add_problem_options(compared, *of_compare);
  compared.option(
      "--samples FILE", of_compare->samples,
      "write what the library did and some elements of D, a line per product, as corpus/plans has");
  compared.option("--out-dir DIR", of_compare->out_dir, "write both D's of each product as .npy");
  compared.runs([of_compare](const Context& context) { return compare(*of_compare, context, true); });

  auto of_plans = std::make_shared<ProblemOptions>();
  Command plans =
      group.command("plans", "The plan that each product takes on this GPU, and which are unknown",
                    {"mmaudit gemm plans --problems layers.jsonl",
                     "mmaudit gemm plans --problems layers.jsonl --like h200-cublas-13.1",
                     "mmaudit gemm plans --families"});
  add_problem_options(plans, *of_plans);
  add_compared(plans, of_plans->compared);
  plans.flag("--families", of_plans->families,
             "list the kernels that have a plan, and the evidence; needs no GPU");
  add_like(plans, of_plans->like);
  plans.runs([of_plans](const Context& context) {
    if (!of_plans->like.empty()) return plans_like(*of_plans, context);
    if (!of_plans->families) return compare(*of_plans, context, false);
    try_outputs(of_plans->outputs.files(), {});
    return of_plans->outputs.publish(families_report(), context);
  });

  auto of_predict = std::make_shared<PredictOptions>();
  Command one = group.command(
      "predict", "D of one product or batch by its plan, without a GPU",
      {"mmaudit gemm predict --problem p.json --plan plan.json --a a.npy --b b.npy --out d.npy",
       "mmaudit gemm predict --problem p.json --call call.json --a a.npy --b b.npy --out d.npy"});
  one.option("--problem FILE", of_predict->problem, "one JSON object (docs/gemm.md)").required();
  one.option("--plan FILE", of_predict->plan, "a plan as JSON");
  one.option("--call FILE", of_predict->call,
             "what the library did: attributes and names of kernels, as JSON");
  add_like(one, of_predict->like);
  one.option("--a FILE", of_predict->a, "A, (M, K), row-major, whatever the layout; of a batch (batch, M, K)")
      .required();
  one.option("--b FILE", of_predict->b, "B, (K, N)").required();
  one.option("--out FILE", of_predict->out, "D, (M, N)").required();
  one.option("--c FILE", of_predict->c, "C, (M, N), in D's format, of a problem with beta");
  one.option("--bias FILE", of_predict->bias, "(1, N), of a problem with bias");
  add_architecture_options(one, of_predict->architecture);
  of_predict->outputs.add_to(one);
  one.runs([of_predict](const Context& context) { return predict_file(*of_predict, context); });

  add_gemm_check(group);
  add_gemm_decisions(group);
  add_gemm_invariant(group);
  add_gemm_reveal(group);
}

}  // namespace mmaudit::cli
