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
                         std::uint64_t seed, std::uint64_t count);
/// The same rows of another checkpoint's layer, in the order that `of` has them.
SampledRows same_rows(const corpus::Checkpoint& checkpoint, const corpus::CheckpointLayer& layer,
                      const SampledRows& like, const corpus::CheckpointLayer& of);

/// (rows, k) as B, (k, rows).
std::vector<double> as_b(const std::vector<float>& weights, std::uint64_t k);

/// The codes and scales as the recipe's product takes them; "" or why it can't.
std::string operand_of(const corpus::CheckpointLayer& layer, const SampledRows& sample,
                       const GemmCombination& of, ConvertedOperand& out);

/// The combination of a recipe. Errors: InputError for a name that is none.
GemmCombination combination_of_recipe(std::string_view name);

/// Norm of x - of over the norm of `from`; infinite where x is not finite.
double distance(const std::vector<float>& x, const std::vector<float>& of, const std::vector<float>& from);

WeightComparison compared(const corpus::CheckpointLayer& layer, const SampledRows& sample,
                          const std::vector<float>& original);
/// Adds the odd ones among these scales.
void count_scales(const corpus::CheckpointLayer& layer, const std::vector<float>& all, WeightComparison& out);

/// "other weights: error 1.41, cosine 0.002 with the original's" where rows have nothing to do with the
/// original's and lie farther off than `nearest`, the nearest codes under the same scales; else "".
std::string other_weights(const SampledRows& sample, const std::vector<float>& original,
                          const std::vector<float>& nearest, std::uint64_t k);

/// Adds to `out`: "wrong nibble order: error 1.31, and 0.095 with the halves of each byte exchanged".
void find_faults(const corpus::CheckpointLayer& layer, const SampledRows& sample,
                 const std::vector<float>& original, double largest, const corpus::CheckpointRows& whole,
                 ModelLayer& out);

}  // namespace mmaudit::report
