#include "model_activations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "file_matrix.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/printable.hpp"
#include "mmaudit/report/gemm_audit.hpp"
#include "mmaudit/splitmix64.hpp"
#include "mmaudit/whole_number.hpp"
#include "normal_draws.hpp"

namespace mmaudit::report {

using corpus::CheckpointLayer;

std::uint64_t seed_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t out = mixed(seed);
  for (const char letter : name) out = mixed(out ^ static_cast<unsigned char>(letter));
  return out;
}

Activations::Activations(const std::string& text, std::uint64_t seed) : seed_(seed) {
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

std::vector<double> Activations::of(const CheckpointLayer& layer, double range, double& largest) const {
  const std::uint64_t seed = seed_of(seed_, layer.name);
  std::vector<double> out;
  if (captured()) {
    const auto found = names_.find(layer.name);
    if (found == names_.end()) return out;
    const FileMatrix matrix("--activations", file_ + ":" + found->second, "A", false);
    if (matrix.columns() != layer.k)
      refuse("--activations: {}: found K = {}, allowed: {}", found->second, matrix.columns(), layer.k);
    largest = matrix.facts().largest;
    return matrix.part(sampled(kActivationRows, matrix.rows(), seed), sampled(layer.k, layer.k, 0));
  }
  NormalDraws draw(static_cast<unsigned>(seed));
  out.resize(kActivationRows * layer.k);
  for (double& one : out) one = draw();
  for (const std::uint64_t channel : sampled(channels_, layer.k, seed))
    for (std::uint64_t r = 0; r < kActivationRows; ++r)
      out[r * layer.k + channel] *= static_cast<double>(factor_);
  for (const double one : out) largest = std::max(largest, std::fabs(one));
  if (range > 0) {
    for (double& one : out) one *= range / largest;
    largest = range;
  }
  return out;
}

}  // namespace mmaudit::report
