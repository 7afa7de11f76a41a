// mmaudit gemm check: is the library's product a product?
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <memory>

#include "common.hpp"
#include "gemm/check.hpp"
#include "gemm/compare.hpp"
#include "gemm_files.hpp"
#include "interruptible.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct CheckOptions {
  std::string file, budget = "60s", reproducer;
  std::vector<std::string> types = {"f16", "bf16", "tf32", "e4m3", "e4m3-fast", "s8"};
  std::uint64_t repeat = 2, seed = 1, algorithms = 8, skip = 0, gpus = 1;
  Outputs outputs;
};

/// Random problems without end, a type after another: plain, deep, with epilogues, in batches, with other
/// workspaces.
class Endless {
 public:
  explicit Endless(const CheckOptions& options) : options_(options) {}
  std::optional<GemmProblem> next() {
    if (waiting_.empty()) {
      const std::uint64_t round = round_++;
      checks::RandomForms forms;
      forms.deep = round % 2 == 1;
      forms.epilogues = round % 4 >= 2;
      forms.batches = round % 8 == 4;
      constexpr std::uint64_t kWorkspaces[] = {1 << 20, 4 << 20, 96 << 20, 0};  // bytes, instead of the usual
      for (GemmProblem each : checks::random_problems(options_.seed + round, 1, options_.types, forms)) {
        if (round % 8 == 2 || round % 8 == 7)
          each.workspace = kWorkspaces[round / 8 % std::size(kWorkspaces)];
        if (each.workspace == 0 && each.api == GemmApi::cublas) each.workspace = kWorkspaces[0];
        waiting_.push_back(each);
      }
    }
    const GemmProblem out = waiting_.front();
    waiting_.pop_front();
    return out;
  }

 private:
  const CheckOptions& options_;
  std::uint64_t round_ = 0;
  std::deque<GemmProblem> waiting_;
};

/// What --json FILE holds of this call, if Ctrl-C stopped it.
checks::GemmCheck stopped_check(const CheckOptions& options, const Json& asked) {
  const std::vector<NamedFile> files = options.outputs.files();
  const auto json = std::find_if(files.begin(), files.end(), [](const NamedFile& each) {
    return each.option == "--json" && each.path != "-" && std::filesystem::is_regular_file(each.path) &&
           std::filesystem::file_size(each.path) != 0;
  });
  if (json == files.end()) return checks::GemmCheck();
  checks::GemmCheck out;
  try {
    out = checks::gemm_check_of_json(text_of_file(json->path), json->path);
  } catch (const InputError&) {
    return checks::GemmCheck();  // of another command: it is written anew
  }
  if (!out.stopped) return checks::GemmCheck();
  if (out.asked != asked)
    refuse(
        "--json: found {}, a check that was stopped after {} products and was asked {}, allowed: the same "
        "call, which goes on with it, or another file",
        json->path, out.taken, out.asked.dump());
  return out;
}

int check(const CheckOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {{"--problems", options.file}});
  Budget budget("--budget", options.budget);
  std::vector<GemmProblem> listed;
  if (!options.file.empty()) listed = problems_of_file(options.file);
  checks::random_problems(options.seed, 0, options.types);  // refuses unknown types before the GPU is asked
  const device::DeviceInfo gpu = require_device();
  const std::vector<device::DeviceInfo> all = device::devices();
  if (options.gpus > all.size())
    refuse("--gpus: found {}, allowed: up to {}, as many as this machine has", options.gpus, all.size());
  if (!options.reproducer.empty()) make_folder(options.reproducer);
  const Json asked = {{"problems", options.file},
                      {"listed", listed.size()},
                      {"type", options.types},
                      {"seed", options.seed},
                      {"skip", options.skip},
                      {"repeat", options.repeat},
                      {"algorithms", options.algorithms},
                      {"cublas", device::library_version()},
                      {"gpu", gpu.name}};
  checks::GemmCheckRun run;
  run.before = stopped_check(options, asked);
  const std::uint64_t taken_before = run.before.taken;
  const bool goes_on = run.before.taken != 0;
  if (!goes_on) run.before.taken = options.skip;
  run.before.asked = asked, run.before.library = device::library_version(), run.before.gpu = gpu.name;
  run.reproduce = !options.reproducer.empty();
  const Interruptible interruptible;
  budget.begin(run.before.seconds);
  Progress progress(context.quiet, "gemm check", listed.size());
  Endless endless(options);
  std::uint64_t taken = 0;
  for (; options.file.empty() && taken < run.before.taken; ++taken) endless.next();
  if (!options.file.empty()) taken = std::min<std::uint64_t>(run.before.taken, listed.size());
  run.repeat = options.repeat, run.seed = options.seed, run.algorithms = options.algorithms;
  run.stopped = [&] { return Interruptible::stopped() || budget.over(); };
  run.next = [&]() -> std::optional<GemmProblem> {
    if (!options.file.empty() && taken == listed.size()) return std::nullopt;
    progress.advance(1);
    ++taken;
    return options.file.empty() ? endless.next() : std::optional(listed[taken - 1]);
  };
  for (std::size_t i = 0; i < (options.gpus == 0 ? all.size() : options.gpus); ++i)
    run.runners.emplace_back([on = all[i]]() -> checks::ExactRunner {
      const auto session = std::make_shared<device::ExactSession>(on);
      return [session](const GemmProblem& x, const exact::Product& product, const exact::Words& words,
                       const device::ExactAsk& ask) { return session->run(x, product, words, ask); };
    });
  checks::GemmCheck found = checks::check_gemms(run);
  found.stopped = Interruptible::stopped();
  report::Report report = report_of(found);
  if (goes_on)
    report.lead.push_back(
        fmt::format("Went on behind {} products of the call that was stopped.", taken_before));
  if (found.stopped && options.outputs.writes("--json"))
    report.lead.emplace_back("Stopped: the same call goes on, from the JSON.");
  if (options.file.empty())
    report.lead.push_back(fmt::format("--skip {} goes on behind these products.", taken));
  else if (taken < listed.size())
    report.lead.push_back(
        fmt::format("Stopped after {} of {} products; --skip {} goes on.", taken, listed.size(), taken));
  std::vector<corpus::TextFile> programs;
  constexpr std::size_t kMostPrograms = 8;
  std::size_t number = 0;
  for (const checks::GemmFault& fault : found.faults) {  // of each kind one has programs
    const auto texts = checks::reproducers_of(fault, found.library);
    if (!texts.empty() && ++number > kMostPrograms) break;
    for (const auto& [suffix, text] : texts)
      programs.push_back({fmt::format("{}/fault{}{}", options.reproducer, number, suffix), text});
  }
  const int code = options.outputs.publish(std::move(report), context, std::move(programs));
  return Interruptible::stopped() ? kInterrupted : code;
}

}  // namespace

void add_gemm_check(Command& gemm) {
  auto options = std::make_shared<CheckOptions>();
  Command command =
      gemm.command("check", "Run products whose every element is known: does the library do what is asked?",
                   {"mmaudit gemm check --budget 10m --junit gemm.xml",
                    "mmaudit gemm check --problems layers.jsonl --repeat 20 --reproducer faults",
                    "mmaudit gemm check --budget 10m --json cublas-13.1.json"});
  command.section("Which products");
  command.option(
      "--problems FILE", options->file,
      "one JSON object per line (docs/gemm.md), or a log of CUBLASLT_LOG_LEVEL=5; else random ones");
  command.option("--type NAMES", options->types, "types of random products, as gemm compare has them")
      .comma_separated()
      .default_text("f16, bf16, tf32, e4m3, e4m3-fast, s8");
  command.option("--seed", options->seed, "of the random products and of the words");
  command.option("--skip COUNT", options->skip,
                 "products of the list, or of the random ones, that were checked before");
  command.section("How long");
  command.option("--gpus", options->gpus, "GPUs of this host that share the products; 0: all of them");
  command.option("--budget TIME", options->budget, "no product is begun later: 60s, 10m, 2h");
  command.option("--repeat COUNT", options->repeat, "runs of each round: more find rarer races")
      .range(1, 1e6);
  command.option("--algorithms COUNT", options->algorithms, "cublaslt: so many of the heuristic's list")
      .range(1, 1000);
  command.section("Output");
  command.option(
      "--reproducer DIR", options->reproducer,
      "write a fault of each kind as a program that needs nothing of ours: .cu of cublasLt, and .py where "
      "torch.mm makes a call that is wrong");
  options->outputs.add_to(command);
  command.runs([options](const Context& context) { return check(*options, context); });
}

}  // namespace mmaudit::cli
