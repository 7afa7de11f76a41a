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

/// Elements that share a factor: how many factors there are, and which one an element has.
struct Sharing {
  std::size_t count;
  std::function<std::size_t(std::size_t)> of;
};

/// The original times the factors that fit the sample best, one of each sharing, and what is left.
struct Fit {
  std::vector<std::vector<double>> factors;
  std::vector<float> made;
  double error = 0;
};

Fit fitted(const std::vector<float>& sample, const std::vector<float>& original,
           const std::vector<Sharing>& by) {
  constexpr int kRounds = 4;  // two kinds of factors are found in turns
  Fit out;
  for (const Sharing& one : by) out.factors.emplace_back(one.count, 1.0);
  std::vector<double> made(original.begin(), original.end());
  for (int round = 0; round < (by.size() > 1 ? kRounds : 1); ++round)
    for (std::size_t s = 0; s < by.size(); ++s) {
      std::vector<double> along(by[s].count), own(by[s].count);
      for (std::size_t i = 0; i < made.size(); ++i) {
        const std::size_t at = by[s].of(i);
        along[at] += made[i] * static_cast<double>(sample[i]), own[at] += made[i] * made[i];
      }
      for (std::size_t at = 0; at < own.size(); ++at) {
        along[at] = own[at] > 0 && along[at] != 0 ? along[at] / own[at] : 1;
        out.factors[s][at] *= along[at];
      }
      for (std::size_t i = 0; i < made.size(); ++i) made[i] *= along[by[s].of(i)];
    }
  out.made.assign(made.begin(), made.end());
  out.error = distance(sample, out.made, out.made);
  return out;
}

std::string span_text(const std::vector<double>& factors) {
  const auto [least, most] = std::minmax_element(factors.begin(), factors.end());
  return fmt::format("{:.2g} to {:.2g}", *least, *most);
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

/// The share of blocks without a number, where the original's are no smaller than half of all.
double lost(const CheckpointLayer& layer, const SampledRows& sample, const std::vector<float>& original) {
  constexpr double kNothing = 0x1p-40, kLarge = 0.25;  // squares, to the original's
  const std::size_t k = layer.k, blocks = layer.scale_columns == 0 ? 1 : layer.scale_columns;
  const std::vector<std::size_t> of = blocks == 1 ? std::vector<std::size_t>(k) : blocks_of(layer, sample);
  std::vector<double> own(sample.rows.size() * blocks), before(own.size());
  double all = 0;
  for (std::size_t i = 0; i < original.size(); ++i) {
    const std::size_t at = i / k * blocks + of[i % k];
    const double x = sample.weights[i], y = original[i];
    own[at] += x * x, before[at] += y * y, all += y * y;
  }
  std::size_t count = 0;
  for (std::size_t at = 0; at < own.size(); ++at)
    if (own[at] <= kNothing * before[at] && before[at] * static_cast<double>(own.size()) > kLarge * all)
      ++count;
  return static_cast<double>(count) / static_cast<double>(own.size());
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

void difference(double error, std::vector<std::string>& faults, std::vector<std::string>& suspicions) {
  constexpr double kOther = 0.05, kRounded = 0x1p-8;  // BF16 rounds to 2^-9
  if (error > kRounded)
    (error > kOther ? faults : suspicions)
        .push_back(fmt::format("differs from the original, though it is not quantized: error {:.3g}", error));
}

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

void find_faults(const CheckpointLayer& layer, const SampledRows& sample, std::vector<float>& original,
                 double largest, const CheckpointRows& whole, ModelLayer& of, Smoothing& smoothing) {
  std::vector<std::string>& out = of.faults;
  const std::size_t k = layer.k, columns = layer.scale_columns, n = sample.rows.size();
  constexpr double kCollapse = 3;     // what is wrong leaves far more error than quantization does
  constexpr double kHalf = 2;         // an alternative that leaves half is the right one, or near it
  constexpr double kDamaged = 0.25;   // far from the nearest codes; fine-tuning changes less
  constexpr double kUseless = 0.5;    // no format here errs as much
  constexpr std::size_t kEnough = 8;  // rows, for a factor per column to say something
  const Sharing by_row = {n, [k](std::size_t i) { return i / k; }},
                by_column = {k, [k](std::size_t i) { return i % k; }};
  const auto both = [&](const std::vector<float>& weights) {
    return n < kEnough ? 1.0 : fitted(weights, original, {by_column, by_row}).error;
  };
  double error = distance(sample.weights, original, original);
  if (error == 0) return;
  if (const double part = lost(layer, sample, original); part > 0 && part < 1) {
    out.push_back(
        fmt::format("lost: {:.3g} % of the numbers lie in blocks of zeros, where the original has "
                    "numbers as large as elsewhere: error {:.3g}",
                    100 * part, error));
    return;
  }
  const double smooth = both(sample.weights);
  const auto attempt = [&](const std::string& fault, const std::string& with,
                           const std::function<void(CheckpointRows&)>& change) {
    SampledRows other = sample;
    for (CheckpointRows& part : other.parts) change(part);
    other.dequantize(layer);
    const double after = distance(other.weights, original, original);
    if (after < kUseless && kHalf * after < error)
      out.push_back(fmt::format("{}: error {:.3g}, and {:.3g} {}", fault, error, after, with));
    else if (kUseless < smooth)  // smoothed besides
      if (const double also = both(other.weights); also < kUseless && kHalf * also < smooth)
        out.push_back(
            fmt::format("{}: error {:.3g}, and {:.3g} {} and a factor per column", fault, error, also, with));
  };
  const bool whole_numbers = spec_of(layer.format).integer(), four = spec_of(layer.format).value_bits() == 4;
  if (columns != 0 && four)
    attempt("wrong nibble order", "with the halves of every byte exchanged", [](CheckpointRows& part) {
      for (std::size_t i = 0; i + 1 < part.codes.size(); i += 2) std::swap(part.codes[i], part.codes[i + 1]);
    });
  if (columns != 0 && whole_numbers) {
    const bool sign = spec_of(layer.format).encoding == Encoding::signed_integer;
    attempt(sign ? "signed codes, kept as unsigned ones are" : "unsigned codes, kept as signed ones are",
            "with half of the range added", [&](CheckpointRows& part) {
              for (std::uint8_t& code : part.codes)
                code = static_cast<std::uint8_t>(!four              ? code ^ 0x80U
                                                 : !sign            ? code ^ 8U
                                                 : (code ^ 8U) & 8U ? (code ^ 8U) | 0xF0U
                                                                    : (code ^ 8U) & 15U);
            });
  }
  for (const float by : {1.0F, -1.0F})
    if (layer.zeros)
      attempt(
          "zeros are off by one",
          fmt::format("with {:+}", by) +
              (layer.convention_name().starts_with("gptq") ? ": formats gptq and gptq_v2 differ in it" : ""),
          [by](CheckpointRows& part) {
            for (float& zero : part.zeros) zero += by;
          });
  const auto inverse = [](std::vector<float>& scales) {
    for (float& scale : scales) scale = scale == 0 ? 0 : 1 / scale;
  };
  if (columns != 0)
    attempt("reciprocal scale", "with 1 / scale", [&](CheckpointRows& part) { inverse(part.scales); });
  if (layer.factors)
    attempt("reciprocal scale", "with 1 / scale of the tensor",
            [&](CheckpointRows& part) { inverse(part.factors); });
  const std::uint64_t rows = layer.scale_rows;
  if (rows > 1 && columns > 1)
    attempt("transposed scale blocks", "with the scales transposed", [&](CheckpointRows& part) {
      for (std::size_t i = 0; i < part.scales.size(); ++i) {
        const std::uint64_t row = part.first_scale + i / columns, expert = row / rows;
        part.scales[i] = whole.scales[(expert * columns + i % columns) * rows + row % rows];
      }
    });
  if (!out.empty()) return;
  // The simplest factors that leave about as little as any.
  struct Explanation {
    std::vector<Sharing> by;
    double gate;  // of the error; one factor, or one per column, fits nothing by chance
    Fit fit{};
  };
  constexpr double kClear = 1.5;
  std::vector<Explanation> all = {{{{1, [](std::size_t) { return std::size_t{0}; }}}, kClear},
                                  {{by_row}, kCollapse}};
  if (n >= kEnough) all.push_back({{by_column}, kClear}), all.push_back({{by_column, by_row}, kClear});
  if (columns != 0) {
    const std::vector<std::size_t> blocks = blocks_of(layer, sample);
    all.push_back(
        {{{n * columns, [=](std::size_t i) { return i / k * columns + blocks[i % k]; }}}, kCollapse});
  }
  double least_left = error;
  for (Explanation& one : all)
    one.fit = fitted(sample.weights, original, one.by), least_left = std::min(least_left, one.fit.error);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Explanation& one) {
    return one.fit.error < kUseless && one.fit.error <= kClear * least_left &&
           one.gate * one.fit.error < error;
  });
  if (found != all.end()) {
    const Fit& fit = found->fit;
    const std::vector<double>& first = fit.factors.front();
    if (first.size() == 1 && found == all.begin()) {
      out.push_back(fmt::format("{}: error {:.3g}, and {:.3g} times {:.4g}",
                                first[0] < 0   ? "scales of the other sign"
                                : columns == 0 ? "all weights times a factor"
                                               : "quantized twice, the first scale lost",
                                error, fit.error, 1 / first[0]));
      return;
    }
    if (columns != 0 && found + 1 == all.end()) {
      out.push_back(fmt::format("scales of other blocks: error {:.3g}, and {:.3g} with scales that fit",
                                error, fit.error));
      return;
    }
    for (const std::uint64_t row : sample.rows) smoothing.rows.push_back(row % layer.n);
    const bool alone = found->by.size() == 1 && found == all.begin() + 1;
    if (alone) smoothing.by_row = first;
    if (!alone) smoothing.by_column = first;
    if (found->by.size() > 1) smoothing.by_row = fit.factors[1];
    smoothing.text = fmt::format(
        "{}{}{} (error {:.3g}, and {:.3g} without)",
        alone ? "" : "columns scaled by a smoothing factor, " + span_text(smoothing.by_column),
        found->by.size() > 1 ? ", and " : "",
        smoothing.by_row.empty() ? "" : "rows by a factor, " + span_text(smoothing.by_row), error, fit.error);
    original = fit.made, error = fit.error;
    largest = 0;
    for (const float one : original) largest = std::max(largest, std::fabs(static_cast<double>(one)));
  }
  if (columns == 0) {
    if (std::string other = other_weights(sample, original, {}, layer.k); !other.empty())
      out.push_back(other);
    else
      difference(error, out, of.suspicions);
    return;
  }
  // Codes that are not the nearest to the original, but to what another recipe makes of it.
  const std::vector<double> numbers(original.begin(), original.end());
  constexpr double kOtherTies = 0.02;  // a writer that rounds them otherwise stays below
  const std::vector<float> nearest = requantized(layer, sample, numbers);
  if (std::string other = other_weights(sample, original, nearest, k); !other.empty()) {
    out.push_back(other);
    return;
  }
  const double least = distance(nearest, original, original);
  if (error > kUseless || kHalf * least < error) {
    (error > (kHalf * least < error ? kDamaged : kUseless) ? out : of.suspicions)
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
