#include "find_layers.hpp"

#include <algorithm>
#include <set>

#include "gguf.hpp"
#include "input_file.hpp"
#include "mmaudit/fast_cast.hpp"
#include "mmaudit/names.hpp"
#include "mmaudit/printable.hpp"
#include "refuse.hpp"

namespace mmaudit::corpus {
namespace {

std::uint64_t rounded_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b != 0 ? 1 : 0); }

/// INT4 of ModelOpt, which is not read. Source: modelopt torch/export/quant_utils.py,
/// process_layer_quant_config.
constexpr std::string_view kUnreadAlgorithms = "W4A16_AWQ W4A8_AWQ";

constexpr std::string_view kIsMissing = " is missing: ";

/// "weight_scale of a.q_proj is missing: found none, allowed: one beside its codes".
std::string missing(std::string_view end, const std::string& name) {
  return refusal("{} of {} is missing: found none, allowed: one beside its codes", end, printable(name));
}

}  // namespace

std::vector<double> numbers_of(const StoredTensor& tensor) {
  const Format format = tensor.dtype == DType::f8_e8m0 ? Format::ue8m0 : format_of(tensor.dtype);
  const std::vector<std::byte> bytes = tensor.file->read(tensor.begin, tensor.bytes);
  std::vector<double> out(bytes.size() / bytes_of(tensor.dtype));
  const FastDecode decode(spec_of(format == Format::none ? Format::f64 : format));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = format != Format::none ? decode.at(bytes.data(), i)
                                    : static_cast<double>(load_word(bytes.data(), bytes_of(tensor.dtype), i));
  return out;
}

std::uint64_t element_bits(const CheckpointLayer& layer) {
  return layer.format == Format::s4 || layer.format == Format::u4 ? 4 : 8;
}

/// The blocks that the shape of the scales makes.
std::string LayerFinder::grid(const Convention& row, CheckpointLayer& layer) const {
  std::vector<std::uint64_t> shape = layer.scale->shape;
  const bool wide = row.order == CodeOrder::gptq || row.order == CodeOrder::awq;  // (groups, N)
  const auto wrong = [&](const std::string& allowed) {
    return refusal("shape of {}: found {}, allowed: {}", layer.scale->name, to_string(layer.scale->shape),
                   allowed);
  };
  if (layer.experts > 1 && !shape.empty() && shape.front() == layer.experts)
    shape.erase(shape.begin());
  else if (layer.experts > 1)
    return wrong("one matrix per expert");
  for (std::size_t axis = shape.size(); axis-- > 0;)  // ModelOpt's FP8_PB_WO: (rows, 1, columns, 1)
    if (shape.size() > 2 && shape[axis] == 1) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  if (shape.size() > 2) return wrong("at most two dimensions");
  if (shape.size() == 1 && shape[0] != 1 && shape[0] != layer.n) return wrong("one, or one per row");
  layer.scale_rows = shape.empty() ? 1 : shape[0];
  layer.scale_columns = shape.size() < 2 ? 1 : shape[1];
  if (wide) std::swap(layer.scale_rows, layer.scale_columns);
  if (layer.scale_rows == 0 || layer.scale_columns == 0) return wrong("no zero");
  const auto asked = [&](std::size_t axis) -> std::uint64_t {
    constexpr std::uint64_t kUsual = 128;  // DeepSeek-V3 config.json, weight_block_size
    const Json* found = quantization.find("weight_block_size");
    if (found == nullptr || !found->is_array() || found->size() != 2) return kUsual;
    const Json& one = found->at(axis);
    const std::uint64_t size = one.is_number_unsigned() ? one.get<std::uint64_t>() : 0;
    const auto fits = [&](std::uint64_t by) {
      return by != 0 && rounded_up(axis == 0 ? layer.n : layer.k, by) ==
                            (axis == 0 ? layer.scale_rows : layer.scale_columns);
    };
    return size == 0 || (!fits(size) && fits(kUsual)) ? kUsual : size;  // contradiction() says it
  };
  std::uint64_t rows = 0, columns = 0;
  const auto fits = [&] {
    layer.block_n = layer.scale_rows == 1         ? layer.n
                    : layer.scale_rows == layer.n ? 1
                    : row.block_n == 0            ? asked(0)
                                                  : row.block_n;
    layer.block_k = row.block_k != 0           ? row.block_k
                    : layer.scale_columns == 1 ? layer.k
                    : row.block_n == 0 && layer.scale_rows != layer.n
                        ? asked(1)
                        : rounded_up(layer.k, layer.scale_columns);
    if (row.block_n != 0 && layer.scale_columns > 1)
      layer.block_n = row.block_n;  // no row of scales for all rows
    rows = rounded_up(layer.n, layer.block_n), columns = rounded_up(layer.k, layer.block_k);
    return rows == layer.scale_rows && columns == layer.scale_columns;
  };
  if (fits()) return {};
  const std::string allowed = "(" + std::to_string(rows) + ", " + std::to_string(columns) +
                              ") for blocks of " + std::to_string(layer.block_n) + " x " +
                              std::to_string(layer.block_k);
  std::swap(layer.scale_rows, layer.scale_columns);
  return wrong(fits() ? "(" + std::to_string(rows) + ", " + std::to_string(columns) +
                            "): its scales lie transposed"
                      : allowed);
}

std::string LayerFinder::fill(const Convention& row, const Named& named, const std::string& name,
                              const StoredTensor& codes, CheckpointLayer& layer) const {
  const auto at = [&](std::string_view end) -> const StoredTensor* {
    const auto found = end.empty() ? named.end() : named.find(name + std::string(end));
    return found == named.end() ? nullptr : found->second;
  };
  layer.name = name, layer.convention = &row, layer.codes = &codes;
  layer.scale = at(row.scales), layer.factor = at(row.factor), layer.zero = at(row.zeros),
  layer.group = at(row.groups);
  if (!lists(row.scale_types, safetensors_name(layer.scale->dtype)))
    return refusal("{}: found {}, allowed: {}", layer.scale->name, safetensors_name(layer.scale->dtype),
                   row.scale_types);
  if (!row.factor.empty() && layer.factor == nullptr) return missing(row.factor.substr(1), name);
  std::vector<std::uint64_t> shape = codes.shape;
  if (shape.size() == 4 && row.order == CodeOrder::nibbles) shape[2] *= shape[3], shape.pop_back();
  const auto wrong = [&](std::string_view allowed) {
    return refusal("shape of {}: found {}, allowed: {}", codes.name, to_string(codes.shape), allowed);
  };
  if (shape.size() == 3) layer.experts = shape.front(), shape.erase(shape.begin());
  if (shape.size() != 2 || shape[0] == 0 || shape[1] == 0 || layer.experts == 0)
    return wrong("a matrix, or one per expert");
  layer.n = shape[0], layer.k = shape[1];
  layer.format = row.element == Format::none ? format_of(codes.dtype) : row.element;
  constexpr std::uint64_t kWord = 32;
  const std::uint64_t bits = row.order == CodeOrder::elements ? 0 : 4;
  std::uint64_t of_zeros = bits;
  if (row.order == CodeOrder::nibbles) layer.k *= 2;
  if (row.order == CodeOrder::words) {
    const StoredTensor* of = at(row.shape);
    if (of == nullptr) return missing(row.shape.substr(1), name);
    if (of->shape.size() != 1 || of->shape[0] < 2)
      return refusal("{}: found {}, allowed: (n, k)", of->name, to_string(of->shape));
    const std::vector<double> said = numbers_of(*of);
    const double n = said[said.size() - 2], k = said.back();
    if (n != static_cast<double>(shape[0]) || !(k >= 1 && k <= 1e15))
      return refusal("{}: found ({}, {}), allowed: ({}, k)", of->name, n, k, shape[0]);
    layer.k = static_cast<std::uint64_t>(k);
    of_zeros = layer.k > shape[1] * 4 ? 4 : 8;
    if (shape[1] != rounded_up(layer.k * of_zeros, kWord))
      return wrong("k / 8 words for elements of 4 bits, k / 4 of 8");
  }
  if (row.order == CodeOrder::gptq || row.order == CodeOrder::awq) {
    const bool along_k = row.order == CodeOrder::gptq;
    if (layer.zero == nullptr) return missing(row.zeros.substr(1), name);
    if (layer.scale->shape.size() != 2 || layer.zero->shape.size() != 2 || layer.experts != 1)
      return wrong("with scales and zeros of two dimensions");
    layer.n = layer.scale->shape[1];
    of_zeros = layer.zero->shape[1] * kWord / std::max<std::uint64_t>(layer.n, 1);
    if ((of_zeros != 4 && (of_zeros != 8 || !along_k)) ||
        (along_k ? layer.n : shape[1] * kWord / of_zeros) != (along_k ? shape[1] : layer.n))
      return wrong(along_k ? "(k bits / 32, n) with 4 or 8 bits" : "(k, n / 8) with 4 bits");
    layer.k = along_k ? shape[0] * kWord / of_zeros : shape[0];
    if (layer.zero->shape[0] != layer.scale->shape[0] ||
        layer.zero->shape[1] != rounded_up(layer.n * of_zeros, kWord))
      return wrong("as many zeros as scales");
  }
  if (bits != 0 && row.element == Format::none) {
    const bool sign = row.order == CodeOrder::words;
    layer.format = of_zeros == 4 ? (sign ? Format::s4 : Format::u4) : sign ? Format::s8 : Format::u8;
  }
  layer.zeros = layer.zero != nullptr, layer.factors = layer.factor != nullptr,
  layer.groups = layer.group != nullptr;
  if (layer.factors && layer.factor->shape.size() > 2) return wrong("with one factor per expert");
  if (layer.factors && element_count(layer.factor->shape) != layer.experts)
    return wrong("with one factor per expert");
  if (layer.groups && (element_count(layer.group->shape) != layer.k || layer.group->dtype != DType::i32))
    return refusal("{}: found {}, allowed: k of I32", layer.group->name, to_string(layer.group->shape));
  if (std::string why = grid(row, layer); !why.empty()) return why;
  const std::vector<double> groups = layer.groups ? numbers_of(*layer.group) : std::vector<double>();
  for (const double group : groups)
    if (!(group < static_cast<double>(layer.scale_columns)))
      return refusal("{}: found group {}, allowed: below {}", layer.group->name, group, layer.scale_columns);
  if (layer.zeros && row.order == CodeOrder::elements &&
      (layer.zero->dtype != DType::i8 ||
       element_count(layer.zero->shape) != element_count(layer.scale->shape)))
    return refusal("{}: found {}, allowed: as many of I8 as scales", layer.zero->name,
                   to_string(layer.zero->shape));
  if (layer.zeros && row.order == CodeOrder::words &&
      (layer.zero->dtype != DType::i32 || layer.experts != 1 ||
       element_count(layer.zero->shape) != rounded_up(layer.n * of_zeros, kWord) * layer.scale_columns))
    return refusal("{}: found {}, allowed: n bits / 32 words of I32 per column of scales", layer.zero->name,
                   to_string(layer.zero->shape));
  const bool as_stored = row.order == CodeOrder::elements || row.order == CodeOrder::nibbles;
  const DType type = layer.scale->dtype;
  layer.scale_format = type == DType::u8 || type == DType::f8_e8m0 ? Format::ue8m0
                       : type == DType::f8_e4m3 && as_stored       ? Format::e4m3
                                                                   : Format::f32;
  layer.dequantized = row.dequantization == Dequantization::to_scale ? format_of(type) : model_type();
  return finish(row, named, layer);
}

std::string LayerFinder::finish(const Convention& row, const Named& named, CheckpointLayer& layer) const {
  for (const std::string_view end : {row.codes, row.scales, row.factor, row.zeros, row.groups, row.shape})
    if (const auto found = end.empty() ? named.end() : named.find(layer.name + std::string(end));
        found != named.end()) {
      layer.tensors.push_back(found->first);
      layer.bytes += found->second->bytes;
    }
  const bool tiles = quantization.find("weight_block_size") != nullptr;  // however few a small matrix has
  const bool one = layer.scale_rows == 1 && layer.scale_columns == 1 && !tiles;
  const bool rows = layer.scale_columns == 1 && layer.block_n == 1 && !tiles;
  layer.recipe = one ? row.tensor_recipe.empty() ? row.recipe : row.tensor_recipe
                 : rows && !row.row_recipe.empty() ? row.row_recipe
                                                   : row.recipe;
  for (const std::string& end : words_of(row.inputs))
    if (const auto found = named.find(layer.name + end); found != named.end()) {
      layer.tensors.push_back(found->first);
      layer.bytes += found->second->bytes;
      const std::vector<double> all =
          format_of(found->second->dtype) == Format::none || found->second->bytes > 65536
              ? std::vector<double>{}
              : numbers_of(*found->second);
      if (all.empty()) continue;
      const double scale = *std::max_element(all.begin(), all.end());
      layer.input_scale = row.divides ? 1 / scale : scale;
    }
  layer.smoothed = named.contains(layer.name + ".pre_quant_scale");
  layer.activation_format = row.activation, layer.algorithm = algorithm_of(layer.name);
  layer.product = is_product(layer.name);
  return read_activations(layer);
}

void LayerFinder::find(const Tensors& tensors, std::vector<CheckpointLayer>& layers,
                       std::vector<OtherTensor>& others, std::vector<std::string>& contradictions) {
  read_own();
  Named named;
  for (const auto& tensor : tensors) named.emplace(tensor->name, tensor.get());
  std::set<std::string, std::less<>> taken;
  std::map<std::string, std::string, std::less<>> refused;
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> unscaled_by;  // scales, layer
  std::map<std::string, std::pair<std::string, std::size_t>>
      wrong;                                     // of the checkpoint: first layer, how many
  std::set<std::string, std::less<>> explained;  // tensors refused for more than a type
  std::set<std::string, std::less<>> lacking;    // layers
  const auto take = [&](CheckpointLayer& layer) {
    for (const std::string& each : layer.tensors) taken.insert(each);
    layers.push_back(std::move(layer));
  };
  for (const auto& [full, tensor] : named) {
    if (taken.contains(full)) continue;
    std::vector<CheckpointLayer> fitting;
    int said = 0;  // 1: a row of the config's method, 2: of its algorithm
    for (const Convention& row : conventions()) {
      if (!full.ends_with(row.codes) || !lists(row.code_types, safetensors_name(tensor->dtype)) ||
          tensor->ggml_type != 0)
        continue;
      if (!convention.empty() && convention != row.name) continue;
      const std::string name = full.substr(0, full.size() - row.codes.size());
      const bool unscaled = !named.contains(name + std::string(row.scales));
      const bool by_algorithm = lists(row.algorithms, algorithm_of(name));
      if (!row.algorithms.empty() && !by_algorithm && convention.empty()) continue;
      if (lists(kUnreadAlgorithms, algorithm_of(name))) {
        refused[full] = refusal("quant_algo: found {}, allowed: one that is not INT4", algorithm_of(name));
        continue;
      }
      const bool told = !convention.empty() || by_algorithm || lists(row.methods, method);
      if (unscaled && row.codes == ".weight" && !told) continue;  // perhaps numbers of one byte
      CheckpointLayer layer;
      if (unscaled) {
        auto& [ends, of] = unscaled_by[full];
        of = name;
        lacking.insert(name);
        if (const auto end = row.scales.substr(1); !lists(ends, end))
          ends += (ends.empty() ? "" : " or ") + std::string(end);
      } else if (std::string why = fill(row, named, name, *tensor, layer); !why.empty()) {
        const bool of_type = lists(row.scale_types, safetensors_name(layer.scale->dtype));
        if (of_type && explained.insert(full).second)  // it says more than the type of another's scales
          refused.insert_or_assign(full, why);
        refused.emplace(full, std::move(why));
      } else {
        const int by_config = by_algorithm ? 2 : lists(row.methods, method) ? 1 : 0;
        if (by_config > said) fitting.clear();
        if (by_config >= said) fitting.push_back(std::move(layer));
        said = std::max(said, by_config);
      }
    }
    if (fitting.size() > 1) {
      std::vector<std::string> names;
      names.reserve(fitting.size());
      for (const CheckpointLayer& each : fitting) names.emplace_back(each.convention->name);
      refuse("{}: convention of {}: found {}, allowed: one of them by --convention NAME", label,
             in_quotes(full), names);
    }
    if (!fitting.empty()) {
      refused.erase(full);
      take(fitting.front());
      continue;
    }
    const GgmlType* blocks = tensor->ggml_type != 0 ? find_ggml_type(tensor->ggml_type) : nullptr;
    CheckpointLayer layer;
    layer.format = blocks != nullptr ? blocks->element : format_of(tensor->dtype);
    const bool one_byte = blocks == nullptr && bytes_of(tensor->dtype) == 1;  // codes without their scales
    const bool experts = tensor->shape.size() == 3 && are_experts(full);
    if (!(experts || (tensor->shape.size() == 2 && full.ends_with(".weight"))) ||
        layer.format == Format::none || refused.contains(full) || element_count(tensor->shape) == 0 ||
        (one_byte && !method.empty()))
      continue;
    layer.convention = blocks != nullptr && blocks->per_scale != 0 ? &kGguf : &kPlain;
    layer.name = full.ends_with(".weight") ? full.substr(0, full.size() - 7) : full;
    const bool gguf = tensor->ggml_type != 0 || config.contains("general.architecture");
    if (gguf) layer.name = module_name_of_gguf(layer.name);
    layer.codes = tensor, layer.experts = tensor->shape.size() == 3 ? tensor->shape[0] : 1;
    layer.n = tensor->shape[tensor->shape.size() - 2], layer.k = tensor->shape.back();
    layer.dequantized = blocks != nullptr ? Format::f32 : layer.format;
    layer.activations = "none";
    if (layer.convention == &kGguf) {
      layer.scale_format = blocks->scale, layer.offsets = blocks->offsets;
      layer.block_n = 1, layer.block_k = blocks->per_scale;
      layer.scale_rows = layer.n, layer.scale_columns = layer.k / blocks->per_scale;
    }
    // ggml-org/llama.cpp conversion/llama.py (7bca1fd; before in convert_hf_to_gguf.py), LlamaModel.permute,
    // modify_tensors and the subclasses that keep undo_permute; transformers undoes it in
    // LlamaTensorProcessor._reverse_permute_weights. No num_key_value_heads: no head_count_kv, all heads.
    const bool key = layer.name.ends_with(".k_proj");
    const Json* heads = nullptr;
    for (const char* of : {"llama", "arcee", "smollm3", "llama-embed"})
      for (const char* count : {".attention.head_count_kv", ".attention.head_count"})
        if (heads == nullptr && (key || std::string_view(count).ends_with("_count")))
          heads = config.find(std::string(of) + count);
    if (gguf && (key || layer.name.ends_with(".q_proj")) && heads != nullptr && heads->is_number_unsigned())
      if (const auto count = heads->get<std::uint64_t>();
          count != 0 && count <= layer.n && layer.n % count == 0 && layer.n / count % 2 == 0)
        layer.head_rows = layer.n / count;
    layer.tensors = {full}, layer.bytes = tensor->bytes, layer.product = is_product(layer.name);
    take(layer);
  }
  const std::vector<std::string> known = known_methods();
  const bool foreign = !method.empty() && std::find(known.begin(), known.end(), method) == known.end();
  for (const auto& [full, tensor] : named) {
    if (taken.contains(full)) continue;
    const auto why = refused.find(full);
    const auto lacks = unscaled_by.find(full);
    const bool matrix = tensor->shape.size() >= 2 && tensor->ggml_type == 0 &&
                        !lacking.contains(full.substr(0, std::min(full.rfind('.'), full.size())));
    const bool unknown = matrix && format_of(tensor->dtype) == Format::none;
    const bool bare = matrix && bytes_of(tensor->dtype) == 1 && full.ends_with(".weight");
    others.push_back(
        {tensor, full,
         why != refused.end()           ? why->second
         : lacks != unscaled_by.end()   ? missing(lacks->second.first, lacks->second.second)
         : foreign && (unknown || bare) ? "of the quant_method above, which is not read here"
         : unknown ? refusal("convention: found {} {} that none knows, allowed: {}", tensor->type(),
                             to_string(tensor->shape), names_of(conventions()))
         : bare    ? refusal("scales: found none beside {}, allowed: the scales of its codes", tensor->type())
                   : ""});
  }
  std::set<std::string> kept;
  bool agrees = method.empty() || layers.empty() || !refused.empty() || !unscaled_by.empty();
  for (const CheckpointLayer& layer : layers) {
    if (layer.convention != &kPlain) kept.emplace(layer.convention->name);
    agrees = agrees || lists(layer.convention->methods, method);
  }
  const std::string are = kept.empty() ? "plain" : with_commas({kept.begin(), kept.end()});
  if (const std::string online = rotation_of(""); !online.empty())
    others.push_back(
        {nullptr, "transform_config",
         refusal("location: found {}, which no product here does, allowed: in the weights", online)});
  if (foreign && kept.empty())
    others.push_back({nullptr, "quant_method",
                      refusal("found {}, which is not read here, allowed: {}", in_quotes(method), known)});
  else if (!agrees)
    contradictions.push_back(refusal("quant_method: found {}, allowed: for {}", in_quotes(method), are));
  std::sort(layers.begin(), layers.end(),
            [](const auto& x, const auto& y) { return goes_before(x.name, y.name); });
  const auto say = [&](const std::string& why, const std::string& layer) {
    ++wrong.try_emplace(why, layer, 0).first->second.second;
  };
  for (CheckpointLayer& layer : layers) {
    layer.rotation = rotation_of(layer.name);
    if (const std::string why = contradiction(layer); !why.empty()) say(why, layer.name);
  }
  for (const auto& [full, lacks] : unscaled_by)
    if (!taken.contains(full)) refused.emplace(full, missing(lacks.first, lacks.second));
  for (const auto& [full, why] : refused)
    if (const std::size_t end = why.find(kIsMissing); end != std::string::npos)
      say(why.substr(0, why.find(" of ")) + std::string(kIsMissing) +
              "found none, allowed: one beside the codes",
          full.substr(0, full.rfind('.')));
  for (const auto& [why, where] : wrong)
    contradictions.push_back(
        why + " (" + printable(where.first) +
        (where.second > 1 ? " and " + std::to_string(where.second - 1) + " more)" : ")"));
}

}  // namespace mmaudit::corpus
