#include "model_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

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

constexpr std::uint64_t kRun = 16, kRuns = 4;

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

/// Norm of x - of over the norm of `of`; infinite where x is not finite.
double distance(const std::vector<float>& x, const std::vector<float>& of, const std::vector<float>& from) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(of[i]);
    sum += d * d;
  }
  return std::isfinite(sum) ? std::sqrt(sum) / norm(from) : INFINITY;
}

/// The same rows with codes that are the nearest to these numbers under the scales that are there.
std::vector<float> requantized(const CheckpointLayer& layer, SampledRows rows,
                               const std::vector<double>& numbers) {
  const FormatSpec format = spec_of(layer.format);
  const FastCast cast(format, {CastRounding::nearest_even, true});
  CheckpointLayer unit = layer;  // what a scale makes of a code of one
  unit.dequantized = Format::f32;
  std::size_t at = 0;
  for (CheckpointRows& part : rows.parts) {
    CheckpointRows ones = part;
    const std::uint64_t one = encode_value(1.0, format, {});
    std::fill(ones.codes.begin(), ones.codes.end(), static_cast<std::uint8_t>(one));
    ones.zeros.clear(), ones.offsets.clear();
    const std::vector<float> scales = corpus::dequantized(unit, ones);
    for (std::size_t i = 0; i < part.codes.size(); ++i, ++at) {
      const std::uint64_t row = part.first + i / layer.k, expert = row / layer.n, k = i % layer.k;
      const std::uint64_t column = part.groups.empty() ? k / layer.block_k : part.groups[k];
      const std::uint64_t scale =
          (expert * layer.scale_rows + row % layer.n / layer.block_n - part.first_scale) *
              layer.scale_columns +
          column;
      const double offset = part.offsets.empty() ? 0 : part.offsets[scale];
      const double zero = part.zeros.empty() ? 0 : part.zeros[scale];
      const double x = scales[i] == 0 ? 0 : (numbers[at] + offset) / scales[i] + zero;
      part.codes[i] = static_cast<std::uint8_t>(cast(x));
    }
  }
  rows.dequantize(layer);
  return rows.weights;
}

/// What a recipe makes of the original, (rows, k).
std::vector<double> quantized_by(std::string_view recipe, const std::vector<float>& original, std::uint64_t k,
                                 double largest) {
  const GemmCombination of = combination_of_recipe(recipe);
  const std::vector<double> b = as_b(original, k), a(k, 1.0);
  const std::uint64_t n = original.size() / k;
  const ConvertedOperands made = convert_alone(of.dtype, of.scaling, {1, n, k, a, b, {}, 1, largest}, {});
  std::vector<double> out(original.size());
  for (std::uint64_t j = 0; j < n; ++j)
    for (std::uint64_t i = 0; i < k; ++i) out[j * k + i] = made.b.values[i * n + j] * made.b.factor_at(j, i);
  return out;
}

}  // namespace

void SampledRows::dequantize(const CheckpointLayer& layer) {
  weights.clear();
  for (const CheckpointRows& part : parts) {
    const std::vector<float> some = corpus::dequantized(layer, part);
    weights.insert(weights.end(), some.begin(), some.end());
  }
}

SampledRows sampled_rows(const Checkpoint& checkpoint, const CheckpointLayer& layer, std::uint64_t seed) {
  SampledRows out;
  const std::uint64_t expert = layer.experts > 1 ? sampled(1, layer.experts, seed)[0] : 0;
  const std::uint64_t runs = (layer.n + kRun - 1) / kRun;
  for (const std::uint64_t run : sampled(kRuns, runs, seed))
    for (std::uint64_t i = run * kRun; i < std::min(layer.n, (run + 1) * kRun); ++i)
      out.rows.push_back(expert * layer.n + i);
  read_runs(checkpoint, layer, out);
  return out;
}

SampledRows same_rows(const Checkpoint& checkpoint, const CheckpointLayer& layer, const SampledRows& like,
                      std::uint64_t alternating) {
  SampledRows out;
  out.rows = like.rows;
  if (const std::uint64_t of = alternating; of != 0)
    for (std::uint64_t& row : out.rows) row = row / of * of + row % 2 * (of / 2) + row % of / 2;
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

WeightComparison compared(const CheckpointLayer& layer, const SampledRows& sample,
                          const std::vector<float>& original, const CheckpointRows& whole) {
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
  const FormatSpec scales = spec_of(layer.scale_format == Format::none ? Format::f32 : layer.scale_format);
  for (const float scale : whole.scales) {
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
  return out;
}

std::vector<std::string> faults_of(const CheckpointLayer& layer, const SampledRows& sample,
                                   const std::vector<float>& original, double largest,
                                   const CheckpointRows& whole) {
  std::vector<std::string> out;
  if (layer.scale_columns == 0) return out;
  constexpr double kCollapse = 3;  // what is wrong leaves far more error than quantization does
  const double error = distance(sample.weights, original, original);
  const auto attempt = [&](const std::string& fault, const std::string& with,
                           const std::function<void(CheckpointRows&)>& change) {
    SampledRows other = sample;
    for (CheckpointRows& part : other.parts) change(part);
    other.dequantize(layer);
    const double after = distance(other.weights, original, original);
    if (after < 1 && kCollapse * after < error)
      out.push_back(fmt::format("{}: error {:.3g}, and {:.3g} {}", fault, error, after, with));
  };
  if (layer.format == Format::e2m1)
    attempt("wrong nibble order", "with the halves of every byte exchanged", [](CheckpointRows& part) {
      for (std::size_t i = 0; i + 1 < part.codes.size(); i += 2) std::swap(part.codes[i], part.codes[i + 1]);
    });
  const auto inverse = [](std::vector<float>& scales) {
    for (float& scale : scales) scale = scale == 0 ? 0 : 1 / scale;
  };
  attempt("reciprocal scale", "with 1 / scale", [&](CheckpointRows& part) { inverse(part.scales); });
  if (layer.factors)
    attempt("reciprocal scale", "with 1 / scale of the tensor",
            [&](CheckpointRows& part) { inverse(part.factors); });
  const std::uint64_t rows = layer.scale_rows, columns = layer.scale_columns;
  if (rows > 1 && columns > 1)
    attempt("transposed scale blocks", "with the scales transposed", [&](CheckpointRows& part) {
      for (std::size_t i = 0; i < part.scales.size(); ++i) {
        const std::uint64_t row = part.first_scale + i / columns, expert = row / rows;
        part.scales[i] = whole.scales[(expert * columns + i % columns) * rows + row % rows];
      }
    });
  double along = 0, own = 0;  // the factor that fits best
  for (std::size_t i = 0; i < original.size(); ++i) {
    along += static_cast<double>(original[i]) * static_cast<double>(sample.weights[i]);
    own += static_cast<double>(sample.weights[i]) * static_cast<double>(sample.weights[i]);
  }
  if (out.empty() && own > 0 && std::isfinite(own)) {
    std::vector<float> fitted = sample.weights;
    for (float& one : fitted) one = static_cast<float>(one * (along / own));
    if (const double after = distance(fitted, original, original); after < 1 && kCollapse * after < error)
      out.push_back(
          fmt::format("quantized twice, the first scale lost: error {:.3g}, and {:.3g} times {:.4g}", error,
                      after, along / own));
  }
  if (!out.empty()) return out;
  // Codes that are not the nearest to the original, but to what another recipe makes of it.
  const std::vector<double> numbers(original.begin(), original.end());
  constexpr double kOtherTies = 0.02;  // a writer that rounds them otherwise stays below
  const double once = distance(sample.weights, requantized(layer, sample, numbers), original);
  if (once < kOtherTies) return out;
  constexpr double kTwice = 2;  // what was made of the original lies on ties of what follows
  const FormatSpec bf16 = spec_of(Format::bf16);
  for (const char* recipe :
       {"nvfp4", "mxfp4", "fp8-tensor", "fp8-row-torchao", "fp8-1x128", "mxfp8-ceil", "int8-w8a8"}) {
    const GemmDtype dtype = combination_of_recipe(recipe).dtype;
    if (dtype.element == layer.format && dtype.scale_block == static_cast<int>(layer.block_k)) continue;
    std::vector<double> made = quantized_by(recipe, original, layer.k, largest);
    double twice = distance(sample.weights, requantized(layer, sample, made), original);
    for (double& one : made)
      one = decode_value(encode_nearest_even(one, bf16), bf16);  // kept as BF16 in between
    twice = std::min(twice, distance(sample.weights, requantized(layer, sample, made), original));
    if (kTwice * twice < once)
      out.push_back(fmt::format(
          "quantized twice: codes are off by {:.3g} from the original's, and by {:.3g} from those of "
          "what {} made of it",
          once, twice, recipe));
  }
  return out;
}

}  // namespace mmaudit::report
