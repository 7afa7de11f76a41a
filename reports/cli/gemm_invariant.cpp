// mmaudit gemm invariant: over which M rows keep their bits, on this GPU or as recorded.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <memory>

#include "common.hpp"
#include "gemm/compare.hpp"
#include "gemm/invariant.hpp"
#include "gemm/recorded_invariant.hpp"
#include "gemm_files.hpp"
#include "mmaudit/corpus/gemm_file.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"
#include "outputs.hpp"

namespace mmaudit::cli {
namespace {

struct LayerOptions {
  std::string type = "bf16", layout = "nt", sizes = "1-8192", compared, like, model;
  Outputs outputs;
  std::uint64_t n = 0, k = 0, seed = 1, pin = 0, workspace = GemmProblem{}.workspace;
  bool fast = false, bias = false, fused = false;
};

/// "1-256,512,1024": ascending numbers from 1 to 65536.
std::vector<std::uint64_t> sizes_of(const std::string& text) {
  std::vector<std::uint64_t> out;
  for (const std::string& item : split_list(text)) {
    std::uint64_t first = 0, last = 0;
    const char* const end = item.data() + item.size();
    auto found = std::from_chars(item.data(), end, first);
    last = first;
    if (found.ec == std::errc{} && found.ptr != end && *found.ptr == '-')
      found = std::from_chars(found.ptr + 1, end, last);
    constexpr std::uint64_t kMost = 65536;
    if (found.ec != std::errc{} || found.ptr != end || first == 0 || last < first || last > kMost ||
        (!out.empty() && first <= out.back()))
      refuse("--m: found {}, allowed: ascending numbers and ranges from 1 to 65536, 1-256,512", item);
    for (std::uint64_t m = first; m <= last; ++m) out.push_back(m);
  }
  return out;
}

GemmProblem layer_of(const LayerOptions& options) {
  const Json json = {
      {"type", options.type}, {"layout", options.layout},   {"m", std::uint64_t{1}},         {"n", options.n},
      {"k", options.k},       {"fast_accum", options.fast}, {"workspace", options.workspace}};
  GemmProblem layer = corpus::gemm_problem_of(json, "gemm invariant");
  if (layer.transposed_a) refuse("--layout: found {}, allowed: nn, nt", options.layout);
  return layer;
}

/// A config.json, or a folder of a hub that has one.
std::vector<corpus::NetworkLayer> layers_of_model(const std::string& path) {
  std::error_code none;
  const std::string file = std::filesystem::is_directory(path, none)
                               ? (std::filesystem::path(path) / "config.json").string()
                               : path;
  return corpus::network_layers(
      corpus::parse_bounded(corpus::text_of_file(file), file, "the config.json of a hub"), file);
}

/// Without a GPU, from recorded decisions.
int recorded(const LayerOptions& options, const Context& context) {
  try_outputs(options.outputs.files(), {{"--model", options.model}});
  const LayerOptions usual;
  if (options.pin != 0 || options.sizes != usual.sizes || options.workspace != usual.workspace)
    refuse("--pin, --m, --workspace: found with --like, allowed: without, as torch asks for every M");
  const auto type = read_format(options.type);
  if (!type || (*type != Format::bf16 && *type != Format::f16 && *type != Format::e4m3))
    refuse("--type: found {} with --like, allowed: bf16, f16, e4m3", options.type);
  if (options.bias && is_fp8(*type))
    refuse("--bias: found with {}, allowed: without, as torch._scaled_mm was recorded", options.type);
  const std::string name =
      options.model.empty() ? fmt::format("N {} K {}", options.n, options.k) : printable(options.model, 200);
  std::vector<corpus::NetworkLayer> layers;
  if (options.model.empty())
    layers = {{name, options.n, options.k, layer_of(options).transposed_b, options.bias}};
  else
    layers = layers_of_model(options.model);
  checks::RecordedInvariant result =
      checks::recorded_network(decisions_like(options.like), layers, *type, options.fast, options.fused);
  if (const auto costs = pin_costs_like(options.like))
    checks::take_costs(result, corpus::text_of_file(*costs), *costs);
  result.title = name + ", " + options.type;
  return options.outputs.publish(report_of(result), context);
}

int invariant(const LayerOptions& options, const Context& context) {
  const bool sized = options.n != 0 || options.k != 0;
  if (options.model.empty() != sized)
    refuse("--n and --k, --model: found {}, allowed: one of them", sized ? "both" : "neither");
  if (!options.like.empty()) return recorded(options, context);
  if (!options.model.empty() || options.bias || options.fused)
    refuse("--model, --bias, --fused: found one on this GPU, allowed: with --like, one of {}",
           recorded_names());
  try_outputs(options.outputs.files(), {});
  const GemmProblem layer = layer_of(options);
  InvariantOptions how;
  how.seed = options.seed;
  how.pin = options.pin;
  how.sizes = sizes_of(options.sizes);
  const device::DeviceInfo gpu = require_device();
  device::LibrarySession session(gpu);
  Progress progress(context.quiet, "gemm invariant", how.sizes.size());
  how.progress = [&](std::uint64_t done) { progress.advance(done); };
  InvariantResult result = invariant_ranges(session, architecture_of(gpu), layer, how);
  result.unproven = why_unproven(device::library_version(), options.compared);
  return options.outputs.publish(report_of(result), context);
}

}  // namespace

void add_gemm_invariant(Command& gemm) {
  auto of_layer = std::make_shared<LayerOptions>();
  Command layer =
      gemm.command("invariant", "Over which M rows keep their bits, on this GPU or as recorded",
                   {"mmaudit gemm invariant --type bf16 --n 4096 --k 4096",
                    "mmaudit gemm invariant --n 4096 --k 4096 --m 1-512 --pin 16 --svg ranges.svg",
                    "mmaudit gemm invariant --model config.json --like h200-cublas-13.1 --html page.html"});
  add_compared(layer, of_layer->compared);
  layer.option("--type", of_layer->type, "f16, bf16, tf32, f32, f64, e4m3, e5m2 or s8");
  layer.option("--layout", of_layer->layout, "nn or nt: A, then B");
  layer.option("--n", of_layer->n, "columns of D");
  layer.option("--k", of_layer->k, "depth");
  layer.option("--model PATH", of_layer->model,
               "with --like: all layers of a network, from the config.json of a hub or a folder that has it");
  layer.flag("--fused", of_layer->fused, "of a network: qkv and gate_up as one product each, as servers do");
  layer.flag("--bias", of_layer->bias, "with --like: the layer has a bias, so torch asks cuBLASLt");
  add_like(layer, of_layer->like);
  layer.option("--m SIZES", of_layer->sizes, "rows: ascending numbers and ranges");
  layer.flag("--fast-accum", of_layer->fast, "FP8: sums stay in the tensor core");
  layer.option("--pin M", of_layer->pin,
               "use the algorithm of this M for every M, and say what that costs; 0: the heuristic's");
  layer.option("--workspace BYTES", of_layer->workspace, "what the library may use: less of it, other plans");
  layer.option("--seed", of_layer->seed, "of the operands");
  of_layer->outputs.add_to(layer);
  of_layer->outputs.add_picture_to(layer, "the ranges");
  layer.runs([of_layer](const Context& context) { return invariant(*of_layer, context); });
}

}  // namespace mmaudit::cli
