#include "model_weights.hpp"

#include <algorithm>
#include <cmath>

#include "gemm/stages.hpp"
#include "mmaudit/detail/quantize_loop.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/fast_cast.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

using corpus::Checkpoint;
using corpus::CheckpointLayer;
using corpus::CheckpointRows;

constexpr std::uint64_t kRun = 16;

void read_runs(const Checkpoint& checkpoint, const CheckpointLayer& layer, SampledRows& out) {
  for (std::size_t i = 0; i < out.rows.size();) {
    std::size_t end = i + 1;
    while (end < out.rows.size() && end - i < kRun && out.rows[end] == out.rows[end - 1] + 1) ++end;
    out.parts.push_back(checkpoint.rows(layer, out.rows[i], end - i));
    i = end;
  }
  out.dequantize(layer);
}

double norm(const std::vector<float>& x) {
  double sum = 0;
  for (const double one : x) sum += one * one;
  return std::sqrt(sum);
}

}  // namespace

double distance(const std::vector<float>& x, const std::vector<float>& of, const std::vector<float>& from) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(of[i]);
    sum += d * d;
  }
  return sum == 0 ? 0 : std::isfinite(sum) ? std::sqrt(sum) / norm(from) : INFINITY;
}

void SampledRows::dequantize(const CheckpointLayer& layer) {
  weights.clear();
  for (const CheckpointRows& part : parts) {
    const std::vector<float> some = corpus::dequantized(layer, part);
    weights.insert(weights.end(), some.begin(), some.end());
  }
}

SampledRows sampled_rows(const Checkpoint& checkpoint, const CheckpointLayer& layer, std::uint64_t expert,
                         std::uint64_t seed, std::uint64_t count) {
  SampledRows out;
  const std::uint64_t runs = (layer.n + kRun - 1) / kRun;
  for (const std::uint64_t run : sampled((count + kRun - 1) / kRun, runs, seed))
    for (std::uint64_t i = run * kRun; i < std::min(layer.n, (run + 1) * kRun) && out.rows.size() < count;
         ++i)
      out.rows.push_back(expert * layer.n + i);
  read_runs(checkpoint, layer, out);
  return out;
}

SampledRows same_rows(const Checkpoint& checkpoint, const CheckpointLayer& layer, const SampledRows& like,
                      const CheckpointLayer& of) {
  SampledRows out;
  out.rows = like.rows;
  if (of.transposed_experts() && layer.scale_columns == 0 && layer.experts > 1) {  // (experts, k, n)
    const std::uint64_t expert = like.rows.front() / of.n;
    const std::vector<float> all = corpus::dequantized(layer, checkpoint.rows(layer, expert * of.k, of.k));
    for (const std::uint64_t row : like.rows)
      for (std::uint64_t i = 0; i < of.k; ++i) out.weights.push_back(all[i * of.n + row % of.n]);
    return out;
  }
  if (const std::uint64_t head = of.head_rows; head != 0)
    for (std::uint64_t& row : out.rows) row = row / head * head + row % 2 * (head / 2) + row % head / 2;
  read_runs(checkpoint, layer, out);
  return out;
}

std::vector<double> as_b(const std::vector<float>& weights, std::uint64_t k) {
  const std::uint64_t n = weights.size() / k;
  std::vector<double> out(weights.size());
  for (std::uint64_t j = 0; j < n; ++j)
    for (std::uint64_t i = 0; i < k; ++i) out[i * n + j] = weights[j * k + i];
  return out;
}

GemmCombination combination_of_recipe(std::string_view name) {
  for (const Recipe& recipe : recipes()) {
    if (recipe.name != name) continue;
    GemmCombination out;
    out.architecture = find_architecture(recipe.arch);
    out.dtype = *find_gemm_dtype(recipe.dtype);
    out.scaling = *out.dtype.usual;
    for (const Scaling& one : recipe.scaling.empty() ? std::vector<Scaling>{} : find_scalings(recipe.scaling))
      out.scaling = one;
    for (const Scaling& one : usual_scalings(out.dtype))  // perhaps by a name that others have too
      if (one.name == recipe.scaling) out.scaling = one;
    out.accumulation = *find_accumulation(recipe.policy);
    return settled(out);
  }
  refuse("recipe: found {}, allowed: {}", name, names_of(recipes()));
}

std::string operand_of(const CheckpointLayer& layer, const SampledRows& sample, const GemmCombination& of,
                       ConvertedOperand& out) {
  const QuantizeRule rule = quantize_rule(of.dtype, of.scaling, true);
  const std::uint64_t n = sample.rows.size(), k = layer.k;
  const std::uint64_t block = rule.scaled()              ? rule.scale_block()
                              : rule.factor_block() == 0 ? k
                                                         : rule.factor_block();
  const bool per_lane = rule.factor_per_lane();
  if (layer.zeros || layer.groups || rule.element.id != layer.format ||
      (layer.block_k != block && layer.scale_columns != 1))
    return refusal("blocks: found {} of {}, allowed: {} of {}, as its recipe has them", layer.block_k,
                   name_of(layer.format), block, name_of(rule.element.id));
  if (!rule.scaled() && !per_lane && (layer.scale_rows != 1 || layer.scale_columns != 1))
    return refusal("scales: found {} x {}, allowed: one, as its recipe has it", layer.scale_rows,
                   layer.scale_columns);
  const std::uint64_t blocks = (k + block - 1) / block, pieces = (k + kPiece - 1) / kPiece;
  const FastDecode decode(rule.element), scale_of(rule.scaled() ? rule.scale : rule.element);
  out.raw.resize(n * k), out.values.resize(n * k), out.pieces.resize(n * pieces);
  out.factors = {1.0F}, out.lanes = 1, out.blocks = 1, out.depth = rule.factor_block();
  if (rule.scaled()) out.scales.resize(blocks * n);
  if (per_lane) out.lanes = n, out.blocks = blocks, out.factors.resize(n * blocks);
  std::uint64_t j = 0;
  for (const CheckpointRows& part : sample.parts)
    for (std::uint64_t r = 0; r < part.count; ++r, ++j) {
      const std::uint64_t row = part.first + r, expert = row / layer.n;
      const std::uint64_t from =
          (expert * layer.scale_rows + row % layer.n / layer.block_n - part.first_scale) *
          layer.scale_columns;
      if (!part.factors.empty()) {
        const float factor = part.factors[expert];
        out.factors[0] = layer.divides() ? 1 / factor : factor;
      }
      for (std::uint64_t b = 0; b < blocks; ++b) {
        const std::uint64_t at = from + (layer.scale_columns == 1 ? 0 : b);
        if (rule.scaled())
          out.scales[b * n + j] = part.stored_scales[at];
        else
          out.factors[per_lane ? j * blocks + b : 0] = part.scales[at];
      }
      for (std::uint64_t i = 0; i < k; ++i) {
        const std::uint8_t code = part.codes[r * k + i];
        const double by = rule.scaled() ? scale_of(out.scales[i / block * n + j]) : 1.0,
                     value = decode(code) * by;
        out.raw[i * n + j] = static_cast<std::byte>(code);
        out.values[i * n + j] = value;
        if (value == 0 || !std::isfinite(value)) continue;
        LanePiece& piece = out.pieces[j * pieces + i / kPiece];
        piece.squares += value * value;
        const int least = rule.element.integer() ? 0 : rule.element.min_exponent();
        piece.element = std::max(piece.element, std::max(std::ilogb(decode(code)), least) + std::ilogb(by));
        piece.scale = std::max(piece.scale, std::ilogb(by));
      }
    }
  return {};
}

void count_scales(const CheckpointLayer& layer, const std::vector<float>& all, WeightComparison& out) {
  const FormatSpec scales = spec_of(layer.scale_format == Format::none ? Format::f32 : layer.scale_format);
  for (const float scale : all) {
    ++out.scales;
    if (scale == 0)
      ++out.zero;
    else if (std::isnan(scale))
      ++out.nan;
    else if (std::isinf(scale))
      ++out.infinite;
    else if (std::fabs(scale) < std::ldexp(1.0, scales.min_exponent()) && scales.id != Format::ue8m0)
      ++out.subnormal;
  }
}

WeightComparison compared(const CheckpointLayer& layer, const SampledRows& sample,
                          const std::vector<float>& original) {
  WeightComparison out;
  out.error = distance(sample.weights, original, original);
  out.sqnr = -20 * std::log10(out.error);
  double saturated = 0, zeroed = 0;
  for (std::size_t i = 0; i < original.size(); ++i)
    zeroed += sample.weights[i] == 0 && original[i] != 0 ? 1 : 0;
  const FormatSpec format = spec_of(layer.format);
  const int bits = format.value_bits() - (format.encoding == Encoding::signed_integer ? 1 : 0);
  const double most =
      format.integer() ? std::ldexp(1.0, bits) - 1 : decode_value(format.max_finite_bits(), format);
  const FastDecode decode(format);
  for (const CheckpointRows& part : sample.parts)
    for (std::size_t i = 0; i < part.codes.size() && layer.scale_columns != 0; ++i)
      saturated += std::fabs(decode(part.codes[i])) >= most ? 1 : 0;
  const auto all = static_cast<double>(std::max<std::size_t>(1, original.size()));
  out.saturated = saturated / all, out.zeroed = zeroed / all;
  return out;
}

}  // namespace mmaudit::report
