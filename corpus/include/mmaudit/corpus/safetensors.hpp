#pragma once
// safetensors files. Format: https://huggingface.co/docs/safetensors - 8 bytes header length, JSON header,
// raw data.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mmaudit/corpus/tensor.hpp"

namespace mmaudit::corpus {

struct SafetensorsFile {
  std::map<std::string, std::string> metadata;
  std::vector<Tensor> tensors;  // in the order of their data

  /// The tensor of that name. Throws InputError naming `file` and what it holds instead.
  [[nodiscard]] const Tensor& at(std::string_view name, std::string_view file) const;
};

/// A tensor as the header describes it. The data lies at [begin, end) of the data section.
struct TensorInfo {
  std::string name;
  DType dtype = DType::u8;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string refused;  ///< why it can't be read, without the file; empty: it can
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<TensorInfo> tensors;  // in the order of their data
  std::uint64_t data_start = 0;     // in the file, bytes
  std::string refused;              ///< the same of all of the file at once
};

/// Everything but the data. A broken entry, or one of a type that this module does not know, closes no other:
/// it says what is wrong with it. Throws InputError where the header is none: over 16 MiB, or no JSON object.
SafetensorsHeader read_safetensors_header(const std::filesystem::path& path);

/// The whole file: no key twice, known dtypes, metadata that is text, sizes that match the offsets, data
/// without holes or overlaps up to the last byte. Throws InputError.
SafetensorsFile read_safetensors(const std::filesystem::path& path);

/// One tensor, whatever is wrong with the others. Throws InputError, with the names there are if there is no
/// such one.
Tensor read_safetensors_tensor(const std::filesystem::path& path, std::string_view name);

/// The same file gives the same bytes: metadata sorted, tensors in the given order without gaps, data section
/// 8-byte aligned. Throws InputError, also for what read_safetensors would refuse.
void write_safetensors(const std::filesystem::path& path, const SafetensorsFile& file);

}  // namespace mmaudit::corpus
