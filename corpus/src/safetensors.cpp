#include "mmaudit/corpus/safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "input_file.hpp"
#include "mmaudit/corpus/atomic_file.hpp"
#include "mmaudit/json.hpp"
#include "refuse.hpp"
#include "safetensors_header.hpp"

namespace mmaudit::corpus {
namespace {

constexpr std::size_t kAlignment = 8;

Tensor read_data(const InputFile& file, std::uint64_t data_start, const TensorInfo& info) {
  if (!info.refused.empty()) throw InputError(fmt::format("{}: {}", file.label(), info.refused));
  return {info.name, info.dtype, info.shape, file.read(data_start + info.begin, info.end - info.begin)};
}

template <class Named>
[[noreturn]] void refuse_name(std::string_view name, const std::vector<Named>& tensors,
                              std::string_view file) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const Named& tensor : tensors) names.emplace_back(tensor.name);
  refuse(file, "tensor", fmt::format("no '{}'", printable(name)), names_near(name, names));
}

template <class Named>
const Named* find_name(std::string_view name, const std::vector<Named>& tensors) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [name](const Named& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

std::string quoted(std::string_view text, const std::string& file) {
  if (!is_utf8(text)) refuse(file, "text", fmt::format("'{}'", printable(text)), "UTF-8");
  return Json(text).dump();
}

}  // namespace

void check_writable(const TensorView& tensor, const std::string& file) {
  const std::string field = fmt::format("tensor '{}'", printable(tensor.name));
  if (tensor.shape.size() > kMaxRank)
    refuse(file, field, fmt::format("{} dimensions", tensor.shape.size()),
           fmt::format("at most {}", kMaxRank));
  if (byte_count(tensor.dtype, tensor.shape) != std::optional<std::uint64_t>(tensor.data.size()))
    refuse(file, field, fmt::format("{} bytes", tensor.data.size()), size_text(tensor.dtype, tensor.shape));
}

std::string safetensors_preamble(const std::map<std::string, std::string>& metadata,
                                 std::span<const TensorView> tensors, const std::string& file) {
  std::vector<std::string> entries;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    pairs.reserve(metadata.size());
    for (const auto& [key, value] : metadata)
      pairs.push_back(fmt::format("{}:{}", quoted(key, file), quoted(value, file)));
    entries.push_back(fmt::format(R"("__metadata__":{{{}}})", fmt::join(pairs, ",")));
  }
  std::set<std::string_view> names{"__metadata__"};
  std::uint64_t begin = 0;
  for (const TensorView& tensor : tensors) {
    check_writable(tensor, file);
    if (!names.insert(tensor.name).second)
      refuse(file, "tensor", fmt::format("'{}'", printable(tensor.name)),
             "names used once, and not __metadata__");
    const std::uint64_t end = begin + tensor.data.size();
    entries.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  quoted(tensor.name, file), safetensors_name(tensor.dtype),
                                  fmt::join(tensor.shape, ","), begin, end));
    begin = end;
  }
  std::string header = fmt::format("{{{}}}", fmt::join(entries, ","));
  header.append((kAlignment - header.size() % kAlignment) % kAlignment, ' ');
  if (header.size() > kMaxHeaderBytes)
    refuse(file, "header", fmt::format("{} bytes", header.size()),
           fmt::format("at most {}", kMaxHeaderBytes));
  constexpr unsigned kBitsOfByte = 8;
  std::string preamble;
  for (std::size_t i = 0; i < kSafetensorsLength; ++i)
    preamble += static_cast<char>((header.size() >> (kBitsOfByte * i)) & 0xFFU);
  return preamble + header;
}

void write_safetensors_views(const std::filesystem::path& path,
                             const std::map<std::string, std::string>& metadata,
                             std::span<const TensorView> tensors) {
  const std::string preamble = safetensors_preamble(metadata, tensors, label_of(path));
  AtomicFile file(path);
  file.write(preamble);
  for (const TensorView& tensor : tensors) file.write(tensor.data);
  file.commit();
}

const Tensor& SafetensorsFile::at(std::string_view name, std::string_view file) const {
  const Tensor* const found = find_name(name, tensors);
  if (found == nullptr) refuse_name(name, tensors, file);
  return *found;
}

SafetensorsHeader read_safetensors_header(const std::filesystem::path& path) {
  return read_safetensors_header(InputFile(path));
}

SafetensorsFile read_safetensors(const std::filesystem::path& path) {
  const InputFile file(path);
  SafetensorsHeader header = read_safetensors_header(file);
  if (!header.refused.empty()) throw InputError(fmt::format("{}: {}", file.label(), header.refused));
  SafetensorsFile result{std::move(header.metadata), {}};
  for (const TensorInfo& info : header.tensors)
    result.tensors.push_back(read_data(file, header.data_start, info));
  return result;
}

Tensor read_safetensors_tensor(const std::filesystem::path& path, std::string_view name) {
  const InputFile file(path);
  const SafetensorsHeader header = read_safetensors_header(file);
  const TensorInfo* const info = find_name(name, header.tensors);
  if (info == nullptr) refuse_name(name, header.tensors, file.label());
  return read_data(file, header.data_start, *info);
}

void write_safetensors(const std::filesystem::path& path, const SafetensorsFile& file) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : file.tensors)
    views.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.data});
  write_safetensors_views(path, file.metadata, views);
}

}  // namespace mmaudit::corpus
