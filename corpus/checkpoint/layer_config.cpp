// What a checkpoint's config says of its layers.
#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <regex>

#include "find_layers.hpp"
#include "mmaudit/name_in.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/recipe.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {

constexpr std::size_t kMostOfPattern = 256;

bool lists(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return !word.empty();
  }
  return false;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    out.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::vector<std::string> known_methods() {
  std::vector<std::string> out;
  for (const Convention& row : conventions())
    for (std::string& one : words_of(row.methods))
      if (std::find(out.begin(), out.end(), one) == out.end()) out.push_back(std::move(one));
  return out;
}

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

void LayerFinder::read_own() {
  const Json* layers = quantization.find("quantized_layers");
  if (layers == nullptr || !layers->is_object()) return;
  for (const auto& [name, settings] : layers->items()) {
    if (!settings.is_object()) continue;
    own.emplace(name, &settings);
    if (name.find_first_of("*?[") != std::string::npos && name.size() <= kMostOfPattern)
      globs.emplace_back(name, &settings);
  }
}

const Json& LayerFinder::settings_of(const std::string& name) const {
  if (const auto found = own.find(name); found != own.end()) return *found->second;
  for (const auto& [pattern, settings] : globs)
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return *settings;
  return quantization;
}

std::string LayerFinder::algorithm_of(const std::string& name) const {
  std::string out = text_at(settings_of(name), "quant_algo");
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return std::toupper(c); });
  return out;
}

namespace {

/// Whether a target of compressed-tensors is this layer. 3: by its name, 2: by a pattern, 1: by a class, 0:
/// it is not. Source: compressed_tensors 0.20.0, utils/match.py, is_match and match_targets (names before
/// patterns before classes).
int rank_of(const std::string& target, const std::string& name) {
  if (!target.starts_with("re:")) return target == name ? 3 : target.find('.') == std::string::npos ? 1 : 0;
  if (target.size() > kMostOfPattern || name.size() > kMostOfPattern) return 2;
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

/// Whether a layer's elements have so many bits: compressed-tensors keeps integers of fewer in bytes
/// (compressed_tensors compressors/naive_quantized/base.py, W4AFP8 of quantization/quant_scheme.py).
bool holds(const CheckpointLayer& layer, std::int64_t bits) {
  const int own = spec_of(layer.format).value_bits();
  return bits == own || (layer.format == Format::s8 && layer.convention->order == CodeOrder::elements &&
                         bits > 1 && bits < own);
}

/// Whether the group's weights are such elements.
bool has_elements(const Json& group, const CheckpointLayer& layer) {
  const Json* weights = group.find("weights");
  const Json* bits = weights != nullptr && weights->is_object() ? weights->find("num_bits") : nullptr;
  if (bits == nullptr || !bits->is_number_unsigned()) return true;
  const FormatSpec spec = spec_of(layer.format);
  const std::string type = text_at(*weights, "type");
  return holds(layer, static_cast<std::int64_t>(std::min<std::uint64_t>(bits->get<std::uint64_t>(), 64))) &&
         (type.empty() || (type == "int") == spec.integer());
}

/// The groups of compressed-tensors that name this layer best, of those that fit.
template <class Fits>
std::vector<const Json*> groups_for(const Json& quantization, const std::string& name, const Fits& fits) {
  std::vector<const Json*> out;
  const Json* groups = quantization.find("config_groups");
  if (groups == nullptr || !groups->is_object()) return out;
  int most = 1;
  for (const auto& [key, group] : groups->items()) {
    if (!group.is_object() || !fits(group)) continue;
    int rank = 1;  // without targets: every layer
    if (const Json* targets = group.find("targets"); targets != nullptr && targets->is_array()) {
      rank = 0;
      for (const Json& target : *targets)
        if (target.is_string()) rank = std::max(rank, rank_of(target.get<std::string>(), name));
    }
    if (rank > most) out.clear(), most = rank;
    if (rank == most) out.push_back(&group);
  }
  return out;
}

std::optional<std::int64_t> number_at(const Json& json, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (const Json* found = json.find(key); found != nullptr && found->is_number_integer())
      return found->is_number_unsigned() && found->get<std::uint64_t>() > INT64_MAX
                 ? INT64_MAX
                 : found->get<std::int64_t>();
  return {};
}

/// "" or what these settings say of the elements and blocks of a layer that its tensors don't.
std::string against(const Json& settings, const CheckpointLayer& layer) {
  const auto wrong = [&](std::string_view key, const auto& found, const auto& allowed) {
    return refusal("{}: found {} in the config, allowed: {}, as the tensors have it", key, found, allowed);
  };
  const FormatSpec element = spec_of(layer.format);
  if (const auto bits = number_at(settings, {"num_bits", "bits", "w_bit"}); bits && !holds(layer, *bits))
    return wrong("bits", *bits, element.value_bits());
  if (const std::string type = text_at(settings, "type");
      (type == "int" || type == "float") && (type == "int") != element.integer())
    return wrong("type", type, element.integer() ? "int" : "float");
  const bool one = layer.scale_rows * layer.scale_columns == 1;
  const std::string strategy = text_at(settings, "strategy");
  if (strategy == "tensor" && !one) return wrong("strategy", strategy, "one with more scales than one");
  if (strategy == "channel" && (layer.scale_rows != layer.n || layer.scale_columns != 1))
    return wrong("strategy", strategy, one ? "tensor" : "group or block");
  const auto group = number_at(settings, {"group_size", "q_group_size"});
  const bool grouped = strategy.empty() ? layer.convention->block_n != 0 || layer.scale_columns > 1
                                        : strategy.ends_with("group");
  if (grouped && group && !(layer.scale_columns == 1 && one)) {
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(*group, 0));
    const std::uint64_t columns = size == 0 ? 1 : (layer.k - 1) / size + 1;
    if (columns != layer.scale_columns) return wrong("group_size", *group, layer.block_k);
  }
  return {};
}

/// quant_algo of ModelOpt by what its name has, the first that fits: elements, and scales where they have a
/// format. Source: modelopt torch/export/quant_utils.py, process_layer_quant_config.
struct Algorithm {
  std::string_view name;
  Format element, scale;
};
constexpr Algorithm kAlgorithms[] = {
    {"NVFP4", Format::e2m1, Format::e4m3},  {"MXFP4", Format::e2m1, Format::ue8m0},
    {"MXFP8", Format::e4m3, Format::ue8m0}, {"FP8", Format::e4m3, Format::f32},
    {"W8A8", Format::s8, Format::f32},      {"W8A16", Format::s8, Format::f32}};

std::string against_algorithm(const std::string& said, const CheckpointLayer& layer) {
  for (const Algorithm& one : kAlgorithms)
    if (said.find(one.name) != std::string::npos)
      return one.element == layer.format && one.scale == layer.scale_format
                 ? ""
                 : refusal(
                       "quant_algo: found {} in the config, allowed: one for elements of {} and scales of {}",
                       said, name_of(layer.format), name_of(layer.scale_format));
  return {};
}

/// Whether an entry of a list of modules that are left alone is this layer. compressed-tensors: as targets.
/// ModelOpt and transformers: a glob, or the front of the name. Sources: modelopt
/// torch/export/quant_utils.py, _prefix_wildcard_summarize_exclude_modules; transformers
/// quantizers/quantizers_utils.py, should_convert_module.
bool leaves_alone(const std::string& entry, const std::string& name) {
  if (entry.starts_with("re:")) return rank_of(entry, name) == 2;
  return entry == name || fnmatch(entry.c_str(), name.c_str(), 0) == 0 || name.starts_with(entry + ".");
}

}  // namespace

std::string LayerFinder::against_lists(const CheckpointLayer& layer) const {
  bool any = false, named = false;
  const char* by = nullptr;
  for (const char* key : {"ignore", "exclude_modules", "modules_to_not_convert"})
    if (const Json* list = quantization.find(key); list != nullptr && list->is_array())
      for (const Json& entry : *list) {
        any = true, by = key;
        if (!entry.is_string() || entry.get<std::string>().size() > kMostOfPattern) return {};
        if (leaves_alone(entry.get<std::string>(), layer.name)) {
          named = true;
          if (layer.scale != nullptr)
            return refusal("{}: found {} in the config, allowed: layers without scales", key,
                           in_quotes(entry.get<std::string>()));
        }
      }
  if (!any || named || layer.scale != nullptr || !layer.product || layer.experts > 1) return {};
  if (method != "compressed-tensors" || layer.name.ends_with("gate") || layer.name.ends_with("router"))
    return {};
  const bool linear = !groups_for(quantization, layer.name, [](const Json& group) {
                         const Json* targets = group.find("targets");
                         return targets != nullptr && targets->is_array() && targets->size() == 1 &&
                                targets->front() == "Linear";
                       }).empty();
  return linear ? refusal("{}: found none for a layer without scales, allowed: every such layer", by) : "";
}

std::string LayerFinder::rotation_of(const std::string& name) const {
  // compressed_tensors 0.20.0, transform/transform_args.py, TransformLocation: the last two are in the
  // weights.
  constexpr std::string_view kOnline = "input output k_cache q_attn", kOffline = "weight_input weight_output";
  std::string out;
  const Json* transforms = quantization.find("transform_config");
  const Json* groups =
      transforms != nullptr && transforms->is_object() ? transforms->find("config_groups") : nullptr;
  if (groups == nullptr || !groups->is_object()) return out;
  const auto has = [&](const Json& apply, const char* key) {
    const Json* list = apply.find(key);
    return list != nullptr && list->is_array() &&
           std::any_of(list->begin(), list->end(), [&](const Json& one) {
             return one.is_string() &&
                    (one == "Linear" ? is_product(name) : rank_of(one.get<std::string>(), name) > 1);
           });
  };
  for (const auto& [key, group] : groups->items()) {
    const Json* list = group.is_object() ? group.find("apply") : nullptr;
    if (list == nullptr || !list->is_array()) continue;
    for (const Json& apply : *list)
      if (const std::string at = apply.is_object() ? text_at(apply, "location") : "";
          lists(name.empty() ? kOnline : kOffline, at) && !lists(out, at) &&
          (name.empty() || (has(apply, "targets") && !has(apply, "ignore"))))
        out += (out.empty() ? "" : " ") + at;
  }
  return out;
}

std::string LayerFinder::contradiction(const CheckpointLayer& layer) const {
  if (std::string why = against_lists(layer); !why.empty()) return why;
  if (layer.scale == nullptr) return {};
  if (const Json* block = quantization.find("weight_block_size");
      block != nullptr && !block->is_null() && layer.convention->block_n == 0) {
    const auto size = [&](std::size_t axis) -> std::uint64_t {
      return block->is_array() && block->size() == 2 && block->at(axis).is_number_unsigned()
                 ? block->at(axis).get<std::uint64_t>()
                 : 0;
    };
    const std::uint64_t n = size(0), k = size(1);
    if (n == 0 || k == 0)
      return refusal("weight_block_size: found {}, allowed: two whole numbers above 0", block->dump());
    if ((layer.n - 1) / n + 1 != layer.scale_rows || (layer.k - 1) / k + 1 != layer.scale_columns)
      return refusal("weight_block_size: found {} in the config, allowed: {} x {}, as the scales have it",
                     block->dump(), layer.block_n, layer.block_k);
  }
  if (std::string why = against_algorithm(algorithm_of(layer.name), layer); !why.empty()) return why;
  const auto every = [](const Json&) { return true; };
  const auto weights_of = [](const Json& group) {
    const Json* weights = group.find("weights");
    return weights != nullptr && weights->is_object() ? weights : nullptr;
  };
  std::string why;
  const std::vector<const Json*> groups = groups_for(quantization, layer.name, every);
  for (const Json* group : groups)
    if (const Json* weights = weights_of(*group); weights != nullptr) {
      why = against(*weights, layer);
      if (why.empty()) break;  // one of them is the layer's
    }
  // Of a layer alone: GPTQModel's `dynamic`, AutoRound's `extra_config`; they are not read here.
  const bool more = quantization.contains("dynamic") || quantization.contains("extra_config");
  if (groups.empty() && !more) why = against(settings_of(layer.name), layer);
  if (!why.empty()) return why;
  std::string format = text_at(quantization, "format");
  for (const Json* group : groups)
    if (std::string of_group = text_at(*group, "format"); !of_group.empty()) format = std::move(of_group);
  if (const std::string_view formats = layer.convention->formats;
      method == "compressed-tensors" && !format.empty() && format != "mixed-precision" &&
      !lists(formats, format))
    return refusal("format: found {} in the config, allowed: {}", in_quotes(format),
                   formats.empty() ? "that of the tensors" : formats);
  const std::string scheme = text_at(quantization, "activation_scheme");
  std::optional<bool> is_static;
  if (scheme == "static" || scheme == "dynamic") is_static = scheme == "static";
  for (const Json* group : groups)
    if (const Json* input = group->find("input_activations"); input != nullptr && input->is_object())
      if (const Json* dynamic = input->find("dynamic");
          dynamic != nullptr)  // "local": the second scale is static
        is_static = dynamic->is_boolean() ? !dynamic->get<bool>() : *dynamic == "local";
  // modelopt torch/export/unified_export_hf.py, _export_quantized_weight: both have an input_scale.
  if (const std::string algorithm = algorithm_of(layer.name); algorithm == "FP8" || algorithm == "NVFP4")
    is_static = true;
  if (is_static && layer.activation_format != Format::none && *is_static != layer.input_scale.has_value())
    return refusal("activations: found {} in the config, allowed: {}", *is_static ? "static" : "dynamic",
                   *is_static ? "dynamic, since there is no scale of the input"
                              : "static, since there is a scale of the input");
  return {};
}

std::string LayerFinder::read_activations(CheckpointLayer& layer) const {
  const std::string algorithm = algorithm_of(layer.name);
  bool keeps = algorithm.find("A16") != std::string::npos, takes = false;
  Format told = Format::none;
  if (!keeps)
    for (const Json* group :
         groups_for(quantization, layer.name, [&](const Json& one) { return has_elements(one, layer); })) {
      const Json* input = group->find("input_activations");
      const bool none = input == nullptr || input->is_null();
      (none ? keeps : takes) = true;
      if (none || !input->is_object()) continue;
      const bool whole = text_at(*input, "type") == "int";
      if (const Json* bits = input->find("num_bits");
          bits != nullptr && (*bits == 8 || (whole && *bits == 4)))
        told = !whole ? Format::e4m3 : *bits == 8 ? Format::s8 : Format::s4;
    }
  if (keeps && takes)
    return refusal(
        "config_groups: found groups with and without input_activations for {}, allowed: one of them",
        in_quotes(layer.name));
  const std::span<const Recipe> all = recipes();
  if (const Recipe* recipe = find_named(all, layer.recipe); recipe != nullptr)
    layer.activation_format = find_gemm_dtype(recipe->dtype)->element;
  if (told != Format::none && algorithm.empty() && layer.activation_format != told)
    layer.recipe.clear(), layer.activation_format = told;  // no recipe has that pair
  if (keeps) layer.recipe.clear(), layer.activation_format = Format::none;
  layer.activations = layer.activation_format == Format::none ? "none"
                      : layer.input_scale                     ? "static"
                                                              : "dynamic";
  return {};
}

}  // namespace mmaudit::corpus
