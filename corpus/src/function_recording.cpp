#include "mmaudit/corpus/function_recording.hpp"

#include <algorithm>

#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/error.hpp"
#include "mmaudit/splitmix64.hpp"

namespace mmaudit::corpus {
namespace {

namespace fs = std::filesystem;

FunctionRecording read_one(const functions::Function& function, const fs::path& path) {
  const Tensor tensor = read_npy(path);
  const std::uint64_t columns = static_cast<std::uint64_t>(function.operands) + 1;
  if (tensor.dtype != DType::u32 || tensor.shape.size() != 2 || tensor.shape[1] != columns ||
      tensor.shape[0] == 0)
    refuse("{}: array: found another type or shape, allowed: u32 of (inputs, {}), at least one",
           path.string(), columns);
  FunctionRecording out{.function = &function, .file = path.string(), .x = {}, .y = {}, .result = {}};
  const auto words = tensor.as<std::uint32_t>();
  for (std::size_t at = 0; at < words.size(); at += columns) {
    out.x.push_back(words[at]);
    if (columns == 3) out.y.push_back(words[at + 1]);
    out.result.push_back(words[at + columns - 1]);
  }
  return out;
}

}  // namespace

std::vector<FunctionRecording> read_function_recordings(const fs::path& folder,
                                                        const std::vector<std::string>& names) {
  std::vector<fs::path> rooms;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) rooms.push_back(entry.path() / "functions");
  rooms.push_back(folder / "functions");
  std::sort(rooms.begin(), rooms.end());
  std::vector<FunctionRecording> out;
  for (const functions::Function& function : functions::all()) {
    if (!names.empty() && std::find(names.begin(), names.end(), function.name) == names.end()) continue;
    for (const fs::path& room : rooms)
      if (const fs::path path = room / (std::string(function.name) + ".npy"); fs::exists(path, error))
        out.push_back(read_one(function, path));
  }
  return out;
}

void write_function_recording(const fs::path& folder, const FunctionRecording& recording) {
  const fs::path path = folder / "functions" / (std::string(recording.function->name) + ".npy");
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  std::vector<std::uint32_t> words;
  for (std::size_t i = 0; i < recording.x.size(); ++i) {
    words.push_back(recording.x[i]);
    if (!recording.y.empty()) words.push_back(recording.y[i]);
    words.push_back(recording.result[i]);
  }
  const std::uint64_t columns = static_cast<std::uint64_t>(recording.function->operands) + 1;
  write_npy(path, make_tensor<std::uint32_t>("", DType::u32, {recording.x.size(), columns}, words));
}

FunctionRecording operands_to_record(const functions::Function& function, std::uint64_t seed) {
  FunctionRecording out{.function = &function, .file = {}, .x = {}, .y = {}, .result = {}};
  const int fraction = function.bits == 32 ? 23 : function.name.ends_with("bf16") ? 7 : 10;
  const std::uint32_t binades = 1U << (function.bits - fraction), last = (1U << fraction) - 1;
  const std::uint32_t each = std::max(4U, 2048 / binades);
  for (std::uint32_t binade = 0; binade < binades; ++binade)
    for (std::uint32_t i = 0; i < each; ++i) {
      const std::uint64_t drawn = mix(seed ^ (std::uint64_t{binade} << 32 | i));
      const std::uint32_t inside = i == 0 ? 0 : i == 1 ? last : static_cast<std::uint32_t>(drawn) & last;
      out.x.push_back(binade << fraction | inside);
      if (function.operands != 2) continue;
      const auto y = static_cast<std::uint32_t>(drawn >> 32);
      out.y.push_back(i % 2 == 0 ? y : (y & 0x8FFFFFFFU) | (out.x.back() & 0x70000000U));
    }
  return out;
}

}  // namespace mmaudit::corpus
