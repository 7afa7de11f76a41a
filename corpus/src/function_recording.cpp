#include "mmaudit/corpus/function_recording.hpp"

#include <algorithm>

#include "mmaudit/corpus/npy.hpp"
#include "mmaudit/error.hpp"

namespace mmaudit::corpus {
namespace {

namespace fs = std::filesystem;

FunctionRecording read_one(const functions::Function& function, const fs::path& path) {
  const Tensor tensor = read_npy(path);
  const std::uint64_t columns = static_cast<std::uint64_t>(function.operands) + 1;
  if (tensor.dtype != DType::u32 || tensor.shape.size() != 2 || tensor.shape[1] != columns)
    refuse("{}: array: found another type or shape, allowed: u32 of (inputs, {})", path.string(), columns);
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

}  // namespace mmaudit::corpus
