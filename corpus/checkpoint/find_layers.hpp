#pragma once
// Which tensors make a layer, and by which convention.
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conventions.hpp"

namespace mmaudit::corpus {

struct LayerFinder {
  std::string method;  ///< of the config
  const Json &config, &quantization;
  std::string_view convention;  ///< asked for
  std::string_view label;
  std::map<std::string_view, const Json*> own{};  ///< quantized_layers of ModelOpt
  std::vector<std::pair<std::string, const Json*>> globs{};

  using Tensors = std::vector<std::unique_ptr<StoredTensor>>;
  /// Layers in network order; what belongs to none goes to `others`.
  void find(const Tensors& tensors, std::vector<CheckpointLayer>& layers, std::vector<OtherTensor>& others,
            std::vector<std::string>& contradictions);

 private:
  using Named = std::map<std::string, const StoredTensor*, std::less<>>;
  /// "" and the layer, or why these tensors are none by this row.
  std::string fill(const Convention& row, const Named& named, const std::string& name,
                   const StoredTensor& codes, CheckpointLayer& layer) const;
  std::string grid(const Convention& row, CheckpointLayer& layer) const;
  std::string finish(const Convention& row, const Named& named, CheckpointLayer& layer) const;
  /// Whether and how A is quantized: sets recipe, activation_format and activations. "", or why it
  /// can't be told.
  std::string read_activations(CheckpointLayer& layer) const;
  /// What ModelOpt's config says of a layer: its own, by name or glob, or all layers'.
  [[nodiscard]] const Json& settings_of(const std::string& name) const;
  /// "", or what the config says of a layer that its tensors don't.
  [[nodiscard]] std::string contradiction(const CheckpointLayer& layer) const;
  /// The same of the lists of what is left alone.
  [[nodiscard]] std::string against_lists(const CheckpointLayer& layer) const;
  /// Locations of transform_config that turn a layer's weights, with blanks between; of "" those that turn
  /// what runs.
  [[nodiscard]] std::string rotation_of(const std::string& name) const;
  /// quant_algo of a layer, in capitals, by ModelOpt's config, "" where it has none.
  [[nodiscard]] std::string algorithm_of(const std::string& name) const;
  [[nodiscard]] Format model_type() const;
  void read_own();
};

/// Whether one of these words, which have blanks between, is `word`.
bool lists(std::string_view words, std::string_view word);
std::vector<std::string> words_of(std::string_view text);

/// Every quant_method that a row of conventions() is for.
std::vector<std::string> known_methods();

/// What a config has there; "" where that is no text.
std::string text_at(const Json& json, std::string_view key);

/// Whether a layer of this name is a factor of products; rows of others are looked up, or it is convolved.
bool is_product(std::string_view name);
/// Whether a tensor of three dimensions is a matrix per expert. Others are convolutions and tables.
bool are_experts(std::string_view name);

/// Before or behind another layer in the network.
bool goes_before(std::string_view x, std::string_view y);

/// The bits of an integer element of a row that keeps words: 4 or 8.
std::uint64_t element_bits(const CheckpointLayer& layer);

/// Numbers of a small tensor. Errors: InputError where they are none.
std::vector<double> numbers_of(const StoredTensor& tensor);

}  // namespace mmaudit::corpus
