// The first byte says what the rest is: a GGUF, a safetensors file opened as a checkpoint, the config or the
// index of a folder that has one good file, the config and, behind its line, the file of a folder, or
// config.json, hf_quant_config.json, an index and the file.
#include <algorithm>
#include <fstream>

#include "mmaudit/corpus/checkpoint.hpp"
#include "mmaudit/corpus/tensor_file.hpp"
#include "support.hpp"

namespace mmaudit::fuzz {
namespace {

void read_all(const std::filesystem::path& path) {
  accepted([&] {
    const corpus::Checkpoint checkpoint(path);
    static_cast<void>(checkpoint.json().dump());
    for (const std::string& why : checkpoint.contradictions())
      if (why.find("found ") == std::string::npos) fail("a contradiction that says nothing");
    for (const auto& tensor : checkpoint.tensors()) {
      static_cast<void>(checkpoint.model_name(tensor->name));
      if (!corpus::has_numbers(*tensor)) continue;
      const std::uint64_t count = tensor->bytes / corpus::bytes_of(tensor->dtype);
      if (corpus::facts_of(*tensor).not_finite > count) fail("more than all numbers");
      if (corpus::numbers_of(*tensor, count / 2, count - count / 2).size() != count - count / 2)
        fail("numbers that are not whole");
    }
    for (const corpus::CheckpointLayer& layer : checkpoint.layers()) {
      const std::uint64_t rows = std::min<std::uint64_t>(layer.rows(), 3);
      if (layer.k > (std::uint64_t{1} << 16) || layer.scale_columns > (std::uint64_t{1} << 16)) continue;
      accepted([&] {
        const corpus::CheckpointRows last = checkpoint.rows(layer, layer.rows() - rows, rows);
        if (corpus::dequantized(layer, last).size() != rows * layer.k) fail("rows that are not whole");
      });
    }
  });
}

/// A folder with a file of FP8 blocks beside what the input is.
class Folder {
 public:
  Folder() : file_("model.safetensors") {
    std::string header =
        R"({"a.weight":{"dtype":"F8_E4M3","shape":[2,4],"data_offsets":[0,8]},"a.weight_scale_inv":)"
        R"({"dtype":"F32","shape":[1,1],"data_offsets":[8,12]}})";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    good_.resize(8);
    good_[0] = static_cast<char>(header.size());
    good_ += header + std::string(12, '\x3A');
    folder_ = file_.holding(good_).parent_path();
  }
  void holding_both(std::string_view config, std::string_view file) {
    file_.holding(file);
    holding("config.json", config);
    file_.holding(good_);
  }
  void holding(const std::string& name, std::string_view text) {
    put(name, text);
    read_all(folder_);
    if (name.ends_with(".index.json"))
      accepted([&] { corpus::load_tensor((folder_ / name).string() + ":a.weight"); });
    std::filesystem::remove(folder_ / name);
  }
  /// Three lines and a file; an empty line is no file.
  void holding_all(std::string_view text) {
    constexpr const char* kNames[] = {"config.json", "hf_quant_config.json", "model.safetensors.index.json"};
    for (const char* name : kNames) {
      const std::string_view line = text.substr(0, text.find('\n'));
      if (!line.empty()) put(name, line);
      text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
    file_.holding(text);
    read_all(folder_);
    file_.holding(good_);
    for (const char* name : kNames) std::filesystem::remove(folder_ / name);
  }

 private:
  void put(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  ScratchFile file_;
  std::string good_;
  std::filesystem::path folder_;
};

}  // namespace
}  // namespace mmaudit::fuzz

void mmaudit::fuzz::run(Bytes bytes) {
  static ScratchFile gguf("x.gguf"), alone("x.safetensors");
  static Folder folder;
  const unsigned what = bytes.byte() % 6U;
  if (what == 0) read_all(gguf.holding(bytes.rest()));
  if (what == 1) read_all(alone.holding(bytes.rest()));
  if (what == 2) folder.holding("config.json", bytes.text());
  if (what == 3) folder.holding("model.safetensors.index.json", bytes.text());
  if (what == 4) {
    const std::string_view text = bytes.text(), config = text.substr(0, text.find('\n'));
    folder.holding_both(config, text.substr(std::min(config.size() + 1, text.size())));
  }
  if (what == 5) folder.holding_all(bytes.text());
}
