#include "gemm/decisions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <set>

#include "mmaudit/detail/parallel.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::checks {
namespace {

/// A call without what depends on M, its attributes in the order of their names.
LibraryCall choice_of(LibraryCall call) {
  std::erase_if(call.algorithm, [](const auto& each) { return each.first == "workspace"; });
  std::sort(call.algorithm.begin(), call.algorithm.end());
  for (KernelLaunch& each : call.kernels) std::fill(std::begin(each.grid), std::end(each.grid), 0);
  return call;
}

GemmProblem at_one(GemmProblem layer) {
  layer.m = 1;
  layer.d = output_of(layer);
  return layer;
}

bool has_layer(const corpus::DecisionFile& file, const GemmProblem& layer) {
  return std::any_of(file.layers.begin(), file.layers.end(),
                     [&](const auto& have) { return at_one(have.layer) == at_one(layer); });
}

/// A choice's place in the file, where it is added if it is new, with its line.
std::size_t place_of(corpus::DecisionFile& file, const LibraryCall& choice, std::string& lines) {
  const auto found = std::find(file.choices.begin(), file.choices.end(), choice);
  if (found == file.choices.end()) {
    lines += corpus::line_of_choice(choice);
    file.choices.push_back(choice);
    return file.choices.size() - 1;
  }
  return static_cast<std::size_t>(found - file.choices.begin());
}

}  // namespace

bool same_choice(const LibraryCall& a, const LibraryCall& b) { return choice_of(a) == choice_of(b); }

std::optional<GemmProblem> layer_problem(const corpus::NetworkLayer& layer, const GemmInterface& interface,
                                         Format type) {
  constexpr std::uint64_t kWhole = 16;  // torch._scaled_mm refuses others
  if (interface.fp8 && (!layer.transposed || layer.n % kWhole != 0 || layer.k % kWhole != 0))
    return std::nullopt;
  GemmProblem out;
  out.api = interface.api;
  out.type = interface.fp8 ? Format::e4m3 : type;
  out.m = 1;
  out.n = layer.n;
  out.k = layer.k;
  out.transposed_b = layer.transposed;
  out.bias = interface.bias;
  out.fast_accum = interface.fast_accum;
  out.workspace = interface.workspace;
  return at_one(out);
}

const GemmInterface& interface_of(const corpus::NetworkLayer& layer, Format type, bool fast_accum) {
  const auto& [mm, addmm, scaled, fast] = kGemmInterfaces;
  return is_fp8(type) ? fast_accum ? fast : scaled : layer.bias ? addmm : mm;
}

std::vector<DecisionPass> decision_passes(const std::vector<corpus::KnownNetwork>& networks) {
  std::vector<DecisionPass> out;
  std::set<std::string> seen;
  const auto add = [&](const GemmInterface& interface, Format type, bool usual_alone, std::size_t first) {
    DecisionPass pass{std::string(interface.name) + " " + std::string(name_of(type)), interface.api, {}};
    for (std::size_t i = 0; i < std::min(first, networks.size()); ++i)
      for (const corpus::NetworkLayer& layer : networks[i].layers) {
        if (usual_alone && &interface_of(layer, type, false) != &interface) continue;
        const auto problem = layer_problem(layer, interface, type);
        if (problem && seen.insert(name_of(*problem)).second) pass.layers.push_back(*problem);
      }
    out.push_back(std::move(pass));
  };
  const auto& [mm, addmm, scaled, fast] = kGemmInterfaces;
  constexpr std::size_t kBestKnown = 16;
  for (const std::size_t first : {kBestKnown, networks.size()}) {
    add(mm, Format::bf16, true, first);
    add(addmm, Format::bf16, true, first);
    add(fast, Format::e4m3, false, first);
    add(scaled, Format::e4m3, false, first);
  }
  for (const bool usual_alone : {true, false})
    for (const Format type : {Format::f16, Format::bf16}) {
      add(addmm, type, usual_alone, networks.size());  // first: it takes a tenth of the time
      add(mm, type, usual_alone, networks.size());
    }
  std::erase_if(out, [](const DecisionPass& pass) { return pass.layers.empty(); });
  return out;
}

std::size_t recorded_of(const corpus::DecisionFile& file, const std::vector<GemmProblem>& layers) {
  return static_cast<std::size_t>(std::count_if(
      layers.begin(), layers.end(), [&](const GemmProblem& each) { return has_layer(file, each); }));
}

std::string recorded_in_words(const corpus::DecisionFile& file, const std::vector<DecisionPass>& passes) {
  std::size_t all = 0, recorded = 0;
  for (const DecisionPass& pass : passes) {
    all += pass.layers.size();
    recorded += recorded_of(file, pass.layers);
  }
  return fmt::format("{} of {} layers for M = {} to {}, {} others, {} choices; {} are left", recorded, all,
                     file.first_m, file.last_m, file.layers.size() - recorded, file.choices.size(),
                     all - recorded);
}

std::size_t record_decisions(corpus::DecisionFile& file, const std::vector<GemmProblem>& layers,
                             const RecordDecisions& run) {
  std::vector<GemmProblem> lacking;
  for (const GemmProblem& each : layers)
    if (!has_layer(file, each)) lacking.push_back(each);
  std::mutex mutex;
  std::size_t added = 0;
  const auto record = [&](const Decide& decide, const GemmProblem& layer) {
    std::vector<std::pair<std::uint64_t, LibraryCall>> starts;
    GemmProblem x = layer;
    for (x.m = file.first_m; x.m <= file.last_m; ++x.m) {
      if (run.stopped && run.stopped()) return;
      LibraryCall choice = choice_of(decide(x));
      if (starts.empty() || starts.back().second != choice) starts.emplace_back(x.m, std::move(choice));
    }
    const std::lock_guard lock(mutex);
    corpus::LayerDecisions out{layer, {}};
    std::string lines;
    for (const auto& [m, choice] : starts) out.starts.push_back({m, place_of(file, choice, lines)});
    run.keep(lines + corpus::line_of(out));
    file.layers.push_back(std::move(out));
    ++added;
  };
  detail::parallel_by_thread(lacking.size(), run.threads, [&] {
    return [&, decide = run.begin()](std::uint64_t i) {
      if (!run.stopped || !run.stopped()) record(decide, lacking[i]);
    };
  });
  return added;
}

DecisionCheck check_decisions(const corpus::DecisionFile& file, GemmApi api, std::uint64_t count,
                              std::uint64_t seed, const RecordDecisions& run) {
  std::vector<const corpus::LayerDecisions*> layers;
  for (const corpus::LayerDecisions& each : file.layers)
    if (each.layer.api == api) layers.push_back(&each);
  DecisionCheck out;
  if (layers.empty()) return out;
  std::mutex mutex;
  constexpr std::size_t kShown = 20;
  const double ratio = std::log(static_cast<double>(file.last_m) / static_cast<double>(file.first_m));
  detail::parallel_by_thread(count, run.threads, [&] {
    return [&, decide = run.begin()](std::uint64_t i) {
      if (run.stopped && run.stopped()) return;
      Draws draws{mixed(seed + i)};
      const corpus::LayerDecisions& layer = *layers[draws.below(layers.size())];
      GemmProblem x = layer.layer;
      const double at = PlacedDraws(seed).uniform(i);
      x.m = i % 2 == 0 ? file.first_m + draws.below(file.last_m - file.first_m + 1)
                       : static_cast<std::uint64_t>(static_cast<double>(file.first_m) * std::exp(ratio * at));
      const bool same = same_choice(decide(x), *corpus::choice_at(file, layer, x.m));
      const std::lock_guard lock(mutex);
      ++out.asked;
      out.same += same ? 1 : 0;
      if (!same && out.other.size() < kShown) out.other.push_back(name_of(x));
    };
  });
  return out;
}

std::optional<GemmPlan> plan_of_choice(const corpus::DecisionFile& file, const GemmProblem& problem,
                                       const LibraryCall& choice, std::string* why) {
  if (!choice.kernels.empty()) return plan_of(problem, choice, why, *find_architecture(file.architecture));
  if (why != nullptr) *why = "the library refuses this product";
  return std::nullopt;
}

std::string source_of(const corpus::Decided& decided) {
  const GemmProblem& layer = decided.layer->layer;
  return decided.recorded ? "recorded" : fmt::format("nearest, a guess: N {} K {}", layer.n, layer.k);
}

DecidedPlan plan_decided(const corpus::DecisionFile& file, const GemmProblem& problem) {
  DecidedPlan out;
  const auto decided = corpus::decided(file, problem, &out.why);
  if (!decided) return out;
  out.call = decided->call;
  out.source = source_of(*decided);
  out.plan = plan_of_choice(file, problem, out.call, &out.why);
  return out;
}

}  // namespace mmaudit::checks
