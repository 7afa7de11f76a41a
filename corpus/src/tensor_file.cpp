#include "mmaudit/corpus/tensor_file.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <filesystem>
#include <string_view>
#include <vector>

#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/corpus/safetensors.hpp"
#include "mmaudit/corpus/text_file.hpp"
#include "mmaudit/json.hpp"
#include "mmaudit/names.hpp"
#include "refuse.hpp"
#include "safetensors_header.hpp"

namespace mmaudit::corpus {
namespace {

constexpr std::string_view kNpy = ".npy";
constexpr std::string_view kSafetensors = ".safetensors";
/// In front of a tensor's name, of a format.
constexpr std::string_view kBeforeColon[] = {kSafetensors, kNpy};
constexpr std::string_view kIndex = ".safetensors.index.json";

std::string found_extension(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  return extension.empty() ? "none" : fmt::format("'{}'", printable(extension));
}

/// Whether a file to write is a .npy; else it is a .safetensors. Refuses anything else.
bool is_npy_target(const std::filesystem::path& target) {
  if (target.extension() == kNpy) return true;
  if (target.extension() == kSafetensors) return false;
  refuse("{}: extension: found {}, allowed: .npy or .safetensors", label_of(target), found_extension(target));
}

Tensor load_only_tensor(const std::filesystem::path& path) {
  const SafetensorsHeader header = read_safetensors_header(path);
  if (header.tensors.size() != 1) {
    std::vector<std::string> texts;
    for (const TensorInfo& one : header.tensors)
      texts.push_back(fmt::format("{} {} {}", one.name, safetensors_name(one.dtype), to_string(one.shape)));
    const std::vector<std::string_view> shown(texts.begin(), texts.end());
    refuse("{}: tensor: found {} tensors ({}), allowed: one, or FILE.safetensors:NAME", label_of(path),
           shown.size(), list_names(shown));
  }
  return read_safetensors_tensor(path, header.tensors.front().name);
}

/// A tensor by the index of a checkpoint as one of the file that has it; other names as they are.
std::string by_file(const std::string& spec) {
  const std::size_t at = spec.find(kIndex);
  if (at == std::string::npos) return spec;
  const std::filesystem::path index = spec.substr(0, at + kIndex.size());
  const std::string name = spec.size() > index.native().size() ? spec.substr(index.native().size() + 1) : "";
  const Json read = parse_bounded(text_of_file(index), label_of(index), "the index of a checkpoint");
  const Json* files = read.find("weight_map");
  const Json* file = files == nullptr ? nullptr : files->find(name);
  if (file != nullptr && file->is_string() &&
      std::filesystem::path(file->get<std::string>()).filename() == file->get<std::string>())
    return (index.parent_path() / file->get<std::string>()).native() + ":" + name;
  std::vector<std::string_view> names;
  if (files != nullptr && files->is_object())
    for (const auto& [tensor, where] : files->items()) names.emplace_back(tensor);
  refuse("{}: tensor: found {}, allowed: {}", label_of(index), name.empty() ? "no name" : printable(name),
         name.empty() ? list_names(names) : names_near(name, names));
}

}  // namespace

std::string file_of(const std::string& given) {
  if (given.ends_with(kIndex)) return given;  // no tensor of it: the index itself
  std::string spec = by_file(given);
  for (const std::string_view extension : kBeforeColon)
    if (const std::size_t at = spec.find(std::string(extension) + ':'); at != std::string::npos)
      return spec.substr(0, at + extension.size());
  return spec;
}

Tensor load_tensor(const std::string& given) {
  const std::string spec = by_file(given);
  if (const std::string file = file_of(spec); file.size() != spec.size()) {
    const std::string name = spec.substr(file.size() + 1);
    const bool npy = file.ends_with(kNpy);
    if (name.empty())
      refuse("{}: {}: found no name after ':', allowed: {}", label_of(spec), npy ? "format" : "tensor",
             npy ? "FILE.npy:FORMAT" : "FILE.safetensors:NAME");
    if (!npy) return read_safetensors_tensor(file, name);
    const auto format = read_format(name);
    if (!format) throw InputError(fmt::format("{}: format: {}", label_of(file), why_no_format(name)));
    Tensor tensor = read_npy(file);
    take_as(tensor, spec_of(*format), label_of(file));
    return tensor;
  }
  const std::filesystem::path path = spec;
  if (path.extension() == kNpy) return read_npy(path);
  if (path.extension() == kSafetensors) return load_only_tensor(path);
  refuse("{}: extension: found {}, allowed: .npy or .safetensors, with :NAME for one tensor of several",
         label_of(path), found_extension(path));
}

std::uint64_t tensor_bytes(const std::string& given) {
  try {
    const std::string spec = by_file(given), file = file_of(spec);
    if (std::filesystem::path(file).extension() == kSafetensors) {
      const std::string name = file.size() == spec.size() ? "" : spec.substr(file.size() + 1);
      for (const TensorInfo& tensor : read_safetensors_header(file).tensors)
        if (name.empty() || tensor.name == name) return byte_count(tensor.dtype, tensor.shape).value_or(0);
      return 0;
    }
    return std::filesystem::file_size(file);
  } catch (const std::exception&) {  // load_tensor() says what is wrong with it
    return 0;
  }
}

void check_tensor_target(const std::string& path) {
  static_cast<void>(is_npy_target(path));
  const AtomicFile trial(path);
}

void save_tensor(const std::string& path, const Tensor& tensor) {
  const std::filesystem::path target = path;
  if (is_npy_target(target)) {
    write_npy(target, tensor);
  } else {
    const std::string_view name =
        tensor.name.empty() ? std::string_view("tensor") : std::string_view(tensor.name);
    const std::array<TensorView, 1> views{{{name, tensor.dtype, tensor.shape, tensor.data}}};
    write_safetensors_views(target, {}, views);
  }
}

}  // namespace mmaudit::corpus
