#include "test_support.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <span>

#include "mmaudit/tile_batch.hpp"

namespace mmaudit::corpus::test {
namespace fs = std::filesystem;

ScratchFolder::ScratchFolder() {
  std::string name = (fs::temp_directory_path() / "mmaudit_corpus_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> ScratchFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void put(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string get(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::string safetensors_bytes(std::string_view header, std::string_view data) {
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>((header.size() >> shift) & 0xFFU);
  return bytes.append(header).append(data);
}

Recording small_recording() {
  std::vector<std::uint8_t> inputs(24);
  std::vector<std::uint32_t> results(12);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<std::uint8_t>(i * 7 + 1);
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = static_cast<std::uint32_t>(i * 0x01234567U);
  const std::span<const std::uint8_t> in(inputs);
  const std::span<const std::uint32_t> out(results);
  Recording recording;
  recording.provenance = {.gpu = "NVIDIA H100",
                          .driver = "580.1",
                          .cuda = "13.0",
                          .compute_capability = 90,
                          .version = {},
                          .revision = "0123abc",
                          .date = "2025-11-21",
                          .seed = 42,
                          .command = {}};
  recording.instruction = "mma.m2n3k4";
  recording.generator = "1";
  recording.families = {{"normal", 1}, {"caf\xC3\xA9 \"quoted\"", 1}};
  recording.tiles = 2;
  recording.a = make_tensor("A", DType::u8, {2, 2, 4}, in.first(16));
  recording.b = make_tensor("B", DType::u8, {2, 4, 3}, in);
  recording.c = make_tensor("C", DType::u32, {2, 2, 3}, out);
  recording.d = make_tensor("D", DType::u32, {2, 2, 3}, out);
  recording.modifiers = {kNegateA, 0x3F};
  return recording;
}

}  // namespace mmaudit::corpus::test
