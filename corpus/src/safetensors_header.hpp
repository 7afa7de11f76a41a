#pragma once
// The JSON header of a safetensors file, apart from the file.
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "mmaudit/corpus/safetensors.hpp"

namespace mmaudit::corpus {

class RawFile;

/// Bytes in front of the header: its length.
inline constexpr std::size_t kSafetensorsLength = 8;

/// What the writers need of a tensor, so that writing copies no data.
struct TensorView {
  std::string_view name;
  DType dtype;
  std::span<const std::uint64_t> shape;
  std::span<const std::byte> data;
};

/// "24 for [2, 3] F32": the bytes that such a tensor has, for messages.
std::string size_text(DType dtype, std::span<const std::uint64_t> shape, std::string_view unit = "");

/// Throws InputError, naming `file` and the tensor, if the readers would refuse it: too many dimensions, or
/// data that does not match the shape.
void check_writable(const TensorView& tensor, const std::string& file);

/// Metadata and tensors of `text`, sorted by their data; `refused` where they don't fill `data_bytes`
/// exactly. `data_start` stays 0. Memory and time are linear in the text. Throws InputError naming `file`
/// where it is no JSON object.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                           const std::string& file);

/// Of an open file.
SafetensorsHeader read_safetensors_header(const RawFile& file);

/// The length field and the JSON, padded with spaces to a multiple of 8 bytes. Throws InputError naming
/// `file` for what the reader would refuse.
std::string safetensors_preamble(const std::map<std::string, std::string>& metadata,
                                 std::span<const TensorView> tensors, const std::string& file);

/// write_safetensors for tensors that lie anywhere.
void write_safetensors_views(const std::filesystem::path& path,
                             const std::map<std::string, std::string>& metadata,
                             std::span<const TensorView> tensors);

/// `a, b, c` and the count if there are more than 8: what a file holds, for messages.
std::string list_names(std::span<const std::string_view> names);
/// The same in the place of `name`, which is none of them: where they are many, the nearest.
std::string names_near(std::string_view name, std::span<const std::string_view> names);

}  // namespace mmaudit::corpus
