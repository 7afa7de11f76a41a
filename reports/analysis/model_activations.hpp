#pragma once
// Activations of a checkpoint's layers: drawn, or captured.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/corpus/checkpoint.hpp"

namespace mmaudit::report {

/// Of a layer's sample: the other layers don't matter.
std::uint64_t seed_of(std::uint64_t seed, std::string_view name);

/// Rows of A for a layer: drawn, or captured.
class Activations {
 public:
  /// Errors: InputError for a text that is neither a distribution nor a file of a capture.
  Activations(const std::string& text, std::uint64_t seed);

  [[nodiscard]] const std::string& said() const { return said_; }
  [[nodiscard]] bool captured() const { return !file_.empty(); }

  /// (rows, k); empty: the capture has none of this layer. `largest`: of all of them. Drawn ones reach
  /// `range`, what the layer's static scale covers, unless that is 0.
  std::vector<double> of(const corpus::CheckpointLayer& layer, double range, double& largest) const;

 private:
  std::string file_, said_;
  std::map<std::string, std::string> names_;
  std::uint64_t seed_, channels_ = 0, factor_ = 0;
};

inline constexpr std::uint64_t kActivationRows = 32;

}  // namespace mmaudit::report
