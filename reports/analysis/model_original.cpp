// A layer beside the original's of its name.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mmaudit/printable.hpp"
#include "model_activations.hpp"
#include "model_weights.hpp"
#include "tables.hpp"

namespace mmaudit::report {
namespace {

using corpus::Checkpoint;
using corpus::CheckpointLayer;
using corpus::CheckpointRows;

/// Calls `visit` with all rows, in pieces.
template <class Visit>
void each_piece(const Checkpoint& checkpoint, const CheckpointLayer& layer, const Visit& visit) {
  constexpr std::uint64_t kPieceOf = std::uint64_t{1} << 22;
  const std::uint64_t step = std::max<std::uint64_t>(1, kPieceOf / layer.k);
  for (std::uint64_t first = 0; first < layer.rows(); first += step)
    visit(checkpoint.rows(layer, first, std::min(step, layer.rows() - first)));
}

/// The largest finite magnitude of all rows.
double largest_of(const Checkpoint& checkpoint, const CheckpointLayer& layer) {
  if (layer.scale_columns == 0) return corpus::facts_of(*layer.codes).largest;
  double largest = 0;
  each_piece(checkpoint, layer, [&](const CheckpointRows& rows) {
    for (const float one : corpus::dequantized(layer, rows))
      if (std::isfinite(one)) largest = std::max(largest, std::fabs(static_cast<double>(one)));
  });
  return largest;
}

/// Where else the original has these weights: ", which are those of ...", or "".
std::string place_of(const LayerWork& work, const CheckpointLayer& layer, const CheckpointLayer& own,
                     const SampledRows& sample) {
  constexpr std::size_t kMost = 512;  // layers and experts that are read for it
  std::size_t read = 0;
  for (const auto& [name, other] : work.originals) {
    if (other->n != own.n || other->k != own.k || layer.transposed_experts()) continue;
    for (std::uint64_t expert = 0; expert < other->experts; ++expert) {
      if (++read > kMost) return {};
      SampledRows like;
      for (const std::uint64_t row : sample.rows) like.rows.push_back(expert * layer.n + row % layer.n);
      if (other_weights(sample, same_rows(*work.original, *other, like, layer).weights, {}, layer.k).empty())
        return fmt::format("; they are {} of the original{}", printable(name),
                           other->experts > 1 ? fmt::format(", expert {}", expert) : "");
    }
  }
  return {};
}

/// The original's layer in the shape that this one has, or why there is none.
std::string original_of(const LayerWork& work, const CheckpointLayer& layer, const CheckpointLayer*& of) {
  const auto found = work.originals.find(layer.name);
  if (found == work.originals.end()) return "the original has no layer of this name";
  of = found->second;
  const bool turned = layer.transposed_experts() && of->scale_columns == 0;
  return of->experts == layer.experts && (turned ? of->k : of->n) == layer.n &&
                 (turned ? of->n : of->k) == layer.k
             ? ""
             : fmt::format("the original is {} x {} of {}", of->experts, of->n, of->k);
}

/// A rotation of A keeps the norms of rows, up to a norm's factors that were multiplied in before.
void compare_rotated(const LayerWork& work, const CheckpointLayer& layer, const SampledRows& sample,
                     const std::vector<float>& original, ModelLayer& out) {
  constexpr double kNear = 0.1;
  const std::string turned = "rotated (transform_config: " + layer.rotation + ")";
  const auto off = [&](const std::vector<float>& by) {
    double difference = 0, all = 0;
    for (std::size_t row = 0; row < sample.rows.size(); ++row) {
      double x = 0, y = 0;
      for (std::size_t i = 0; i < layer.k; ++i) {
        const double now = sample.weights[row * layer.k + i];
        const double before = static_cast<double>(original[row * layer.k + i]) * (by.empty() ? 1.0 : by[i]);
        x += now * now, y += before * before;
      }
      difference += (std::sqrt(x) - std::sqrt(y)) * (std::sqrt(x) - std::sqrt(y)), all += y;
    }
    return all > 0 ? std::sqrt(difference / all) : INFINITY;
  };
  double least = off({});
  for (const corpus::OtherTensor& other : work.original->others())
    if (least > kNear && other.tensor != nullptr &&
        other.tensor->shape == std::vector<std::uint64_t>{layer.k} && corpus::has_numbers(*other.tensor))
      least = std::min(least, off(corpus::numbers_of(*other.tensor, 0, layer.k)));
  if (layer.rotation != "weight_input")
    out.notes.push_back("not compared: " + turned);
  else
    (least > kNear ? out.faults : out.notes)
        .push_back(
            fmt::format("{}: norms of its rows are off by {:.2g} of the original's, the rest is not compared",
                        turned, least));
}

}  // namespace

WholeLayer whole_layer(const Checkpoint& checkpoint, const CheckpointLayer& layer) {
  WholeLayer out;
  out.numbers = corpus::facts_of(*layer.codes);
  for (std::uint64_t expert = 0; expert < layer.experts && layer.scale != nullptr; ++expert)
    count_scales(layer, checkpoint.rows(layer, expert * layer.n, layer.n, false).scales, out.scales);
  if (layer.scale == nullptr && layer.scale_columns != 0)  // they lie among the codes
    each_piece(checkpoint, layer, [&](const CheckpointRows& rows) {
      count_scales(layer, rows.scales, out.scales);
      count_scales(layer, rows.offsets, out.scales);
    });
  return out;
}

void compare_layer(const LayerWork& work, const CheckpointLayer& layer, const SampledRows& sample,
                   const WholeLayer& all, std::vector<float>& reference, ModelLayer& out) {
  const CheckpointLayer* found_there = nullptr;
  if (out.why = original_of(work, layer, found_there); !out.why.empty()) return;
  const CheckpointLayer& of = *found_there;
  out.compared = layer.rotation.empty() || layer.rotation == "weight_input";
  constexpr std::uint64_t kOfExpert = 16;  // rows
  CheckpointRows whole;
  if (layer.scale_columns != 0) whole = work.checkpoint.rows(layer, 0, layer.rows(), false);
  const double largest = layer.scale_columns != 0 ? largest_of(*work.original, of) : 0;
  const std::uint64_t own = sample.rows.front() / layer.n;
  std::vector<std::uint64_t> faulty;
  for (std::uint64_t expert = 0; expert < layer.experts; ++expert) {
    const SampledRows rows =
        expert == own ? sample
                      : sampled_rows(work.checkpoint, layer, expert, seed_of(work.request.seed, layer.name),
                                     std::min(work.request.sample, kOfExpert));
    std::vector<float> original = same_rows(*work.original, of, rows, layer).weights;
    ModelLayer found;
    Smoothing smoothing;
    if (!layer.rotation.empty()) {
      compare_rotated(work, layer, rows, original, found);
      if (expert == own) reference = sample.weights;  // its own product
    } else {
      find_faults(layer, rows, original, largest, whole, found, smoothing);
      if (!found.faults.empty() && found.faults.back().starts_with("other weights"))
        found.faults.back() += place_of(work, layer, of, rows);
      const WeightComparison one = compared(layer, rows, original);
      if (!out.against || !(one.error <= out.against->error)) out.against = one;
      if (expert == own) reference = std::move(original);
    }
    if (!found.faults.empty()) faulty.push_back(expert);
    const bool first = out.faults.empty() && faulty.size() == 1;
    if (first) out.faults = found.faults;
    if (out.suspicions.empty()) out.suspicions = found.suspicions;
    if (out.notes.empty()) out.notes = found.notes;
    if (!smoothing.text.empty()) work.smoothings.emplace(layer.name, std::move(smoothing));
  }
  if (out.against) {
    WeightComparison& to = *out.against;
    to.scales = all.scales.scales, to.zero = all.scales.zero, to.infinite = all.scales.infinite;
    to.nan = all.scales.nan, to.subnormal = all.scales.subnormal;
  }
  if (layer.experts > 1 && !faulty.empty())
    out.faults.back() +=
        fmt::format(" (expert {}, {} of {} have faults)", faulty.front(), faulty.size(), layer.experts);
}

}  // namespace mmaudit::report
