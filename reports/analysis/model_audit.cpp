#include "mmaudit/report/model_audit.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "gemm/stages.hpp"
#include "mmaudit/corpus/checkpoint.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/quantize.hpp"
#include "model_activations.hpp"
#include "model_weights.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

using corpus::Checkpoint;
using corpus::CheckpointLayer;

constexpr std::uint64_t kMostK = std::uint64_t{1} << 19;  ///< a sample of more takes gigabytes

std::string kind_of(const std::string& name) {
  return name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
}

/// The largest activation that the layer's static scale covers; 0: it has none.
double range_of(const CheckpointLayer& layer) {
  if (layer.activations != "static") return 0;
  const FormatSpec format = spec_of(layer.activation_format), of_blocks = spec_of(Format::e4m3);
  double range = *layer.input_scale * (format.integer() ? std::ldexp(1.0, format.value_bits() - 1) - 1
                                                        : decode_value(format.max_finite_bits(), format));
  if (layer.recipe.empty()) return range;
  const GemmCombination of = combination_of_recipe(layer.recipe);
  if (quantize_rule(of.dtype, of.scaling, false).scaled())
    range *= decode_value(of_blocks.max_finite_bits(), of_blocks);
  return range;
}

/// What a static scale makes of activations that it was not found with. Captured ones prove it.
void check_input(const LayerWork& work, const CheckpointLayer& layer, const GemmAuditRow& row, double fresh,
                 double largest, ModelLayer& out) {
  constexpr double kCollapse = 3, kOff = 16;
  const double range = range_of(layer);
  if (work.activations.captured()) {
    if (kCollapse * fresh < row.errors.total)
      out.faults.push_back(
          fmt::format("stale input_scale: it covers {:.3g}, the activations reach {:.3g}; error of the "
                      "product {:.3g}, and {:.3g} with a scale of theirs",
                      range, largest, row.errors.total, fresh));
    else if (row.cast_a.saturated != 0)
      out.suspicions.push_back(
          fmt::format("input_scale covers {:.3g}, the activations reach {:.3g}: {} of {} are cut off", range,
                      largest, row.cast_a.saturated, row.cast_a.elements));
    return;
  }
  std::vector<double> all = work.input_scales.at(kind_of(layer.name));
  constexpr std::size_t kEnough = 4;
  if (all.size() < kEnough) return;
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  const double middle = all[all.size() / 2], off = *layer.input_scale / middle;
  if (off < kOff && off > 1 / kOff) return;
  out.suspicions.push_back(fmt::format(
      "input_scale {:.3g} is {:.3g} times the middle one of all {}: perhaps stale, perhaps right; "
      "--activations FILE tells",
      *layer.input_scale, off, kind_of(layer.name)));
}

/// One row: the layer's own codes in its recipe.
void audit_codes(const LayerWork& work, const CheckpointLayer& layer, const SampledRows& sample,
                 const GemmCombination& of, ConvertedOperand b, GemmOperands operands,
                 const std::vector<double>& exact, GemmAudit& audit, ModelLayer& out) {
  const MatmulOptions how = {.threads = work.request.threads, .level = {}, .progress = {}};
  const GemmPath path = find_path(of);
  const auto errors = [&](double largest, ConvertedOperands& converted) {
    operands.static_a = static_cast<float>(largest);
    converted = convert_operands(of.dtype, of.scaling, operands, how, &b);
    return errors_of(exact, converted, compute_elements(of, path, converted, {}, how), of.output,
                     how.threads);
  };
  const double own = operands.largest_a;
  ConvertedOperands converted;
  GemmAuditRow row;
  static_cast<GemmSubject&>(row) = subject_of(of, path);
  row.architecture = std::string(of.architecture->name);
  row.errors = errors(range_of(layer), converted);
  row.cast_a = converted.a.counts;
  if (layer.activations == "static") {
    ConvertedOperands other;
    check_input(work, layer, row, work.activations.captured() ? errors(0, other).total : 0, own, out);
  }
  audit.m = operands.m, audit.n = layer.rows(), audit.k = layer.k;
  audit.rows = operands.m, audit.columns = sample.rows.size();
  if (work.request.limit > 0) audit.limit = work.request.limit;
  audit.provenance.rows.push_back(model_row(*of.architecture, path.instruction, *path.entry));
  audit.rows_of.push_back(std::move(row));
  judge(audit);
}

void audit_layer(const LayerWork& work, const CheckpointLayer& layer, ModelLayer& out, ModelAudit& result) {
  if (layer.k > kMostK) {
    out.why = refusal("K: found {}, allowed: at most {}", layer.k, kMostK);
    return;
  }
  const WholeLayer all = whole_layer(work.checkpoint, layer);
  if (all.scales.nan + all.scales.infinite != 0)
    out.faults.push_back(fmt::format("impossible scales: {} of {} are infinite or NaN",
                                     all.scales.nan + all.scales.infinite, all.scales.scales));
  else if (all.numbers.not_finite != 0)
    out.faults.push_back(fmt::format("impossible numbers: {} of {} are infinite or NaN",
                                     all.numbers.not_finite, layer.rows() * layer.k));
  const std::uint64_t seed = seed_of(work.request.seed, layer.name);
  const SampledRows sample =
      sampled_rows(work.checkpoint, layer, layer.experts > 1 ? sampled(1, layer.experts, seed)[0] : 0, seed,
                   work.request.sample);
  std::vector<float> reference = sample.weights;
  if (out.faults.empty() &&
      !std::all_of(sample.weights.begin(), sample.weights.end(), [](float x) { return std::isfinite(x); }))
    out.faults.emplace_back("impossible numbers: some weights are infinite or NaN");
  if (layer.activations == "static" && !(std::isfinite(*layer.input_scale) && *layer.input_scale > 0))
    out.faults.push_back(
        fmt::format("impossible input_scale: found {}, allowed: finite and above 0", *layer.input_scale));
  const bool impossible = !out.faults.empty();
  if (work.original != nullptr && !impossible) {
    compare_layer(work, layer, sample, all, reference, out);
    if (!out.why.empty()) return;
  }
  if (layer.smoothed) {  // ModelOpt: codes are of the weights over these factors
    if (!impossible && work.original == nullptr)
      out.why = "its activations are multiplied by a pre_quant_scale first, which is not done here";
    return;
  }
  if (!layer.product || impossible) return;
  if (layer.recipe.empty() && layer.activation_format != Format::none) {
    out.why = fmt::format("no recipe here multiplies activations of {} by weights of {}",
                          name_of(layer.activation_format), name_of(layer.format));
    return;
  }
  GemmOperands operands;
  double largest = 0;
  const std::vector<double> a = work.activations.of(layer, range_of(layer), largest);
  if (a.empty()) {
    out.why = "the capture has no activations of this layer";
    return;
  }
  const std::vector<double> b = as_b(reference, layer.k);
  operands.m = a.size() / layer.k, operands.n = sample.rows.size(), operands.k = layer.k;
  operands.a = a, operands.b = b, operands.largest_a = largest;
  const MatmulOptions how = {.threads = work.request.threads, .level = {}, .progress = {}};
  CapturedProduct product{layer.name + "#0", layer.name, {}, {}};
  if (!layer.recipe.empty()) {
    const GemmCombination of = combination_of_recipe(layer.recipe);
    ConvertedOperand own;
    if (out.why = operand_of(layer, sample, of, own); !out.why.empty()) return;
    audit_codes(work, layer, sample, of, std::move(own), operands, exact_product(operands, how),
                product.audit, out);
  } else {
    GemmAuditRequest request;
    std::vector<double> dequantized;
    if (layer.scale_columns != 0) {  // products of dequantized weights
      dequantized = as_b(sample.weights, layer.k);
      const GemmCombination bf16 = combination_of_recipe("bf16");
      ConvertedOperands converted = convert_alone(
          bf16.dtype, bf16.scaling, {operands.m, operands.n, operands.k, a, dequantized, {}, 0, 0}, how);
      audit_codes(work, layer, sample, bf16, std::move(converted.b), operands, exact_product(operands, how),
                  product.audit, out);
    } else {
      for (const std::string& name : work.request.recipes) {
        GemmCombination one = combination_of_recipe(name);
        if (!request.combinations.empty()) one.architecture = request.combinations[0].architecture;
        request.combinations.push_back(settled(one));  // all on the GPU of the first
      }
      operands.largest_b = all.numbers.largest;
      request.operands = operands;
      request.whole_m = operands.m, request.whole_n = layer.rows(), request.columns = sample.rows;
      if (work.request.limit > 0) request.limit = work.request.limit;
      request.seed = work.request.seed;
      product.audit = audit_gemm(request, how);
    }
  }
  for (const ModelRow& row : product.audit.provenance.rows) {
    auto& rows = result.audit.provenance.rows;
    if (std::none_of(rows.begin(), rows.end(), [&](const ModelRow& seen) {
          return seen.architecture == row.architecture && seen.instruction == row.instruction;
        }))
      rows.push_back(row);
  }
  result.audit.products.push_back(std::move(product));
}

/// The head of a network whose weight is the embedding's table: a product that no tensor stands for. By the
/// config, of a GGUF where it has a last norm and no head.
std::optional<CheckpointLayer> tied_head(const Checkpoint& checkpoint) {
  const std::vector<CheckpointLayer>& layers = checkpoint.layers();
  const auto named = [&](std::string_view end) {
    return std::find_if(layers.begin(), layers.end(),
                        [&](const CheckpointLayer& one) { return one.name.ends_with(end); });
  };
  const bool tied = checkpoint.kind() == "gguf"
                        ? std::any_of(checkpoint.tensors().begin(), checkpoint.tensors().end(),
                                      [](const auto& one) { return one->name == "output_norm.weight"; })
                        : config_ties_head(checkpoint);
  const auto table = named(".embed_tokens");
  if (!tied || table == layers.end() || named("lm_head") != layers.end()) return {};
  CheckpointLayer head = *table;
  head.name = "lm_head", head.product = true, head.bytes = 0;
  return head;
}

}  // namespace

ModelAudit audit_model(const ModelRequest& request, bool list, const TensorAuditProgress& progress) {
  const Checkpoint checkpoint(request.path, request.convention);
  std::optional<Checkpoint> original;
  if (!request.original.empty()) original.emplace(request.original);
  const Activations activations(request.activations, request.seed);
  for (const std::string& name : request.recipes) static_cast<void>(combination_of_recipe(name));
  ModelAudit out;
  out.checkpoint = checkpoint.json();
  out.contradictions = checkpoint.contradictions();
  out.original = request.original;
  for (const corpus::OtherTensor& other : checkpoint.others())
    if (!other.why.empty()) {
      out.unread.push_back(fmt::format("{}: {}", printable(other.name), other.why));
      const std::string name = checkpoint.model_name(other.name);
      const std::string layer = name.substr(0, std::min(name.rfind('.'), name.size()));
      if (other.is_layer() &&
          (name == "quant_method" || fnmatch(request.layers.c_str(), layer.c_str(), 0) == 0))
        out.unread_layers.push_back(out.unread.back());
    }
  std::map<std::string, Smoothing> smoothings;
  LayerWork work{request, checkpoint, original ? &*original : nullptr, activations, {}, {}, smoothings};
  if (original)
    for (const CheckpointLayer& layer : original->layers()) work.originals.emplace(layer.name, &layer);
  const std::optional<CheckpointLayer> head = tied_head(checkpoint),
                                       before = original ? tied_head(*original) : std::nullopt;
  if (before) work.originals.emplace(before->name, &*before);
  if (checkpoint.layers().empty())
    refuse("{}: layers: found none{}, allowed: matrices of weights", checkpoint.label(),
           out.unread.empty() ? "" : " (" + out.unread.front() + ")");
  std::vector<const CheckpointLayer*> chosen;
  for (const CheckpointLayer& layer : checkpoint.layers()) {
    if (layer.input_scale) work.input_scales[kind_of(layer.name)].push_back(*layer.input_scale);
    if (fnmatch(request.layers.c_str(), layer.name.c_str(), 0) == 0) chosen.push_back(&layer);
  }
  if (head && fnmatch(request.layers.c_str(), head->name.c_str(), 0) == 0) chosen.push_back(&*head);
  if (chosen.empty())
    refuse("--layers: found {}, which no layer matches, allowed: a glob over {} layers ({})", request.layers,
           checkpoint.layers().size(), "such as " + checkpoint.layers().front().name);
  if (!list) progress.begin("layers", chosen.size());
  for (const CheckpointLayer* each : chosen) {
    const CheckpointLayer& layer = *each;
    ModelLayer& one = out.layers.emplace_back();
    one.name = layer.name, one.meaning = layer.meaning();
    one.experts = layer.experts, one.n = layer.n, one.k = layer.k, one.bytes = layer.bytes;
    one.type =
        layer.scale_columns != 0 ? std::string(layer.convention_name()) : std::string(name_of(layer.format));
    if (head && each == &*head) one.type = "the embedding";
    one.quantized = layer.scale_columns != 0, one.product = layer.product;
    if (list) continue;
    audit_layer(work, layer, one, out);
    progress.advance(1);
  }
  if (list) return out;
  compare_tensors(checkpoint, original ? &*original : nullptr, request.layers, smoothings, out);
  out.activations = activations.said();
  if (!activations.captured() &&
      std::any_of(chosen.begin(), chosen.end(), [](const auto* one) { return one->activations == "static"; }))
    out.activations += "; where a layer has an input_scale they reach just what it covers, so none saturates";
  out.strict = request.strict, out.limited = request.limit > 0, out.recipes = request.recipes;
  out.sampled = fmt::format(
      "{} rows of A and at most {} rows of every weight, in runs of 16{}; scales, largest magnitudes and "
      "what is not finite are of the whole layer.",
      kActivationRows, request.sample,
      std::none_of(chosen.begin(), chosen.end(), [](const auto* one) { return one->experts > 1; }) ? ""
      : original ? ", of one expert for the product and at most 16 of each other expert against the original"
                 : ", of one expert for the product");
  out.audit.activations = out.activations;
  out.audit.provenance.backend = "model";
  return out;
}

}  // namespace mmaudit::report
