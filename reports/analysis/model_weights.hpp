#pragma once
// Some rows of a checkpoint's layer as an operand, and what is wrong with them.
#include <map>
#include <string>
#include <vector>

#include "mmaudit/corpus/checkpoint.hpp"
#include "mmaudit/report/gemm_errors.hpp"
#include "mmaudit/report/model_audit.hpp"

namespace mmaudit::report {

class Activations;
struct Smoothing;

struct LayerWork {
  const ModelRequest& request;
  const corpus::Checkpoint& checkpoint;
  const corpus::Checkpoint* original;
  const Activations& activations;
  std::map<std::string_view, const corpus::CheckpointLayer*> originals;
  std::map<std::string, std::vector<double>> input_scales;  ///< by the last part of names
  std::map<std::string, Smoothing>& smoothings;             ///< by the names of layers
};

/// What a pass over a whole layer finds.
struct WholeLayer {
  WeightComparison scales;
  corpus::TensorFacts numbers;  ///< of codes, where they have a format that has others than finite ones
};
WholeLayer whole_layer(const corpus::Checkpoint& checkpoint, const corpus::CheckpointLayer& layer);

/// Runs of rows of one expert.
struct SampledRows {
  std::vector<std::uint64_t> rows;  ///< their numbers
  std::vector<corpus::CheckpointRows> parts;
  std::vector<float> weights;  ///< (rows, k), dequantized

  void dequantize(const corpus::CheckpointLayer& layer);
};
SampledRows sampled_rows(const corpus::Checkpoint& checkpoint, const corpus::CheckpointLayer& layer,
                         std::uint64_t expert, std::uint64_t seed, std::uint64_t count);
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

/// Factors by which a layer differs from the original's, and whose inverse another tensor has where all is
/// well.
struct Smoothing {
  std::vector<std::uint64_t> rows;        ///< the sampled ones, of their expert
  std::vector<double> by_row, by_column;  ///< empty: none
  std::string text;                       ///< "": there are none
};

/// Adds to `out`: "wrong nibble order: error 1.31, and 0.095 with the halves of each byte exchanged".
/// `original` becomes what the layer's codes stand for: times the factors that smoothing gave it.
void find_faults(const corpus::CheckpointLayer& layer, const SampledRows& sample,
                 std::vector<float>& original, double largest, const corpus::CheckpointRows& whole,
                 ModelLayer& out, Smoothing& smoothing);

/// Against the layer of the original of this name, one expert after another: sets `out`'s comparison, or why
/// there is none. `reference`: the rows of `sample` in the original, as find_faults() leaves them.
void compare_layer(const LayerWork& work, const corpus::CheckpointLayer& layer, const SampledRows& sample,
                   const WholeLayer& all, std::vector<float>& reference, ModelLayer& out);

/// Of what is not quantized: beyond the rounding of BF16 a suspicion, and from 0.05 on a fault.
void difference(double error, std::vector<std::string>& faults, std::vector<std::string>& suspicions);

/// Whether the config says that the weight of the head is the embedding's table. Source: transformers 5.24.0,
/// configuration_utils.py: tie_word_embeddings.
bool config_ties_head(const corpus::Checkpoint& checkpoint);

/// What is no layer of the sample: tensors without codes, and layers that only the original has; and which
/// tensor has the inverse of each smoothing. `smoothings`: by the names of layers. `glob`: over names of
/// layers.
void compare_tensors(const corpus::Checkpoint& checkpoint, const corpus::Checkpoint* original,
                     const std::string& glob, const std::map<std::string, Smoothing>& smoothings,
                     ModelAudit& out);

}  // namespace mmaudit::report
