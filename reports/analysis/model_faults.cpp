// What is wrong with a quantized layer, found by trying what would put it right.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "gemm/stages.hpp"
#include "mmaudit/fast_cast.hpp"
#include "model_weights.hpp"

namespace mmaudit::report {
namespace {

using corpus::CheckpointLayer;
using corpus::CheckpointRows;

/// What is left when each group of elements has the factor that fits it best, and the factors' ends.
struct Fit {
  double error = 0, least = INFINITY, most = -INFINITY;
};
template <class GroupOf>
Fit fitted(const SampledRows& sample, const std::vector<float>& original, std::size_t count,
           const GroupOf& group_of) {
  std::vector<double> along(count), own(count);
  for (std::size_t i = 0; i < original.size(); ++i) {
    const double x = sample.weights[i];
    along[group_of(i)] += x * static_cast<double>(original[i]), own[group_of(i)] += x * x;
  }
  Fit out;
  std::vector<float> made = sample.weights;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const std::size_t group = group_of(i);
    const double factor = own[group] > 0 && std::isfinite(own[group]) ? along[group] / own[group] : 1;
    out.least = std::min(out.least, factor), out.most = std::max(out.most, factor);
    made[i] = static_cast<float>(made[i] * factor);
  }
  out.error = distance(made, original, original);
  return out;
}

/// The column of scales of every k.
std::vector<std::size_t> blocks_of(const CheckpointLayer& layer, const SampledRows& sample) {
  std::vector<std::size_t> out(layer.k);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = sample.parts.front().groups.empty() ? i / layer.block_k : sample.parts.front().groups[i];
  return out;
}

/// The same rows with codes that are the nearest to these numbers under the scales that are there.
std::vector<float> requantized(const CheckpointLayer& layer, SampledRows rows,
                               const std::vector<double>& numbers) {
  const FormatSpec format = spec_of(layer.format);
  const FastCast cast(format, {CastRounding::nearest_even, true});
  CheckpointLayer unit = layer;  // what a scale makes of a code of one
  unit.dequantized = Format::f32;
  std::size_t at = 0;
  const std::vector<std::size_t> blocks = blocks_of(layer, rows);
  for (CheckpointRows& part : rows.parts) {
    CheckpointRows ones = part;
    const std::uint64_t one = encode_value(1.0, format, {});
    std::fill(ones.codes.begin(), ones.codes.end(), static_cast<std::uint8_t>(one));
    ones.zeros.clear(), ones.offsets.clear();
    const std::vector<float> scales = corpus::dequantized(unit, ones);
    for (std::size_t i = 0; i < part.codes.size(); ++i, ++at) {
      const std::uint64_t row = part.first + i / layer.k, expert = row / layer.n, k = i % layer.k;
      const std::uint64_t scale =
          (expert * layer.scale_rows + row % layer.n / layer.block_n - part.first_scale) *
              layer.scale_columns +
          blocks[k];
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

std::string other_weights(const SampledRows& sample, const std::vector<float>& original,
                          const std::vector<float>& nearest, std::uint64_t k) {
  constexpr double kRelated = 0.5, kFar = 3;  // cosine of one row with the other; of the error that has to be
  std::size_t foreign = 0;
  double along = 0, own = 0, of = 0;
  for (std::size_t row = 0; row < sample.rows.size(); ++row) {
    double x = 0, y = 0, z = 0, far = 0, near = 0;
    for (std::size_t i = row * k; i < (row + 1) * k; ++i) {
      const double mine = sample.weights[i], theirs = original[i];
      x += mine * theirs, y += mine * mine, z += theirs * theirs;
      far += (mine - theirs) * (mine - theirs);
      const double least = nearest.empty() ? 0 : static_cast<double>(nearest[i]) - theirs;
      near += least * least;
    }
    along += x, own += y, of += z;
    if (far > kFar * kFar * near && !(x > kRelated * std::sqrt(y * z))) ++foreign;
  }
  if (foreign == 0) return {};
  const std::string rows = foreign == sample.rows.size()
                               ? ""
                               : fmt::format(" in {} of {} sampled rows", foreign, sample.rows.size());
  return fmt::format("other weights{}: error {:.3g}, cosine {:.2g} with the original's", rows,
                     distance(sample.weights, original, original),
                     own > 0 && of > 0 ? along / std::sqrt(own * of) : 0.0);
}

void find_faults(const CheckpointLayer& layer, const SampledRows& sample, const std::vector<float>& original,
                 double largest, const CheckpointRows& whole, ModelLayer& of) {
  std::vector<std::string>& out = of.faults;
  if (layer.scale_columns == 0) {
    if (std::string other = other_weights(sample, original, {}, layer.k); !other.empty())
      out.push_back(other);
    return;
  }
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
  if (!out.empty()) return;
  const std::size_t k = layer.k;
  const Fit whole_factor = fitted(sample, original, 1, [](std::size_t) { return 0; });
  if (whole_factor.error < 1 && kCollapse * whole_factor.error < error)
    out.push_back(fmt::format(
        "{}: error {:.3g}, and {:.3g} times {:.4g}",
        whole_factor.most < 0 ? "scales of the other sign" : "quantized twice, the first scale lost", error,
        whole_factor.error, whole_factor.most));
  const std::vector<std::size_t> blocks = blocks_of(layer, sample);
  const Fit by_block = fitted(sample, original, sample.rows.size() * columns,
                              [&](std::size_t i) { return i / k * columns + blocks[i % k]; });
  if (out.empty() && by_block.error < 1 && kCollapse * by_block.error < error)
    out.push_back(fmt::format("scales of other blocks: error {:.3g}, and {:.3g} with scales that fit", error,
                              by_block.error));
  if (!out.empty()) return;
  // Codes that are not the nearest to the original, but to what another recipe makes of it.
  const std::vector<double> numbers(original.begin(), original.end());
  constexpr double kOtherTies = 0.02;  // a writer that rounds them otherwise stays below
  const std::vector<float> nearest = requantized(layer, sample, numbers);
  constexpr std::size_t kEnough = 8;  // rows, for a factor per column to say something
  const Fit column = fitted(sample, original, k, [&](std::size_t i) { return i % k; });
  if (sample.rows.size() >= kEnough && kCollapse * column.error < error) {
    of.suspicions.push_back(fmt::format(
        "every column has a factor of its own, {:.3g} to {:.3g}: AWQ or SmoothQuant, whose other half is in "
        "the layer before; errors against the original count it ({:.3g}, and {:.3g} without)",
        column.least, column.most, error, column.error));
    return;
  }
  if (std::string other = other_weights(sample, original, nearest, k); !other.empty()) {
    out.push_back(other);
    return;
  }
  constexpr double kUseless = 0.5;  // no format here errs as much
  const double least = distance(nearest, original, original);
  if (error > kUseless || kCollapse * least < error) {
    (error > kUseless ? out : of.suspicions)
        .push_back(
            fmt::format("unlike the original: error {:.3g}, and {:.3g} with the nearest codes under the "
                        "same scales",
                        error, least));
    return;
  }
  const double once = distance(sample.weights, nearest, original);
  if (once < kOtherTies) return;
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
  return;
}

}  // namespace mmaudit::report
