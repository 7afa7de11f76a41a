// mmaudit gemm decisions: what the library chooses for the layers of networks, for every M.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "choice.hpp"
#include "common.hpp"
#include "gemm/decisions.hpp"
#include "gemm_files.hpp"
#include "interruptible.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/device/decisions.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct DecisionOptions {
  std::string record, check, networks, budget = "120s";
  std::uint64_t count = 10000, seed = 1, threads = 0;
  Outputs outputs;
};

std::vector<corpus::KnownNetwork> networks_of(const DecisionOptions& options) {
  const std::string file =
      options.networks.empty() ? (corpus_part("networks") / "configs.jsonl").string() : options.networks;
  return corpus::read_known_networks(corpus::text_of_file(file), file);
}

/// Opens the file for more lines, after its last whole one; with the header where it is new.
std::ofstream continued(const std::string& path, corpus::DecisionFile& file) {
  std::error_code none;
  std::size_t whole = 0;
  if (std::filesystem::exists(path, none) && std::filesystem::file_size(path) != 0) {
    const corpus::DecisionFile now = file;
    file = corpus::read_decisions(corpus::text_of_file(path), path, &whole);
    if (file.gpu != now.gpu || file.library != now.library)
      refuse("{}: found decisions of {}, cuBLAS {}, allowed: of {}, cuBLAS {}", path, file.gpu, file.library,
             now.gpu, now.library);
    std::filesystem::resize_file(path, whole);
  }
  std::ofstream out(path, std::ios::app);
  if (whole == 0) out << corpus::header_line(file) << std::flush;
  if (!out) refuse("--record: found {}, allowed: a file that can be written", path);
  return out;
}

/// cuBLAS 13.1.0.3 crashed where several threads asked while it logs, as cublasGemmEx has to.
unsigned threads_for(GemmApi api, const DecisionOptions& options) {
  return api == GemmApi::cublas ? 1 : static_cast<unsigned>(options.threads);
}

/// Sessions of threads over operands that are large enough for `layers`.
checks::RecordDecisions asking(const device::DeviceInfo& gpu, std::vector<GemmProblem> layers,
                               std::uint64_t last_m) {
  for (GemmProblem& each : layers) each.m = last_m;
  const auto memory = device::decision_memory(gpu, layers);
  checks::RecordDecisions out;
  out.begin = [gpu, memory] {
    auto session = std::make_shared<device::DecisionSession>(gpu, memory);
    return [session](const GemmProblem& x) { return session->decide(x); };
  };
  return out;
}

int record(const DecisionOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {});
  Budget budget("--budget", options.budget);
  const auto passes = checks::decision_passes(networks_of(options));
  const device::DeviceInfo gpu = require_device();
  corpus::DecisionFile file;
  file.gpu = gpu.name;
  file.architecture = checks::architecture_of(gpu).name;
  file.library = device::library_version();
  std::ofstream out = continued(options.record, file);
  budget.begin();
  const Interruptible interruptible;
  report::Report found{.title = "What the library chooses, recorded"};
  report::Table table{.title = "Layers",
                      .columns = {{"interface"}, {"layers", true}, {"recorded now", true}, {"s", true}}};
  for (const checks::DecisionPass& pass : passes) {
    const double before = budget.elapsed();
    std::size_t added = 0;
    if (!budget.over() && !Interruptible::stopped() && !pass.layers.empty()) {
      checks::RecordDecisions run = asking(gpu, pass.layers, file.last_m);
      run.threads = threads_for(pass.api, options);
      run.stopped = [&] { return Interruptible::stopped() || budget.over(); };
      run.keep = [&](const std::string& lines) { out << lines << std::flush; };
      const device::AlgorithmsLogged algorithms(pass.api);
      added = checks::record_decisions(file, pass.layers, run);
    }
    table.rows.push_back({{pass.name, std::to_string(pass.layers.size()), std::to_string(added),
                           fmt::format("{:.1f}", budget.elapsed() - before)}});
  }
  if (!out) throw EnvironmentError(options.record + ": cannot write");
  found.headline = options.record + ": " + checks::recorded_in_words(file, passes);
  found.sections.push_back(section_of(std::move(table)));
  const int code = options.outputs.publish(std::move(found), context);
  return Interruptible::stopped() ? kInterrupted : code;
}

/// What was recorded of the known layers, and what was not, card by card.
int list(const DecisionOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {});
  const auto passes = checks::decision_passes(networks_of(options));
  report::Report found{.title = "Recorded decisions"};
  report::Table table{.title = "Layers of known networks", .columns = {"interface", {"layers", true}}};
  std::map<std::string, std::vector<GemmProblem>> interfaces;
  for (const checks::DecisionPass& pass : passes)
    interfaces[pass.name].insert(interfaces[pass.name].end(), pass.layers.begin(), pass.layers.end());
  for (const auto& [name, layers] : interfaces) table.rows.push_back({name, std::to_string(layers.size())});
  for (const auto& [name, path] : recorded_decisions()) {
    const corpus::DecisionFile file = corpus::read_decisions(corpus::text_of_file(path), path.string());
    found.lead.push_back(fmt::format("{}: {}, cuBLAS {}, {}", name, file.gpu, file.library,
                                     checks::recorded_in_words(file, passes)));
    table.columns.emplace_back("recorded in " + name, true);
    std::size_t row = 0;
    for (const auto& [interface, layers] : interfaces)
      table.rows[row++].push_back(std::to_string(checks::recorded_of(file, layers)));
  }
  found.sections.push_back(section_of(std::move(table)));
  return options.outputs.publish(std::move(found), context);
}

int check(const DecisionOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {{"--check", options.check}});
  Budget budget("--budget", options.budget);
  const corpus::DecisionFile file =
      corpus::read_decisions(corpus::text_of_file(options.check), options.check);
  const device::DeviceInfo gpu = require_device();
  std::vector<GemmProblem> layers;
  std::uint64_t of_blas = 0;
  for (const corpus::LayerDecisions& each : file.layers) {
    layers.push_back(each.layer);
    of_blas += each.layer.api == GemmApi::cublas ? 1 : 0;
  }
  budget.begin();
  checks::RecordDecisions run = asking(gpu, layers, file.last_m);
  run.stopped = [&] { return budget.over(); };
  checks::DecisionCheck sum;
  for (const GemmApi api : {GemmApi::cublas, GemmApi::cublaslt}) {
    const std::uint64_t share = options.count * of_blas / std::max<std::uint64_t>(layers.size(), 1);
    const device::AlgorithmsLogged algorithms(api);
    run.threads = threads_for(api, options);
    const checks::DecisionCheck one = checks::check_decisions(
        file, api, api == GemmApi::cublas ? share : options.count - share, options.seed, run);
    sum.asked += one.asked;
    sum.same += one.same;
    sum.other.insert(sum.other.end(), one.other.begin(), one.other.end());
  }
  report::Report found{.title = "Recorded decisions asked again"};
  found.headline = fmt::format("{} of {} products get the recorded choice on {}, cuBLAS {}", sum.same,
                               sum.asked, gpu.name, device::library_version());
  found.tone = sum.asked != 0 && sum.same == sum.asked ? report::Tone::good : report::Tone::bad;
  if (file.gpu != gpu.name || file.library != device::library_version())
    found.lead.push_back(fmt::format("Recorded on {}, cuBLAS {}.", file.gpu, file.library));
  if (!sum.other.empty())
    found.sections.push_back({.title = "Another choice now, the first of them", .lines = sum.other});
  return options.outputs.publish(std::move(found), context);
}

}  // namespace

void add_gemm_decisions(Command& gemm) {
  auto options = std::make_shared<DecisionOptions>();
  Command command = gemm.command(
      "decisions",
      "What the library chooses for the layers of well-known networks, for every M from 1 to 8192",
      {"mmaudit gemm decisions --record h200.jsonl --budget 120s",
       "mmaudit gemm decisions --check h200.jsonl"});
  command.option("--record FILE", options->record,
                 "ask this GPU's library and add the layers that the file lacks, the best-known ones first");
  command.option("--check FILE", options->check,
                 "ask this GPU's library again for random products of the file");
  command.option("--networks FILE", options->networks,
                 "networks whose layers are recorded, as corpus/networks/configs.jsonl has them");
  command.option("--budget TIME", options->budget, "no layer is finished later: 60s, 10m, 2h");
  command.option("--count COUNT", options->count, "products of --check").range(1, 1e9);
  command.option("--threads COUNT", options->threads, "that ask cuBLASLt at once; 0: one per core")
      .range(0, 1024);
  command.option("--seed", options->seed, "of the products of --check");
  command.section("Output");
  options->outputs.add_to(command);
  command.runs([options](const Context& context) {
    if (options->record.empty() && options->check.empty()) return list(*options, context);
    if (!options->record.empty() && !options->check.empty())
      refuse("--record, --check: found both, allowed: one of them");
    return options->record.empty() ? check(*options, context) : record(*options, context);
  });
}

}  // namespace mmaudit::cli
