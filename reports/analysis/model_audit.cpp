#include "mmaudit/report/model_audit.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "file_matrix.hpp"
#include "gemm/stages.hpp"
#include "mmaudit/corpus/checkpoint.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/quantize.hpp"
#include "mmaudit/whole_number.hpp"
#include "model_weights.hpp"
#include "normal_draws.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

using corpus::Checkpoint;
using corpus::CheckpointLayer;
using corpus::CheckpointRows;

constexpr std::uint64_t kRows = 32;                       ///< of A
constexpr std::uint64_t kMostK = std::uint64_t{1} << 19;  ///< a sample of more takes gigabytes

/// Rows of A for a layer: drawn, or captured.
class Activations {
 public:
  Activations(const std::string& text, std::uint64_t seed) : seed_(seed) {
    if (text.ends_with(".safetensors")) {
      file_ = text;
      for (const corpus::TensorInfo& tensor : corpus::read_safetensors_header(text).tensors)
        if (const std::size_t end = tensor.name.rfind('#');
            end != std::string::npos && tensor.name.ends_with(".a"))
          names_.emplace(tensor.name.substr(0, end), tensor.name);
      said_ = "captured in " + printable(text);
      return;
    }
    const auto numbers = text.starts_with("outliers:") ? text.substr(9) : std::string();
    const std::size_t colon = numbers.find(':');
    if (colon != std::string::npos) {
      channels_ = whole_number<std::uint64_t>(numbers.substr(0, colon)).value_or(0);
      factor_ = whole_number<std::uint64_t>(numbers.substr(colon + 1)).value_or(0);
    }
    if (text != "normal" && (channels_ == 0 || factor_ == 0))
      refuse(
          "--activations: found {}, allowed: normal, outliers:CHANNELS:FACTOR with whole numbers above 0, or "
          "a file "
          ".safetensors of mmaudit.torch.capture",
          text);
    said_ = text == "normal" ? "a guess: normal numbers, without outlier channels"
                             : fmt::format("a guess: normal numbers, and {} channels of K {} times as large",
                                           channels_, factor_);
  }

  [[nodiscard]] const std::string& said() const { return said_; }
  [[nodiscard]] bool captured() const { return !file_.empty(); }

  /// (rows, k); empty: the capture has none of this layer. `largest`: of all of them.
  std::vector<double> of(const CheckpointLayer& layer, std::uint64_t index, double& largest) const {
    std::vector<double> out;
    if (captured()) {
      const auto found = names_.find(layer.name);
      if (found == names_.end()) return out;
      const FileMatrix matrix("--activations", file_ + ":" + found->second, "A", false);
      if (matrix.columns() != layer.k)
        refuse("--activations: {}: found K = {}, allowed: {}", found->second, matrix.columns(), layer.k);
      largest = matrix.facts().largest;
      return matrix.part(sampled(kRows, matrix.rows(), seed_), sampled(layer.k, layer.k, 0));
    }
    NormalDraws draw(static_cast<unsigned>(seed_ * 1'000'003 + index));
    out.resize(kRows * layer.k);
    for (double& one : out) one = draw();
    for (const std::uint64_t channel : sampled(channels_, layer.k, seed_ + index))
      for (std::uint64_t r = 0; r < kRows; ++r) out[r * layer.k + channel] *= static_cast<double>(factor_);
    for (const double one : out) largest = std::max(largest, std::fabs(one));
    return out;
  }

 private:
  std::string file_, said_;
  std::map<std::string, std::string> names_;
  std::uint64_t seed_, channels_ = 0, factor_ = 0;
};

/// The largest finite magnitude of all rows, read in pieces.
double largest_of(const Checkpoint& checkpoint, const CheckpointLayer& layer) {
  constexpr std::uint64_t kPieceOf = std::uint64_t{1} << 22;
  const std::uint64_t step = std::max<std::uint64_t>(1, kPieceOf / layer.k);
  const FormatSpec format = spec_of(layer.format);
  const bool bits_in_order = layer.scale_columns == 0 && format.storage_bits == 16;
  double largest = 0;
  for (std::uint64_t first = 0; first < layer.rows(); first += step) {
    const CheckpointRows rows = checkpoint.rows(layer, first, std::min(step, layer.rows() - first));
    if (bits_in_order) {
      std::uint16_t most = 0;
      for (std::size_t i = 0; i + 1 < rows.codes.size(); i += 2) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, rows.codes.data() + i, 2);
        most = std::max(most, static_cast<std::uint16_t>(bits & 0x7FFF));
      }
      if (const double value = decode_value(most, format); std::isfinite(value)) {
        largest = std::max(largest, value);
        continue;
      }
    }
    for (const float one : corpus::dequantized(layer, rows))
      if (std::isfinite(one)) largest = std::max(largest, std::fabs(static_cast<double>(one)));
  }
  return largest;
}

struct LayerWork {
  const ModelRequest& request;
  const Checkpoint& checkpoint;
  const Checkpoint* original;
  const Activations& activations;
  std::map<std::string_view, const CheckpointLayer*> originals;
  std::map<std::string, std::vector<double>> input_scales;  ///< by the last part of names
};

std::string kind_of(const std::string& name) {
  return name.substr(name.rfind('.') == std::string::npos ? 0 : name.rfind('.') + 1);
}

/// What a static scale makes of activations that it was not found with.
std::string stale_input(const LayerWork& work, const CheckpointLayer& layer, double total, double fresh,
                        double largest, double range) {
  constexpr double kCollapse = 3, kOff = 16;
  if (work.activations.captured()) {
    if (!(kCollapse * fresh < total)) return {};
    return fmt::format(
        "stale input_scale: it covers {:.3g}, the activations reach {:.3g}; error of the product {:.3g}, and "
        "{:.3g} with a scale of theirs",
        range, largest, total, fresh);
  }
  std::vector<double> all = work.input_scales.at(kind_of(layer.name));
  constexpr std::size_t kEnough = 4;
  if (all.size() < kEnough) return {};
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  const double middle = all[all.size() / 2], off = *layer.input_scale / middle;
  if (off < kOff && off > 1 / kOff) return {};
  return fmt::format(
      "input_scale {:.3g} is {:.3g} times the middle one of all {}: perhaps stale (--activations would tell)",
      *layer.input_scale, off, kind_of(layer.name));
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
  double range = 0;
  if (layer.input_scale) {
    const FormatSpec format = spec_of(layer.format);
    range = *layer.input_scale * decode_value(format.max_finite_bits(), format);
    if (quantize_rule(of.dtype, of.scaling, false).scaled())
      range *= decode_value(spec_of(Format::e4m3).max_finite_bits(), spec_of(Format::e4m3));
  }
  ConvertedOperands converted;
  GemmAuditRow row;
  static_cast<GemmSubject&>(row) = subject_of(of, path);
  row.architecture = std::string(of.architecture->name);
  row.errors = errors(range, converted);
  row.cast_a = converted.a.counts;
  if (layer.input_scale) {
    ConvertedOperands other;
    const double fresh = work.activations.captured() ? errors(0, other).total : 0;
    if (std::string fault = stale_input(work, layer, row.errors.total, fresh, own, range); !fault.empty())
      out.faults.push_back(std::move(fault));
  }
  audit.m = operands.m, audit.n = layer.rows(), audit.k = layer.k;
  audit.rows = operands.m, audit.columns = sample.rows.size();
  if (work.request.limit > 0) audit.limit = work.request.limit;
  audit.provenance.rows.push_back(model_row(*of.architecture, path.instruction, *path.entry));
  audit.rows_of.push_back(std::move(row));
  judge(audit);
}

void audit_layer(const LayerWork& work, const CheckpointLayer& layer, std::uint64_t index, ModelLayer& out,
                 ModelAudit& result) {
  if (layer.k > kMostK) {
    out.why = refusal("K: found {}, allowed: at most {}", layer.k, kMostK);
    return;
  }
  const SampledRows sample = sampled_rows(work.checkpoint, layer, work.request.seed + index);
  std::vector<float> reference = sample.weights;
  if (work.original != nullptr) {
    const auto found = work.originals.find(layer.name);
    const CheckpointLayer* of = found == work.originals.end() ? nullptr : found->second;
    if (of == nullptr || of->rows() != layer.rows() || of->k != layer.k) {
      out.why = of == nullptr ? "the original has no layer of this name"
                              : fmt::format("the original is {} x {} of {}", of->experts, of->n, of->k);
      return;
    }
    reference = same_rows(*work.original, *of, sample, layer.head_rows).weights;
    CheckpointRows whole;
    if (layer.scale_columns != 0) whole = work.checkpoint.rows(layer, 0, layer.rows(), false);
    out.against = compared(layer, sample, reference, whole);
    out.faults = faults_of(layer, sample, reference,
                           layer.scale_columns != 0 ? largest_of(*work.original, *of) : 0, whole);
  }
  if (!layer.product) return;
  if (layer.recipe.empty() && layer.activation_format != Format::none) {
    out.why = fmt::format("no recipe here multiplies activations of {} by weights of {}",
                          name_of(layer.activation_format), name_of(layer.format));
    return;
  }
  GemmOperands operands;
  double largest = 0;
  const std::vector<double> a = work.activations.of(layer, index, largest);
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
      operands.largest_b = largest_of(work.checkpoint, layer);
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

}  // namespace

ModelAudit audit_model(const ModelRequest& request, bool list, const TensorAuditProgress& progress) {
  const Checkpoint checkpoint(request.path, request.convention);
  std::optional<Checkpoint> original;
  if (!request.original.empty()) original.emplace(request.original);
  const Activations activations(request.activations, request.seed);
  for (const std::string& name : request.recipes) static_cast<void>(combination_of_recipe(name));
  ModelAudit out;
  out.checkpoint = checkpoint.json();
  out.original = request.original;
  for (const corpus::OtherTensor& other : checkpoint.others())
    if (!other.why.empty()) out.unread.push_back(fmt::format("{}: {}", printable(other.name), other.why));
  LayerWork work{request, checkpoint, original ? &*original : nullptr, activations, {}, {}};
  if (original)
    for (const CheckpointLayer& layer : original->layers()) work.originals.emplace(layer.name, &layer);
  if (checkpoint.layers().empty())
    refuse("{}: layers: found none{}, allowed: matrices of weights", checkpoint.label(),
           out.unread.empty() ? "" : " (" + out.unread.front() + ")");
  std::vector<const CheckpointLayer*> chosen;
  for (const CheckpointLayer& layer : checkpoint.layers()) {
    if (layer.input_scale) work.input_scales[kind_of(layer.name)].push_back(*layer.input_scale);
    if (fnmatch(request.layers.c_str(), layer.name.c_str(), 0) == 0) chosen.push_back(&layer);
  }
  if (chosen.empty())
    refuse("--layers: found {}, which no layer matches, allowed: a glob over {} layers ({})", request.layers,
           checkpoint.layers().size(), "such as " + checkpoint.layers().front().name);
  if (!list) progress.begin("layers", chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const CheckpointLayer& layer = *chosen[i];
    ModelLayer& one = out.layers.emplace_back();
    one.name = layer.name, one.meaning = layer.meaning();
    one.experts = layer.experts, one.n = layer.n, one.k = layer.k, one.bytes = layer.bytes;
    one.type =
        layer.scale_columns != 0 ? std::string(layer.convention_name()) : std::string(name_of(layer.format));
    one.quantized = layer.scale_columns != 0, one.product = layer.product;
    if (list) continue;
    audit_layer(work, layer, i, one, out);
    progress.advance(1);
  }
  if (list) return out;
  out.activations = activations.said();
  out.sampled = fmt::format(
      "{} rows of A and at most 64 rows of every weight, in runs of 16 of one expert; scales and largest "
      "magnitudes are those of the whole layer.",
      kRows);
  out.audit.activations = out.activations;
  out.audit.provenance.backend = "model";
  return out;
}

}  // namespace mmaudit::report
