// What a checkpoint's config says of its layers.
#include <algorithm>
#include <regex>

#include "find_layers.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/recipe.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {

std::string text_at(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

Format LayerFinder::model_type() const {
  for (const char* key : {"dtype", "torch_dtype"})
    for (const Json* in : {&config, config.find("text_config")})
      if (in != nullptr && in->contains(key) && in->at(key).is_string())
        for (const NamedFormat& row : kFormats)
          if (!row.names.torch.empty() && row.names.torch == in->at(key).get<std::string>())
            return row.spec.id;
  return Format::bf16;
}

std::string LayerFinder::algorithm_of(const std::string& name) const {
  const Json* in = &quantization;
  if (const Json* layers = in->find("quantized_layers"); layers != nullptr && layers->is_object())
    if (const Json* layer = layers->find(name); layer != nullptr && layer->is_object()) in = layer;
  return text_at(*in, "quant_algo");
}

namespace {

/// Whether a target of compressed-tensors is this layer. 3: by its name, 2: by a pattern, 1: by a class, 0:
/// it is not. Source: compressed_tensors 0.20.0, utils/match.py, is_match and match_targets (names before
/// patterns before classes).
int rank_of(const std::string& target, const std::string& name) {
  if (!target.starts_with("re:")) return target == name ? 3 : target.find('.') == std::string::npos ? 1 : 0;
  constexpr std::size_t kMost = 256;
  if (target.size() > kMost || name.size() > kMost) return 2;
#ifdef __GLIBCXX__
  constexpr auto kKind =
      std::regex::ECMAScript | std::regex_constants::__polynomial;  // no pattern takes for ever
#else
  constexpr auto kKind = std::regex::ECMAScript;
#endif
  try {
    const std::regex pattern(target.substr(3), kKind);
    return std::regex_search(name, pattern, std::regex_constants::match_continuous) ? 2 : 0;
  } catch (const std::regex_error&) {
    return 2;  // Python's patterns say more: the other groups decide, or it stays open
  }
}

/// Whether the group's weights are such elements.
bool has_elements(const Json& group, Format format) {
  const Json* weights = group.find("weights");
  const Json* bits = weights != nullptr && weights->is_object() ? weights->find("num_bits") : nullptr;
  if (bits == nullptr || !bits->is_number_unsigned()) return true;
  const FormatSpec spec = spec_of(format);
  const std::string type = text_at(*weights, "type");
  return bits->get<std::uint64_t>() == static_cast<std::uint64_t>(spec.value_bits()) &&
         (type.empty() || (type == "int") == spec.integer());
}

}  // namespace

std::string LayerFinder::read_activations(CheckpointLayer& layer) const {
  const std::string algorithm = algorithm_of(layer.name);
  bool keeps = algorithm.find("A16") != std::string::npos, takes = false;
  Format told = Format::none;
  const Json* groups = quantization.find("config_groups");
  if (groups != nullptr && groups->is_object() && !keeps) {
    int most = 0;
    for (const auto& [key, group] : groups->items()) {
      if (!group.is_object() || !has_elements(group, layer.format)) continue;
      int rank = 1;  // without targets: every layer
      if (const Json* targets = group.find("targets"); targets != nullptr && targets->is_array()) {
        rank = 0;
        for (const Json& target : *targets)
          if (target.is_string()) rank = std::max(rank, rank_of(target.get<std::string>(), layer.name));
      }
      if (rank == 0 || rank < most) continue;
      if (rank > most) keeps = takes = false, told = Format::none, most = rank;
      const Json* input = group.find("input_activations");
      const bool none = input == nullptr || input->is_null();
      (none ? keeps : takes) = true;
      if (none || !input->is_object()) continue;
      if (const Json* bits = input->find("num_bits"); bits != nullptr && *bits == 8)
        told = text_at(*input, "type") == "int" ? Format::s8 : Format::e4m3;
    }
  }
  if (keeps && takes)
    return refusal(
        "config_groups: found groups with and without input_activations for {}, allowed: one of them",
        in_quotes(layer.name));
  for (const Recipe& recipe : recipes())
    if (!layer.recipe.empty() && recipe.name == layer.recipe)
      layer.activation_format = find_gemm_dtype(recipe.dtype)->element;
  if (told != Format::none && algorithm.empty() &&
      (layer.activation_format == Format::none || spec_of(layer.activation_format).value_bits() != 8))
    layer.recipe.clear(), layer.activation_format = told;  // no recipe has that pair
  if (keeps) layer.recipe.clear(), layer.activation_format = Format::none;
  layer.activations = layer.activation_format == Format::none ? "none"
                      : layer.input_scale                     ? "static"
                                                              : "dynamic";
  return {};
}

}  // namespace mmaudit::corpus
