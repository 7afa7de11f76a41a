#pragma once
// Some rows of a checkpoint's layer as an operand, and what is wrong with them.
#include <string>
#include <vector>

#include "mmaudit/corpus/checkpoint.hpp"
#include "mmaudit/report/gemm_errors.hpp"
#include "mmaudit/report/model_audit.hpp"

namespace mmaudit::report {

/// Runs of rows of one expert.
struct SampledRows {
  std::vector<std::uint64_t> rows;  ///< their numbers
  std::vector<corpus::CheckpointRows> parts;
  std::vector<float> weights;  ///< (rows, k), dequantized

  void dequantize(const corpus::CheckpointLayer& layer);
};
SampledRows sampled_rows(const corpus::Checkpoint& checkpoint, const corpus::CheckpointLayer& layer,
                         std::uint64_t seed);
/// The same rows of another layer. `alternating`: CheckpointLayer::head_rows of the first.
SampledRows same_rows(const corpus::Checkpoint& checkpoint, const corpus::CheckpointLayer& layer,
                      const SampledRows& like, std::uint64_t alternating);

/// (rows, k) as B, (k, rows).
std::vector<double> as_b(const std::vector<float>& weights, std::uint64_t k);

/// The codes and scales as the recipe's product takes them; "" or why it can't.
std::string operand_of(const corpus::CheckpointLayer& layer, const SampledRows& sample,
                       const GemmCombination& of, ConvertedOperand& out);

/// The combination of a recipe. Errors: InputError for a name that is none.
GemmCombination combination_of_recipe(std::string_view name);

WeightComparison compared(const corpus::CheckpointLayer& layer, const SampledRows& sample,
                          const std::vector<float>& original, const corpus::CheckpointRows& whole);

/// "nibble order: error 1.31, and 0.095 with the halves of each byte exchanged".
std::vector<std::string> faults_of(const corpus::CheckpointLayer& layer, const SampledRows& sample,
                                   const std::vector<float>& original, double largest,
                                   const corpus::CheckpointRows& whole);

}  // namespace mmaudit::report
