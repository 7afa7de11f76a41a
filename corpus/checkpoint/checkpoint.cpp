#include "mmaudit/corpus/checkpoint.hpp"

#include <algorithm>
#include <cctype>
#include <set>

#include "conventions.hpp"
#include "find_layers.hpp"
#include "gguf.hpp"
#include "input_file.hpp"
#include "mmaudit/names.hpp"
#include "refuse.hpp"
#include "safetensors_header.hpp"

namespace mmaudit::corpus {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIndex = ".index.json";
/// What torch.save, Keras and Flax write; transformers utils/__init__.py, WEIGHTS_NAME, TF2_WEIGHTS_NAME,
/// FLAX_WEIGHTS_NAME. Reading the first runs the code that is in them.
constexpr std::string_view kUnread[] = {".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack"};

constexpr std::uint64_t kMostOfConfig = std::uint64_t{16} << 20;
constexpr std::uint64_t kMostOfIndex = std::uint64_t{64} << 20;  // a million tensors

Json json_of_file(const fs::path& path, std::string_view allowed, std::uint64_t most) {
  const RawFile file(path);
  if (file.size() > most)
    refuse("{}: size: found {} bytes, allowed: at most {}", file.label(), file.size(), most);
  const std::vector<std::byte> bytes = file.read(0, file.size());
  Json json =
      parse_bounded({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.label(), allowed);
  if (!json.is_object()) refuse("{}: found {}, allowed: {}", file.label(), json.type_name(), allowed);
  return json;
}

std::vector<fs::path> files_of(const fs::path& folder, std::string_view extension) {
  std::vector<fs::path> out;
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  if (error) refuse("{}: folder: found {}, allowed: one that can be read", label_of(folder), error.message());
  for (const fs::directory_entry& entry : entries)
    if (entry.path().extension() == extension) out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

std::string StoredTensor::type() const {
  const GgmlType* type = file != nullptr && ggml_type != 0 ? find_ggml_type(ggml_type) : nullptr;
  return std::string(type != nullptr ? type->name : safetensors_name(dtype));
}

Checkpoint::Checkpoint(const fs::path& path, std::string_view convention) : label_(label_of(path)) {
  if (!convention.empty())
    if (const auto names = convention_names();
        std::find(names.begin(), names.end(), convention) == names.end())
      refuse("convention: found {}{}, allowed: {}", convention, did_you_mean(convention, names), names);
  std::error_code none;
  const fs::file_status status = fs::status(path, none);
  if (status.type() == fs::file_type::not_found)
    refuse(
        "{}: path: found nothing there, allowed: a folder, an index, a .safetensors or a .gguf on this disk "
        "(of a hub: download it first)",
        label_);
  if (!fs::is_directory(status) && !fs::is_regular_file(status))
    static_cast<void>(RawFile(path));  // says why
  if (fs::is_directory(status)) {
    open_folder(path);
  } else if (path.native().ends_with(kIndex)) {
    kind_ = "index";
    open_index(path);
    read_config(path.parent_path());
  } else {
    kind_ = path.extension() == ".gguf" ? "gguf" : "safetensors";
    if (path.extension() != ".gguf" && path.extension() != ".safetensors")
      refuse("{}: extension: found {}, allowed: .safetensors, .gguf, .index.json or a folder", label_,
             in_quotes(path.extension().native()));
    open_file(path);
  }
  std::set<std::string_view> names;
  for (const auto& tensor : tensors_)
    if (!names.insert(tensor->name).second)
      refuse("{}: tensor: found {} in two files, allowed: in one", label_, in_quotes(tensor->name));
  find_layers(convention);
}

Checkpoint::~Checkpoint() = default;

void Checkpoint::open_file(const fs::path& path) {
  const RawFile& file = *files_.emplace_back(std::make_unique<RawFile>(path));
  const auto keep = [&](StoredTensor tensor, const std::string& refused) {
    if (refused.empty())
      tensors_.push_back(std::make_unique<StoredTensor>(std::move(tensor)));
    else
      others_.push_back({nullptr, tensor.name, refused});
  };
  if (path.extension() == ".gguf") {
    GgufHeader header = read_gguf_header(file);
    if (config_.size() == 0) config_ = header.metadata;
    for (std::size_t i = 0; i < header.tensors.size(); ++i) keep(header.tensors[i], header.refused[i]);
    return;
  }
  const SafetensorsHeader header = read_safetensors_header(file);
  for (const TensorInfo& info : header.tensors)
    keep({info.name, &file, info.dtype, info.shape, header.data_start + info.begin, info.end - info.begin},
         info.refused);
  if (!header.refused.empty() &&
      std::none_of(header.tensors.begin(), header.tensors.end(),
                   [&](const auto& info) { return info.refused == header.refused; }))
    others_.push_back({nullptr, file.label(), header.refused});  // nothing is left out, but the file is odd
}

void Checkpoint::open_index(const fs::path& index) {
  const Json json = json_of_file(index, "the index of a checkpoint", kMostOfIndex);
  const Json* map = json.find("weight_map");
  if (map == nullptr || !map->is_object())
    refuse("{}: weight_map: found none, allowed: names of tensors with the files they are in",
           label_of(index));
  std::set<std::string> files;
  for (const auto& [name, file] : map->items()) {
    if (const std::string of = file.is_string() ? file.get<std::string>() : file.dump();
        !file.is_string() || fs::path(of).filename() != of || of.find('\0') != std::string::npos)
      refuse("{}: weight_map: found {} in {}, allowed: the name of a file of this folder", label_of(index),
             in_quotes(name), in_quotes(of));
    files.insert(file.get<std::string>());
  }
  for (const std::string& file : files) open_file(index.parent_path() / file);
  std::set<std::string> there;
  for (const auto& tensor : tensors_) there.insert(tensor->name);
  for (const OtherTensor& other : others_) there.insert(other.name);
  for (const auto& [name, file] : map->items())
    if (!there.contains(name))
      others_.push_back({nullptr, name, "found in the index, allowed: in its file too"});
}

void Checkpoint::open_folder(const fs::path& folder) {
  kind_ = "folder";
  read_config(folder);
  std::vector<fs::path> index = files_of(folder, ".json");
  std::erase_if(index,
                [](const fs::path& path) { return !path.native().ends_with(".safetensors.index.json"); });
  if (index.size() > 1)
    refuse("{}: index: found {}, allowed: one; give the path of the one that is meant", label_, index.size());
  if (!index.empty()) return open_index(index.front());
  std::vector<fs::path> files = files_of(folder, ".safetensors");
  if (files.empty()) files = files_of(folder, ".gguf");
  if (files.empty()) {
    std::vector<fs::path> unread;
    for (const std::string_view extension : kUnread)
      for (const fs::path& file : files_of(folder, extension)) unread.push_back(file);
    refuse("{}: folder: found {}, allowed: a checkpoint of *.safetensors or *.gguf", label_,
           !unread.empty() ? std::to_string(unread.size()) + " files that are not read, such as " +
                                 in_quotes(unread.front().filename().native())
           : fs::is_empty(folder) ? "nothing in it"
                                  : "no *.safetensors and no *.gguf");
  }
  for (const fs::path& file : files) open_file(file);
}

void Checkpoint::read_config(const fs::path& folder) {
  const auto take = [&](const char* name) {
    return fs::symlink_status(folder / name).type() ==
                   fs::file_type::not_found  // links are followed or refused
               ? Json::object()
               : json_of_file(folder / name, "an object", kMostOfConfig);
  };
  config_ = take("config.json");
  for (const char* key : {"quantization_config", "compression_config"})
    for (const Json* in :
         {config_.find("text_config"), std::as_const(config_).find("llm_config"), &std::as_const(config_)})
      if (in != nullptr && in->contains(key) && in->at(key).is_object()) quantization_ = in->at(key);
  if (!quantization_.empty() &&
      (text_at(quantization_, "quant_method") != "modelopt" || quantization_.contains("quant_algo")))
    return;
  const Json modelopt = take("hf_quant_config.json");  // modelopt torch/export/unified_export_hf.py
  if (const Json* found = modelopt.find("quantization"); found != nullptr && found->is_object()) {
    quantization_ = *found;
    quantization_["quant_method"] = "modelopt";
  }
}

std::string Checkpoint::written_by() const {
  std::string method = text_at(quantization_, "quant_method");
  std::transform(method.begin(), method.end(), method.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  if (text_at(quantization_, "checkpoint_format") == "gptq_v2") return "gptq_v2";
  if (method.empty() && !text_at(quantization_, "quant_algo").empty()) return "modelopt";
  return method;
}

void Checkpoint::find_layers(std::string_view convention) {
  LayerFinder finder{.method = written_by(),
                     .config = config_,
                     .quantization = quantization_,
                     .convention = convention,
                     .label = label_};
  finder.find(tensors_, layers_, others_, contradictions_);
}

Json Checkpoint::json() const {
  Json layers = Json::array(), others = Json::array();
  std::set<std::string> conventions;
  std::uint64_t bytes = 0;
  for (const CheckpointLayer& layer : layers_) {
    if (layer.convention != &kPlain) conventions.insert(std::string(layer.convention->name));
    bytes += layer.bytes;
    layers.push_back(
        {{"name", layer.name},
         {"experts", layer.experts},
         {"n", layer.n},
         {"k", layer.k},
         {"convention", layer.convention->name},
         {"format", name_of(layer.format)},
         {"type", layer.codes->type()},
         {"scale_format", layer.scale_format == Format::none ? Json() : Json(name_of(layer.scale_format))},
         {"block", {layer.block_n, layer.block_k}},
         {"scale_shape", {layer.scale_rows, layer.scale_columns}},
         {"has_factors", layer.factors},
         {"has_zeros", layer.zeros},
         {"has_offsets", layer.offsets},
         {"has_groups", layer.groups},
         {"dequantized", name_of(layer.dequantized)},
         {"activations", layer.activations},
         {"activation_format",
          layer.activation_format == Format::none ? Json() : Json(name_of(layer.activation_format))},
         {"input_scale", layer.input_scale},
         {"recipe", layer.recipe.empty() ? Json() : Json(layer.recipe)},
         {"meaning", layer.meaning()},
         {"head_rows", layer.head_rows},
         {"product", layer.product},
         {"quant_algo", layer.algorithm.empty() ? Json() : Json(layer.algorithm)},
         {"pre_quant_scale", layer.smoothed},
         {"rotation", layer.rotation.empty() ? Json() : Json(layer.rotation)},
         {"bytes", layer.bytes},
         {"tensors", layer.tensors}});
  }
  for (const OtherTensor& other : others_) {
    Json one = {{"name", other.name}, {"why", other.why.empty() ? Json() : Json(other.why)}};
    if (other.tensor != nullptr)
      one.update(
          {{"dtype", other.tensor->type()}, {"shape", other.tensor->shape}, {"bytes", other.tensor->bytes}});
    others.push_back(one);
  }
  return {{"schema", "mmaudit.checkpoint/1"},
          {"path", label_},
          {"kind", kind_},
          {"model_type", text_at(config_, kind_ == "gguf" ? "general.architecture" : "model_type")},
          {"written_by", written_by()},
          {"conventions", conventions},
          {"bytes", bytes},
          {"contradictions", contradictions_},
          {"layers", layers},
          {"others", others}};
}

std::vector<std::string> convention_names() { return names_of(conventions()); }

bool CheckpointLayer::divides() const { return convention->divides; }
bool CheckpointLayer::transposed_experts() const { return convention->transposed_experts; }
std::string_view CheckpointLayer::convention_name() const { return convention->name; }

std::string CheckpointLayer::meaning() const {
  const std::string before = smoothed ? "pre_quant_scale, " : "";
  const bool plain = scale_format == Format::none && convention == &kPlain;
  if (!product) return "looked up";
  if (plain) return std::string(name_of(format));
  const bool four = format == Format::e2m1 || format == Format::u4 || format == Format::s4;
  const std::string bits = four ? "4" : scale_format == Format::none ? "16" : "8";
  if (!recipe.empty()) return before + "w" + bits + "a" + bits + " " + recipe;
  if (activation_format == Format::none) return before + "w" + bits + "a16";
  return before + "w" + bits + "a8 " + std::string(name_of(activation_format));
}

}  // namespace mmaudit::corpus
