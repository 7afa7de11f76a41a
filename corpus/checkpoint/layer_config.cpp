// What a checkpoint's config says of its layers.
#include <algorithm>

#include "find_layers.hpp"
#include "mmaudit/names.hpp"

namespace mmaudit::corpus {

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
  const Json* found = in->find("quant_algo");
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
}

std::string LayerFinder::activations(const CheckpointLayer& layer) const {
  if (layer.input_scale) return "static";
  if (layer.recipe.empty()) return layer.activation_format == Format::none ? "none" : "dynamic";
  if (algorithm_of(layer.name).find("A16") != std::string::npos) return "none";
  if (const Json* groups = quantization.find("config_groups"); groups != nullptr && groups->is_object()) {
    const auto keeps = [](const auto& group) {
      const Json* input = group.value.find("input_activations");
      return input == nullptr || input->is_null();
    };
    if (!groups->empty() && std::all_of(groups->items().begin(), groups->items().end(), keeps)) return "none";
  }
  return "dynamic";
}

}  // namespace mmaudit::corpus
